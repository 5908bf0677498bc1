//! `tegula tune`: the fastest configuration of a kernel on a device, measured and recorded; and `tegula measure`, the
//! process in which a candidate is measured.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tegula::Device;
use tegula::ir::exec::{HostArg, grid_of};
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::executors::Prepared;
use tegula::tuner::child::{self, Request, Response};
use tegula::tuner::record::{Outcome, source_hash};
use tegula::tuner::search::{Effort, Progress, search};
use tegula::tuner::shape::Shape;
use tegula::tuner::{Config, Record, Records, Space, Subject};
use tegula_kernels::cases::Case;

use crate::Library;
use crate::args::TuneArgs;
use crate::commands::run::{build, dtype, find_case, sizes};
use crate::error::{CliError, Result};
use crate::select::{Selection, scalar_type};
use crate::table::{Columns, seconds};

/// What came of tuning. `--json` prints this.
#[derive(Serialize)]
struct Report<'a> {
    /// The best candidate.
    best: &'a Record,
    /// The candidate that the defaults are, where it was among them.
    default: Option<&'a Record>,
    /// All candidates, the fastest first, then those that failed.
    candidates: Vec<&'a Record>,
    /// The file of records.
    records: String,
}

/// Tunes.
pub fn run(library: &Library, args: &TuneArgs) -> Result<()> {
    let selection = Selection::new(library, &args.kernel)?;
    let info = selection.info;
    let case = find_case(library, info.name, &args.variant)?;
    let sizes = sizes(case, &args.sizes)?;
    let elem = dtype(&selection, case)?;
    let device = Device::open(&args.device).map_err(|e| CliError::Usage(e.to_string()))?;
    if device.name() != "cpu" {
        let message = format!(
            "{} cannot be tuned on: times are measured on the CPU in this version; `tegula tune {} --device cpu`",
            device.name(),
            info.name
        );
        return Err(CliError::Usage(message));
    }

    let failed = |e: tegula::tuner::Error| CliError::Failed(e.to_string());
    let space = Space::of(info, device.target() != "cpu").map_err(failed)?;
    let chosen = Config {
        dims: selection.options.dims.clone(),
        warps: selection.options.num_warps,
        stages: selection.options.num_stages,
    };
    let candidates = space.fixed(chosen.clone()).configs();
    let problem = (case.problem)(&sizes, elem, args.seed);
    let source = (case.build)(&BuildOptions::default(), elem).map_err(|e| CliError::Failed(e.to_string()))?;
    let subject = Subject {
        kernel: info.name.into(),
        source: source_hash(&source),
        dtype: elem.name().into(),
        target: device.target().into(),
        device: device.description(),
        shape: Shape::new(problem.args.iter().filter_map(|a| match a {
            HostArg::Tensor(t) | HostArg::Ptr(t) => Some(t.extents.as_slice()),
            HostArg::Scalar(_) => None,
        })),
    };

    let mut records = Records::open(&args.records).map_err(failed)?;
    let program = std::env::current_exe()
        .map_err(|e| CliError::Failed(format!("the command's own program cannot be found: {e}")))?;
    let request = |config: &Config, launches: usize| Request {
        kernel: info.name.into(),
        variant: case.variant.into(),
        dtype: elem.name().into(),
        sizes: sizes.0.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        device: args.device.clone(),
        config: config.clone(),
        launches,
        seed: args.seed,
    };
    let bar = ProgressBar::new(candidates.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let effort = Effort { launches: args.launches.max(1), ..Effort::default() };
    let measure = |config: &Config, launches: usize| {
        let mut command = Command::new(&program);
        command.arg("measure");
        child::measure(command, &request(config, launches), Duration::from_secs_f64(args.deadline))
    };
    let best = search(&candidates, &subject, &mut records, effort, measure, |p: Progress<'_>| {
        bar.set_length(p.total as u64);
        bar.set_position(p.done as u64);
        if let Some(best) = p.best {
            bar.set_message(format!("best so far: {}", best.config));
        }
    });
    bar.finish_and_clear();
    let best = best.map_err(failed)?;

    let mut measured: Vec<&Record> = candidates.iter().filter_map(|c| records.get(&subject, c)).collect();
    let rank = |r: &Record| r.outcome.rank().unwrap_or((true, f64::INFINITY));
    measured.sort_by(|a, b| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)));
    let defaults: BTreeMap<&str, u32> = info.dims.iter().map(|d| (d.name, d.default)).collect();
    let is_default = |c: &Config| {
        c.dims.iter().all(|(n, v)| defaults.get(n.as_str()) == Some(v) || chosen.dims.iter().any(|(m, _)| m == n))
    };
    let default = measured.iter().find(|r| is_default(&r.config)).copied();
    if args.json {
        let records = args.records.display().to_string();
        let report = Report { best: &best, default, candidates: measured, records };
        println!("{}", serde_json::to_string_pretty(&report).expect("the report is plain data"));
        return Ok(());
    }
    let mut table = Columns::new(&["configuration", ">time", ">spread", ">launches", "note"]);
    for record in &measured {
        let note = if record.config == best.config { "best" } else { "" };
        match &record.outcome {
            Outcome::Measured { microseconds, spread, launches, head_to_head } => {
                let note = match (note, head_to_head) {
                    ("", true) => "head to head",
                    (note, _) => note,
                };
                table.row([
                    record.config.to_string(),
                    seconds(microseconds * 1e-6),
                    format!("{:.0} %", spread * 100.0),
                    launches.to_string(),
                    note.into(),
                ]);
            }
            Outcome::Failed { failed } => {
                table.row([record.config.to_string(), "-".into(), "-".into(), "-".into(), failed.clone()]);
            }
        }
    }
    println!("{} {} {} on {}\n", case.name(), elem.name(), subject.shape, subject.device);
    println!("{table}");
    if let (Some((_, best)), Some((_, default))) = (best.outcome.rank(), default.and_then(|d| d.outcome.rank())) {
        println!("{:.2} times as fast as the default configuration", default / best);
    }
    println!("recorded in {}", args.records.display());
    Ok(())
}

/// Measures one candidate: the request comes on standard input.
pub fn measure(library: &Library) -> Result<()> {
    let mut text = String::new();
    let request: Request = std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|e| e.to_string())
        .and_then(|_| serde_json::from_str(&text).map_err(|e| e.to_string()))
        .map_err(|e| CliError::Usage(format!("`measure` is how `tune` starts itself: {e}")))?;
    let response = match times(library, &request) {
        Ok(seconds) => Response::Seconds(seconds),
        Err(e) => Response::Failed(e.to_string()),
    };
    println!("{}", serde_json::to_string(&response).expect("a response is plain data"));
    Ok(())
}

/// Seconds of each launch, if the results are right.
fn times(library: &Library, request: &Request) -> Result<Vec<f64>> {
    let case: &Case = find_case(library, &request.kernel, &request.variant)?;
    let mut sizes = case.default_sizes();
    for (name, value) in &request.sizes {
        sizes.set(name, *value);
    }
    let elem = scalar_type(&request.dtype)?;
    let mut options = BuildOptions::default();
    request.config.apply(&mut options);
    let f = build(&options, case, &sizes, elem)?;
    let problem = (case.problem)(&sizes, elem, request.seed);
    let failed = |e: tegula::runtime::Error| CliError::Failed(e.to_string());
    let prepared = Prepared::cpu(&f).map_err(failed)?;
    // The second copy of the data is for every other launch: one copy would stay in the caches.
    let mut data = [problem.args.clone(), problem.args.clone()];
    let grid = match problem.grid {
        Some(grid) => grid,
        None => grid_of(&f, &problem.args).map_err(|e| CliError::Failed(e.to_string()))?.unwrap_or([1, 1, 1]),
    };
    prepared.launch(grid, &mut data[0]).map_err(failed)?;
    problem.check(&data[0]).map_err(|e| CliError::Failed(e.to_string()))?;
    prepared.launch(grid, &mut data[1]).map_err(failed)?;
    let mut seconds = Vec::with_capacity(request.launches);
    for i in 0..request.launches {
        let start = Instant::now();
        prepared.launch(grid, &mut data[i % 2]).map_err(failed)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
