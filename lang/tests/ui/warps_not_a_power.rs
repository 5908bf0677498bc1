// The number of warps is a power of two.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel(warps = 3, stages = 0)]
fn k<N: Dim>(y: &mut Tiles<f32, (N,)>) {
    y.store(zeros());
}

fn main() {}
