// There are fewer coordinates than axes.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M, N)>) {
    let [i, _] = y.index();
    y.store(x.tile::<(M, N)>([i]).load());
}

fn main() {}
