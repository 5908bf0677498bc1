// A build-time value can be hashed.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(#[comptime] scale: f32, y: &mut Tiles<f32, (N,)>) {
    y.store(full(scale));
}

fn main() {}
