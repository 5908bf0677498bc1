// Old and new values have the element type.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k(y: &mut Tensor<u32, 1>, x: Scalar<f32>) {
    y.atomic_at((0,)).compare_exchange(0, x);
}

fn main() {}
