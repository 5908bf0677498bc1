//! Kernels on host data: the CPU as an [`Executor`].

use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor, check_args};
use tegula_ir::function::{Function, ParamKind};

use crate::compiler::{CpuCompiler, CpuOptions};
use crate::error::CpuError;
use crate::kernel::{CpuArg, CpuKernel};

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
        let kernel = self.compiler.compile(function).map_err(|e| ExecError::Compile(e.to_string()))?;
        let result = kernel.launch_host(grid, args, self.threads);
        result.map_err(|e| match e {
            CpuError::Kernel(d) => ExecError::Kernel(d),
            CpuError::Arguments(m) => ExecError::BadArguments(m),
            e => ExecError::Compile(e.to_string()),
        })
    }
}

impl CpuKernel {
    /// Runs all programs of a grid on tensors in host memory, as [`Self::launch`]; outputs are changed in place.
    ///
    /// # Errors
    /// [`CpuError::Arguments`] if an argument does not fit its parameter, or reaches outside its allocation;
    /// [`CpuError::Kernel`] if an assertion fails.
    pub fn launch_host(&self, grid: [u32; 3], args: &mut [HostArg], threads: usize) -> Result<String, CpuError> {
        for ((name, kind), arg) in self.params().iter().zip(&*args) {
            if let HostArg::Tensor(t) = arg {
                check_extent(name, t).map_err(CpuError::Arguments)?;
            }
            if let (ParamKind::View { elem, .. }, HostArg::Tensor(t)) | (ParamKind::Ptr { elem, .. }, HostArg::Ptr(t)) =
                (kind, arg)
                && t.elem != *elem
            {
                let message = format!("parameter {name} has elements of {elem}, got {}", t.elem);
                return Err(CpuError::Arguments(message));
            }
        }
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
        unsafe { self.launch(grid, &raw, threads) }
    }
}

/// Address of element zero.
fn base(t: &mut HostTensor) -> *mut u8 {
    let bytes = t.elem.memory_bytes().unwrap_or(1) as usize;
    t.data.as_mut_ptr().wrapping_add(t.offset * bytes)
}

/// Whether every element that the extents and strides reach lies in the allocation.
fn check_extent(name: &str, t: &HostTensor) -> Result<(), String> {
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
        return Err(format!(
            "parameter {name}: extents {:?} with strides {:?} reach outside the allocation of {} bytes",
            t.extents,
            t.strides,
            t.data.len()
        ));
    }
    Ok(())
}
