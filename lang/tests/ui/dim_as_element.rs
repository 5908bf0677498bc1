// A dim stands for an element type.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(y: &mut Tiles<f32, (N,)>) {
    let v = zeros::<M, (N,)>();
    y.store(v.cast());
}

fn main() {}
