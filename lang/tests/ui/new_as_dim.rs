// `New` is no dim that a product could have.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (M, N)>) {
    let v = x.tile::<(M,)>([0]).load().expand::<1>();
    y.store(dot(v, v.transpose(), zeros()));
}

fn main() {}
