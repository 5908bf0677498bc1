// A tensor has at most five axes.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 6>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.tile::<(N, N, N, N, N, N)>([0, 0, 0, 0, 0, 0]).load());
}

fn main() {}
