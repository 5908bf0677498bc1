// Tiles joined along an axis agree on the others.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M, Twice<N>)>) {
    let a = x.tile::<(M, N)>([0, 0]).load();
    let b = x.tile::<(N, M)>([0, 0]).load();
    y.store(a.cat::<1, _>(b).with_shape());
}

fn main() {}
