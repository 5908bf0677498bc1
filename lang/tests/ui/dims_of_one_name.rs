// Two dims would share a field.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<BM: Dim, Bm: Dim>(y: &mut Tiles<f32, (BM, Bm)>) {
    y.store(ones());
}

fn main() {}
