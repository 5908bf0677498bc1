// A product of f16 matrices cannot accumulate in an integer.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim, K: Dim>(a: &Tensor<f16, 2>, b: &Tensor<f16, 2>, c: &mut Tiles<i32, (M, N)>) {
    let a = a.tile::<(M, K)>([0, 0]).load();
    let b = b.tile::<(K, N)>([0, 0]).load();
    c.store(dot(a, b, zeros()));
}

fn main() {}
