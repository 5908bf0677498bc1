//! Launches on tensors in host memory, with every access inside the arguments' allocations.

use tegula_ir::exec::{HostArg, HostTensor};
use tegula_ir::function::ParamKind;

use super::kernel::{CpuArg, CpuKernel, LaunchError};

impl CpuKernel {
    /// Runs all programs of a grid on tensors in host memory, as [`Self::launch`]; outputs are changed in place.
    ///
    /// # Errors
    /// [`LaunchError::Arguments`] if an argument does not fit its parameter or reaches outside its allocation, or if the
    /// kernel uses pointers and was not compiled to check them;
    /// [`LaunchError::Kernel`] if an assertion or an access through a pointer fails.
    pub fn launch_host(&self, grid: [u32; 3], args: &mut [HostArg], threads: usize) -> Result<String, LaunchError> {
        let mut allocations = Vec::new();
        for ((name, kind), arg) in self.params().iter().zip(&mut *args) {
            if let (ParamKind::View { elem, .. }, HostArg::Tensor(t)) | (ParamKind::Ptr { elem, .. }, HostArg::Ptr(t)) =
                (kind, &mut *arg)
            {
                if t.elem != *elem {
                    let message = format!("parameter {name} has elements of {elem}, got {}", t.elem);
                    return Err(LaunchError::Arguments(message));
                }
                check_alignment(name, t).map_err(LaunchError::Arguments)?;
                allocations.push((t.data.as_mut_ptr(), t.data.len()));
            }
            if let HostArg::Tensor(t) = arg {
                check_extent(name, t).map_err(LaunchError::Arguments)?;
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
        if self.uses_pointers() && !self.checks_pointers() {
            let message =
                format!("{} uses pointers: compile it with check_pointers to run it on host data", self.name());
            return Err(LaunchError::Arguments(message));
        }
        // SAFETY: every view lies within its own allocation (checked above), which nobody else uses while `args` is
        // borrowed; accesses through pointers are checked as they happen. What marks and promises in the kernel itself
        // say of its accesses is for its author and the passes to keep.
        unsafe {
            if self.checks_pointers() {
                self.launch_checked(grid, &raw, &allocations, threads)
            } else {
                self.launch(grid, &raw, threads)
            }
        }
    }
}

/// Address of element zero.
fn base(t: &mut HostTensor) -> *mut u8 {
    let bytes = t.elem.memory_bytes().unwrap_or(1) as usize;
    t.data.as_mut_ptr().wrapping_add(t.offset * bytes)
}

/// Whether elements are where the processor may expect them.
fn check_alignment(name: &str, t: &mut HostTensor) -> Result<(), String> {
    let bytes = t.elem.memory_bytes().unwrap_or(1) as usize;
    if !t.data.is_empty() && !(base(t) as usize).is_multiple_of(bytes) {
        return Err(format!("parameter {name}: its data is not aligned to {bytes} bytes"));
    }
    Ok(())
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
