// Axes to reduce ascend.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 3>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(M, N, M)>([0, 0, 0]).load();
    y.store(v.sum_over::<(Axis<2>, Axis<0>)>());
}

fn main() {}
