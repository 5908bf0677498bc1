// A constant has another type than the tile.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let scale: f64 = 0.5;
    y.store(x.tile::<(N,)>(y.index()).load() * scale);
}

fn main() {}
