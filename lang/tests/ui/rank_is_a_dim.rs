// A rank is a number.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, N>, y: &mut Tiles<f32, (N,)>) {
    y.store(zeros());
}

fn main() {}
