//! Memory of other interfaces (Vulkan, Direct3D): there is none to import.

use crate::abi::{DevicePtr, Handle};
use crate::entry::{Out, c_interface};
use crate::status::CUresult;
use std::ffi::c_void;

c_interface! {
    /// Refused: there is nothing that memory could come from.
    fn cuImportExternalMemory(out: Out<Handle>, description: *const c_void) {
        let _ = (out, description);
        Err(CUresult::ERROR_NOT_SUPPORTED.into())
    }

    /// Refused: no such memory can have been imported.
    fn cuExternalMemoryGetMappedBuffer(out: Out<DevicePtr>, memory: Handle, description: *const c_void) {
        let _ = (out, memory, description);
        Err(CUresult::ERROR_INVALID_HANDLE.into())
    }

    /// Refused: no such memory can have been imported.
    fn cuDestroyExternalMemory(memory: Handle) {
        let _ = memory;
        Err(CUresult::ERROR_INVALID_HANDLE.into())
    }
}
