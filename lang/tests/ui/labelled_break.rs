// A jump to an outer loop.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut sum = scalar(0);
    'outer: for i in 0..n {
        for j in 0..n {
            if i * j > 9 {
                break 'outer;
            }
            sum += j;
        }
    }
    y.store(full(sum));
}

fn main() {}
