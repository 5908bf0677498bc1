//! Tile IR to and from MLIR, and its execution through MLIR's own passes.
//!
//! | module | subject |
//! |---|---|
//! | [`session`] | one MLIR context with every upstream dialect and the `tegula` dialect, given in IRDL |
//! | [`export`], [`import`] | the interchange form: func, scf, arith and math where the meaning is theirs, `tegula` ops for the rest; importing gives back the kernel that was exported |
//! | [`lower`] | the executable form: upstream dialects only |
//! | [`run`] | executes the lowered kernel on the CPU: an oracle that shares nothing with Tegula's own lowerings |

pub mod attr;
pub mod codec;
pub mod export;
pub mod import;
pub mod lower;
pub mod run;
pub mod session;
pub mod types;

/// What can go wrong between Tile IR and MLIR.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// Export or lowering does not cover this.
    #[error("the MLIR bridge does not cover {0}")]
    Unsupported(String),
    /// MLIR refused a module, or a pass failed.
    #[error("MLIR: {0}")]
    Mlir(String),
    /// The MLIR is not what the exporter writes.
    #[error("cannot import: {0}")]
    Import(String),
}

impl Error {
    fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }
}
