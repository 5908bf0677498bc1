// `as` converts numbers of the host.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    y.store(full((n as f32 * 0.5).cast()));
}

fn main() {}
