// A choice per element is not an `if`.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    let r = if v > 0.0 && v < 1.0 { v } else { 0.0 * v };
    y.store(r);
}

fn main() {}
