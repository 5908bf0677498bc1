//! What the targets share: the LLVM session, capability tables and the lowering of laid-out tiles.
//!
//! | module | what lives there |
//! |---|---|
//! | [`gpu`] | lowering of laid-out tiles to per-thread LLVM IR, shared by the GPU families |
//! | [`session`] | LLVM contexts, diagnostics, target machines, optimisation, emission, line tables |
//! | [`elementwise`] | arithmetic and conversions of Tile IR, exact on every target |
//! | [`emit`] | an untyped layer over inkwell's builder |
//! | [`target`] | capability tables: what an architecture has, as data |

pub mod elementwise;
pub mod emit;
pub mod gpu;
pub mod session;
pub mod target;

mod error;

pub use error::CodegenError;

/// The version of LLVM this program is linked with, such as `22.1.8`.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
