//! Dropout with reproducible random numbers.

use tegula::prelude::*;

/// `y = x / (1 - p)` where a uniform random number is at least `p`, else 0. The number of element `i` depends on `seed`
/// and `i` only: Philox 4×32-10 with counter `i`.
#[kernel(defaults(B = 1024), tune(B = [256, 512, 1024, 2048, 4096, 8192], warps = [4, 8]))]
pub fn dropout<T: Float, B: Dim>(x: &Tensor<T, 1>, y: &mut Tiles<T, (B,)>, p: Scalar<f32>, seed: Scalar<u64>) {
    let [i] = y.index();
    let v = x.tile::<(B,)>(i).load().cast::<T::Acc>();
    let element = arange::<i64, (B,)>() + i * B::size();
    let keep = rand(seed, element) >= p;
    let scale = (1.0 - p.cast::<T::Acc>()).recip();
    y.store(select(keep, v * scale, 0.0).cast());
}
