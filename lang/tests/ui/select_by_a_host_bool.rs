// A choice at build time is an `if`.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    y.store(select(true, v, 0.0));
}

fn main() {}
