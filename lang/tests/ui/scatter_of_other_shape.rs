// Values have the shape of the indices.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let v = x.tile::<(M,)>([0]).load();
    y.scatter(arange::<i32, (N,)>(), v);
}

fn main() {}
