// A text exists at build time only.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut s = String::new();
    for _ in 0..n {
        s += "x";
    }
    y.store(full(n));
}

fn main() {}
