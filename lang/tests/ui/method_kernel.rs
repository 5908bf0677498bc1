// A kernel is no method.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

struct S;

impl S {
    #[kernel]
    fn k<N: Dim>(&self, y: &mut Tiles<f32, (N,)>) {
        y.store(ones());
    }
}

fn main() {}
