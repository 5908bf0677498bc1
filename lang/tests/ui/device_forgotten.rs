// Helpers that compare are not marked.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

fn sign(x: Scalar<i32>) -> Scalar<i32> {
    if x < 0 { scalar(-1) } else { scalar(1) }
}

fn larger<T: Element>(a: Scalar<T>, b: Scalar<T>) -> Scalar<T> {
    if a > b { a } else { b }
}

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    y.store(full(sign(n)));
}

fn main() {}
