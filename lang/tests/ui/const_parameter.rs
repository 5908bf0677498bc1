// Extents are dims, not const parameters.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<const N: usize>(y: &mut Tiles<f32, (Const<16>,)>) {
    y.store(ones());
}

fn main() {}
