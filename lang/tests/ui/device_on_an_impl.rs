// The attribute stands at functions.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::device;

#[device]
impl Helper {
    fn f(x: Scalar<i32>) -> Scalar<i32> {
        if x > 0 { x } else { -x }
    }
}

struct Helper;

fn main() {}
