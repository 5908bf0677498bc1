//! Object code into this process: no code is generated here.

use std::ffi::c_void;

use tegula_artifact::cpu::abi::KernelFn;
use tegula_artifact::cpu::{CpuInfo, CpuKernel};
use tegula_ir::Function;

use crate::error::CpuError;
use crate::jit::Jit;

/// Links the object code of a function, as [`crate::CpuCompiler::object`] made it for a processor like this one.
///
/// # Errors
/// [`CpuError::Link`] if the object is not one for this processor, or does not hold the function.
pub fn load(func: &Function, info: CpuInfo, object: &[u8]) -> Result<CpuKernel, CpuError> {
    let jit = Jit::link(&info.symbol, object)?;
    let address = jit.address(&info.symbol)?;
    // SAFETY: the compiler made the function of this name with this signature.
    let entry = unsafe { std::mem::transmute::<*const c_void, KernelFn>(address) };
    // SAFETY: the code and what is known of it are of one compilation of this function; the JIT keeps it mapped.
    Ok(unsafe { CpuKernel::new(func, info, entry, Box::new(jit)) })
}
