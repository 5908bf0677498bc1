// A dim cannot be empty.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel(defaults(N = 0))]
fn k<N: Dim>(y: &mut Tiles<f32, (N,)>) {
    y.store(ones());
}

fn main() {}
