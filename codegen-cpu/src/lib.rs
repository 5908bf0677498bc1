//! Code generation for the host CPU: Tile IR to native code, just in time.
//!
//! How compiled kernels are called, and launching them, needs no compiler: see [`tegula_artifact::cpu`].
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
//! | [`link`] | object code into this process |
//! | [`executor`] | the CPU as an executor on host data |

pub mod compiler;
pub mod error;
pub mod executor;
pub mod link;
pub mod lower;
pub mod plan;

mod builder;
mod jit;
mod sites;

pub use compiler::{CompiledCpu, CpuCompiler, CpuOptions, Emit, pass_list};
pub use error::CpuError;
pub use executor::CpuExecutor;
pub use link::load;
pub use tegula_artifact::cpu::{CpuArg, CpuKernel, LaunchError, abi};
