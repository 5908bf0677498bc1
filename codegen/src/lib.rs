//! What the targets share: the LLVM session, capability tables and the lowering of laid-out tiles.
//!
//! | module | what lives there |
//! |---|---|
//! | [`session`] | LLVM contexts, diagnostics, target machines, optimisation, emission, line tables |
//! | [`target`] | capability tables: what an architecture has, as data |

pub mod session;
pub mod target;

mod error;

pub use error::CodegenError;
