// A tile of an input is taken to write.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let v = y.load();
    x.tile_mut::<(N,)>(y.index()).store(v);
}

fn main() {}
