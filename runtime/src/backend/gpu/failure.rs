//! From a failed call of a driver to an error with a way out.

use super::device::Gpu;
use super::driver::{Cause, Driver, Failure};
use crate::error::{CONTEXT_LOST, Error};

impl Gpu {
    /// The error for a call that failed.
    pub(super) fn error(&self, failure: Failure) -> Error {
        let device = self.name.clone();
        match failure.cause() {
            Cause::Fault => {
                let (kernel, others) = self.suspects();
                let others = if others.is_empty() {
                    String::new()
                } else {
                    format!(" (found later, so that it can also have been {})", others.join(", "))
                };
                let message = format!("{}{others}; {CONTEXT_LOST}", explain(failure.code, &failure.text));
                Error::KernelFault { kernel, device, message }
            }
            Cause::Lost => Error::DeviceLost { device, message: failure.text },
            Cause::OutOfMemory => Error::OutOfMemory { device, asked: 0, free: self.free_memory() },
            Cause::TooOld => too_old(&*self.driver, &failure.text),
            _ => Error::Driver { device, call: failure.call.into(), message: failure.text },
        }
    }
}

/// The driver does not take what Tegula gives it.
pub(super) fn too_old(driver: &dyn Driver, found: &str) -> Error {
    Error::DriverTooOld {
        library: driver.library().into(),
        found: format!("version {}, {found}", driver.version()),
        needed: driver.needed().into(),
        help: "install a newer driver from your distribution or the vendor".into(),
    }
}

/// What a fault means, for people.
fn explain(code: i32, text: &str) -> String {
    let what = match code {
        700 => "it accessed memory that is not there; the same kernel on `vgpu:` of this architecture names the access",
        710 => "an assert failed; its message is on standard error",
        702 => "it ran longer than the system lets kernels run on a device with a display",
        714 => "its stack is too small",
        715 => "it has an instruction that the device does not know",
        716 => "it accessed memory at an address that is not aligned",
        719 => "it trapped; the same kernel on `vgpu:` of this architecture tells where",
        _ => return text.to_owned(),
    };
    format!("{what} ({text})")
}
