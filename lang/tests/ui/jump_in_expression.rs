// A jump inside of an expression.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut sum = scalar(0);
    for i in 0..n {
        sum += i + if i > 3 { break } else { scalar(1) };
    }
    y.store(full(sum));
}

fn main() {}
