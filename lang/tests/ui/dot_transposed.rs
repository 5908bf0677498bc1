// An operand of a matrix product is transposed.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<BM: Dim, BN: Dim, BK: Dim>(a: &Tensor<bf16, 2>, b: &Tensor<bf16, 2>, c: &mut Tiles<f32, (BM, BN)>) {
    let [i, j] = c.index();
    let a = a.tile::<(BM, BK)>([i, 0]).load();
    let b = b.tile::<(BN, BK)>([j, 0]).load();
    c.store(dot(a, b, zeros()));
}

fn main() {}
