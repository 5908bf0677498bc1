//! `tegula session`: everything to be done on a machine with a GPU. Each kernel against its reference, what launches and
//! compiled kernels cost, then the headline kernels at real sizes, timed by the device.
//!
//! | module | subject |
//! |---|---|
//! | [`check`] | every kernel against its reference |
//! | [`launch`] | what a launch costs the host |
//! | [`cache`] | what a kernel costs that was compiled before |
//! | [`time`], [`workloads`] | the headline kernels, timed by the device |
//! | [`report`] | the table of all that, and its JSON |
//! | [`pack`] | compiling all that for machines without the compiler |

mod cache;
mod check;
mod launch;
#[cfg(feature = "compiler")]
mod pack;
mod report;
mod time;
mod workloads;

use std::path::Path;
use std::time::SystemTime;

use tegula::Device;

use crate::Library;
use crate::args::{Section, SessionArgs};
use crate::error::{CliError, Result};
use report::{Beside, Report};

/// Runs the session.
pub fn run(library: &Library, args: &SessionArgs) -> Result<()> {
    if args.list {
        println!("{}", serde_json::to_string_pretty(&time::Plan::new(args)).expect("the plan is plain data"));
        return Ok(());
    }
    let failed = |e: tegula::Error| CliError::Failed(e.to_string());
    for file in &args.kernels {
        let read = tegula::runtime::embedded::register_file(file);
        read.map_err(|e| CliError::Failed(format!("{}: {e}", file.display())))?;
    }
    #[cfg(feature = "compiler")]
    if let Some(file) = &args.pack {
        return pack::run(library, args, file);
    }
    let device = match &args.device {
        Some(name) => Device::open(name),
        None => Device::best(),
    }
    .map_err(failed)?;
    let beside = args.beside.iter().map(|file| read_beside(file)).collect::<Result<_>>()?;
    eprintln!("{}: {}, code for {}", device.name(), device.description(), device.target());

    // What the host does comes first: nothing has used the device's queues yet.
    let mut problems = Vec::new();
    let launches = match args.wants(Section::Launch) {
        true => launch::run(&device, args.quick).unwrap_or_else(|e| note(&mut problems, Section::Launch, &e)),
        false => Vec::new(),
    };
    let cache = match args.wants(Section::Cache) {
        true => cache::run(library, &device, &args.filter, args.quick)
            .unwrap_or_else(|e| note(&mut problems, Section::Cache, &e)),
        false => Vec::new(),
    };
    let checks = if args.wants(Section::Check) { check::run(library, &device, args) } else { Vec::new() };
    let timings = if args.wants(Section::Time) { time::run(&device, args) } else { Vec::new() };

    let origins = device.kernel_origins();
    let report = Report {
        device: device.name().into(),
        description: device.description(),
        target: device.target().into(),
        version: env!("CARGO_PKG_VERSION"),
        time: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        quick: args.quick,
        kernels: report::Kernels { compiled: origins.compiled, disk: origins.disk, embedded: origins.embedded },
        checks,
        launches,
        cache,
        timings,
        beside,
        missing: args.missing.clone(),
        problems,
    };
    report.print();
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report).expect("the report is plain data");
        std::fs::write(path, text + "\n").map_err(|e| CliError::Failed(format!("{}: {e}", path.display())))?;
    }
    report.verdict()
}

/// Notes that a section failed; the session goes on with the others.
fn note<T>(problems: &mut Vec<String>, section: Section, error: &tegula::Error) -> Vec<T> {
    problems.push(format!("{section:?}: {error}").to_lowercase());
    Vec::new()
}

fn read_beside(path: &Path) -> Result<Beside> {
    let failed = |e: &dyn std::fmt::Display| CliError::Failed(format!("{}: {e}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| failed(&e))?;
    serde_json::from_str(&text).map_err(|e| failed(&e))
}
