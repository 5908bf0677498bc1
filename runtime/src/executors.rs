//! Executors by name: everything that runs a kernel on host data, for tests, the command and benchmarks.

use std::sync::Arc;

use tegula_codegen_cpu::{CpuCompiler, CpuExecutor, CpuKernel, CpuOptions};
use tegula_ir::Function;
use tegula_ir::exec::{Executor, HostArg, check_args};
use tegula_ir::interp::Interpreter;
use tegula_ir::text::nearest;

use crate::compiler::Target;
use crate::device::Device;
use crate::dynamic::DeviceExecutor;
use crate::error::{Error, Result};
use crate::virtual_gpu::VirtualGpu;

/// The executor of this name: `interp`, `cpu`, `vgpu:` and an architecture, such as `vgpu:sm_90a`, or a GPU such as
/// `cuda:0`.
///
/// # Errors
/// [`Error::UnknownDevice`] with the nearest name.
pub fn by_name(name: &str) -> Result<Arc<dyn Executor + Send + Sync>> {
    match name {
        "interp" => return Ok(Arc::new(Interpreter::default())),
        "cpu" => return Ok(Arc::new(CpuExecutor::new(CpuOptions::default(), cpu_threads()))),
        _ => {}
    }
    if name.starts_with("cuda:") || name.starts_with("hip:") {
        return Ok(DeviceExecutor::new(Device::open(name)?));
    }
    if let Some(gpu) = name.strip_prefix("vgpu:").and_then(VirtualGpu::new) {
        return Ok(Arc::new(gpu));
    }
    let names = names();
    let near = nearest(name, names.iter().map(String::as_str));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let help = format!("{near}there are: cuda:N, hip:N, {}", names.join(", "));
    Err(Error::UnknownDevice { name: name.into(), help })
}

/// Names that [`by_name`] takes.
pub fn names() -> Vec<String> {
    let gpus = Target::names().into_iter().filter(|n| VirtualGpu::new(n).is_some()).map(|n| format!("vgpu:{n}"));
    ["cpu".to_owned(), "interp".to_owned()].into_iter().chain(gpus).collect()
}

/// Threads that the CPU executor uses.
pub use crate::backend::cpu::threads as cpu_threads;

/// A kernel compiled for the CPU, to be launched again and again on host tensors.
#[derive(Debug)]
pub struct Prepared {
    kernel: CpuKernel,
    function: Function,
}

impl Prepared {
    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`Error::Compile`].
    pub fn cpu(function: &Function) -> Result<Self> {
        let kernel =
            CpuCompiler::new(CpuOptions { check_pointers: true, ..CpuOptions::default() }).compile(function).map_err(
                |e| Error::Compile { kernel: function.name.clone(), target: "cpu".into(), message: e.to_string() },
            )?;
        Ok(Self { kernel, function: function.clone() })
    }

    /// Launches it on all threads; outputs are changed in place.
    ///
    /// # Errors
    /// If the arguments do not fit, or the kernel fails.
    pub fn launch(&self, grid: [u32; 3], args: &mut [HostArg]) -> Result<()> {
        let name = &self.function.name;
        check_args(&self.function, args)
            .map_err(|e| Error::Argument { kernel: name.clone(), message: e.to_string() })?;
        self.kernel.launch_host(grid, args, cpu_threads()).map(drop).map_err(|e| Error::KernelFault {
            kernel: name.clone(),
            device: "cpu".into(),
            message: e.to_string(),
        })
    }
}
