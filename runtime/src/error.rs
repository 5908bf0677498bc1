//! What can go wrong between a program and a device, each with its cause and a way out.

use std::fmt;

use tegula_ir::diag::Diagnostic;

use crate::tensor_map::TensorMapError;

/// An error of the runtime.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No device of this name.
    #[error("there is no device `{name}`; {help}")]
    UnknownDevice {
        /// The name asked for.
        name: String,
        /// The devices there are, or the nearest name.
        help: String,
    },
    /// No target of this name.
    #[error("there is no target `{name}`; {help}")]
    UnknownTarget {
        /// The name asked for.
        name: String,
        /// The nearest name, or all of them.
        help: String,
    },
    /// The driver library of a kind of device is not installed.
    #[error("no {library}: {help}")]
    NoDriver {
        /// The library that was looked for.
        library: String,
        /// How to get it.
        help: String,
    },
    /// The driver is older than what Tegula needs.
    #[error("the driver {library} is too old: {found}, and {needed} is needed; {help}")]
    DriverTooOld {
        /// The library.
        library: String,
        /// What it is or lacks.
        found: String,
        /// What is needed.
        needed: String,
        /// How to get it.
        help: String,
    },
    /// There is a driver, but no device of this number behind it.
    #[error("there is no device `{name}`: the driver has {count}; {help}")]
    NoDevice {
        /// The name asked for.
        name: String,
        /// How many devices the driver has.
        count: u32,
        /// What to look at.
        help: String,
    },
    /// The device has an architecture that Tegula does not compile for.
    #[error("device `{device}` has architecture {architecture}, which is not supported; the nearest is {nearest}")]
    UnsupportedArchitecture {
        /// The device.
        device: String,
        /// Its architecture.
        architecture: String,
        /// The nearest supported architectures.
        nearest: String,
    },
    /// The device has not that much memory left.
    #[error("device `{device}` cannot allocate {}{}; {}", Asked(*.asked), Free(*.free), advice(*.asked, *.free))]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for; 0 where the driver needs them for itself, as for code and stacks, and does not tell how many.
        asked: usize,
        /// Bytes that are free, where the device tells.
        free: Option<usize>,
    },
    /// The arguments of a kernel do not fit its parameters.
    #[error("kernel `{kernel}`: {message}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        message: String,
    },
    /// An operation on tensors or streams that is not possible, such as a shape with too few elements.
    #[error("{0}")]
    Tensor(String),
    /// There can be no such tensor map.
    #[error("there is no tensor map of the tensor: {0}")]
    TensorMap(#[from] TensorMapError),
    /// The kernel could not be built or compiled.
    #[error("kernel `{kernel}` does not compile for {target}:\n{message}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// What it was compiled for.
        target: String,
        /// The problems, rendered with the lines of source they belong to.
        message: String,
    },
    /// The kernel would have to be compiled, and this program has no compiler.
    #[error(
        "kernel `{kernel}` is not embedded for {target} and such arguments, and this program has no compiler; add it to \
         the build script's list, or build with the feature `compiler`"
    )]
    NoCompiler {
        /// The kernel.
        kernel: String,
        /// What it would have to be compiled for.
        target: String,
    },
    /// The launch asks for more than the device has.
    #[error("kernel `{kernel}` cannot be launched: {limit}")]
    InvalidLaunch {
        /// The kernel.
        kernel: String,
        /// Which limit, what was asked and what there is.
        limit: String,
    },
    /// The kernel did something wrong while it ran: a failed assert, a fault, a sanitizer finding.
    #[error("kernel `{kernel}` failed on `{device}`: {message}")]
    KernelFault {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// What happened, with the place in the source where it is known, and whether the device's context is lost.
        message: String,
    },
    /// The device is gone: it fell off the bus, its memory failed, or its driver was reset.
    #[error("device `{device}` is lost: {message}; restart the program, and the machine if it happens again")]
    DeviceLost {
        /// The device.
        device: String,
        /// What the driver says.
        message: String,
    },
    /// A call of the driver failed for a reason that none of the others names.
    #[error("device `{device}`: {call} failed: {message}")]
    Driver {
        /// The device.
        device: String,
        /// The driver's function.
        call: String,
        /// What the driver says.
        message: String,
    },
}

/// The runtime's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A compile error from the problems found.
    pub fn compile(kernel: &str, target: &str, diagnostics: &[Diagnostic]) -> Self {
        let message = diagnostics.iter().map(Diagnostic::render).collect::<Vec<_>>().join("\n");
        Self::Compile { kernel: kernel.into(), target: target.into(), message }
    }

    /// Whether the device can take no more work in this process.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::DeviceLost { .. } => true,
            Self::KernelFault { message, .. } => message.ends_with(CONTEXT_LOST),
            _ => false,
        }
    }
}

/// How the message of a fault ends after which the device takes no more work.
pub(crate) const CONTEXT_LOST: &str =
    "the device's context is lost, and every later call on this device fails: restart the program";

struct Asked(usize);

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("what the driver needs itself"),
            n => write!(f, "{n} bytes"),
        }
    }
}

struct Free(Option<usize>);

impl fmt::Display for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |free| write!(f, " ({free} are free)"))
    }
}

/// What to do when memory is out.
fn advice(asked: usize, free: Option<usize>) -> &'static str {
    match free {
        Some(free) if asked > 0 && free >= asked => "what is free is in pieces: drop tensors, then call `Device::trim`",
        _ => "drop tensors that are no longer needed, or use a smaller batch",
    }
}
