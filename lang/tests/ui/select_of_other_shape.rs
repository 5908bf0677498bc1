// The choice of a selection repeats to the tile.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M, N)>) {
    let v = x.tile::<(M, N)>(y.index()).load();
    y.store(select(v.sum::<1>() > 0.0, v, 0.0));
}

fn main() {}
