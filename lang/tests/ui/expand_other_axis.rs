// The axis is inserted on the wrong side.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<R: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (R, N)>) {
    let v = x.tile::<(R, N)>(y.index()).load();
    y.store(v - v.max::<1>().expand::<0>());
}

fn main() {}
