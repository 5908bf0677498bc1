//! A case of the kernel library: building its kernel, and running it on an executor.

use tegula::ir::exec::{Executor, HostArg};
use tegula::ir::{Function, ScalarType};
use tegula::lang::kernel::{BuildError, BuildOptions};

use crate::cases::Case;
use crate::error::{CliError, Result};
use crate::problem::{Problem, Sizes};

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
    (case.build)(&options, elem).map_err(|e| build_error(&e))
}

/// What keeps a kernel from being built: a choice that it does not have, in one line, or mistakes in the kernel, rendered with
/// their source lines.
pub fn build_error(e: &BuildError) -> CliError {
    if let Some(wrong) = e.wrong_option() {
        let help: String = wrong.help.iter().map(|help| format!("; {help}")).collect();
        return CliError::Usage(format!("`{}`: {}{help}", e.kernel, wrong.message));
    }
    CliError::Failed(e.diagnostics.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n"))
}

/// Refuses a problem that this machine's memory cannot hold. Elements are kept as inputs, as outputs, and in `f64` on their way
/// there and as what is expected.
///
/// # Errors
/// Says what is needed and what there is.
pub fn check_memory(elements: f64, element_bytes: u32) -> Result<()> {
    let needed = elements * (2.0 * f64::from(element_bytes) + 16.0);
    match available_memory() {
        Some(available) if needed > available => Err(CliError::Usage(format!(
            "the tensors and their reference take about {:.1} GB, and {:.1} GB are available; choose smaller sizes",
            needed / 1e9,
            available / 1e9
        ))),
        _ => Ok(()),
    }
}

/// Bytes that can be had without swapping, where the system tells.
fn available_memory() -> Option<f64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}

/// Runs a problem. Gives what the kernel printed.
///
/// # Errors
/// If the executor fails.
pub fn execute(executor: &dyn Executor, f: &Function, problem: &Problem, args: &mut [HostArg]) -> Result<String> {
    problem.grid(f).and_then(|grid| executor.run(f, grid, args)).map_err(|e| CliError::Failed(e.to_string()))
}
