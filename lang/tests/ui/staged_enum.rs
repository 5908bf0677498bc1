// An enum's variant is known at build time.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::Staged;

#[derive(Staged)]
enum State<T: Float> {
    Empty,
    Full(Scalar<T>),
}

fn main() {}
