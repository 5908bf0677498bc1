// A tile does not compare with a text.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<bool, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load() == "zero");
}

fn main() {}
