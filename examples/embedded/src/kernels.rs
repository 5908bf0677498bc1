//! The kernels: a module of the program, and of its build script.

use tegula::prelude::*;

/// `y = a x + y`.
#[kernel(defaults(B = 1024), dtypes(T = [f32, f64]))]
pub fn saxpy<T: Float, B: Dim>(a: Scalar<T>, x: &Tensor<T, 1>, y: &mut Tiles<T, (B,)>) {
    let [i] = y.index();
    let old = y.load();
    y.store(x.tile::<(B,)>(i).load() * a + old);
}

/// Softmax of each row. `N` is at least the row's length.
#[kernel(defaults(R = 1), dtypes(T = [f32]))]
pub fn softmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (R, N)>) {
    let [i, j] = y.index();
    let v = x.tile::<(R, N)>([i, j]).load_or(f32::NEG_INFINITY).cast::<T::Acc>();
    let e = (v - v.max::<1>().expand::<1>()).exp();
    y.store((e / e.sum::<1>().expand::<1>()).cast());
}
