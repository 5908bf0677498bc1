// An output has dims.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &mut Tiles<f32, (N, New)>) {
    let [i, j] = y.index();
    y.store(zeros());
}

fn main() {}
