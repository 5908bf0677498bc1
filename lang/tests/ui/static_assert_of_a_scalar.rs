// The device is not asked at build time.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    static_assert(x.extent(0) > 4, "long enough");
    y.store(zeros());
}

fn main() {}
