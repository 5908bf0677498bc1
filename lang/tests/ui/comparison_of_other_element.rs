// Tiles of different element types do not compare.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, n: Scalar<i32>, y: &mut Tiles<bool, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load() < n);
}

fn main() {}
