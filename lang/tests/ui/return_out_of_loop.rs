// A helper returns a value from inside of a loop.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::device;

#[device]
fn first_square(n: Scalar<i32>) -> Scalar<i32> {
    for i in 0..n {
        if i * i > n {
            return i;
        }
    }
    scalar(-1)
}

fn main() {}
