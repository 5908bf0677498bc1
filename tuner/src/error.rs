//! Errors of tuning.

use std::path::PathBuf;

/// Why tuning, or reading its records, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration is not of the form `BM=64 warps=4`.
    #[error("`{text}` is not a configuration: expected names and sizes, as in `BM=64 BN=64 warps=4`")]
    Config {
        /// What was given.
        text: String,
    },
    /// A file of records cannot be read or written.
    #[error("records in {}: {source}; check that the folder exists and can be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file of records is damaged.
    #[error("records in {}: {message}; mend the line or delete the file, and tune again", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// A kernel names nothing to choose from.
    #[error(
        "kernel `{kernel}` has nothing to choose from: write what may be chosen at the kernel, as in `#[kernel(tune(BM \
         = [64, 128], warps = [4, 8]))]`"
    )]
    NothingToTune {
        /// Its name.
        kernel: String,
    },
    /// No candidate gave a right result.
    #[error("none of the {count} candidates of `{kernel}` could be measured; the first failed with: {first}")]
    AllFailed {
        /// Name of the kernel.
        kernel: String,
        /// How many were tried.
        count: usize,
        /// What one of them said.
        first: String,
    },
}

/// The result of tuning.
pub type Result<T> = std::result::Result<T, Error>;
