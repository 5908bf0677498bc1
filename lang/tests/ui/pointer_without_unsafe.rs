// Reading through a pointer is unsafe.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(p: Pointer<f32>, y: &mut Tiles<f32, (N,)>) {
    y.store(p.offset(arange::<i32, (N,)>()).load());
}

fn main() {}
