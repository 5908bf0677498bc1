// Parameters are plain names.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>((a, b): (Scalar<i32>, Scalar<i32>), y: &mut Tiles<i32, (N,)>) {
    y.store(full(a + b));
}

fn main() {}
