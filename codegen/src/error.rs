//! The error type of code generation.

use std::fmt;
use std::path::PathBuf;

use tegula_ir::pass::PassError;
use thiserror::Error;

use crate::session::{Diagnostic, Phase};
use crate::target::UnknownTarget;

/// Why code could not be generated.
#[derive(Debug, Error)]
pub enum CodegenError {
    /// The name is not a target that Tegula knows.
    #[error(transparent)]
    UnknownTarget(#[from] UnknownTarget),

    /// This build of LLVM cannot make code for the target.
    #[error("LLVM cannot generate code for `{triple}` ({cpu}): {message}")]
    TargetUnavailable {
        /// The target triple.
        triple: String,
        /// The processor name.
        cpu: String,
        /// What LLVM said.
        message: String,
    },

    /// An operation that the target has no way to do.
    #[error("{location}: `{op}` {what} is not supported on {target}; {way_out}")]
    Unsupported {
        /// Source location of the operation.
        location: String,
        /// The operation.
        op: String,
        /// The part of it that is not supported, such as an element type.
        what: String,
        /// The target's name.
        target: String,
        /// What to write instead.
        way_out: String,
    },

    /// A kernel needs more shared memory than a program may have.
    #[error(
        "kernel `{kernel}` needs {needed} bytes of shared memory with {num_warps} warps, but {target} has {limit} a \
         program; use smaller tiles or fewer stages"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes needed.
        needed: u64,
        /// The target's limit in bytes.
        limit: u64,
        /// Warps in a program.
        num_warps: u32,
        /// The target's name.
        target: String,
    },

    /// A kernel takes more arguments than a launch can pass.
    #[error(
        "kernel `{kernel}` takes {needed} bytes of arguments, but a launch on {target} passes at most {limit}; a tensor of \
         rank r takes 8 + 16 r: put several into one with a further axis"
    )]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Bytes needed.
        needed: u32,
        /// The target's limit in bytes.
        limit: u32,
        /// The target's name.
        target: String,
    },

    /// A launch option is out of the target's range.
    #[error("{option} = {value} is not possible on {target}: {reason}")]
    InvalidOption {
        /// The option's name.
        option: &'static str,
        /// The value given.
        value: String,
        /// The target's name.
        target: String,
        /// Why, and what is possible.
        reason: String,
    },

    /// LLVM reported errors while it worked on the module.
    #[error("LLVM failed in {phase} of `{kernel}`: {}", join_diagnostics(.diagnostics))]
    Llvm {
        /// The kernel.
        kernel: String,
        /// The phase that failed.
        phase: Phase,
        /// What LLVM reported, errors first.
        diagnostics: Vec<Diagnostic>,
    },

    /// The lowering made invalid LLVM IR: a bug in Tegula.
    #[error("the LLVM IR made for `{kernel}` is invalid (this is a bug in Tegula): {message}")]
    InvalidModule {
        /// The kernel.
        kernel: String,
        /// The verifier's message.
        message: String,
    },

    /// The Tile IR given to the lowering breaks a rule that earlier passes should have ensured.
    #[error("{location}: {message}")]
    InvalidInput {
        /// Source location of the operation.
        location: String,
        /// Which rule, and what was found.
        message: String,
    },

    /// A pass before the lowering refused the function.
    #[error("{0}")]
    Pass(#[from] PassError),

    /// A code object could not be linked.
    #[error("linking the code object of `{kernel}` failed: {message}")]
    Link {
        /// The kernel.
        kernel: String,
        /// What the linker said.
        message: String,
    },

    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

fn join_diagnostics(diagnostics: &[Diagnostic]) -> impl fmt::Display {
    let texts: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    if texts.is_empty() { "no message given".to_owned() } else { texts.join("; ") }
}
