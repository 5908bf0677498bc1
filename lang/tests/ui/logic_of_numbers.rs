// `&&` takes truth values.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(x: &Tensor<i32, 1>, y: &mut Tiles<bool, (N,)>) {
    let v = x.tile::<(N,)>(y.index()).load();
    y.store(v && v > 3);
}

fn main() {}
