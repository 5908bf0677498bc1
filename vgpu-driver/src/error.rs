//! Why a call failed. Each stand-in turns these into its interface's codes.

use thiserror::Error;

/// What lost a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A load or store outside every allocation.
    #[error("an illegal memory access was encountered")]
    IllegalAddress,
    /// A load or store at an address that its width does not divide.
    #[error("misaligned address")]
    MisalignedAddress,
    /// An instruction with operands that the hardware refuses.
    #[error("an illegal instruction was encountered")]
    IllegalInstruction,
    /// A call or branch to somewhere without code.
    #[error("invalid program counter")]
    InvalidPc,
    /// A device-side assertion.
    #[error("device-side assert triggered")]
    Assert,
    /// Anything else, a trap among it.
    #[error("unspecified launch failure")]
    LaunchFailed,
    /// No progress, or too many instructions.
    #[error("the launch timed out and was terminated")]
    Timeout,
}

/// Why a stream cannot be captured so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CaptureError {
    /// The operation cannot be captured, or is not allowed while something is captured.
    #[error("operation not permitted when stream is capturing")]
    Unsupported,
    /// The capture had failed before.
    #[error("operation failed due to a previous error during capture")]
    Invalidated,
    /// Two captures would become one.
    #[error("operation would result in a merge of separate capture sequences")]
    Merge,
    /// The capture does not end where it began.
    #[error("capture was not ended in the same stream as it began")]
    Unmatched,
    /// Work forked from the capturing stream was not joined to it again.
    #[error("capturing stream has unjoined work")]
    Unjoined,
    /// A dependency that goes out of the capture, or into it.
    #[error("dependency created on uncaptured work in another stream")]
    Isolation,
    /// The legacy stream would wait for the capture.
    #[error("operation would make the legacy stream depend on a capturing blocking stream")]
    Implicit,
    /// The event was recorded in a capture, and has no state outside it.
    #[error("operation not permitted on an event last recorded in a capturing stream")]
    CapturedEvent,
    /// A capture local to a thread is ended by another one.
    #[error("attempt to terminate a thread-local capture sequence from another thread")]
    WrongThread,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument makes no sense.
    #[error("invalid argument: {0}")]
    InvalidValue(String),
    /// A launch that the kernel or the device does not allow.
    #[error("invalid launch: {0}")]
    InvalidLaunch(String),
    /// No such handle.
    #[error("invalid handle: {0}")]
    InvalidHandle(&'static str),
    /// No context is current, or it was destroyed.
    #[error("invalid device context")]
    InvalidContext,
    /// No such device.
    #[error("invalid device ordinal")]
    InvalidDevice,
    /// Device memory is used up.
    #[error("out of memory: {asked} bytes asked for, {free} free")]
    OutOfMemory {
        /// What was asked for.
        asked: u64,
        /// What there was.
        free: u64,
    },
    /// The text of a module has an error; the log tells which.
    #[error("a PTX JIT compilation failed: {0}")]
    InvalidPtx(String),
    /// A code object that cannot be read.
    #[error("device kernel image is invalid: {0}")]
    InvalidImage(String),
    /// The code is for another device.
    #[error("no kernel image is available for execution on the device: {0}")]
    NoBinary(String),
    /// An instruction that the virtual GPU does not have.
    #[error("not supported by the virtual GPU: {0}")]
    Unsupported(String),
    /// A name that is not there.
    #[error("named symbol not found: {0}")]
    NotFound(String),
    /// The work is not done yet.
    #[error("device not ready")]
    NotReady,
    /// More blocks than are resident at a time, in a cooperative launch.
    #[error("too many blocks in cooperative launch: {blocks}, at most {most} are resident")]
    CooperativeTooLarge {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks that the device holds.
        most: u64,
    },
    /// A cluster of an extent that the device or the kernel does not allow.
    #[error("invalid cluster size: {0}")]
    InvalidCluster(String),
    /// Memory that is page-locked already.
    #[error("part or all of the requested memory range is already mapped")]
    AlreadyRegistered,
    /// Memory that is not page-locked.
    #[error("pointer does not correspond to a registered memory region")]
    NotRegistered,
    /// Peer access is there already.
    #[error("peer access is already enabled")]
    PeerAlreadyEnabled,
    /// Peer access is not there.
    #[error("peer access has not been enabled")]
    PeerNotEnabled,
    /// The context is lost: what a kernel did wrong before.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// A rule of capturing is broken.
    #[error("{0}")]
    Capture(#[from] CaptureError),
    /// A thread could not be started, a file not be read.
    #[error("OS call failed: {0}")]
    System(String),
}

impl Error {
    /// An argument makes no sense.
    pub fn value(message: impl Into<String>) -> Self {
        Self::InvalidValue(message.into())
    }
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
