//! Error codes of the driver API, their names and texts, and what of this library's errors becomes which.

use std::ffi::CStr;
use tegula_vgpu_driver::error::{CaptureError, Error, Fault};

pub use tegula_vgpu_driver::ffi::{Failure, Outcome};

/// A result of the driver API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CUresult(pub u32);

macro_rules! codes {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        #[allow(missing_docs, reason = "the names are the interface's, and the texts beside them say what they mean")]
        impl CUresult {
            $(pub const $name: Self = Self($code);)*
        }

        const CODES: &[(u32, &CStr, &CStr)] = &[
            $(($code, match CStr::from_bytes_with_nul(concat!("CUDA_", stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            }, $text),)*
        ];
    };
}

codes! {
    SUCCESS = 0, c"no error";
    ERROR_INVALID_VALUE = 1, c"invalid argument";
    ERROR_OUT_OF_MEMORY = 2, c"out of memory";
    ERROR_NOT_INITIALIZED = 3, c"initialization error";
    ERROR_DEINITIALIZED = 4, c"driver shutting down";
    ERROR_NO_DEVICE = 100, c"no CUDA-capable device is detected";
    ERROR_INVALID_DEVICE = 101, c"invalid device ordinal";
    ERROR_INVALID_IMAGE = 200, c"device kernel image is invalid";
    ERROR_INVALID_CONTEXT = 201, c"invalid device context";
    ERROR_NO_BINARY_FOR_GPU = 209, c"no kernel image is available for execution on the device";
    ERROR_UNSUPPORTED_LIMIT = 215, c"limit is not supported on this architecture";
    ERROR_PEER_ACCESS_UNSUPPORTED = 217, c"peer access is not supported between these two devices";
    ERROR_INVALID_PTX = 218, c"a PTX JIT compilation failed";
    ERROR_UNSUPPORTED_PTX_VERSION = 222, c"the provided PTX was compiled with an unsupported toolchain.";
    ERROR_INVALID_SOURCE = 300, c"device kernel image is invalid";
    ERROR_FILE_NOT_FOUND = 301, c"file not found";
    ERROR_OPERATING_SYSTEM = 304, c"OS call failed or operation not supported on this OS";
    ERROR_INVALID_HANDLE = 400, c"invalid resource handle";
    ERROR_ILLEGAL_STATE = 401, c"the operation cannot be performed in the present state";
    ERROR_NOT_FOUND = 500, c"named symbol not found";
    ERROR_NOT_READY = 600, c"device not ready";
    ERROR_ILLEGAL_ADDRESS = 700, c"an illegal memory access was encountered";
    ERROR_LAUNCH_OUT_OF_RESOURCES = 701, c"too many resources requested for launch";
    ERROR_LAUNCH_TIMEOUT = 702, c"the launch timed out and was terminated";
    ERROR_PEER_ACCESS_ALREADY_ENABLED = 704, c"peer access is already enabled";
    ERROR_PEER_ACCESS_NOT_ENABLED = 705, c"peer access has not been enabled";
    ERROR_PRIMARY_CONTEXT_ACTIVE = 708, c"cannot set while device is active in this process";
    ERROR_CONTEXT_IS_DESTROYED = 709, c"context is destroyed";
    ERROR_ASSERT = 710, c"device-side assert triggered";
    ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712, c"part or all of the requested memory range is already mapped";
    ERROR_HOST_MEMORY_NOT_REGISTERED = 713, c"pointer does not correspond to a registered memory region";
    ERROR_ILLEGAL_INSTRUCTION = 715, c"an illegal instruction was encountered";
    ERROR_MISALIGNED_ADDRESS = 716, c"misaligned address";
    ERROR_INVALID_PC = 718, c"invalid program counter";
    ERROR_LAUNCH_FAILED = 719, c"unspecified launch failure";
    ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720, c"too many blocks in cooperative launch";
    ERROR_NOT_PERMITTED = 800, c"operation not permitted";
    ERROR_NOT_SUPPORTED = 801, c"operation not supported";
    ERROR_STREAM_CAPTURE_UNSUPPORTED = 900, c"operation not permitted when stream is capturing";
    ERROR_STREAM_CAPTURE_INVALIDATED = 901, c"operation failed due to a previous error during capture";
    ERROR_STREAM_CAPTURE_MERGE = 902, c"operation would result in a merge of separate capture sequences";
    ERROR_STREAM_CAPTURE_UNMATCHED = 903, c"capture was not ended in the same stream as it began";
    ERROR_STREAM_CAPTURE_UNJOINED = 904, c"capturing stream has unjoined work";
    ERROR_STREAM_CAPTURE_ISOLATION = 905, c"dependency created on uncaptured work in another stream";
    ERROR_STREAM_CAPTURE_IMPLICIT = 906, c"operation would make the legacy stream depend on a capturing blocking stream";
    ERROR_CAPTURED_EVENT = 907, c"operation not permitted on an event last recorded in a capturing stream";
    ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, c"attempt to terminate a thread-local capture sequence from another thread";
    ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910, c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    ERROR_INVALID_CLUSTER_SIZE = 912, c"a cluster size the device or the kernel does not allow";
    ERROR_UNKNOWN = 999, c"unknown error";
}

impl CUresult {
    fn entry(self) -> Option<&'static (u32, &'static CStr, &'static CStr)> {
        CODES.iter().find(|(code, _, _)| *code == self.0)
    }

    /// Its name, such as `CUDA_ERROR_INVALID_VALUE`.
    pub fn name(self) -> Option<&'static CStr> {
        self.entry().map(|(_, name, _)| *name)
    }

    /// What it means.
    pub fn text(self) -> Option<&'static CStr> {
        self.entry().map(|(_, _, text)| *text)
    }
}

impl From<Fault> for CUresult {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::IllegalAddress => Self::ERROR_ILLEGAL_ADDRESS,
            Fault::MisalignedAddress => Self::ERROR_MISALIGNED_ADDRESS,
            Fault::IllegalInstruction => Self::ERROR_ILLEGAL_INSTRUCTION,
            Fault::InvalidPc => Self::ERROR_INVALID_PC,
            Fault::Assert => Self::ERROR_ASSERT,
            Fault::LaunchFailed => Self::ERROR_LAUNCH_FAILED,
            Fault::Timeout => Self::ERROR_LAUNCH_TIMEOUT,
        }
    }
}

impl From<CaptureError> for CUresult {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Unsupported => Self::ERROR_STREAM_CAPTURE_UNSUPPORTED,
            CaptureError::Invalidated => Self::ERROR_STREAM_CAPTURE_INVALIDATED,
            CaptureError::Merge => Self::ERROR_STREAM_CAPTURE_MERGE,
            CaptureError::Unmatched => Self::ERROR_STREAM_CAPTURE_UNMATCHED,
            CaptureError::Unjoined => Self::ERROR_STREAM_CAPTURE_UNJOINED,
            CaptureError::Isolation => Self::ERROR_STREAM_CAPTURE_ISOLATION,
            CaptureError::Implicit => Self::ERROR_STREAM_CAPTURE_IMPLICIT,
            CaptureError::CapturedEvent => Self::ERROR_CAPTURED_EVENT,
            CaptureError::WrongThread => Self::ERROR_STREAM_CAPTURE_WRONG_THREAD,
        }
    }
}

impl From<&Error> for CUresult {
    fn from(error: &Error) -> Self {
        match error {
            Error::InvalidValue(_) | Error::InvalidLaunch(_) => Self::ERROR_INVALID_VALUE,
            Error::InvalidHandle(_) => Self::ERROR_INVALID_HANDLE,
            Error::InvalidContext => Self::ERROR_CONTEXT_IS_DESTROYED,
            Error::InvalidDevice => Self::ERROR_INVALID_DEVICE,
            Error::OutOfMemory { .. } => Self::ERROR_OUT_OF_MEMORY,
            Error::InvalidPtx(_) => Self::ERROR_INVALID_PTX,
            Error::InvalidImage(_) => Self::ERROR_INVALID_IMAGE,
            Error::NoBinary(_) => Self::ERROR_NO_BINARY_FOR_GPU,
            Error::Unsupported(_) => Self::ERROR_NOT_SUPPORTED,
            Error::NotFound(_) => Self::ERROR_NOT_FOUND,
            Error::NotReady => Self::ERROR_NOT_READY,
            Error::CooperativeTooLarge { .. } => Self::ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            Error::InvalidCluster(_) => Self::ERROR_INVALID_CLUSTER_SIZE,
            Error::AlreadyRegistered => Self::ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            Error::NotRegistered => Self::ERROR_HOST_MEMORY_NOT_REGISTERED,
            Error::PeerAlreadyEnabled => Self::ERROR_PEER_ACCESS_ALREADY_ENABLED,
            Error::PeerNotEnabled => Self::ERROR_PEER_ACCESS_NOT_ENABLED,
            Error::Fault(fault) => (*fault).into(),
            Error::Capture(error) => (*error).into(),
            Error::System(_) => Self::ERROR_OPERATING_SYSTEM,
            _ => Self::ERROR_UNKNOWN,
        }
    }
}

impl From<CUresult> for Failure {
    fn from(code: CUresult) -> Self {
        Self::Code(code.0)
    }
}

/// The code that the caller gets.
pub fn code(failure: &Failure) -> CUresult {
    match failure {
        Failure::Code(code) => CUresult(*code),
        Failure::Error(error) => error.into(),
    }
}

/// A failure for people.
pub fn describe(failure: &Failure) -> String {
    let name = code(failure).name().unwrap_or_default().to_string_lossy();
    match failure {
        Failure::Code(_) => name.into_owned(),
        Failure::Error(error) => format!("{name}: {error}"),
    }
}
