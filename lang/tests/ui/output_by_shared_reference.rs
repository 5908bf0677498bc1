// An output is taken by mutable reference.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &Tiles<f32, (N,)>) {
    y.store(ones());
}

fn main() {}
