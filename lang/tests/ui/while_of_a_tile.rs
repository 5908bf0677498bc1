// A `while` needs one truth value.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let mut v = x.tile::<(N,)>(y.index()).load();
    while v > 1.0 {
        v /= 2.0;
    }
    y.store(v);
}

fn main() {}
