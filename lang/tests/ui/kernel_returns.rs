// A kernel has no result.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>) -> Tile<f32, (N,)> {
    x.tile::<(N,)>([0]).load()
}

fn main() {}
