// A tensor is written at a place.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let v = x.tile::<(N,)>([0]).load();
    y.store(v);
}

fn main() {}
