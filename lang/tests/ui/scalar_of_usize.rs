// `usize` is no element type.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<usize>, y: &mut Tiles<f32, (N,)>) {
    y.store(zeros());
}

fn main() {}
