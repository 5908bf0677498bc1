// An option of a parameter that does not exist.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(#[comptime(value = 3)] n: i32, y: &mut Tiles<i32, (N,)>) {
    y.store(full(n));
}

fn main() {}
