// Only values of the device print from the device.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &mut Tiles<f32, (N,)>) {
    let n = 3;
    device_print!("n", n);
    y.store(ones());
}

fn main() {}
