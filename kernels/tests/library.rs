//! Every kernel of the library, on every executor, at small, odd and prime sizes, in every element type, against the
//! `f64` references. One test for each kernel, element type and executor.
//!
//! The virtual GPUs run machine code one instruction at a time, with the sanitizer on; they take the smaller sizes, and some
//! of them one element type, unless `TEGULA_FULL=1` is set.

use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula::ir::ScalarType;
use tegula::ir::exec::Executor;
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::executors;
use tegula_kernels::cases::{CASES, Case};
use tegula_kernels::problem::Sizes;

const EXECUTORS: &[&str] = &["interp", "cpu", "vgpu:sm_80", "vgpu:sm_90a", "vgpu:gfx942"];

/// Executors of which one element type of each kernel is enough, as others are like them.
const FURTHER_EXECUTORS: &[&str] = &["vgpu:sm_86", "vgpu:sm_89", "vgpu:gfx950", "vgpu:gfx1100", "vgpu:gfx1201"];

/// Elements of all tensors together beyond which the virtual GPUs skip a size.
const VGPU_ELEMENTS: usize = 6_000;

fn main() {
    let args = Arguments::from_args();
    let full = std::env::var_os("TEGULA_FULL").is_some();
    let mut trials = Vec::new();
    for name in EXECUTORS.iter().chain(FURTHER_EXECUTORS) {
        let executor = executors::by_name(name).expect("the executor exists");
        let types = if full || EXECUTORS.contains(name) { usize::MAX } else { 1 };
        for case in CASES {
            for &elem in case.elems.iter().take(types) {
                let executor = executor.clone();
                trials.push(Trial::test(format!("{name}::{}::{elem}", case.name()), move || {
                    for sizes in case.all_test_sizes() {
                        check(case, &sizes, elem, &executor, full)
                            .map_err(|e| format!("{sizes:?}: {}", e.message().unwrap_or_default()))?;
                    }
                    Ok(())
                }));
            }
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

fn check(
    case: &Case,
    sizes: &Sizes,
    elem: ScalarType,
    executor: &Arc<dyn Executor + Send + Sync>,
    full: bool,
) -> Result<(), Failed> {
    let problem = (case.problem)(sizes, elem, 7);
    if !full && executor.name().starts_with("vgpu") && problem.bytes as usize / elem.bits() as usize * 8 > VGPU_ELEMENTS
    {
        return Ok(());
    }
    let mut options = BuildOptions::default();
    for (name, size) in (case.dims)(sizes) {
        options = options.dim(name, size as u32);
    }
    let function = (case.build)(&options, elem)
        .map_err(|e| e.diagnostics.iter().map(|d| d.render()).collect::<Vec<_>>().join("\n"))?;
    let mut args = problem.args.clone();
    executor.run(&function, problem.grid(&function)?, &mut args)?;
    problem.check(&args)?;
    Ok(())
}
