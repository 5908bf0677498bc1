// A dim is a type; its size is a number.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut s = n;
    for i in 0..N {
        s += i;
    }
    y.store(full(s));
}

fn main() {}
