// Tiles reduced together have one shape.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let a = x.tile::<(M,)>([0]).load();
    let b = x.tile::<(N,)>([0]).load();
    let (s, _) = reduce_with::<0, _>((a, b), |x, y| (x.0 + y.0, x.1 + y.1));
    y.set([0], s);
}

fn main() {}
