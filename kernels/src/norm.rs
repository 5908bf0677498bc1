//! Normalisation over the last axis: `layernorm` and `rmsnorm`.

use tegula::prelude::*;

/// `y = (x - mean) / sqrt(variance + eps) * weight + bias`, row by row. `N` is at least the row's length.
#[kernel(defaults(R = 1, N = 4096), tune(R = [1, 2, 4, 8], warps = [4, 8]))]
pub fn layernorm<T: Float, R: Dim, N: Dim>(
    x: &Tensor<T, 2>,
    weight: &Tensor<T, 1>,
    bias: &Tensor<T, 1>,
    y: &mut Tiles<T, (R, N)>,
    eps: Scalar<f32>,
) {
    let [i, j] = y.index();
    let n = x.extent(1).cast::<T::Acc>();
    let v = x.tile::<(R, N)>([i, j]).load().cast::<T::Acc>();
    let mean = v.sum::<1>() / n;
    // Columns beyond the row are zero in `v`, not in `v - mean`.
    let inside = arange::<i64, (N,)>() < x.extent(1);
    let d = select(inside.expand::<0>(), v - mean.expand::<1>(), 0.0);
    let variance = (d * d).sum::<1>() / n;
    let scale = (variance + eps.cast::<T::Acc>()).sqrt().recip();
    let w = weight.tile::<(N,)>(j).load().cast::<T::Acc>();
    let b = bias.tile::<(N,)>(j).load().cast::<T::Acc>();
    y.store((d * scale.expand::<1>() * w.expand::<0>() + b.expand::<0>()).cast());
}

/// `y = x / sqrt(mean(x²) + eps) * weight`, row by row. `N` is at least the row's length.
#[kernel(defaults(R = 1, N = 4096), tune(R = [1, 2, 4, 8], warps = [4, 8]))]
pub fn rmsnorm<T: Float, R: Dim, N: Dim>(
    x: &Tensor<T, 2>,
    weight: &Tensor<T, 1>,
    y: &mut Tiles<T, (R, N)>,
    eps: Scalar<f32>,
) {
    let [i, j] = y.index();
    let v = x.tile::<(R, N)>([i, j]).load().cast::<T::Acc>();
    let mean = (v * v).sum::<1>() / x.extent(1).cast::<T::Acc>();
    let scale = (mean + eps.cast::<T::Acc>()).sqrt().recip();
    let w = weight.tile::<(N,)>(j).load().cast::<T::Acc>();
    y.store((v * scale.expand::<1>() * w.expand::<0>()).cast());
}
