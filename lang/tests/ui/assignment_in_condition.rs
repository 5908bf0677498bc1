// The condition of a loop only looks.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut i = n;
    while { i += 1; i < 10 } {
        i += 2;
    }
    y.store(full(i));
}

fn main() {}
