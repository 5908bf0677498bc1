//! Object code into this process: LLVM's ORC JIT linker.

use std::ffi::{CStr, CString, c_void};

use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetGlobalPrefix,
    LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup, LLVMOrcLLJITRef,
};
use llvm_sys::orc2::{LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess, LLVMOrcJITDylibAddGenerator};

use tegula_codegen::session::initialize_targets;

use crate::error::CpuError;

/// Linked code. Dropping it unmaps the code.
#[derive(Debug)]
pub(crate) struct Jit {
    jit: LLVMOrcLLJITRef,
}

// SAFETY: after `link` the JIT is only read (looked up in) or dropped; ORC's session locks itself.
unsafe impl Send for Jit {}
// SAFETY: as above.
unsafe impl Sync for Jit {}

impl Jit {
    /// Links an object. What it does not define (`memcpy` and its like) is taken from this process.
    pub fn link(name: &str, object: &[u8]) -> Result<Self, CpuError> {
        // Code from a cache is linked without anything having been compiled.
        initialize_targets();
        let failed = |message: String| CpuError::Link { kernel: name.to_owned(), message };
        // SAFETY: every handle is checked before it is used and owned by one side: the session by `Jit`, the buffer
        // and the generator by the session once they have been handed over.
        unsafe {
            let mut jit = std::ptr::null_mut();
            check(LLVMOrcCreateLLJIT(&mut jit, std::ptr::null_mut())).map_err(failed)?;
            let this = Self { jit };
            let library = LLVMOrcLLJITGetMainJITDylib(jit);
            let mut generator = std::ptr::null_mut();
            check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                LLVMOrcLLJITGetGlobalPrefix(jit),
                None,
                std::ptr::null_mut(),
            ))
            .map_err(failed)?;
            LLVMOrcJITDylibAddGenerator(library, generator);
            let c_name = CString::new(name).map_err(|e| failed(e.to_string()))?;
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c_name.as_ptr());
            check(LLVMOrcLLJITAddObjectFile(jit, library, buffer)).map_err(failed)?;
            Ok(this)
        }
    }

    /// Address of a function of the object.
    pub fn address(&self, name: &str) -> Result<*const c_void, CpuError> {
        let failed = |message: String| CpuError::Link { kernel: name.to_owned(), message };
        let c_name = CString::new(name).map_err(|e| failed(e.to_string()))?;
        let mut address = 0;
        // SAFETY: the session is alive, the name is a C string.
        unsafe { check(LLVMOrcLLJITLookup(self.jit, &mut address, c_name.as_ptr())) }.map_err(failed)?;
        Ok(address as usize as *const c_void)
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: the session is disposed of once; an error on the way out has nobody to go to.
        unsafe {
            let _ = check(LLVMOrcDisposeLLJIT(self.jit));
        }
    }
}

/// # Safety
/// `error` must be one that has not been looked at yet.
unsafe fn check(error: LLVMErrorRef) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: taking the message consumes the error; the message is ours to dispose of.
    unsafe {
        let text = LLVMGetErrorMessage(error);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(message)
    }
}
