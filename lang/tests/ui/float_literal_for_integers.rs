// A float literal with an integer tile.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<i32, 1>, y: &mut Tiles<i32, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load() * 0.5);
}

fn main() {}
