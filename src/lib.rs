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
pub use tegula_macros::{Staged, device, kernel, tuning};
pub use tegula_runtime as runtime;
pub use tegula_runtime::{Device, Error, Result};
pub use tegula_tuner as tuner;

/// What code made by the macros refers to. Not for use by hand: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use tegula_lang::__private::*;

    /// For [`embed!`](crate::embed).
    pub mod embed {
        pub use tegula_artifact::cpu::abi::{KernelFn, LaunchContext};
        pub use tegula_runtime::embedded::register;
    }
}

/// Everything a kernel and its host side need.
pub mod prelude {
    pub use crate::{Staged, device, kernel, tuning};
    pub use tegula_lang::prelude::*;
    pub use tegula_runtime::{Device, Launch, WarmUp};
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

/// Makes the kernels that the build script compiled (with the crate `tegula-build`) known to the launcher, which takes
/// them where they fit and compiles the others. Call it before the first launch, in the package of the build script.
///
/// ```ignore
/// fn main() {
///     tegula::embed!();
///     let device = tegula::Device::best();
/// }
/// ```
#[macro_export]
macro_rules! embed {
    () => {
        include!(concat!(env!("OUT_DIR"), "/tegula_embed.rs"))
    };
}

/// The programs in the documents for users, compiled and run with the tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[doc = include_str!("../docs/book/src/introduction.md")]
    struct Introduction;
}
