// A loop gives no value.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut i = n;
    let r = loop {
        i += 1;
        if i > 9 {
            break i;
        }
    };
    y.store(full(r));
}

fn main() {}
