//! Code generation for the host CPU: Tile IR to native code, just in time.
//!
//! ```text
//! Function ──passes──▶ Plan (fusion, buffers) ──lower──▶ LLVM IR ──▶ object ──▶ CpuKernel
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`compiler`] | options, phases, what can be emitted |
//! | [`plan`] | which tiles are computed where, in which loops, in which memory |
//! | [`lower`] | LLVM IR from the plan |
//! | [`abi`] | the interface of compiled kernels |
//! | [`kernel`] | launching over a grid and threads |
//! | [`executor`] | the CPU as an executor on host data |

pub mod abi;
pub mod compiler;
pub mod error;
pub mod executor;
pub mod kernel;
pub mod lower;
pub mod plan;

mod arena;
mod builder;
mod jit;

pub use compiler::{CpuCompiler, CpuOptions, Emit};
pub use error::CpuError;
pub use executor::CpuExecutor;
pub use kernel::{CpuArg, CpuKernel};
