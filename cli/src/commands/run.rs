//! `tegula run`: a kernel on generated data, compared with its reference.

use std::time::Instant;

use serde::Serialize;
use tegula::ir::{Function, ScalarType};
use tegula::runtime::executors;

use crate::Library;
use crate::args::RunArgs;
use crate::case::{build, check_memory, execute};
use crate::cases::Case;
use crate::error::{CliError, Result};
use crate::generated::Arguments;
use crate::problem::{Problem, Sizes};
use crate::select::{Selection, assignment};
use crate::table::{Columns, seconds};

/// What came of a run. With `--json`, this.
#[derive(Serialize)]
struct Outcome {
    kernel: String,
    device: String,
    /// Element type of the first type parameter; empty where the kernel has none.
    dtype: String,
    /// Sizes of the problem; of a kernel without one, empty.
    sizes: Vec<(&'static str, i64)>,
    /// Arguments of a kernel that has no problem of its own, as given.
    args: Vec<String>,
    /// Largest error as a fraction of the output's largest magnitude; absent without `--check`.
    error: Option<f64>,
    /// The largest error allowed; absent where nothing was compared.
    bound: Option<f64>,
    /// Seconds, compilation included.
    seconds: f64,
    /// Whether the error is within the bound (true without `--check`).
    ok: bool,
}

/// A built kernel and what it is run on.
struct Work {
    name: String,
    dtype: String,
    sizes: Vec<(&'static str, i64)>,
    function: Function,
    problem: Problem,
}

/// Runs the kernel.
pub fn run(library: &Library, args: &RunArgs) -> Result<()> {
    let selection = Selection::new(library, &args.kernel)?.set(&args.comptime)?;
    let executor = executors::by_name(&args.device).map_err(|e| CliError::of_device(&e))?;
    let has_case = library.cases.iter().any(|c| c.kernel == selection.info.name);
    let work = if has_case { of_case(library, &selection, args)? } else { of_arguments(&selection, args)? };

    let mut outputs = work.problem.args.clone();
    let start = Instant::now();
    let printed = execute(&*executor, &work.function, &work.problem, &mut outputs)?;
    let elapsed = start.elapsed().as_secs_f64();
    print!("{printed}");

    let checked = if args.check { Some(work.problem.check(&outputs)) } else { None };
    let outcome = Outcome {
        kernel: work.name,
        device: args.device.clone(),
        dtype: work.dtype,
        sizes: work.sizes,
        args: args.args.clone(),
        error: checked.as_ref().map(|c| c.as_ref().map_or_else(|m| m.error, |e| *e)),
        bound: work.problem.expected.iter().map(|e| e.tolerance).reduce(f64::max),
        seconds: elapsed,
        ok: checked.as_ref().is_none_or(|c| c.is_ok()),
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcome).expect("the outcome is plain data"));
    } else {
        print_table(&outcome);
    }
    match checked {
        Some(Err(mismatch)) => Err(CliError::Failed(format!("{} on {}: {mismatch}", outcome.kernel, args.device))),
        _ => Ok(()),
    }
}

fn print_table(outcome: &Outcome) {
    let mut table = Columns::new(&["kernel", "device", "dtype", "sizes", ">error", ">bound", ">time"]);
    let sizes = outcome.sizes.iter().map(|(n, v)| format!("{n}={v}"));
    let sizes: Vec<_> = sizes.chain(outcome.args.iter().cloned()).collect();
    let figure = |x: Option<f64>| x.map_or_else(|| "-".into(), |x| format!("{x:.1e}"));
    table.row([
        outcome.kernel.clone(),
        outcome.device.clone(),
        outcome.dtype.clone(),
        sizes.join(" "),
        figure(outcome.error),
        figure(outcome.bound),
        seconds(outcome.seconds),
    ]);
    print!("{table}");
}

/// A problem of the library.
fn of_case(library: &Library, selection: &Selection, args: &RunArgs) -> Result<Work> {
    let name = selection.info.name;
    if !args.args.is_empty() || !args.grid.is_empty() || !args.comptime.is_empty() {
        let sizes = "its sizes are chosen with --size and its build-time parameters with --variant";
        return Err(CliError::Usage(format!("`{name}` has problems of its own: {sizes}")));
    }
    let case = find_case(library, name, &args.variant)?;
    let sizes = sizes(case, &args.sizes)?;
    let elem = dtype(selection, case)?;
    check_memory(case.count_elements(&sizes), elem.memory_bytes().unwrap_or(1))?;
    let function = build(&selection.options, case, &sizes, elem)?;
    let problem = (case.problem)(&sizes, elem, args.seed);
    Ok(Work { name: case.name(), dtype: elem.name().into(), sizes: sizes.0, function, problem })
}

/// A kernel that has no problem, on what the command line says.
fn of_arguments(selection: &Selection, args: &RunArgs) -> Result<Work> {
    let info = selection.info;
    if !args.sizes.is_empty() || !args.variant.is_empty() {
        return Err(CliError::Usage(format!("`{}` has no problem of its own: choose tensors with --arg", info.name)));
    }
    let function = selection.build()?;
    let arguments = Arguments::new(&function, &args.args)?;
    let (elements, bytes) = arguments.count_elements(&function)?;
    check_memory(elements, bytes)?;
    let problem = arguments.problem(&function, &args.grid, args.seed, args.check)?;
    let instance = info.instance(&selection.options).map_err(|e| CliError::Failed(e.to_string()))?;
    let dtype = instance.types.first().map_or_else(String::new, |t| t.name().into());
    Ok(Work { name: info.name.into(), dtype, sizes: Vec::new(), function, problem })
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
    (case.requires)(&sizes).map_err(|rule| CliError::Usage(format!("--size: {rule}")))?;
    Ok(sizes)
}

/// The problem of this kernel and variant.
pub fn find_case(library: &Library, kernel: &str, variant: &str) -> Result<&'static Case> {
    let cases: Vec<&'static Case> = library.cases.iter().filter(|c| c.kernel == kernel).collect();
    match cases.iter().find(|c| c.variant == variant) {
        Some(case) => Ok(case),
        None if cases.is_empty() => Err(CliError::Usage(format!(
            "kernel `{kernel}` has no problem; give `cli!` one, as its documentation says"
        ))),
        None => {
            let variants = cases.iter().map(|c| c.variant).filter(|v| !v.is_empty());
            match variants.clone().next() {
                None => Err(CliError::Usage(format!("`{kernel}` has no variants; leave --variant out"))),
                Some(_) => Err(CliError::unknown(&format!("variant of `{kernel}` called"), variant, variants)),
            }
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
