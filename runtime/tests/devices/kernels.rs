//! Kernels that the tests launch.

// The macro's paths are the facade's; this crate stands below it.
pub use tegula_kernels::launch::{four, nineteen, nothing};
pub use tegula_lang::prelude::*;
pub use tegula_macros::kernel;

/// `out = x + y`.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn add<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
    let i = out.index();
    out.store(x.tile::<(B,)>(i).load() + y.tile::<(B,)>(i).load());
}

/// `out = a · out + b`, in place.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn affine<B: Dim>(a: Scalar<f32>, b: Scalar<f32>, out: &mut Tiles<f32, (B,)>) {
    out.store(out.load() * a + b);
}

/// `out = x`, of rank 2 with any strides.
#[kernel(crate = tegula_lang, defaults(M = 8, N = 16))]
pub fn copy<T: Element, M: Dim, N: Dim>(x: &Tensor<T, 2>, out: &mut Tiles<T, (M, N)>) {
    let i = out.index();
    out.store(x.tile::<(M, N)>(i).load());
}

/// `out = x + n`, for any `n`.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn shift<B: Dim>(x: &Tensor<i32, 1>, n: Scalar<i32>, out: &mut Tiles<i32, (B,)>) {
    let i = out.index();
    out.store(x.tile::<(B,)>(i).load() + n);
}

/// `out = x + seed`; the seed does not make another kernel.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn seeded<B: Dim>(x: &Tensor<i32, 1>, #[do_not_specialize] seed: Scalar<i32>, out: &mut Tiles<i32, (B,)>) {
    let i = out.index();
    out.store(x.tile::<(B,)>(i).load() + seed);
}

/// Writes a number to an address.
///
/// # Safety
/// Of a kernel: the address is that of an `f32`.
#[kernel(crate = tegula_lang)]
pub unsafe fn poke(p: Pointer<f32>, value: Scalar<f32>) {
    // SAFETY: the caller vouches for the address.
    unsafe { p.store(value) };
}

/// Writes a number to an element of a tensor, or beside it.
///
/// # Safety
/// Of a kernel: the tensor has that element.
#[kernel(crate = tegula_lang)]
pub unsafe fn poke_at(p: Pointer<f32>, index: Scalar<i64>, value: Scalar<f32>) {
    // SAFETY: the caller vouches for the element.
    unsafe { p.offset(index).store(value) };
}

/// Copies, if all values are positive.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn checked<B: Dim>(x: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
    let i = out.index();
    let v = x.tile::<(B,)>(i).load();
    device_assert(v >= 0.0, "a value is negative");
    out.store(v);
}

/// Copies, and prints a sum.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn noisy<B: Dim>(x: &Tensor<i32, 1>, out: &mut Tiles<i32, (B,)>) {
    let i = out.index();
    let v = x.tile::<(B,)>(i).load();
    tegula_lang::device_print!("the sum is", v.sum_all());
    out.store(v);
}

/// Two outputs, whose tiles the programs share out among each other.
#[kernel(crate = tegula_lang, defaults(B = 64))]
pub fn both<B: Dim>(x: &Tensor<f32, 1>, double: &mut Tiles<f32, (B,)>, square: &mut Tiles<f32, (B,)>) {
    let i = double.index();
    let v = x.tile::<(B,)>(i).load();
    double.store(v + v);
    square.store(v * v);
}
