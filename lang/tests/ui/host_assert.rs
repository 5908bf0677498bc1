// `assert!` would panic at build time.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    assert!(n > 0);
    y.store(full(n));
}

fn main() {}
