// A default for something that is no dim.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel(defaults(BM = 64))]
fn k<N: Dim>(y: &mut Tiles<f32, (N,)>) {
    y.store(ones());
}

fn main() {}
