//! The error type of this crate.

use tegula_lang::kernel::BuildError;

/// Why kernels could not be compiled ahead of time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No target of this name.
    #[error("there is no target `{name}`; {help}")]
    UnknownTarget {
        /// The name.
        name: String,
        /// Those there are.
        help: String,
    },
    /// A kernel could not be built.
    #[error("{}", .0.diagnostics.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n"))]
    Kernel(#[from] BuildError),
    /// A kernel does not compile.
    #[error("kernel `{kernel}` does not compile for {target}:\n{message}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// The target.
        target: String,
        /// What is wrong.
        message: String,
    },
    /// Something that exported code cannot do.
    #[error("kernel `{kernel}` cannot be exported: {message}")]
    Export {
        /// The kernel.
        kernel: String,
        /// What it is.
        message: String,
    },
    /// A file could not be written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// This is not a build script.
    #[error("{0} is not set: this works in build scripts only")]
    NotABuildScript(&'static str),
    /// The objects could not be put into a library.
    #[error("cannot make a library of the compiled kernels: {0}")]
    Library(String),
}
