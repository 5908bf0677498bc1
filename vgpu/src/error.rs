//! Why code was not loaded, or a launch did not run to its end.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A place in the code that a machine runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// File the code was read from, where there is one.
    pub file: Option<String>,
    /// Line in the PTX text, from 1.
    pub line: Option<u32>,
    /// Column in the PTX text, from 1.
    pub column: Option<u32>,
    /// Address of the machine instruction within its code object's text.
    pub address: Option<u64>,
}

impl Location {
    /// A place in PTX text.
    pub fn text(line: u32, column: u32) -> Self {
        Self { line: Some(line), column: Some(column), ..Self::default() }
    }

    /// The address of a machine instruction.
    pub fn code(address: u64) -> Self {
        Self { address: Some(address), ..Self::default() }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
        }
        match (self.line, self.column, self.address) {
            (Some(line), Some(column), _) => write!(f, "{line}:{column}"),
            (Some(line), None, _) => write!(f, "{line}"),
            (None, _, Some(address)) => write!(f, "{address:#x}"),
            (None, _, None) => write!(f, "?"),
        }
    }
}

/// Anything that keeps code from being loaded or from running to its end.
///
/// What the *program* does wrong while it can still go on (a race, a read of memory that nobody wrote) is not an
/// error but a [`Finding`](crate::finding::Finding).
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The text or the code object could not be read.
    #[error("{location}: {message}")]
    Parse {
        /// Where reading stopped.
        location: Location,
        /// What was expected there.
        message: String,
    },
    /// An instruction, or a form of it, that the machine does not have.
    #[error("{location}: unsupported instruction `{instruction}`: {reason}")]
    Unsupported {
        /// The instruction as written.
        instruction: String,
        /// Where it stands.
        location: Location,
        /// What about it is not supported.
        reason: String,
    },
    /// The launch does not fit the kernel or the device.
    #[error("bad launch: {0}")]
    BadLaunch(String),
    /// No progress is possible any more; the text names what every group of waiting warps waits for.
    #[error("deadlock in `{kernel}`, program {program:?}: {detail}")]
    Deadlock {
        /// The kernel.
        kernel: String,
        /// The program (thread block, workgroup) that is stuck.
        program: [u32; 3],
        /// Who waits for what.
        detail: String,
    },
    /// The program executed a trap.
    #[error("{location}: trap executed in `{kernel}`, program {program:?}, thread {thread:?}")]
    Trap {
        /// The kernel.
        kernel: String,
        /// The program (thread block, workgroup).
        program: [u32; 3],
        /// The first thread that trapped.
        thread: [u32; 3],
        /// The trapping instruction.
        location: Location,
    },
    /// The launch went over its instruction limit.
    #[error(
        "`{kernel}`, program {program:?} ran more than {limit} warp instructions; raise Launch::instruction_limit if that is meant"
    )]
    InstructionLimit {
        /// The kernel.
        kernel: String,
        /// The program (thread block, workgroup).
        program: [u32; 3],
        /// The limit.
        limit: u64,
    },
    /// An access after which the program cannot go on: an indirect branch, a call or a descriptor gone wrong.
    #[error("{location}: fault in `{kernel}`, program {program:?}: {detail}")]
    Fault {
        /// The kernel.
        kernel: String,
        /// The program (thread block, workgroup).
        program: [u32; 3],
        /// The instruction.
        location: Location,
        /// What went wrong.
        detail: String,
    },
    /// Device memory could not be allocated, or an address given by the host is not in an allocation.
    #[error("memory: {0}")]
    Memory(String),
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
