//! `tegula run`: a kernel on generated data, compared with its reference.

use std::time::Instant;

use serde::Serialize;
use tegula::ir::ScalarType;
use tegula::runtime::executors;
use tegula_kernels::cases::Case;
use tegula_kernels::problem::Sizes;

use crate::Library;
use crate::args::RunArgs;
use crate::case::{build, execute};
use crate::error::{CliError, Result};
use crate::select::{Selection, assignment};
use crate::table::{Columns, seconds};

/// What came of a run. With `--json`, this.
#[derive(Serialize)]
struct Outcome {
    kernel: String,
    device: String,
    dtype: &'static str,
    sizes: Vec<(&'static str, i64)>,
    /// Largest error as a fraction of the output's largest magnitude; absent without `--check`.
    error: Option<f64>,
    /// The largest error allowed.
    bound: f64,
    /// Seconds, compilation included.
    seconds: f64,
    /// Whether the error is within the bound (true without `--check`).
    ok: bool,
}

/// Runs the kernel.
pub fn run(library: &Library, args: &RunArgs) -> Result<()> {
    let selection = Selection::new(library, &args.kernel)?;
    let case = find_case(library, selection.info.name, &args.variant)?;
    let sizes = sizes(case, &args.sizes)?;
    let elem = dtype(&selection, case)?;
    let executor = executors::by_name(&args.device).map_err(|e| CliError::Usage(e.to_string()))?;
    let function = build(&selection.options, case, &sizes, elem)?;
    let problem = (case.problem)(&sizes, elem, args.seed);

    let mut outputs = problem.args.clone();
    let start = Instant::now();
    let printed = execute(&*executor, &function, &problem, &mut outputs)?;
    let elapsed = start.elapsed().as_secs_f64();
    print!("{printed}");

    let checked = if args.check { Some(problem.check(&outputs)) } else { None };
    let bound = problem.expected.iter().map(|e| e.tolerance).fold(0.0, f64::max);
    let outcome = Outcome {
        kernel: case.name(),
        device: args.device.clone(),
        dtype: elem.name(),
        sizes: sizes.0.clone(),
        error: checked.as_ref().map(|c| c.as_ref().map_or_else(|m| m.error, |e| *e)),
        bound,
        seconds: elapsed,
        ok: checked.as_ref().is_none_or(|c| c.is_ok()),
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcome).expect("the outcome is plain data"));
    } else {
        let mut table = Columns::new(&["kernel", "device", "dtype", "sizes", ">error", ">bound", ">time"]);
        let sizes: Vec<_> = sizes.0.iter().map(|(n, v)| format!("{n}={v}")).collect();
        table.row([
            outcome.kernel.clone(),
            outcome.device.clone(),
            outcome.dtype.into(),
            sizes.join(" "),
            outcome.error.map_or_else(|| "-".into(), |e| format!("{e:.1e}")),
            format!("{bound:.1e}"),
            seconds(elapsed),
        ]);
        print!("{table}");
    }
    match checked {
        Some(Err(mismatch)) => Err(CliError::Failed(format!("{} on {}: {mismatch}", case.name(), args.device))),
        _ => Ok(()),
    }
}

/// The sizes of a problem: its defaults, with the assignments of `--size`.
pub fn sizes(case: &Case, assignments: &[String]) -> Result<Sizes> {
    let mut sizes = case.default_sizes();
    for text in assignments {
        let (name, value) = assignment(text, "--size", "M=1000")?;
        if value < 0 {
            return Err(CliError::Usage(format!("--size {text}: a size is not negative")));
        }
        if !sizes.set(name, value) {
            let what = format!("size of `{}` called", case.kernel);
            return Err(CliError::unknown(&what, name, case.sizes.iter().map(|(n, _)| *n)));
        }
    }
    Ok(sizes)
}

/// The problem of this kernel and variant.
pub fn find_case(library: &Library, kernel: &str, variant: &str) -> Result<&'static Case> {
    let cases: Vec<&'static Case> = library.cases.iter().filter(|c| c.kernel == kernel).collect();
    match cases.iter().find(|c| c.variant == variant) {
        Some(case) => Ok(case),
        None if cases.is_empty() => {
            Err(CliError::Usage(format!("kernel `{kernel}` has no problem to run it on; `tegula compile` works on it")))
        }
        None => {
            Err(CliError::unknown(&format!("variant of `{kernel}` called"), variant, cases.iter().map(|c| c.variant)))
        }
    }
}

/// The element type to run a problem with: the one chosen, or its first.
pub fn dtype(selection: &Selection, case: &Case) -> Result<ScalarType> {
    match selection.options.types.first() {
        None => Ok(case.elems[0]),
        Some((_, ty)) if case.elems.contains(ty) => Ok(*ty),
        Some((_, ty)) => {
            Err(CliError::unknown("problem for element type", ty.name(), case.elems.iter().map(|t| t.name())))
        }
    }
}
