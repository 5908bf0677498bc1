// A tile is no coordinate.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (N,)>) {
    let i = arange::<i32, (N,)>();
    y.store(x.tile::<(N, Const<1>)>((i, 0)).load().squeeze::<1>());
}

fn main() {}
