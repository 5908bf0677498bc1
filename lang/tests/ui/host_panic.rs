// A kernel does not panic.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    if n < 0 {
        panic!("negative");
    }
    y.store(full(n));
}

fn main() {}
