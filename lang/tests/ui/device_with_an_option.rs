// `#[device]` has one option.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::device;

#[device(inline)]
fn f(x: Scalar<i32>) -> Scalar<i32> {
    if x > 0 { x } else { -x }
}

fn main() {}
