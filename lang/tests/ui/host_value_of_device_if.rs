// A branch of the device gives a number of the host.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    let scale = if n > 3 { 1.5 } else { 0.5 };
    y.store(full(scale));
}

fn main() {}
