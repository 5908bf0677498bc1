//! Softmax over the last axis: `softmax` holds a whole row in a tile, `softmax_long` passes over rows of any length.

use tegula::prelude::*;

/// Softmax of each row. `N` is at least the row's length.
#[kernel(defaults(R = 1, N = 4096), tune(R = [1, 2, 4, 8], warps = [4, 8]))]
pub fn softmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (R, N)>) {
    let [i, j] = y.index();
    let v = x.tile::<(R, N)>([i, j]).load_or(f32::NEG_INFINITY).cast::<T::Acc>();
    let e = (v - v.max::<1>().expand::<1>()).exp();
    y.store((e / e.sum::<1>().expand::<1>()).cast());
}

/// Softmax of rows of any length, `B` columns at a time: one pass for the maximum and the sum (rescaled whenever the
/// maximum grows), one for the result. One program for `R` rows.
#[kernel(defaults(R = 1, B = 1024), tune(B = [256, 512, 1024, 2048, 4096], warps = [4, 8]))]
pub fn softmax_long<T: Float, R: Dim, B: Dim>(x: &Tensor<T, 2>, y: &mut Tensor<T, 2>) {
    let i = program_id(0);
    let mut max = full::<T::Acc, (R,)>(f32::NEG_INFINITY);
    let mut sum = zeros::<T::Acc, (R,)>();
    for j in 0..x.tiles::<B>(1) {
        let v = x.tile::<(R, B)>([i, j]).load_or(f32::NEG_INFINITY).cast::<T::Acc>();
        let next = max.maximum(v.max::<1>());
        // A row of -inf so far has no sum to rescale, and -inf - -inf is not a number.
        let base = select(next.not_equal(f32::NEG_INFINITY), next, 0.0);
        sum = sum * (max - base).exp() + (v - base.expand::<1>()).exp().sum::<1>();
        max = next;
    }
    for j in 0..x.tiles::<B>(1) {
        let v = x.tile::<(R, B)>([i, j]).load_or(f32::NEG_INFINITY).cast::<T::Acc>();
        let e = (v - max.expand::<1>()).exp() / sum.expand::<1>();
        y.tile_mut::<(R, B)>([i, j]).store(e.cast());
    }
}
