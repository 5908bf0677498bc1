//! Timing on a device: by its own events, over inputs in turn so that caches do not help, the median of several samples.

use std::time::Duration;

use serde::Serialize;
use tegula::runtime::Stream;
use tegula::{Device, Result};

use super::workloads::{self, Candidate, Problem, Workload};
use crate::args::{Section, SessionArgs};

/// Samples of a workload, and of a candidate that only competes for the workload.
const SAMPLES: usize = 21;
const TRIALS: usize = 5;

/// A sample takes at least this long, so that the resolution of events does not count.
const SAMPLE: Duration = Duration::from_millis(2);

/// A workload's time.
#[derive(Serialize)]
pub struct Timing {
    /// The workload with its sizes, such as `matmul f16 4096x4096x4096`.
    pub workload: String,
    /// Sizes of tiles, warps and stages of the fastest candidate.
    pub configuration: String,
    /// The median time of a launch.
    pub median_us: f64,
    /// Distance of the quartiles, as a fraction of the median.
    pub spread: f64,
    /// Work a second.
    pub rate: f64,
    /// Of what.
    pub unit: &'static str,
    /// Why there is no time.
    pub problem: Option<String>,
}

/// What is timed and how, for programs that time other systems in the same way: what `--list` prints.
#[derive(Serialize)]
pub struct Plan {
    /// Samples, whose median counts.
    samples: usize,
    /// Seconds that a sample takes at least.
    sample_seconds: f64,
    workloads: Vec<Problem>,
}

impl Plan {
    /// The plan of a session.
    pub fn new(args: &SessionArgs) -> Self {
        let workloads = if args.wants(Section::Time) { chosen(args).map(|w| w.problem).collect() } else { Vec::new() };
        Self { samples: SAMPLES, sample_seconds: SAMPLE.as_secs_f64(), workloads }
    }
}

/// Times all workloads.
pub fn run(device: &Device, args: &SessionArgs) -> Vec<Timing> {
    chosen(args)
        .map(|w| {
            eprintln!("timing {}", w.problem.name);
            workload(device, &w)
        })
        .collect()
}

/// Compiles every candidate of all workloads, without launching it. One that the target does not take costs only itself, as
/// when it is timed.
#[cfg(feature = "compiler")]
pub fn compile(device: &Device, args: &SessionArgs) -> Result<()> {
    let stream = device.default_stream();
    for workload in chosen(args) {
        let run = workload.compilation(device)?;
        for candidate in workload.candidates {
            if let Err(e) = run(&stream, candidate, None) {
                tracing::debug!("{} with {candidate}: {e}", workload.problem.name);
            }
        }
    }
    Ok(())
}

fn chosen(args: &SessionArgs) -> impl Iterator<Item = Workload> {
    workloads::all(args.quick).into_iter().filter(|w| w.problem.name.contains(&args.filter))
}

fn workload(device: &Device, workload: &Workload) -> Timing {
    let timing = |configuration: String, samples: &[f64], problem| {
        let at = |q: f64| samples.get((q * (samples.len().max(1) - 1) as f64).round() as usize).copied().unwrap_or(0.0);
        let median = at(0.5);
        let (rate, unit) = workload.rate(median);
        Timing {
            workload: workload.problem.name.clone(),
            configuration,
            median_us: median * 1e6,
            spread: if median > 0.0 { (at(0.75) - at(0.25)) / median } else { 0.0 },
            rate,
            unit,
            problem,
        }
    };
    let run = match workload.run(device) {
        Ok(run) => run,
        Err(e) => return timing(String::new(), &[], Some(e.to_string())),
    };
    let stream = match device.stream() {
        Ok(stream) => stream,
        Err(e) => return timing(String::new(), &[], Some(e.to_string())),
    };
    let (mut best, mut problem): (Option<(f64, &Candidate)>, _) = (None, None);
    for candidate in workload.candidates {
        match samples(&stream, TRIALS, |i| run(&stream, candidate, Some(i))).map(|s| s[s.len() / 2]) {
            Ok(time) if best.is_none_or(|(t, _)| time < t) => best = Some((time, candidate)),
            Ok(_) => {}
            // A candidate that the device does not take costs only itself; one that kills the context costs all.
            Err(e) => problem = Some(format!("{candidate}: {e}")),
        }
    }
    let Some((_, candidate)) = best else {
        return timing(String::new(), &[], problem.or(Some("no candidate fits".into())));
    };
    match samples(&stream, SAMPLES, |i| run(&stream, candidate, Some(i))) {
        Ok(times) => timing(candidate.to_string(), &times, None),
        Err(e) => timing(candidate.to_string(), &[], Some(e.to_string())),
    }
}

/// Seconds a launch, sorted. `launch` takes the number of the launch, to take the inputs in turn.
fn samples(stream: &Stream, count: usize, mut launch: impl FnMut(usize) -> Result<()>) -> Result<Vec<f64>> {
    let mut number = 0;
    let mut measure = |launches: usize| -> Result<Duration> {
        let start = stream.record()?;
        for _ in 0..launches {
            launch(number)?;
            number += 1;
        }
        stream.record()?.elapsed_since(&start)
    };
    // The first launches compile, and wake the device up.
    measure(3)?;
    let one = measure(3)?.div_f64(3.0).max(Duration::from_nanos(100));
    let launches = (SAMPLE.as_secs_f64() / one.as_secs_f64()).ceil().clamp(1.0, 1000.0) as usize;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(measure(launches)?.as_secs_f64() / launches as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
