// Elements of an input are written.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    x.scatter(arange::<i32, (N,)>(), y.load());
}

fn main() {}
