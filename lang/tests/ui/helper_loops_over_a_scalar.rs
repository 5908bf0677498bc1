// A helper with a loop is marked.

extern crate tegula_lang as tegula;

use tegula::prelude::*;

fn sum(n: Scalar<i32>) -> Scalar<i32> {
    let mut s = n;
    for i in n {
        s += i;
    }
    s
}

fn count(n: Scalar<i32>, m: Scalar<i32>) -> Scalar<i32> {
    let mut s = n;
    for i in n..m {
        s += i;
    }
    s
}

fn half(n: Scalar<i32>) -> Scalar<i32> {
    let mut s = n;
    for i in 0..n {
        s += i;
    }
    s
}

fn main() {}
