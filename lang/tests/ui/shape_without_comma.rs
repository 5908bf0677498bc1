// A shape of one axis needs the comma of a tuple.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.tile::<(N)>(y.index()).load());
}

fn main() {}
