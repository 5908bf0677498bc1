// A tile is not known at build time.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(#[comptime] n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    y.store(full(n));
}

fn main() {}
