//! The processor of this machine as a device. A launch runs to its end before it returns.

use std::sync::Arc;

use tegula_codegen_cpu::{CpuArg, CpuCompiler, CpuError, CpuKernel, CpuOptions};
use tegula_ir::Function;
use tegula_ir::function::ParamKind;
use tegula_ir::numeric::eval;

use super::host_memory::HostMemory;
use super::{Arg, Backend, Executable, Memory};
use crate::error::{Error, Result};

/// The CPU device.
pub struct CpuBackend {
    compiler: CpuCompiler,
    threads: usize,
}

impl CpuBackend {
    /// A device that runs programs on this many threads.
    pub fn new(threads: usize) -> Self {
        Self { compiler: CpuCompiler::new(CpuOptions::default()), threads }
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        "cpu"
    }

    fn description(&self) -> String {
        format!("this machine's processor, {} threads", self.threads)
    }

    fn target(&self) -> &str {
        "cpu"
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>> {
        Ok(Arc::new(HostMemory::new("cpu", bytes)?))
    }

    fn compile(&self, function: &Function) -> Result<Arc<dyn Executable>> {
        let kernel = self.compiler.compile(function).map_err(|e| Error::Compile {
            kernel: function.name.clone(),
            target: "cpu".into(),
            message: e.to_string(),
        })?;
        let kinds = function.params.iter().map(|p| p.kind.clone()).collect();
        Ok(Arc::new(CpuExecutable { kernel, kinds, threads: self.threads }))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

struct CpuExecutable {
    kernel: CpuKernel,
    kinds: Vec<ParamKind>,
    threads: usize,
}

impl Executable for CpuExecutable {
    fn launch(&self, grid: [u32; 3], args: &[Arg]) -> Result<()> {
        let address = |memory: &dyn Memory, offset: usize| (memory.address() as usize + offset) as *mut u8;
        let raw: Vec<CpuArg<'_>> = args
            .iter()
            .zip(&self.kinds)
            .map(|(arg, kind)| match (arg, kind) {
                (Arg::View { memory, offset, extents, strides, .. }, _) => {
                    CpuArg::View { base: address(&**memory, *offset), extents, strides }
                }
                (Arg::Ptr { memory, offset }, _) => CpuArg::Ptr(address(&**memory, *offset)),
                (Arg::Scalar(bits), ParamKind::Scalar { elem, .. }) => CpuArg::Scalar(eval::from_bits(*elem, *bits)),
                // An address that the caller of an unsafe kernel vouches for.
                (Arg::Scalar(bits), _) => CpuArg::Ptr(*bits as usize as *mut u8),
            })
            .collect();
        // SAFETY: views come from tensors, whose extents and strides lie within their block; the launch holds the
        // blocks through `args`. The properties in the views' specs were read off these very arguments. Launches on one
        // tensor from several threads are a race that safe callers can have, as with any device: it gives wrong
        // numbers, and stays within the blocks.
        let printed = unsafe { self.kernel.launch(grid, &raw, self.threads) };
        print!("{}", printed.map_err(|e| self.error(e))?);
        Ok(())
    }
}

impl CpuExecutable {
    fn error(&self, e: CpuError) -> Error {
        let kernel = self.kernel.name().to_owned();
        match e {
            CpuError::Arguments(message) => Error::Argument { kernel, message },
            CpuError::Kernel(d) => Error::KernelFault { kernel, device: "cpu".into(), message: d.render() },
            other => Error::KernelFault { kernel, device: "cpu".into(), message: other.to_string() },
        }
    }
}
