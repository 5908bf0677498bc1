// Nothing is converted silently.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, w: &Tensor<f16, 1>, y: &mut Tiles<f32, (N,)>) {
    let i = y.index();
    y.store(x.tile::<(N,)>(i).load() * w.tile::<(N,)>(i).load());
}

fn main() {}
