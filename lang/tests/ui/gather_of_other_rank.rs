// There is one tile of indices for each axis.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.gather((arange::<i32, (N,)>(),)));
}

fn main() {}
