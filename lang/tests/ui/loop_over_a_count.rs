// A loop runs over a range, not over a number.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut sum = scalar(0);
    for i in n {
        sum += i;
    }
    y.store(full(sum));
}

fn main() {}
