//! Initialisation, versions, error names, and the addresses of functions.

use crate::abi::Uuid;
use crate::entry::{In, Out, Text, c_interface};
use crate::state::{initialize, live};
use crate::status::CUresult;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The CUDA version whose driver this stands in for.
pub const DRIVER_VERSION: c_int = 13000;

/// Versions of a function after the first: the later, the better.
const SUFFIXES: [&str; 4] = ["_v4", "_v3", "_v2", ""];

/// A function's address, by its name with or without its version.
fn find(name: &str) -> Option<*const c_void> {
    struct Addresses(HashMap<&'static str, *const c_void>);
    // SAFETY: the addresses are those of functions.
    unsafe impl Send for Addresses {}
    // SAFETY: as above.
    unsafe impl Sync for Addresses {}
    static ADDRESSES: OnceLock<Addresses> = OnceLock::new();
    let addresses = &ADDRESSES.get_or_init(|| Addresses(crate::api::symbols().into_iter().collect())).0;
    SUFFIXES.iter().find_map(|suffix| addresses.get(format!("{name}{suffix}").as_str()).copied())
}

c_interface! {
    /// Makes the devices. Everything else comes after it.
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        initialize()
    }

    /// The version of CUDA.
    fn cuDriverGetVersion(version: Out<c_int>) {
        version.set(DRIVER_VERSION)
    }

    /// The name of an error.
    fn cuGetErrorName(error: CUresult, text: Out<*const c_char>) {
        text.set(error.name().map_or(std::ptr::null(), |name| name.as_ptr()))?;
        error.name().map(drop).ok_or_else(|| CUresult::ERROR_INVALID_VALUE.into())
    }

    /// What an error means.
    fn cuGetErrorString(error: CUresult, text: Out<*const c_char>) {
        text.set(error.text().map_or(std::ptr::null(), |text| text.as_ptr()))?;
        error.text().map(drop).ok_or_else(|| CUresult::ERROR_INVALID_VALUE.into())
    }

    /// The address of a function, the newest version of it. Functions of a thread's default stream are not told apart.
    fn cuGetProcAddress(symbol: Text, function: Out<*const c_void>, version: c_int, flags: u64) {
        let _ = (version, flags);
        let address = find(symbol.get()?);
        function.set(address.unwrap_or(std::ptr::null()))?;
        address.map(drop).ok_or_else(|| CUresult::ERROR_NOT_FOUND.into())
    }

    /// The address of a function, and whether there is one.
    fn cuGetProcAddress_v2(
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
        match address {
            None if status.is_null() => Err(CUresult::ERROR_NOT_FOUND.into()),
            _ => Ok(()),
        }
    }

    /// Tables of functions that are not documented: there are none.
    fn cuGetExportTable(table: Out<*const c_void>, id: In<Uuid>) {
        id.get()?;
        table.set(std::ptr::null())?;
        Err(CUresult::ERROR_NOT_FOUND.into())
    }

    /// Nothing is profiled.
    fn cuProfilerStart() {
        live().map(drop)
    }

    /// Nothing was profiled.
    fn cuProfilerStop() {
        live().map(drop)
    }
}
