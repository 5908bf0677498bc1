// A count of tiles needs their extent.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let mut v = zeros::<f32, (N,)>();
    for i in 0..x.tiles(0) {
        v += x.tile(i).load();
    }
    y.store(v);
}

fn main() {}
