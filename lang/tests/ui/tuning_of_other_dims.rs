// A space that kernels share: one whose axis is not a dim of the kernel, one that is wrong in itself.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::{kernel, tuning};

const TILES: Tuning = tuning!(BM = [32, 64], BK = [16], when(BM > BK));

const WARPS: Tuning = tuning!(BM = [32, 64], warps = [3]);

#[kernel(tune = TILES)]
fn copy<BM: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (BM,)>) {
    out.store(x.tile::<(BM,)>(out.index()).load());
}

#[kernel(tune = WARPS)]
fn copy_by_warps<BM: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (BM,)>) {
    out.store(x.tile::<(BM,)>(out.index()).load());
}

fn main() {}
