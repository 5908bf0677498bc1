// A scalar is not a tile: it is repeated first.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    y.store(v.sum_all());
}

fn main() {}
