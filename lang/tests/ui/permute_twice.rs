// Each axis is named once.

extern crate tegula_lang as tegula;

use tegula::prelude::*;
use tegula_macros::kernel;

#[kernel]
fn k<M: Dim, N: Dim>(x: &Tensor<f32, 2>, y: &mut Tiles<f32, (M, N)>) {
    let v = x.tile::<(M, N)>(y.index()).load();
    y.store(v.permute::<(Axis<0>, Axis<2>)>());
}

fn main() {}
