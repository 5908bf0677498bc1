// A parameter that says nothing.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<T, N: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (N,)>) {
    y.store(x.tile::<(N,)>(y.index()).load());
}

fn main() {}
