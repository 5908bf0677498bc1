//! What surrounds every function of the interface: failures become codes, and no panic reaches C.

use crate::status::{CUresult, Outcome, code};
use tegula_vgpu_driver::{ffi, report};

pub use tegula_vgpu_driver::c_interface;
pub use tegula_vgpu_driver::ffi::{Buffer, In, Out, Symbol, Text};

/// What functions return.
pub type Status = CUresult;

/// Runs the body of a function.
pub(crate) fn guard(name: &str, body: impl FnOnce() -> Outcome) -> Status {
    match ffi::guard(body) {
        Some(Ok(())) => CUresult::SUCCESS,
        Some(Err(failure)) => {
            let code = code(&failure);
            report::log(name, &crate::status::describe(&failure));
            code
        }
        None => CUresult::ERROR_UNKNOWN,
    }
}
