// A build-time value is owned.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(#[comptime] name: &str, y: &mut Tiles<i32, (N,)>) {
    y.store(full(name.len()));
}

fn main() {}
