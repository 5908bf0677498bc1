// A generic element type without arithmetic.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<T: Element, N: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    y.store(v * v);
}

fn main() {}
