//! Kernels as values: what is known of one, and building its Tile IR.
//!
//! | module | subject |
//! |---|---|
//! | [`info`] | name, parameters, dims: what tools list |
//! | [`build`] | options, and the function built from them |
//! | [`target`] | what a kernel is built for |
//! | [`param`] | which Rust types a kernel's parameters have |
//! | [`comptime`] | build-time parameters chosen by name |
//! | [`class`] | what is promised of arguments whose values are not known yet |
//! | [`call`] | a kernel with its arguments, ready to launch |

pub mod build;
pub mod call;
pub mod class;
pub mod comptime;
pub mod info;
pub mod param;
pub mod target;

use std::any::TypeId;

pub use build::{BuildError, BuildOptions};
pub use call::Call;
pub use class::Class;
pub use info::KernelInfo;
pub use target::Target;

use tegula_ir::Function;

/// A kernel with its element types and build-time parameters chosen: what a `#[kernel]` function expands to.
pub trait Kernel: Send + Sync + 'static {
    /// What is known of the kernel without building it.
    fn info(&self) -> &'static KernelInfo;

    /// Tells kernels apart whose Tile IR may differ for equal [`BuildOptions`]: their type and a hash of their
    /// build-time parameters.
    fn key(&self) -> (TypeId, u64);

    /// Builds the kernel's Tile IR.
    ///
    /// # Errors
    /// What is wrong in the kernel's source or in the options, each problem at its line.
    fn build(&self, options: &BuildOptions) -> Result<Function, BuildError>;
}

/// A kernel that tools can list and build by the names of its parts.
pub trait Listed {
    /// What is known of it, and how to build it.
    const INFO: &'static KernelInfo;
}
