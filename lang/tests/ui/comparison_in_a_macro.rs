// Arguments of macros are not rewritten.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

macro_rules! twice {
    ($e:expr) => {
        if $e > 0 { $e } else { $e }
    };
}

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    y.store(full(twice!(n)));
}

fn main() {}
