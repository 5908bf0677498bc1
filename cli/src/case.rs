//! A case of the kernel library: building its kernel, and running it on an executor.

use tegula::ir::exec::{Executor, HostArg, grid_of};
use tegula::ir::{Function, ScalarType};
use tegula::lang::kernel::BuildOptions;
use tegula_kernels::cases::Case;
use tegula_kernels::problem::{Problem, Sizes};

use crate::error::{CliError, Result};

/// Builds a case's kernel for sizes and an element type; dims chosen in `options` go before those that follow from the
/// sizes.
///
/// # Errors
/// The problems, rendered with their source lines.
pub fn build(options: &BuildOptions, case: &Case, sizes: &Sizes, elem: ScalarType) -> Result<Function> {
    let mut options = options.clone();
    for (name, size) in (case.dims)(sizes) {
        if !options.dims.iter().any(|(n, _)| n == name) {
            options = options.dim(name, size as u32);
        }
    }
    (case.build)(&options, elem)
        .map_err(|e| CliError::Failed(e.diagnostics.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n")))
}

/// Runs a problem. Gives what the kernel printed.
///
/// # Errors
/// If the executor fails.
pub fn execute(executor: &dyn Executor, f: &Function, problem: &Problem, args: &mut [HostArg]) -> Result<String> {
    let failed = |e: tegula::ir::exec::ExecError| CliError::Failed(e.to_string());
    let grid = match problem.grid {
        Some(grid) => grid,
        None => grid_of(f, args).map_err(failed)?.unwrap_or([1, 1, 1]),
    };
    executor.run(f, grid, args).map_err(failed)
}
