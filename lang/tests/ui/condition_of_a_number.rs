// A number is no condition.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    if n {
        y.store(ones());
    }
}

fn main() {}
