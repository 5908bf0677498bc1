// A tensor is written with its rank.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load());
}

fn main() {}
