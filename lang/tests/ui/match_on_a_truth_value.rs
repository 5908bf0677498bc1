// So it is on a truth value.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let r = match n > 0 {
        true => n,
        false => -n,
    };
    y.store(full(r));
}

fn main() {}
