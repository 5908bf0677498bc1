// A number cannot be pushed by a loop of the device.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut counts = Vec::new();
    for _ in 0..n {
        counts.push(1);
    }
    y.store(full(counts.len()));
}

fn main() {}
