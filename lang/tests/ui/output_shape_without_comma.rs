// The shape of an output is a tuple.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &mut Tiles<f32, (N)>) {
    y.store(ones());
}

fn main() {}
