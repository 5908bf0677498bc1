// An option that does not exist.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel(num_warps = 4)]
fn k<N: Dim>(y: &mut Tiles<f32, (N,)>) {
    y.store(ones());
}

fn main() {}
