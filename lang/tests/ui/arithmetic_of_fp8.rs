// 8-bit floats are converted before arithmetic.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<F8E4M3, 1>, y: &mut Tiles<F8E4M3, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    y.store(v + v);
}

fn main() {}
