// A helper with a condition is marked.

extern crate tegula_lang as tegula;

use tegula::prelude::*;

fn pick<S: Shape>(c: Scalar<bool>, x: Tile<f32, S>) -> Tile<f32, S> {
    if c { x } else { -x }
}

fn both(a: Scalar<bool>, b: Scalar<bool>) -> Scalar<bool> {
    a && b
}

fn until(c: Scalar<bool>) {
    while c {}
}

fn main() {}
