//! Kernels on host data: the CPU as an [`Executor`].

use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor, check_args};
use tegula_ir::function::Function;

use crate::compiler::{CpuCompiler, CpuOptions};
use crate::error::CpuError;
use crate::kernel::CpuArg;

/// Compiles and runs kernels on the CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuExecutor {
    compiler: CpuCompiler,
    threads: usize,
}

impl CpuExecutor {
    /// An executor with these options on up to `threads` threads (0: all).
    pub fn new(options: CpuOptions, threads: usize) -> Self {
        Self { compiler: CpuCompiler::new(options), threads }
    }
}

impl Executor for CpuExecutor {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        check_args(function, args)?;
        for (param, arg) in function.params.iter().zip(&*args) {
            if let HostArg::Tensor(t) = arg {
                check_extent(&param.name, t)?;
            }
        }
        let kernel = self.compiler.compile(function).map_err(|e| ExecError::Compile(e.to_string()))?;
        let raw: Vec<CpuArg<'_>> = args
            .iter_mut()
            .map(|arg| match arg {
                HostArg::Tensor(t) => CpuArg::View { base: base(t), extents: &t.extents, strides: &t.strides },
                HostArg::Scalar(v) => CpuArg::Scalar(*v),
                HostArg::Ptr(t) => CpuArg::Ptr(base(t)),
            })
            .collect();
        // SAFETY: every view lies within its own allocation (checked above), which nobody else uses while `args` is
        // borrowed. Accesses through raw pointers are the kernel author's promise.
        let result = unsafe { kernel.launch(grid, &raw, self.threads) };
        result.map_err(|e| match e {
            CpuError::Kernel(d) => ExecError::Kernel(d),
            CpuError::Arguments(m) => ExecError::BadArguments(m),
            e => ExecError::Compile(e.to_string()),
        })
    }
}

/// Address of element zero.
fn base(t: &mut HostTensor) -> *mut u8 {
    let bytes = t.elem.memory_bytes().unwrap_or(1) as usize;
    t.data.as_mut_ptr().wrapping_add(t.offset * bytes)
}

/// Whether every element that the extents and strides reach lies in the allocation.
fn check_extent(name: &str, t: &HostTensor) -> Result<(), ExecError> {
    let bytes = i128::from(t.elem.memory_bytes().unwrap_or(1));
    if t.extents.iter().any(|&e| e <= 0) {
        return Ok(());
    }
    let reach = |positive: bool| -> i128 {
        let spans = t.extents.iter().zip(&t.strides).map(|(&e, &s)| i128::from(e - 1) * i128::from(s));
        spans.filter(|&s| (s > 0) == positive).sum()
    };
    let first = t.offset as i128 + reach(false);
    let end = t.offset as i128 + reach(true) + 1;
    if first < 0 || end * bytes > t.data.len() as i128 {
        return Err(ExecError::BadArguments(format!(
            "parameter {name}: extents {:?} with strides {:?} reach outside the allocation of {} bytes",
            t.extents,
            t.strides,
            t.data.len()
        )));
    }
    Ok(())
}
