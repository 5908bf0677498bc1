// A loop without an end.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut sum = n;
    loop {
        sum += 1;
    }
}

fn main() {}
