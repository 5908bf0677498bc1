// A kernel gives no value.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    if n > 3 {
        return n;
    }
    y.store(full(n));
}

fn main() {}
