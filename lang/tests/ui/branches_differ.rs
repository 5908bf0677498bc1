// The branches give tiles of different shapes.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    let v = if n > 3 { zeros::<f32, (N,)>() } else { zeros::<f32, (M,)>() };
    y.store(v);
}

fn main() {}
