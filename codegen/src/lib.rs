//! What the targets share: the LLVM session, capability tables and the lowering of laid-out tiles.
//!
//! | module | what lives there |
//! |---|---|
//! | [`gpu`] | lowering of laid-out tiles to per-thread LLVM IR, shared by the GPU families |
//! | [`session`] | LLVM contexts, diagnostics, target machines, optimisation, emission, line tables |
//! | [`elementwise`] | arithmetic and conversions of Tile IR, exact on every target |
//! | [`emit`] | an untyped layer over inkwell's builder |
//! | [`symbol`] | names of kernels in emitted code |
//! | [`target`] | capability tables: what an architecture has, as data |
//!
//! Without the feature `llvm` only the tables are there.

#[cfg(feature = "llvm")]
pub mod elementwise;
#[cfg(feature = "llvm")]
pub mod emit;
#[cfg(feature = "llvm")]
pub mod gpu;
#[cfg(feature = "llvm")]
pub mod session;
pub mod symbol;
pub mod target;

#[cfg(feature = "llvm")]
mod error;

#[cfg(feature = "llvm")]
pub use error::CodegenError;

/// The version of LLVM this program is linked with, such as `22.1.8`.
#[cfg(feature = "llvm")]
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
