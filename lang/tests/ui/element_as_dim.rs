// An element type stands in a shape.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<T: Float, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (N,)>) {
    let v = x.tile::<(N, T)>([0, 0]).load();
    y.store(v.sum::<1>());
}

fn main() {}
