// A kernel is a function.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
struct K {
    n: u32,
}

fn main() {}
