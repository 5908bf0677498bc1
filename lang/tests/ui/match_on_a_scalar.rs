// `match` is decided at build time.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let r = match n {
        0 => scalar(1),
        1 | 2 => n,
        _ => n * 2,
    };
    y.store(full(r));
}

fn main() {}
