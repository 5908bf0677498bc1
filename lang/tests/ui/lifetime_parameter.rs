// Kernels need no lifetimes.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<'a, N: Dim>(x: &'a Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load());
}

fn main() {}
