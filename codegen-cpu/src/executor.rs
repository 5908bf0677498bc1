//! Kernels on host data: the CPU as an [`Executor`].

use tegula_artifact::cpu::LaunchError;
use tegula_ir::exec::{ExecError, Executor, HostArg, check_args};
use tegula_ir::function::Function;

use crate::compiler::{CpuCompiler, CpuOptions};

/// Compiles and runs kernels on the CPU. Accesses through pointers are checked against the arguments' allocations.
#[derive(Clone, Debug)]
pub struct CpuExecutor {
    compiler: CpuCompiler,
    threads: usize,
}

impl CpuExecutor {
    /// An executor with these options on up to `threads` threads (0: all).
    pub fn new(options: CpuOptions, threads: usize) -> Self {
        let options = CpuOptions { check_pointers: true, ..options };
        Self { compiler: CpuCompiler::new(options), threads }
    }
}

impl Default for CpuExecutor {
    fn default() -> Self {
        Self::new(CpuOptions::default(), 0)
    }
}

impl Executor for CpuExecutor {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        check_args(function, args)?;
        let kernel = self.compiler.compile(function).map_err(|e| ExecError::Compile(e.to_string()))?;
        let result = kernel.launch_host(grid, args, self.threads);
        result.map_err(|e| match e {
            LaunchError::Kernel(d) => ExecError::Kernel(d),
            LaunchError::Arguments(m) => ExecError::BadArguments(m),
        })
    }
}
