//! `tegula session`: everything to be done on a machine with a GPU. Each kernel against its reference, then the
//! headline kernels at real sizes, timed by the device.

mod check;
mod time;
mod workloads;

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tegula::Device;

use crate::Library;
use crate::args::SessionArgs;
use crate::error::{CliError, Result};
use crate::table::Columns;

/// What came of a session: what `--json` writes.
#[derive(Serialize)]
struct Report {
    /// The device's name, such as `cuda:0`.
    device: String,
    /// What it is.
    description: String,
    /// What kernels are compiled for.
    target: String,
    /// Tegula's version.
    version: &'static str,
    /// Seconds since 1970.
    time: u64,
    /// Whether sizes are small, so that times say nothing.
    quick: bool,
    checks: Vec<check::Check>,
    timings: Vec<time::Timing>,
}

/// Times of another system, by name of the workload, in microseconds: what `--beside` reads.
#[derive(Deserialize)]
struct Beside {
    /// The system, such as `PyTorch 2.9`.
    system: String,
    /// Microseconds by workload.
    times: BTreeMap<String, f64>,
}

/// Runs the session.
pub fn run(library: &Library, args: &SessionArgs) -> Result<()> {
    let failed = |e: tegula::Error| CliError::Failed(e.to_string());
    let device = match &args.device {
        Some(name) => Device::open(name),
        None => Device::best(),
    }
    .map_err(failed)?;
    let beside = read_beside(args)?;
    eprintln!("{}: {}, code for {}", device.name(), device.description(), device.target());

    let checks = if args.no_check { Vec::new() } else { check::run(library, &device, args) };
    let timings = if args.no_time { Vec::new() } else { time::run(&device, args) };
    print_checks(&checks);
    print_timings(&timings, &beside);

    let wrong = checks.iter().filter(|c| !c.ok).count();
    let untimed = timings.iter().filter(|t| t.problem.is_some()).count();
    let report = Report {
        device: device.name().into(),
        description: device.description(),
        target: device.target().into(),
        version: env!("CARGO_PKG_VERSION"),
        time: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        quick: args.quick,
        checks,
        timings,
    };
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report).expect("the report is plain data");
        std::fs::write(path, text + "\n").map_err(|e| CliError::Failed(format!("{}: {e}", path.display())))?;
    }
    match (wrong, untimed) {
        (0, 0) => Ok(()),
        _ => Err(CliError::Failed(format!("{wrong} kernels are wrong, {untimed} could not be timed"))),
    }
}

fn read_beside(args: &SessionArgs) -> Result<Vec<Beside>> {
    let read = |path: &std::path::PathBuf| {
        let failed = |e: &dyn std::fmt::Display| CliError::Failed(format!("{}: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| failed(&e))?;
        serde_json::from_str(&text).map_err(|e| failed(&e))
    };
    args.beside.iter().map(read).collect()
}

fn print_checks(checks: &[check::Check]) {
    if checks.is_empty() {
        return;
    }
    let wrong: Vec<_> = checks.iter().filter(|c| !c.ok).collect();
    println!("{} of {} checks passed", checks.len() - wrong.len(), checks.len());
    if wrong.is_empty() {
        return;
    }
    let mut table = Columns::new(&["kernel", "dtype", "sizes", "problem"]);
    for c in wrong {
        let problem = c.problem.lines().next().unwrap_or_default();
        table.row([c.kernel.clone(), c.dtype.into(), c.sizes.clone(), problem.into()]);
    }
    print!("{table}");
}

fn print_timings(timings: &[time::Timing], beside: &[Beside]) {
    if timings.is_empty() {
        return;
    }
    let mut headings = vec![
        "workload".to_owned(),
        "configuration".into(),
        ">median us".into(),
        ">spread".into(),
        ">rate".into(),
        "unit".into(),
    ];
    headings.extend(beside.iter().map(|b| format!(">{}", b.system)));
    let mut table = Columns::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    for t in timings {
        let mut cells = match &t.problem {
            Some(problem) => vec![
                t.workload.clone(),
                problem.lines().next().unwrap_or_default().into(),
                "-".into(),
                "-".into(),
                "-".into(),
                String::new(),
            ],
            None => vec![
                t.workload.clone(),
                t.configuration.clone(),
                format!("{:.1}", t.median_us),
                format!("{:.0} %", 100.0 * t.spread),
                format!("{:.1}", t.rate),
                t.unit.into(),
            ],
        };
        for other in beside {
            cells.push(match other.times.get(&t.workload) {
                Some(us) if t.problem.is_none() => format!("{us:.1} us ({:.2} of it)", t.median_us / us),
                Some(us) => format!("{us:.1} us"),
                None => "-".into(),
            });
        }
        table.row(cells);
    }
    print!("{table}");
}
