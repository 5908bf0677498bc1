// A struct of tiles is marked.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[derive(Clone, Copy)]
struct State {
    sum: Scalar<i32>,
}

#[kernel]
fn k<N: Dim>(n: Scalar<i32>, y: &mut Tiles<i32, (N,)>) {
    let mut state = State { sum: n };
    for i in 0..n {
        state = State { sum: state.sum + i };
    }
    y.store(full(state.sum));
}

fn main() {}
