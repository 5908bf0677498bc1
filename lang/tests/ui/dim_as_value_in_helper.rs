// A dim is a type in a helper, too.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::{device, kernel};

#[device]
fn last<N: Dim>(x: Scalar<i64>) -> Scalar<i64> {
    if x > N - 1 { scalar(0) } else { x }
}

#[kernel]
fn k<N: Dim>(n: Scalar<i64>, y: &mut Tiles<i64, (N,)>) {
    y.store(full(last::<N>(n)));
}

fn main() {}
