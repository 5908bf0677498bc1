// A staged struct holds values of the kernel.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::Staged;

#[derive(Clone, Copy, Staged)]
struct State {
    sum: Scalar<i32>,
    count: usize,
}

fn main() {}
