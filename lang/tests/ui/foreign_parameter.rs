// A type that no kernel takes.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<N: Dim>(names: Vec<String>, y: &mut Tiles<f32, (N,)>) {
    y.store(ones());
}

fn main() {}
