// What the tuner may choose from: an axis that does not exist, a number of warps that does not, one twice, none.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel(tune(BM = [32, 64], BK = [16], warps = [3, 4], BM = [8], stages = [], when(BM > 0)))]
fn copy<BM: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (BM,)>) {
    out.store(x.tile::<(BM,)>(out.index()).load());
}

fn main() {}
