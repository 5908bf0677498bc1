// A tile of an input is written.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let i = y.index();
    let v = x.tile::<(N,)>(i).load();
    x.tile::<(N,)>(i).store(v);
}

fn main() {}
