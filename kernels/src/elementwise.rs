//! Elementwise kernels on flat tensors: `add`, `copy`, `gelu`, `silu`.

use tegula::prelude::*;

/// `out = x + y`.
#[kernel(defaults(B = 1024), tune(B = [256, 512, 1024, 2048, 4096, 8192], warps = [4, 8]))]
pub fn add<T: Float, B: Dim>(x: &Tensor<T, 1>, y: &Tensor<T, 1>, out: &mut Tiles<T, (B,)>) {
    let [i] = out.index();
    out.store(x.tile::<(B,)>(i).load() + y.tile::<(B,)>(i).load());
}

/// `out = x`.
#[kernel(defaults(B = 1024), tune(B = [256, 512, 1024, 2048, 4096, 8192], warps = [4, 8]))]
pub fn copy<T: Float, B: Dim>(x: &Tensor<T, 1>, out: &mut Tiles<T, (B,)>) {
    let [i] = out.index();
    out.store(x.tile::<(B,)>(i).load());
}

/// `out = x/2 · (1 + erf(x/√2))`.
#[kernel(defaults(B = 1024), tune(B = [256, 512, 1024, 2048, 4096, 8192], warps = [4, 8]))]
pub fn gelu<T: Float, B: Dim>(x: &Tensor<T, 1>, out: &mut Tiles<T, (B,)>) {
    let [i] = out.index();
    out.store(x.tile::<(B,)>(i).load().gelu());
}

/// `out = x / (1 + e^-x)`.
#[kernel(defaults(B = 1024), tune(B = [256, 512, 1024, 2048, 4096, 8192], warps = [4, 8]))]
pub fn silu<T: Float, B: Dim>(x: &Tensor<T, 1>, out: &mut Tiles<T, (B,)>) {
    let [i] = out.index();
    out.store(x.tile::<(B,)>(i).load().silu());
}
