//! The processor of this machine as a device. A launch runs to its end before it returns.

use std::sync::{Arc, OnceLock};

use tegula_artifact::cpu::{CpuArg, CpuKernel, LaunchError};
use tegula_artifact::{Artifact, Entry, Format};
use tegula_codegen::session::MachineSpec;
use tegula_codegen_cpu::{CpuCompiler, CpuOptions};
use tegula_ir::Function;
use tegula_ir::function::ParamKind;
use tegula_ir::numeric::eval;

use super::host_memory::HostMemory;
use super::{Arg, Backend, CodeTarget, Executable, Memory};
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

    fn code_target(&self) -> Option<CodeTarget> {
        // Code for this very processor: its features decide which instructions there are.
        static HOST: OnceLock<String> = OnceLock::new();
        let details = HOST.get_or_init(|| {
            let host = MachineSpec::host();
            format!("{} {} {}", host.triple, host.cpu, host.features)
        });
        Some(CodeTarget { name: "cpu".into(), details: details.clone() })
    }

    fn compile(&self, function: &Function) -> Result<Artifact> {
        let compiled = self.compiler.object(function).map_err(|e| compile_error(function, e.to_string()))?;
        Ok(Artifact {
            kernel: function.name.clone(),
            target: "cpu".into(),
            format: Format::Object,
            entry: Entry::Cpu(compiled.info),
            code: compiled.object,
        })
    }

    fn load(&self, function: &Function, artifact: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        let Some(Artifact { entry: Entry::Cpu(info), code, .. }) = artifact else {
            return Err(compile_error(function, "the code is not for the CPU".into()));
        };
        let kernel = tegula_codegen_cpu::load(function, info.clone(), code)
            .map_err(|e| compile_error(function, e.to_string()))?;
        let kinds = function.params.iter().map(|p| p.kind.clone()).collect();
        Ok(Arc::new(CpuExecutable { kernel, kinds, threads: self.threads }))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

fn compile_error(function: &Function, message: String) -> Error {
    Error::Compile { kernel: function.name.clone(), target: "cpu".into(), message }
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
    fn error(&self, e: LaunchError) -> Error {
        let kernel = self.kernel.name().to_owned();
        match e {
            LaunchError::Arguments(message) => Error::Argument { kernel, message },
            LaunchError::Kernel(d) => Error::KernelFault { kernel, device: "cpu".into(), message: d.render() },
        }
    }
}
