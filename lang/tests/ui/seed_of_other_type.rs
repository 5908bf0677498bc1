// A seed is a `Scalar<u64>`.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(seed: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    y.store(rand(seed, arange::<i32, (N,)>()));
}

fn main() {}
