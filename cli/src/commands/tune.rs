//! `tegula tune`: the fastest configuration of a kernel on a device, measured and recorded; and `tegula measure`, the
//! process in which a candidate is measured.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::Command;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tegula::Device;
use tegula::ir::exec::HostArg;
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::dynamic::{DynArg, DynKernel, promises};
use tegula::tuner::child::{self, Request, Response};
use tegula::tuner::record::{Outcome, source_hash};
use tegula::tuner::search::{Effort, Progress, search};
use tegula::tuner::shape::Shape;
use tegula::tuner::{Config, Record, Records, Space, Subject};
use tegula_kernels::cases::Case;

use crate::Library;
use crate::args::TuneArgs;
use crate::case::{build, check_memory};
use crate::commands::run::{dtype, find_case, sizes};
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
    check_memory(2.0 * case.count_elements(&sizes), elem.memory_bytes().unwrap_or(1))?;
    let device = Device::open(&args.device).map_err(|e| CliError::of_device(&e))?;
    if device.name() == "interp" || device.name().starts_with("vgpu:") {
        let message = format!("{} has no time of its own to measure; tune on a GPU or the cpu", device.name());
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
    let problem = (case.problem)(&sizes, elem, request.seed);
    let failed = |e: tegula::Error| CliError::Failed(e.to_string());
    let device = Device::open(&request.device).map_err(failed)?;
    let f = build(&options, case, &sizes, elem)?;
    let upload = || -> tegula::Result<Vec<DynArg>> {
        problem.args.iter().zip(&f.params).map(|(arg, p)| DynArg::upload(&device, arg, &p.kind)).collect()
    };
    // The second copy of the data is for every other launch: one copy would stay in the caches.
    let data = [upload().map_err(failed)?, upload().map_err(failed)?];
    options.specs = promises(&f, &data[0]).map_err(failed)?;
    let kernel = DynKernel::new(&device, build(&options, case, &sizes, elem)?).map_err(failed)?;
    let grid =
        problem.grid.as_ref().map(|grid| grid.of(&f)).transpose().map_err(|e| CliError::Failed(e.to_string()))?;
    let stream = device.default_stream();
    let launch = |i: usize| {
        // SAFETY: both copies were made alike, so that the promises hold for both; the kernels of the library use
        // pointers within the tensors of their problems only.
        unsafe { kernel.launch(&stream, grid, &data[i % 2]) }.map_err(failed)
    };

    launch(0)?;
    let mut outputs = problem.args.clone();
    for (output, there) in outputs.iter_mut().zip(&data[0]) {
        if let (HostArg::Tensor(t) | HostArg::Ptr(t), DynArg::Tensor(d) | DynArg::Pointer(d)) = (output, there) {
            d.download(t).map_err(failed)?;
        }
    }
    problem.check(&outputs).map_err(|e| CliError::Failed(e.to_string()))?;
    launch(1)?;

    let mut seconds = Vec::with_capacity(request.launches);
    for i in 0..request.launches {
        let start = stream.record().map_err(failed)?;
        launch(i)?;
        let end = stream.record().map_err(failed)?;
        end.synchronize().map_err(failed)?;
        seconds.push(end.elapsed_since(&start).map_err(failed)?.as_secs_f64());
    }
    Ok(seconds)
}
