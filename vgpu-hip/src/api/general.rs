//! Initialisation, versions, errors, and the addresses of functions.

use crate::entry::{Out, Text, c_interface, last_error};
use crate::state::device;
use crate::status::hipError_t;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The version of HIP that this stands in for: 6.4.
pub const VERSION: c_int = 60_443_484;

fn find(name: &str) -> Option<*const c_void> {
    struct Addresses(HashMap<&'static str, *const c_void>);
    // SAFETY: the addresses are those of functions.
    unsafe impl Send for Addresses {}
    // SAFETY: as above.
    unsafe impl Sync for Addresses {}
    static ADDRESSES: OnceLock<Addresses> = OnceLock::new();
    let all = || {
        let mut all: HashMap<_, _> = crate::api::symbols().into_iter().collect();
        all.insert("hipGetErrorName", hipGetErrorName as *const c_void);
        all.insert("hipGetErrorString", hipGetErrorString as *const c_void);
        Addresses(all)
    };
    ADDRESSES.get_or_init(all).0.get(name).copied()
}

/// The name of an error.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(error: hipError_t) -> *const c_char {
    error.name().as_ptr()
}

/// What an error means.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(error: hipError_t) -> *const c_char {
    error.text().as_ptr()
}

/// The last error of the thread, which is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> hipError_t {
    last_error(true)
}

/// The last error of the thread, which is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn hipExtGetLastError() -> hipError_t {
    last_error(true)
}

/// The last error of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn hipPeekAtLastError() -> hipError_t {
    last_error(false)
}

c_interface! {
    /// Makes the devices, if nothing did before.
    fn hipInit(flags: c_uint) {
        if flags != 0 {
            return Err(hipError_t::INVALID_VALUE.into());
        }
        device(0).map(drop)
    }

    /// The version of the driver.
    fn hipDriverGetVersion(version: Out<c_int>) {
        version.set(VERSION)
    }

    /// The version of the runtime.
    fn hipRuntimeGetVersion(version: Out<c_int>) {
        version.set(VERSION)
    }

    /// The name of an error.
    fn hipDrvGetErrorName(error: hipError_t, text: Out<*const c_char>) {
        text.set(error.name().as_ptr())?;
        if error.is_known() { Ok(()) } else { Err(hipError_t::INVALID_VALUE.into()) }
    }

    /// What an error means.
    fn hipDrvGetErrorString(error: hipError_t, text: Out<*const c_char>) {
        text.set(error.text().as_ptr())?;
        if error.is_known() { Ok(()) } else { Err(hipError_t::INVALID_VALUE.into()) }
    }

    /// The address of a function.
    fn hipGetProcAddress(
        symbol: Text,
        function: Out<*const c_void>,
        version: c_int,
        flags: u64,
        status: Out<c_uint>,
    ) {
        let _ = (version, flags);
        let address = find(symbol.get()?);
        function.set(address.unwrap_or(std::ptr::null()))?;
        status.set_if_wanted(u32::from(address.is_none()));
        address.map(drop).ok_or_else(|| hipError_t::NOT_FOUND.into())
    }

    /// Nothing is profiled.
    fn hipProfilerStart() {
        device(0).map(drop)
    }

    /// Nothing was profiled.
    fn hipProfilerStop() {
        device(0).map(drop)
    }
}
