// Nothing is awaited in a kernel.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(y: &mut Tiles<i32, (N,)>) {
    let x = async { 1 };
    let n = x.await;
    y.store(full(n));
}

fn main() {}
