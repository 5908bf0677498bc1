//! The error type of this crate.

use tegula_codegen::CodegenError;
use tegula_ir::pass::PassError;
use thiserror::Error;

/// Why a kernel could not be compiled for the CPU.
#[derive(Debug, Error)]
pub enum CpuError {
    /// A pass refused the kernel.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// LLVM IR or object code could not be made.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
    /// The object code could not be linked into this process.
    #[error("the code of `{kernel}` could not be linked: {message}")]
    Link {
        /// The kernel.
        kernel: String,
        /// What the linker said.
        message: String,
    },
}
