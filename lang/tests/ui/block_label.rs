// A block has no label.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    'a: {
        if n > 3 {
            break 'a;
        }
        y.store(full(n));
    }
}

fn main() {}
