//! Tutorial 2: a fused softmax.
//!
//! Softmax of each row of a matrix: `exp(x - max) / sum(exp(x - max))`. Written with whole-tensor operations it reads
//! and writes memory five times; as one kernel, once. Run this with
//! `cargo run --release --example tutorial_2_fused_softmax`.

use tegula::prelude::*;

// A program takes `R` rows and holds them in registers: `N` is at least the length of a row.
#[kernel(defaults(R = 1, N = 1024))]
pub(crate) fn softmax<T: Float, R: Dim, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (R, N)>) {
    let [i, j] = y.index();
    // Beyond the end of the row the tile holds -inf: it changes no maximum, and its exponential is zero.
    // `T::Acc` is what sums of `T` are accumulated in: f32 for the 16-bit formats.
    let v = x.tile::<(R, N)>([i, j]).load_or(f32::NEG_INFINITY).cast::<T::Acc>();

    // `max::<1>()` reduces over axis 1: from `(R, N)` to `(R,)`. To combine that with `(R, N)` again, the axis must be
    // put back, explicitly: `expand::<1>()` makes it `(R, New)`, and a `New` axis repeats as often as is needed.
    // Without it, `v - v.max::<1>()` does not compile, and rustc says what to write.
    let shifted = v - v.max::<1>().expand::<1>();
    let e = shifted.exp();
    let sum = e.sum::<1>();
    y.store((e / sum.expand::<1>()).cast());
}

pub(crate) fn main() -> tegula::Result<()> {
    let device = Device::best()?;
    // Neither extent is a power of two, or a multiple of anything.
    let (m, n) = (1823, 781);
    let data: Vec<f32> = (0..m * n).map(|i| ((i * 7919) % 1000) as f32 / 100.0 - 5.0).collect();
    let x = device.tensor(&data, [m, n])?;
    let mut y = device.empty::<f32>([m, n])?;
    softmax(&x, &mut y).launch()?;

    // Compare with the same on the host.
    let y = y.to_vec()?;
    let mut worst = 0f32;
    for (row, out) in data.chunks(n).zip(y.chunks(n)) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|&v| f64::from(v - max).exp()).sum();
        for (&v, &o) in row.iter().zip(out) {
            worst = worst.max(((f64::from(v - max).exp() / sum) as f32 - o).abs());
        }
    }
    assert!(worst < 1e-6);
    println!("{}: softmax of {m} x {n}; largest error {worst:.1e}", device.name());

    // The same kernel in half precision: only the types of the tensors change.
    let half: Vec<f16> = data.iter().map(|&v| f16::from_f32(v)).collect();
    let x = device.tensor(&half, [m, n])?;
    let mut y = device.empty::<f16>([m, n])?;
    softmax(&x, &mut y).launch()?;
    let sum: f32 = y.to_vec()?[..n].iter().map(|v| v.to_f32()).sum();
    println!("{}: in f16, the first row sums to {sum}", device.name());
    assert!((sum - 1.0).abs() < 1e-2);
    Ok(())
}
