// Nor build time by the device.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    device_assert(N::size() > 4, "large enough");
    y.store(zeros());
}

fn main() {}
