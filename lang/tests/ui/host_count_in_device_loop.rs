// A number of the host cannot count on the device.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    let mut count = 0;
    for _ in 0..n {
        count += 1;
    }
    y.store(full(count as f32));
}

fn main() {}
