// Pointers have a type of their own.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(p: *const f32, y: &mut Tiles<f32, (N,)>) {
    y.store(ones());
}

fn main() {}
