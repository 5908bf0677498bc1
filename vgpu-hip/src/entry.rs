//! What surrounds every function of the interface: failures become codes and the thread's last error, and no panic reaches C.

use crate::status::{Outcome, code, describe, hipError_t};
use std::cell::Cell;
use tegula_vgpu_driver::{ffi, report};

pub use tegula_vgpu_driver::c_interface;
pub use tegula_vgpu_driver::ffi::{Buffer, In, Out, Symbol, Text};

/// What functions return.
pub type Status = hipError_t;

thread_local! {
    static LAST: Cell<hipError_t> = const { Cell::new(hipError_t::SUCCESS) };
}

/// The last error of the thread; it is forgotten if that is wanted.
pub(crate) fn last_error(forget: bool) -> hipError_t {
    if forget { LAST.replace(hipError_t::SUCCESS) } else { LAST.get() }
}

/// Runs the body of a function.
pub(crate) fn guard(name: &str, body: impl FnOnce() -> Outcome) -> Status {
    let code = match ffi::guard(body) {
        Some(Ok(())) => return hipError_t::SUCCESS,
        Some(Err(failure)) => {
            report::log(name, &describe(&failure));
            code(&failure)
        }
        None => hipError_t::UNKNOWN,
    };
    // Work that is not done yet is no error to remember.
    if code != hipError_t::NOT_READY {
        LAST.set(code);
    }
    code
}
