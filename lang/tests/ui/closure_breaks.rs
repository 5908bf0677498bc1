// A jump does not leave a closure.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut s = n;
    for i in 0..n {
        let f = |x: Scalar<i32>| if x > 3 { break } else { x };
        s += f(i);
    }
    y.store(full(s));
}

fn main() {}
