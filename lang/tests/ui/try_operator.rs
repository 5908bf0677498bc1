// `?` has nowhere to return to.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(#[comptime] n: Option<i32>, y: &mut Tiles<i32, (N,)>) {
    let n = n?;
    y.store(full(n));
}

fn main() {}
