// A loop needs an end.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &mut Tiles<i32, (N,)>) {
    let mut sum = scalar(0);
    for i in 0.. {
        sum += i;
    }
    y.store(full(sum));
}

fn main() {}
