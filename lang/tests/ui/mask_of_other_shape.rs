// A mask has the shape of the tile.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M, N)>) {
    let mask = arange::<i32, (N,)>() < 3;
    y.store(x.tile::<(M, N)>(y.index()).load_masked(mask));
}

fn main() {}
