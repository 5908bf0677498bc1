//! Every kernel of the library on the device, against its reference.

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tegula::Device;
use tegula::ir::ScalarType;
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::dynamic::DeviceExecutor;
#[cfg(feature = "compiler")]
use tegula::runtime::dynamic::DynKernel;
use tegula_kernels::cases::Case;
use tegula_kernels::problem::Sizes;

use crate::Library;
use crate::args::SessionArgs;
use crate::case::{build, execute};

/// One kernel, element type and size.
#[derive(Serialize)]
pub struct Check {
    pub kernel: String,
    pub dtype: &'static str,
    pub sizes: String,
    pub ok: bool,
    /// The largest error, as a fraction of the output's largest magnitude, where the kernel ran.
    pub error: Option<f64>,
    /// What is wrong; empty where nothing is.
    pub problem: String,
}

/// Checks all kernels; with `--quick`, each on its last test size only.
pub fn run(library: &Library, device: &Device, args: &SessionArgs) -> Vec<Check> {
    let all = points(library, args);
    let bar = ProgressBar::new(all.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let mut checks = Vec::new();
    for (case, elem, sizes) in all {
        bar.set_message(format!("{} {elem}", case.name()));
        let check = one(device, case, &sizes, elem);
        let lost = check.problem.contains("context is lost") || check.problem.contains("is lost:");
        checks.push(check);
        bar.inc(1);
        if lost {
            // Nothing more can be found in this process.
            break;
        }
    }
    bar.finish_and_clear();
    checks
}

/// Compiles all kernels for what [`run`] launches them on, in parallel. Gives the problems.
#[cfg(feature = "compiler")]
pub fn compile(library: &Library, device: &Device, args: &SessionArgs) -> Vec<String> {
    use rayon::prelude::*;
    use tegula::ir::text::{PrintOptions, print_function};

    let mut seen = std::collections::HashSet::new();
    let mut problems = Vec::new();
    let mut functions = Vec::new();
    for (case, elem, sizes) in points(library, args) {
        match build(&BuildOptions::default(), case, &sizes, elem) {
            // Many sizes give the same kernel.
            Ok(f) if seen.insert(print_function(&f, &PrintOptions::default())) => functions.push(f),
            Ok(_) => {}
            Err(e) => problems.push(format!("{} {elem}: {e}", case.name())),
        }
    }
    let failed: Vec<String> =
        functions.into_par_iter().filter_map(|f| DynKernel::new(device, f).err().map(|e| e.to_string())).collect();
    problems.extend(failed);
    problems
}

/// Kernels, element types and sizes that are checked.
fn points(library: &Library, args: &SessionArgs) -> Vec<(&'static Case, ScalarType, Sizes)> {
    let mut points = Vec::new();
    for case in library.cases.iter().filter(|c| c.name().contains(&args.filter)) {
        let mut sizes: Vec<Sizes> = case.all_test_sizes().collect();
        if args.quick || sizes.is_empty() {
            sizes = vec![sizes.pop().unwrap_or_else(|| case.default_sizes())];
        }
        for &elem in case.elems {
            points.extend(sizes.iter().map(|sizes| (case, elem, sizes.clone())));
        }
    }
    points
}

fn one(device: &Device, case: &Case, sizes: &Sizes, elem: ScalarType) -> Check {
    let outcome = build(&BuildOptions::default(), case, sizes, elem).map_err(|e| e.to_string()).and_then(|f| {
        let problem = (case.problem)(sizes, elem, 1);
        let mut outputs = problem.args.clone();
        let executor = DeviceExecutor::new(device.clone());
        execute(&*executor, &f, &problem, &mut outputs).map_err(|e| e.to_string())?;
        Ok(problem.check(&outputs))
    });
    let sizes: Vec<String> = sizes.0.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let check = |ok, error, problem| Check {
        kernel: case.name(),
        dtype: elem.name(),
        sizes: sizes.join(" "),
        ok,
        error,
        problem,
    };
    match outcome {
        Err(message) => check(false, None, message),
        Ok(Err(mismatch)) => check(false, Some(mismatch.error), mismatch.to_string()),
        Ok(Ok(error)) => check(true, Some(error), String::new()),
    }
}
