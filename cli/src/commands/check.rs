//! `tegula check`: every kernel for every target, and on the CPU against its reference.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;
use tegula::ir::{Function, ScalarType};
use tegula::lang::kernel::info::Instance;
use tegula::lang::kernel::{BuildOptions, KernelInfo};
use tegula::runtime::compiler::{Compilation, Target};
use tegula::runtime::executors;
use tegula::tuner::{Config, Space};
use tegula_kernels::cases::Case;

use crate::Library;
use crate::args::CheckArgs;
use crate::case::{build, build_error, execute};
use crate::error::{CliError, Result};
use crate::select::target;
use crate::table::{Columns, seconds};

/// One kernel and element type. With `--json`, an array of these.
#[derive(Serialize)]
struct Row {
    kernel: String,
    /// The element types, separated by blanks where the kernel has several.
    dtype: String,
    /// What was chosen of the tuning space, with `--candidates`; else empty.
    config: String,
    /// `ok`, or what is wrong, by target.
    results: Vec<(&'static str, String)>,
    seconds: f64,
}

/// What is compiled, and run where there is a problem to run it on.
enum Subject {
    Case(&'static Case, ScalarType),
    /// A kernel that has no problem: it is compiled only.
    Kernel(&'static KernelInfo, Instance),
    Candidate(&'static KernelInfo, Config),
}

/// Checks.
pub fn run(library: &Library, args: &CheckArgs) -> Result<()> {
    let targets: Vec<Target> = match args.targets.as_slice() {
        [] => Target::names().into_iter().map(target).collect::<Result<_>>()?,
        names => names.iter().map(|name| target(name)).collect::<Result<_>>()?,
    };
    let subjects = subjects(library, args);
    if subjects.is_empty() {
        return Err(CliError::unknown("kernel", &args.filter, library.kernels.iter().map(|k| k.name)));
    }
    let bar = ProgressBar::new(subjects.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let rows: Vec<Row> = subjects
        .par_iter()
        .map(|subject| {
            let row = subject.check(&targets);
            bar.set_message(format!("{} {}", row.kernel, row.dtype));
            bar.inc(1);
            row
        })
        .collect();
    bar.finish_and_clear();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("the rows are plain data"));
    } else {
        print_table(&rows, &targets, args.candidates);
    }
    let wrong: Vec<(&Row, &str, &str)> = rows
        .iter()
        .flat_map(|row| row.results.iter().map(move |(target, r)| (row, *target, r.as_str())))
        .filter(|(_, _, r)| *r != "ok")
        .collect();
    if !args.json {
        for (row, target, result) in &wrong {
            eprintln!("{} {} {} {target}: {result}", row.kernel, row.dtype, row.config);
        }
    }
    match wrong.len() {
        0 => Ok(()),
        n => Err(CliError::Failed(format!("{n} checks failed"))),
    }
}

fn subjects(library: &Library, args: &CheckArgs) -> Vec<Subject> {
    let wanted = |name: &str| name.contains(&args.filter);
    let cases = library.cases.iter().filter(|c| wanted(&c.name()));
    let mut subjects: Vec<Subject> = cases.flat_map(|c| c.elems.iter().map(move |&e| Subject::Case(c, e))).collect();
    for &kernel in library.kernels.iter().filter(|k| wanted(k.name)) {
        if !library.cases.iter().any(|c| c.kernel == kernel.name) {
            subjects.extend((kernel.instances)().into_iter().map(|i| Subject::Kernel(kernel, i)));
        }
        // A kernel without a space has no candidates.
        if args.candidates
            && let Ok(space) = Space::of(kernel, true)
        {
            subjects.extend(space.configs().into_iter().map(|config| Subject::Candidate(kernel, config)));
        }
    }
    subjects
}

impl Subject {
    fn check(&self, targets: &[Target]) -> Row {
        let start = Instant::now();
        let types = |types: &[ScalarType]| types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" ");
        let row = |kernel: String, dtype: String, config: String, results| Row {
            kernel,
            dtype,
            config,
            results,
            seconds: start.elapsed().as_secs_f64(),
        };
        match self {
            Self::Case(case, elem) => {
                let sizes = case.all_test_sizes().last().unwrap_or_else(|| case.default_sizes());
                let built = |target: &str| build(&BuildOptions::default().target(target), case, &sizes, *elem);
                let results = on_each(targets, built, |f| {
                    let problem = (case.problem)(&sizes, *elem, 1);
                    let mut outputs = problem.args.clone();
                    let cpu = executors::by_name("cpu").map_err(|e| CliError::Failed(e.to_string()))?;
                    execute(&*cpu, f, &problem, &mut outputs)?;
                    problem.check(&outputs).map(drop).map_err(|m| CliError::Failed(m.to_string()))
                });
                row(case.name(), elem.name().into(), String::new(), results)
            }
            Self::Kernel(kernel, instance) => {
                let built = |target: &str| {
                    (instance.build)(&BuildOptions::default().target(target)).map_err(|e| build_error(&e))
                };
                let results = on_each(targets, built, |f| compile(f, Target::Cpu));
                row(kernel.name.into(), types(&instance.types), String::new(), results)
            }
            Self::Candidate(kernel, config) => {
                let mut options = BuildOptions::default();
                config.apply(&mut options);
                let first = kernel.instance(&options).map(|i| types(&i.types)).unwrap_or_default();
                let built = |target: &str| kernel.build(&options.clone().target(target)).map_err(|e| build_error(&e));
                let results = on_each(targets, built, |f| compile(f, Target::Cpu));
                row(kernel.name.into(), first, config.to_string(), results)
            }
        }
    }
}

/// Compiles for each GPU, and does with the CPU what is given.
fn on_each(
    targets: &[Target],
    build_for: impl Fn(&str) -> Result<Function>,
    on_cpu: impl Fn(&Function) -> Result<()>,
) -> Vec<(&'static str, String)> {
    let on = |target: &Target| match (build_for(target.name())?, target) {
        (f, Target::Cpu) => on_cpu(&f),
        (f, gpu) => compile(&f, *gpu),
    };
    let outcome = |target: &Target| on(target).map_or_else(|e| e.to_string(), |()| "ok".into());
    targets.iter().map(|t| (t.name(), outcome(t))).collect()
}

fn compile(f: &Function, target: Target) -> Result<()> {
    Compilation::new(f.clone(), target).code(false).map(drop).map_err(|e| CliError::Failed(e.to_string()))
}

fn print_table(rows: &[Row], targets: &[Target], candidates: bool) {
    let mut headings = vec!["kernel", "dtype"];
    headings.extend(candidates.then_some("configuration"));
    headings.extend(targets.iter().map(|t| t.name()));
    headings.push(">time");
    let mut table = Columns::new(&headings);
    for row in rows {
        let mut cells = vec![row.kernel.clone(), row.dtype.clone()];
        cells.extend(candidates.then(|| row.config.clone()));
        cells.extend(row.results.iter().map(|(_, r)| if r == "ok" { "ok".to_string() } else { "FAILED".into() }));
        cells.push(seconds(row.seconds));
        table.row(cells);
    }
    print!("{table}");
}
