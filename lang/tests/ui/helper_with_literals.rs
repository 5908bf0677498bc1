// Literals adapt in a marked helper.

extern crate tegula_lang as tegula;

use tegula::prelude::*;

fn scaled<S: Shape>(x: Tile<f32, S>) -> Tile<f32, S> {
    x * 2
}

fn generic<T: Float, S: Shape>(x: Tile<T, S>) -> Tile<T, S> {
    x * 2.0 + 1.0
}

fn left<S: Shape>(x: Tile<f32, S>) -> Tile<f32, S> {
    2.0 * x
}

fn counted<S: Shape>(x: Tile<i64, S>, n: usize) -> Tile<i64, S> {
    x + n
}

fn assigned<T: Num, S: Shape>(mut x: Tile<T, S>) -> Tile<T, S> {
    x += 1;
    x
}

fn main() {}
