//! Tutorial 6: flash attention.
//!
//! `softmax(q · kᵀ / √d) · v` without ever storing the scores: a program holds `BM` queries and walks over the keys,
//! `BN` at a time, keeping a running maximum and sum (Dao and others, "FlashAttention", 2022). Run this with
//! `cargo run --release --example tutorial_6_attention`.

use tegula::prelude::*;

// `#[comptime]` parameters are values of the host language, known when the kernel is built. Each value makes a kernel of
// its own: the branch on `causal` below leaves no trace in the compiled code.
#[kernel(defaults(BM = 64, BN = 32, D = 64))]
pub(crate) fn attention<T: Float, BM: Dim, BN: Dim, D: Dim>(
    q: &Tensor<T, 3>,
    k: &Tensor<T, 3>,
    v: &Tensor<T, 3>,
    out: &mut Tiles<T, (Const<1>, BM, D)>,
    scale: Scalar<f32>,
    #[comptime(default = false)] causal: bool,
) {
    // The output is `[heads, queries, D]`, cut into tiles of one head and `BM` queries.
    let [head, i, _] = out.index();
    // `at_axis` is a view with one axis less: one head's matrix.
    let (q, k, v) = (q.at_axis(0, head), k.at_axis(0, head), v.at_axis(0, head));
    let n = k.extent(0);
    let q_tile = q.tile::<(BM, D)>([i, 0]).load();
    // Softmax in base 2: exp2 is what the hardware has, and log2(e) goes into the scale.
    let scale = scale.cast::<T::Acc>() * 1.442_695_040_888_963_4;

    let row = arange::<i64, (BM,)>() + i * BM::size();
    let mut max = full::<T::Acc, (BM,)>(f32::NEG_INFINITY);
    let mut sum = zeros::<T::Acc, (BM,)>();
    let mut acc = zeros::<T::Acc, (BM, D)>();
    for j in 0..k.tiles::<BN>(0) {
        let column = arange::<i64, (BN,)>() + j * BN::size();
        let scores = dot(q_tile, k.tile::<(BN, D)>([j, 0]).load().transpose(), zeros::<T::Acc, (BM, BN)>()) * scale;
        let mut seen = (column < n).expand::<0>().broadcast::<(BM, BN)>();
        if causal {
            seen = seen & (column.expand::<0>() <= row.expand::<1>());
        }
        let scores = select(seen, scores, f32::NEG_INFINITY);
        let next = max.maximum(scores.max::<1>());
        let p = (scores - next.expand::<1>()).exp2();
        // What was accumulated under the old maximum is scaled to the new one.
        let rescale = (max - next).exp2();
        sum = sum * rescale + p.sum::<1>();
        acc = dot(p.cast::<T>(), v.tile::<(BN, D)>([j, 0]).load(), acc * rescale.expand::<1>());
        max = next;
    }
    out.store((acc / sum.expand::<1>()).cast::<T>().reshape::<(Const<1>, BM, D)>());
}

pub(crate) fn main() -> tegula::Result<()> {
    let device = Device::best()?;
    let (heads, n, d) = (2, 200, 64);
    let data =
        |seed: usize| -> Vec<f32> { (0..heads * n * d).map(|i| ((i * seed) % 97) as f32 / 48.0 - 1.0).collect() };
    let (q, k, v) = (data(31), data(37), data(41));
    let shape = [heads, n, d];
    let (tq, tk, tv) = (device.tensor(&q, shape)?, device.tensor(&k, shape)?, device.tensor(&v, shape)?);
    for causal in [false, true] {
        let mut out = device.empty::<f32>(shape)?;
        attention(&tq, &tk, &tv, &mut out, 1.0 / (d as f32).sqrt(), causal).launch()?;
        let out = out.to_vec()?;

        let mut worst = 0f64;
        for head in 0..heads {
            for i in 0..n {
                let at = |m: &[f32], row: usize, c: usize| f64::from(m[(head * n + row) * d + c]);
                let keys = if causal { i + 1 } else { n };
                let score = |j: usize| (0..d).map(|c| at(&q, i, c) * at(&k, j, c)).sum::<f64>() / (d as f64).sqrt();
                let e: Vec<f64> = (0..keys).map(|j| score(j).exp()).collect();
                let sum: f64 = e.iter().sum();
                for c in 0..d {
                    let want = e.iter().enumerate().map(|(j, e)| e / sum * at(&v, j, c)).sum::<f64>();
                    worst = worst.max((want - at(&out, i, c)).abs());
                }
            }
        }
        assert!(worst < 1e-5);
        println!("{}: attention, causal = {causal}: largest error {worst:.1e}", device.name());
    }
    Ok(())
}
