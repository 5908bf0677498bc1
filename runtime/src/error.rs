//! What can go wrong between a program and a device, each with its cause and a way out.

use tegula_ir::diag::Diagnostic;

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
    /// The device has an architecture that Tegula does not compile for.
    #[error("device `{device}` has architecture {architecture}, which is not supported; the nearest is {nearest}")]
    UnsupportedArchitecture {
        /// The device.
        device: String,
        /// Its architecture.
        architecture: String,
        /// The nearest supported architecture.
        nearest: String,
    },
    /// The device has not that much memory left.
    #[error("device `{device}` cannot allocate {asked} bytes; free tensors that are no longer needed")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        asked: usize,
    },
    /// The arguments of a kernel do not fit its parameters.
    #[error("kernel `{kernel}`: {message}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        message: String,
    },
    /// A tensor operation on the host side that is not possible, such as a shape with too few elements.
    #[error("{0}")]
    Tensor(String),
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
        /// What happened, with the place in the source where it is known.
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
}
