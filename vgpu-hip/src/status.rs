//! Error codes of HIP, their names and texts, and what of this library's errors becomes which.

use std::ffi::CStr;
use tegula_vgpu_driver::error::{CaptureError, Error, Fault};

pub use tegula_vgpu_driver::ffi::{Failure, Outcome};

/// A result of HIP.
#[allow(non_camel_case_types, reason = "the interface's name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct hipError_t(pub u32);

macro_rules! codes {
    ($($constant:ident = $code:literal, $name:literal, $text:literal;)*) => {
        #[allow(missing_docs, reason = "the texts beside them say what they mean")]
        impl hipError_t {
            $(pub const $constant: Self = Self($code);)*
        }

        const CODES: &[(u32, &CStr, &CStr)] = &[$(($code, $name, $text),)*];
    };
}

codes! {
    SUCCESS = 0, c"hipSuccess", c"no error";
    INVALID_VALUE = 1, c"hipErrorInvalidValue", c"invalid argument";
    OUT_OF_MEMORY = 2, c"hipErrorOutOfMemory", c"out of memory";
    NOT_INITIALIZED = 3, c"hipErrorNotInitialized", c"initialization error";
    INVALID_CONFIGURATION = 9, c"hipErrorInvalidConfiguration", c"invalid configuration argument";
    INVALID_SYMBOL = 13, c"hipErrorInvalidSymbol", c"invalid device symbol";
    INVALID_DEVICE_POINTER = 17, c"hipErrorInvalidDevicePointer", c"invalid device pointer";
    INVALID_MEMCPY_DIRECTION = 21, c"hipErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy";
    INVALID_DEVICE_FUNCTION = 98, c"hipErrorInvalidDeviceFunction", c"invalid device function";
    NO_DEVICE = 100, c"hipErrorNoDevice", c"no ROCm-capable device is detected";
    INVALID_DEVICE = 101, c"hipErrorInvalidDevice", c"invalid device ordinal";
    INVALID_IMAGE = 200, c"hipErrorInvalidImage", c"device kernel image is invalid";
    INVALID_CONTEXT = 201, c"hipErrorInvalidContext", c"invalid device context";
    NO_BINARY_FOR_GPU = 209, c"hipErrorNoBinaryForGpu", c"no kernel image is available for execution on the device";
    FILE_NOT_FOUND = 301, c"hipErrorFileNotFound", c"file not found";
    OPERATING_SYSTEM = 304, c"hipErrorOperatingSystem", c"OS call failed or operation not supported on this OS";
    INVALID_HANDLE = 400, c"hipErrorInvalidHandle", c"invalid resource handle";
    ILLEGAL_STATE = 401, c"hipErrorIllegalState", c"the operation cannot be performed in the present state";
    NOT_FOUND = 500, c"hipErrorNotFound", c"named symbol not found";
    NOT_READY = 600, c"hipErrorNotReady", c"device not ready";
    ILLEGAL_ADDRESS = 700, c"hipErrorIllegalAddress", c"an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, c"hipErrorLaunchOutOfResources", c"out of resources";
    LAUNCH_TIMEOUT = 702, c"hipErrorLaunchTimeOut", c"the launch timed out and was terminated";
    PEER_ACCESS_ALREADY_ENABLED = 704, c"hipErrorPeerAccessAlreadyEnabled", c"peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, c"hipErrorPeerAccessNotEnabled", c"peer access has not been enabled";
    CONTEXT_IS_DESTROYED = 709, c"hipErrorContextIsDestroyed", c"context is destroyed";
    ASSERT = 710, c"hipErrorAssert", c"device-side assert triggered";
    HOST_MEMORY_ALREADY_REGISTERED = 712, c"hipErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, c"hipErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region";
    LAUNCH_FAILURE = 719, c"hipErrorLaunchFailure", c"unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, c"hipErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch";
    NOT_SUPPORTED = 801, c"hipErrorNotSupported", c"operation not supported";
    STREAM_CAPTURE_UNSUPPORTED = 900, c"hipErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, c"hipErrorStreamCaptureInvalidated", c"operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE = 902, c"hipErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED = 903, c"hipErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED = 904, c"hipErrorStreamCaptureUnjoined", c"capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, c"hipErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT = 906, c"hipErrorStreamCaptureImplicit", c"operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907, c"hipErrorCapturedEvent", c"operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, c"hipErrorStreamCaptureWrongThread", c"attempt to terminate a thread-local capture sequence from another thread";
    GRAPH_EXEC_UPDATE_FAILURE = 910, c"hipErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    UNKNOWN = 999, c"hipErrorUnknown", c"unknown error";
}

impl hipError_t {
    fn entry(self) -> &'static (u32, &'static CStr, &'static CStr) {
        let found = CODES.iter().find(|(code, _, _)| *code == self.0);
        found.unwrap_or(&(u32::MAX, c"hipErrorUnknown", c"unknown error"))
    }

    /// Its name, such as `hipErrorInvalidValue`.
    pub fn name(self) -> &'static CStr {
        self.entry().1
    }

    /// What it means.
    pub fn text(self) -> &'static CStr {
        self.entry().2
    }

    /// Whether there is such a code.
    pub fn is_known(self) -> bool {
        self.entry().0 == self.0
    }
}

impl From<Fault> for hipError_t {
    fn from(fault: Fault) -> Self {
        match fault {
            // HIP has no code for a wrong alignment: the access is as illegal.
            Fault::IllegalAddress | Fault::MisalignedAddress => Self::ILLEGAL_ADDRESS,
            Fault::Assert => Self::ASSERT,
            Fault::Timeout => Self::LAUNCH_TIMEOUT,
            Fault::IllegalInstruction | Fault::InvalidPc | Fault::LaunchFailed => Self::LAUNCH_FAILURE,
        }
    }
}

impl From<CaptureError> for hipError_t {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Unsupported => Self::STREAM_CAPTURE_UNSUPPORTED,
            CaptureError::Invalidated => Self::STREAM_CAPTURE_INVALIDATED,
            CaptureError::Merge => Self::STREAM_CAPTURE_MERGE,
            CaptureError::Unmatched => Self::STREAM_CAPTURE_UNMATCHED,
            CaptureError::Unjoined => Self::STREAM_CAPTURE_UNJOINED,
            CaptureError::Isolation => Self::STREAM_CAPTURE_ISOLATION,
            CaptureError::Implicit => Self::STREAM_CAPTURE_IMPLICIT,
            CaptureError::CapturedEvent => Self::CAPTURED_EVENT,
            CaptureError::WrongThread => Self::STREAM_CAPTURE_WRONG_THREAD,
        }
    }
}

impl From<&Error> for hipError_t {
    fn from(error: &Error) -> Self {
        match error {
            Error::InvalidValue(_) => Self::INVALID_VALUE,
            Error::InvalidLaunch(_) | Error::InvalidCluster(_) => Self::INVALID_CONFIGURATION,
            Error::InvalidHandle(_) => Self::INVALID_HANDLE,
            Error::InvalidContext => Self::CONTEXT_IS_DESTROYED,
            Error::InvalidDevice => Self::INVALID_DEVICE,
            Error::OutOfMemory { .. } => Self::OUT_OF_MEMORY,
            Error::InvalidPtx(_) | Error::InvalidImage(_) => Self::INVALID_IMAGE,
            Error::NoBinary(_) => Self::NO_BINARY_FOR_GPU,
            Error::Unsupported(_) => Self::NOT_SUPPORTED,
            Error::NotFound(_) => Self::NOT_FOUND,
            Error::NotReady => Self::NOT_READY,
            Error::CooperativeTooLarge { .. } => Self::COOPERATIVE_LAUNCH_TOO_LARGE,
            Error::AlreadyRegistered => Self::HOST_MEMORY_ALREADY_REGISTERED,
            Error::NotRegistered => Self::HOST_MEMORY_NOT_REGISTERED,
            Error::PeerAlreadyEnabled => Self::PEER_ACCESS_ALREADY_ENABLED,
            Error::PeerNotEnabled => Self::PEER_ACCESS_NOT_ENABLED,
            Error::Fault(fault) => (*fault).into(),
            Error::Capture(error) => (*error).into(),
            Error::System(_) => Self::OPERATING_SYSTEM,
            _ => Self::UNKNOWN,
        }
    }
}

impl From<hipError_t> for Failure {
    fn from(code: hipError_t) -> Self {
        Self::Code(code.0)
    }
}

/// The code that the caller gets.
pub fn code(failure: &Failure) -> hipError_t {
    match failure {
        Failure::Code(code) => hipError_t(*code),
        Failure::Error(error) => error.into(),
    }
}

/// A failure for people.
pub fn describe(failure: &Failure) -> String {
    let name = code(failure).name().to_string_lossy();
    match failure {
        Failure::Code(_) => name.into_owned(),
        Failure::Error(error) => format!("{name}: {error}"),
    }
}
