// A variable that a loop changes is `mut`.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    let acc = v;
    for _ in 0..x.extent(0) {
        acc += v;
    }
    y.store(acc);
}

fn main() {}
