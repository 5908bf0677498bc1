//! `tegula check`: every kernel for every target, and on the CPU against its reference.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::compiler::{Compilation, Target};
use tegula::runtime::executors;

use crate::Library;
use crate::args::CheckArgs;
use crate::case::{build, execute};
use crate::error::{CliError, Result};
use crate::table::{Columns, seconds};

/// Targets that kernels are compiled for.
const TARGETS: &[&str] = &["sm_80", "sm_90a", "gfx942"];

/// One kernel and element type. With `--json`, an array of these.
#[derive(Serialize)]
struct Row {
    kernel: String,
    dtype: &'static str,
    /// `ok`, or what is wrong, by target or executor.
    results: Vec<(String, String)>,
    seconds: f64,
}

/// Checks.
pub fn run(library: &Library, args: &CheckArgs) -> Result<()> {
    let cpu = executors::by_name("cpu").map_err(|e| CliError::Failed(e.to_string()))?;
    let cases: Vec<_> = library.cases.iter().filter(|c| c.name().contains(&args.filter)).collect();
    if cases.is_empty() {
        return Err(CliError::unknown("kernel", &args.filter, library.kernels.iter().map(|k| k.name)));
    }
    let bar = ProgressBar::new(cases.iter().map(|c| c.elems.len() as u64).sum());
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let (mut rows, mut failures) = (Vec::new(), 0);
    for case in cases {
        for &elem in case.elems {
            bar.set_message(format!("{} {elem}", case.name()));
            let start = Instant::now();
            let mut results = Vec::new();
            let sizes = case.all_test_sizes().last().unwrap_or_else(|| case.default_sizes());
            match build(&BuildOptions::default(), case, &sizes, elem) {
                Err(e) => results.push(("build".into(), e.to_string())),
                Ok(f) => {
                    for target in TARGETS {
                        let outcome = Target::by_name(target)
                            .and_then(|t| Compilation::new(f.clone(), t).code(false).map(drop))
                            .map_or_else(|e| e.to_string(), |()| "ok".into());
                        results.push(((*target).into(), outcome));
                    }
                    let problem = (case.problem)(&sizes, elem, 1);
                    let mut outputs = problem.args.clone();
                    let outcome = match execute(&*cpu, &f, &problem, &mut outputs) {
                        Err(e) => e.to_string(),
                        Ok(_) => problem.check(&outputs).map_or_else(|m| m.to_string(), |_| "ok".into()),
                    };
                    results.push(("cpu".into(), outcome));
                }
            }
            failures += results.iter().filter(|(_, r)| r != "ok").count();
            rows.push(Row { kernel: case.name(), dtype: elem.name(), results, seconds: start.elapsed().as_secs_f64() });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("the rows are plain data"));
    } else {
        let mut headings = vec!["kernel", "dtype"];
        headings.extend(TARGETS);
        headings.extend(["cpu", ">time"]);
        let mut table = Columns::new(&headings);
        for row in &rows {
            let mark = |r: &String| if r == "ok" { "ok".to_string() } else { "FAILED".into() };
            let mut cells = vec![row.kernel.clone(), row.dtype.into()];
            if row.results.len() == TARGETS.len() + 1 {
                cells.extend(row.results.iter().map(|(_, r)| mark(r)));
            } else {
                cells.extend(std::iter::repeat_n("FAILED".to_string(), TARGETS.len() + 1));
            }
            cells.push(seconds(row.seconds));
            table.row(cells);
        }
        print!("{table}");
        for row in &rows {
            for (target, result) in row.results.iter().filter(|(_, r)| r != "ok") {
                eprintln!("{} {} {target}: {result}", row.kernel, row.dtype);
            }
        }
    }
    if failures > 0 { Err(CliError::Failed(format!("{failures} checks failed"))) } else { Ok(()) }
}
