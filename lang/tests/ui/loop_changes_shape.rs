// A loop cannot change the type of a variable.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    let mut v = zeros::<f32, (N,)>();
    for _ in 0..n {
        v = v.expand::<1>();
    }
    y.store(v);
}

fn main() {}
