//! Flash attention, forward (Dao and others, "FlashAttention", 2022): softmax(scale · q · kᵀ) · v without storing the
//! scores.

use tegula::prelude::*;

/// `out = softmax(scale · q · kᵀ) · v`, head by head. `q` and `out` are `[batch, heads, queries, dim]`, `k` and `v`
/// `[batch, kv_heads, keys, dim]`; `kv_heads` divides `heads` (grouped-query attention). With `causal`, query `i` sees
/// keys up to `i + keys - queries`. `D` is at least the head's size. A query that sees no key gives zeros.
#[kernel(
    defaults(BM = 64, BN = 64, D = 64),
    tune(BM = [32, 64, 128], BN = [32, 64, 128], warps = [4, 8], stages = [2, 3])
)]
pub fn attention<T: Float, BM: Dim, BN: Dim, D: Dim>(
    q: &Tensor<T, 4>,
    k: &Tensor<T, 4>,
    v: &Tensor<T, 4>,
    out: &mut Tiles<T, (Const<1>, Const<1>, BM, D)>,
    scale: Scalar<f32>,
    #[comptime(default = false)] causal: bool,
) {
    let [batch, head, i, _] = out.index();
    let kv_head = head / (q.extent(1) / k.extent(1));
    let (queries, keys) = (q.extent(2), k.extent(2));
    let q = q.at_axis(0, batch).at_axis(0, head).tile::<(BM, D)>([i, 0]).load();
    let (k, v) = (k.at_axis(0, batch).at_axis(0, kv_head), v.at_axis(0, batch).at_axis(0, kv_head));

    // Scores in units of log 2: exp2 is the cheaper function.
    let scale = scale.cast::<T::Acc>() * 1.442_695_040_888_963_4;
    let row = arange::<i64, (BM,)>() + i * BM::size() + (keys - queries);
    let mut max = full::<T::Acc, (BM,)>(f32::NEG_INFINITY);
    let mut sum = zeros::<T::Acc, (BM,)>();
    let mut acc = zeros::<T::Acc, (BM, D)>();

    let mut blocks = k.tiles::<BN>(0);
    if causal {
        // Blocks beyond the last row's last key are not seen by any row.
        let seen = ((i + 1) * BM::size() + (keys - queries)).clamp(0, keys);
        blocks = seen.ceil_div(BN::size());
    }
    for j in 0..blocks {
        let s = dot(q, k.tile::<(BN, D)>([j, 0]).load().transpose(), zeros::<T::Acc, (BM, BN)>()) * scale;
        let column = arange::<i64, (BN,)>() + j * BN::size();
        let mut seen = (column < keys).expand::<0>().broadcast::<(BM, BN)>();
        if causal {
            seen = seen & (column.expand::<0>() <= row.expand::<1>());
        }
        let s = select(seen, s, f32::NEG_INFINITY);
        let next = max.maximum(s.max::<1>());
        // A row that has seen nothing yet: -inf - -inf is not a number.
        let base = select(next.not_equal(f32::NEG_INFINITY), next, 0.0);
        let p = (s - base.expand::<1>()).exp2();
        let rescale = (max - base).exp2();
        sum = sum * rescale + p.sum::<1>();
        acc = dot(p.cast::<T>(), v.tile::<(BN, D)>([j, 0]).load(), acc * rescale.expand::<1>());
        max = next;
    }
    let sum = select(sum.not_equal(0.0), sum, 1.0);
    out.store((acc / sum.expand::<1>()).cast::<T>().reshape::<(Const<1>, Const<1>, BM, D)>());
}
