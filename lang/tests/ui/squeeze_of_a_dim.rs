// Only an inserted axis can be squeezed.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M,)>) {
    let v = x.tile::<(M, N)>([0, 0]).load();
    y.store(v.squeeze::<1>());
}

fn main() {}
