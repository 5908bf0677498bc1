// A jump names a loop around it.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut s = n;
    'rows: for i in 0..n {
        for j in 0..i {
            if j == 3 {
                break 'columns;
            }
            s += j;
        }
    }
    let found = 'rows: loop {
        loop {
            s += 1;
            if s > 9 {
                break 'rows s;
            }
        }
    };
    y.store(full(s));
}

fn main() {}
