// A number is no truth value, compared it is.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let r = if n { n } else { -n };
    y.store(full(r));
}

fn main() {}
