//! Object code into this process: no code is generated here.

use std::any::Any;
use std::ffi::c_void;

use tegula_artifact::cpu::abi::KernelFn;
use tegula_artifact::cpu::link::{LinkError, link};
use tegula_artifact::cpu::{CpuInfo, CpuKernel};
use tegula_ir::Function;

use crate::error::CpuError;
use crate::jit::Jit;

/// Links the object code of a function, as [`crate::CpuCompiler::object`] made it for a processor like this one. LLVM's
/// linker takes part only where the object has what [`tegula_artifact::cpu::link`] does not know.
///
/// # Errors
/// [`CpuError::Link`] if the object is not one for this processor, or does not hold the function.
pub fn load(func: &Function, info: CpuInfo, object: &[u8]) -> Result<CpuKernel, CpuError> {
    let (address, code): (*const c_void, Box<dyn Any + Send + Sync>) = match link(object, &info.symbol) {
        Ok(code) => (code.entry(), Box::new(code)),
        Err(LinkError::Unsupported(_)) => {
            let jit = Jit::link(&info.symbol, object)?;
            (jit.address(&info.symbol)?, Box::new(jit))
        }
        Err(e) => return Err(CpuError::Link { kernel: info.symbol, message: e.to_string() }),
    };
    // SAFETY: the compiler made the function of this name with this signature.
    let entry = unsafe { std::mem::transmute::<*const c_void, KernelFn>(address) };
    // SAFETY: the code and what is known of it are of one compilation of this function; `code` keeps it mapped.
    Ok(unsafe { CpuKernel::new(func, info, entry, code) })
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use tegula_artifact::cpu::CpuArg;
    use tegula_ir::text::parse_function;

    use super::*;
    use crate::CpuCompiler;

    /// A kernel whose code has constants, and so relocations.
    fn function() -> Function {
        let text = "kernel @k(%x: view<1d, f32> read, %o: view<1d, f32> write) grid(%o = [8]) {
            %i = program_id 0 : i64
            %b = constant 8 : i64
            %at = mul %i, %b
            %pad = constant 0.0 : f32
            %a = load %x[%at] pad %pad : tile<8xf32>
            %e = exp %a
            store %e, %o[%at]
            return
        }";
        parse_function(text, "k.tile").unwrap_or_else(|e| panic!("{e:?}"))
    }

    #[test]
    fn an_object_is_linked_with_and_without_llvm() {
        let f = function();
        let compiled = CpuCompiler::default().object(&f).expect("it compiles");
        let own = link(&compiled.object, &compiled.info.symbol).expect("everything in it is known");
        let jit = Jit::link(&compiled.info.symbol, &compiled.object).expect("LLVM links it");
        let other = jit.address(&compiled.info.symbol).expect("it has the function");
        assert_ne!(own.entry(), other);
        let kernel = load(&f, compiled.info, &compiled.object).expect("it is linked");
        let (mut x, mut out) = ([0f32; 8], [0f32; 8]);
        let view = |of: &mut [f32; 8]| CpuArg::View { base: of.as_mut_ptr().cast(), extents: &[8], strides: &[1] };
        // SAFETY: both views are of eight elements, and lie apart.
        unsafe { kernel.launch([1, 1, 1], &[view(&mut x), view(&mut out)], 1) }.expect("it runs");
        assert!(out.iter().all(|v| (v - 1.0).abs() < 1e-6), "{out:?}");
    }

    #[test]
    fn damaged_objects_are_errors_or_harmless() {
        let compiled = CpuCompiler::default().object(&function()).expect("it compiles");
        let (object, symbol) = (compiled.object, compiled.info.symbol);
        for at in 0..object.len() {
            for bit in [0, 3, 7] {
                let mut changed = object.clone();
                changed[at] ^= 1 << bit;
                // What comes of it is not run.
                let _ = link(&changed, &symbol);
            }
            assert!(link(&object[..at], &symbol).is_err(), "cut to {at}");
        }
        assert!(matches!(link(&object, "other"), Err(LinkError::Missing(_))));
        assert!(matches!(link(b"not an object", &symbol), Err(LinkError::Malformed(_))));
    }
}
