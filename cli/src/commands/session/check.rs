//! Every kernel of the library on the device, against its reference.

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tegula::Device;
use tegula::ir::ScalarType;
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::dynamic::{DeviceExecutor, DynKernel};
use tegula_kernels::cases::Case;
use tegula_kernels::problem::Sizes;

use crate::Library;
use crate::args::SessionArgs;
use crate::commands::run::{build, execute};

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
    let cases: Vec<&Case> = library.cases.iter().filter(|c| c.name().contains(&args.filter)).collect();
    let bar = ProgressBar::new(cases.iter().map(|c| c.elems.len() as u64).sum());
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let mut checks = Vec::new();
    'cases: for case in cases {
        for &elem in case.elems {
            bar.set_message(format!("{} {elem}", case.name()));
            let mut sizes: Vec<Sizes> = case.all_test_sizes().collect();
            if args.quick || sizes.is_empty() {
                sizes = vec![sizes.pop().unwrap_or_else(|| case.default_sizes())];
            }
            for sizes in sizes {
                let check = one(device, case, &sizes, elem, args.compile_only);
                let lost = check.problem.contains("context is lost") || check.problem.contains("is lost:");
                checks.push(check);
                if lost {
                    // Nothing more can be found in this process.
                    break 'cases;
                }
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    checks
}

fn one(device: &Device, case: &Case, sizes: &Sizes, elem: ScalarType, compile_only: bool) -> Check {
    let outcome = build(&BuildOptions::default(), case, sizes, elem).map_err(|e| e.to_string()).and_then(|f| {
        if compile_only {
            return DynKernel::new(device, f).map(|_| Ok(0.0)).map_err(|e| e.to_string());
        }
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
