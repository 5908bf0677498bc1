// Indices are integers.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N,)>) {
    let at = x.tile::<(N,)>(y.index()).load();
    y.store(x.gather(at));
}

fn main() {}
