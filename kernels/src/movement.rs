//! Kernels that move data: `transpose`, `embedding`, `rope`.

use tegula::prelude::*;

/// `y = xᵀ`.
#[kernel(defaults(BM = 32, BN = 32), tune(BM = [16, 32, 64], BN = [16, 32, 64, 128], warps = [4, 8]))]
pub fn transpose<T: Float, BM: Dim, BN: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (BN, BM)>) {
    let [j, i] = y.index();
    y.store(x.tile::<(BM, BN)>([i, j]).load().transpose());
}

/// Row `ids[i]` of the table for each `i`; zeros where the id is out of range.
#[kernel(defaults(R = 4, N = 128), tune(R = [1, 2, 4, 8], N = [128, 256, 512, 1024]))]
pub fn embedding<T: Float, R: Dim, N: Dim>(table: &Tensor<T, 2>, ids: &Tensor<i32, 1>, out: &mut Tiles<T, (R, N)>) {
    let [i, j] = out.index();
    let row = ids.tile::<(R,)>(i).load().cast::<i64>().expand::<1>().broadcast::<(R, N)>();
    let column = (arange::<i64, (N,)>() + j * N::size()).expand::<0>();
    out.store(table.gather((row, column)));
}

/// Rotary embedding (Su and others, "RoFormer", 2021), half-split: `x` and `out` are `[batch, seq, heads, 2·H]`, `cos`
/// and `sin` `[seq, H]`. The grid is (batch · heads, blocks of `S` positions).
#[kernel(defaults(S = 16, H = 32))]
pub fn rope<T: Float, S: Dim, H: Dim>(
    x: &Tensor<T, 4>,
    cos: &Tensor<f32, 2>,
    sin: &Tensor<f32, 2>,
    out: &mut Tensor<T, 4>,
) {
    let heads = x.extent(2);
    let (batch, head) = (program_id(0) / heads, program_id(0) % heads);
    let first = program_id(1) * S::size();
    let c = cos.tile_at::<(S, H)>((first, 0)).load();
    let s = sin.tile_at::<(S, H)>((first, 0)).load();
    let x = x.at_axis(0, batch).at_axis(1, head);
    let a = x.tile_at::<(S, H)>((first, 0)).load().cast::<f32>();
    let b = x.tile_at::<(S, H)>((first, H::size())).load().cast::<f32>();
    let mut out = out.at_axis_mut(0, batch);
    let mut out = out.at_axis_mut(1, head);
    out.tile_at_mut::<(S, H)>((first, 0)).store((a * c - b * s).cast());
    out.tile_at_mut::<(S, H)>((first, H::size())).store((b * c + a * s).cast());
}
