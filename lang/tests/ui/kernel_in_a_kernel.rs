// A kernel is not called by another.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn inner<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load());
}

#[kernel]
fn outer<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    inner(x, y);
}

fn main() {}
