// The ends of a range have different types.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, n: Scalar<i32>, y: &mut Tiles<f32, (N,)>) {
    let mut acc = zeros::<f32, (N,)>();
    for i in n..x.extent(0) {
        acc += x.tile::<(N,)>(i).load();
    }
    y.store(acc);
}

fn main() {}
