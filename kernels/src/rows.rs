//! Kernels along rows: `cumsum`, `argmax`, `cross_entropy`.

use tegula::prelude::*;

/// Inclusive prefix sums of each row, `B` columns at a time. One program for `R` rows.
#[kernel(defaults(R = 1, B = 1024), tune(B = [256, 512, 1024, 2048, 4096], warps = [4, 8]))]
pub fn cumsum<T: Float, R: Dim, B: Dim>(x: &Tensor<T, 2>, y: &mut Tensor<T, 2>) {
    let i = program_id(0);
    let mut before = zeros::<T::Acc, (R,)>();
    for j in 0..x.tiles::<B>(1) {
        let v = x.tile::<(R, B)>([i, j]).load().cast::<T::Acc>();
        y.tile_mut::<(R, B)>([i, j]).store((v.cumsum::<1>() + before.expand::<1>()).cast());
        before = before + v.sum::<1>();
    }
}

/// Index of the greatest element of each row: the first of several; NaN is passed over.
#[kernel(defaults(R = 1, N = 4096), tune(R = [1, 2, 4, 8], warps = [4, 8]))]
pub fn argmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, index: &mut Tiles<i32, (R,)>) {
    let [i] = index.index();
    // NaN never wins, not even in a row of -inf.
    let v = x.tile::<(R, N)>((i, 0)).load_or(f32::NAN);
    index.store(v.argmax::<1>());
}

/// `log(sum(exp(x))) - x[target]` for each row. `N` is at least the row's length.
#[kernel(defaults(R = 1, N = 4096), tune(R = [1, 2, 4, 8], warps = [4, 8]))]
pub fn cross_entropy<T: Float, R: Dim, N: Dim>(
    logits: &Tensor<T, 2>,
    targets: &Tensor<i32, 1>,
    loss: &mut Tiles<f32, (R,)>,
) {
    let [i] = loss.index();
    let v = logits.tile::<(R, N)>((i, 0)).load_or(f32::NEG_INFINITY).cast::<f32>();
    let max = v.max::<1>();
    let sum = (v - max.expand::<1>()).exp().sum::<1>();
    let rows = arange::<i64, (R,)>() + i * R::size();
    let target = logits.gather((rows, targets.tile::<(R,)>(i).load())).cast::<f32>();
    loss.store(sum.log() + max - target);
}
