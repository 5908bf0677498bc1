// The result is transposed.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M, N)>) {
    y.store(x.tile::<(N, M)>([0, 0]).load());
}

fn main() {}
