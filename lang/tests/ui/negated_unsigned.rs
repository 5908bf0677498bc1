// An unsigned type has no sign.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<u32, 1>, y: &mut Tiles<u32, (N,)>) {
    y.store(-x.tile::<(N,)>(y.index()).load());
}

fn main() {}
