//! Tegula: a tile-level GPU kernel language embedded in Rust.
//!
//! A `#[kernel]` function is written once, in terms of tiles, and runs on NVIDIA GPUs, AMD GPUs and CPUs.
//!
//! ```
//! use tegula::prelude::*;
//!
//! #[kernel]
//! pub fn add<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, out: &mut Tiles<f32, (B,)>) {
//!     let i = out.index();
//!     out.store(x.tile::<(B,)>(i).load() + y.tile::<(B,)>(i).load());
//! }
//! # fn main() {}
//! ```

pub use tegula_ir as ir;
pub use tegula_lang as lang;
pub use tegula_macros::{Staged, device, kernel};
pub use tegula_runtime as runtime;
pub use tegula_runtime::{Device, Error, Result};
pub use tegula_tuner as tuner;

#[doc(hidden)]
pub use tegula_lang::__private;

/// Everything a kernel and its host side need.
pub mod prelude {
    pub use crate::{Staged, device, kernel};
    pub use tegula_lang::prelude::*;
    pub use tegula_runtime::{Device, Launch};
    pub use tegula_tuner::{Records, Tuned};
}

/// What is known of each of these kernels: `kernel_list![add, gemm::matmul]` is a `&'static [&KernelInfo]`, for
/// tools that list kernels and build them by name.
#[macro_export]
macro_rules! kernel_list {
    ($($($segment:ident)::+),* $(,)?) => {
        &[$(<$($segment)::+::Listing as $crate::__private::Listed>::INFO),*]
    };
}
