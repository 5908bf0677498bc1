//! What came of a session: one table for people, and the same as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cache::CacheCost;
use super::check::Check;
use super::launch::{LaunchCost, PUBLISHED};
use super::time::Timing;
use crate::error::{CliError, Result};
use crate::table::{Columns, seconds};

/// What came of a session: what `--json` writes.
#[derive(Serialize)]
pub struct Report {
    /// The device's name, such as `cuda:0`.
    pub device: String,
    /// What it is.
    pub description: String,
    /// What kernels are compiled for.
    pub target: String,
    /// Tegula's version.
    pub version: &'static str,
    /// Seconds since 1970.
    pub time: u64,
    /// Whether sizes are small, so that times say nothing.
    pub quick: bool,
    /// Where the kernels came from.
    pub kernels: Kernels,
    pub checks: Vec<Check>,
    pub launches: Vec<LaunchCost>,
    pub cache: Vec<CacheCost>,
    pub timings: Vec<Timing>,
    /// Times of other systems.
    pub beside: Vec<Beside>,
    /// Other systems that are not there, with the reason.
    pub missing: Vec<String>,
    /// What kept a section from being measured.
    pub problems: Vec<String>,
}

/// Numbers of kernels.
#[derive(Serialize)]
pub struct Kernels {
    pub compiled: usize,
    pub disk: usize,
    pub embedded: usize,
}

/// Times of another system, by name of the workload, in microseconds: what `--beside` reads.
#[derive(Serialize, Deserialize)]
pub struct Beside {
    /// The system, such as `PyTorch 2.9`.
    pub system: String,
    /// Microseconds by workload.
    pub times: BTreeMap<String, f64>,
    /// Why there are no others, by workload.
    #[serde(default)]
    pub problems: BTreeMap<String, String>,
}

impl Report {
    /// Prints the table.
    pub fn print(&self) {
        println!("{}: {}, code for {}, Tegula {}", self.device, self.description, self.target, self.version);
        let mut headings = vec!["".to_owned(), "what".into(), "with".into(), ">result".into(), "".into()];
        headings.extend(self.beside.iter().map(|b| format!(">{}", b.system)));
        let mut table = Columns::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
        let mut row = |mut cells: Vec<String>| {
            cells.resize(headings.len(), String::new());
            table.row(cells);
        };
        self.check_rows().into_iter().for_each(&mut row);
        for cost in &self.launches {
            let threads = if cost.threads == 1 { "1 thread".into() } else { format!("{} threads", cost.threads) };
            let over = cost.driver_ns.map_or_else(String::new, |driver| {
                format!("{} over the driver's call", seconds((cost.ns - driver).max(0.0) * 1e-9))
            });
            row(vec!["launch".into(), format!("{} arguments", cost.arguments), threads, seconds(cost.ns * 1e-9), over]);
        }
        for cost in &self.cache {
            let us = |us: f64| seconds(us * 1e-6);
            let details = format!("of which tracing {}; the first time {}", us(cost.trace_us), us(cost.first_us));
            row(vec!["cache".into(), cost.kernel.into(), cost.origin.into(), us(cost.hit_us), details]);
        }
        for t in &self.timings {
            row(self.timing_row(t));
        }
        print!("{table}");
        let passed = self.checks.iter().filter(|c| c.ok).count();
        println!("{passed} of {} checks passed", self.checks.len());
        let Kernels { compiled, disk, embedded } = self.kernels;
        println!("kernels: {compiled} compiled, {disk} from the cache on disk, {embedded} compiled ahead of time");
        if !self.launches.is_empty() {
            println!("{PUBLISHED}");
        }
        if !self.timings.is_empty() {
            let small = if self.quick { "; sizes are small, so that they say nothing of speed" } else { "" };
            println!(
                "times are medians by the device's events, over sets of tensors in turn that no cache holds{small}"
            );
        }
        for missing in &self.missing {
            println!("not compared with {missing}");
        }
        for (beside, (workload, problem)) in self.beside.iter().flat_map(|b| b.problems.iter().map(move |p| (b, p))) {
            println!("not compared with {} on {workload}: {problem}", beside.system);
        }
        for problem in &self.problems {
            println!("not measured: {problem}");
        }
    }

    /// A row for each kernel and element type, and one for each check that failed.
    fn check_rows(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for group in self.checks.chunk_by(|a, b| a.kernel == b.kernel && a.dtype == b.dtype) {
            let what = format!("{} {}", group[0].kernel, group[0].dtype);
            let passed = group.iter().filter(|c| c.ok).count();
            let error = group.iter().filter_map(|c| c.error).fold(0.0, f64::max);
            let sizes = if group.len() == 1 { "1 size".into() } else { format!("{} sizes", group.len()) };
            let result = if passed == group.len() { "ok".into() } else { format!("{} wrong", group.len() - passed) };
            rows.push(vec!["check".into(), what.clone(), sizes, result, format!("error {error:.1e}")]);
            for c in group.iter().filter(|c| !c.ok) {
                let problem = c.problem.lines().next().unwrap_or_default().to_owned();
                rows.push(vec!["".into(), what.clone(), c.sizes.clone(), "wrong".into(), problem]);
            }
        }
        rows
    }

    fn timing_row(&self, t: &Timing) -> Vec<String> {
        let mut cells = match &t.problem {
            Some(problem) => {
                let problem = problem.lines().next().unwrap_or_default().to_owned();
                vec!["time".into(), t.workload.clone(), "".into(), "-".into(), problem]
            }
            None => {
                let rate = format!("{:.1} {} ±{:.0} %", t.rate, t.unit, 50.0 * t.spread);
                vec!["time".into(), t.workload.clone(), t.configuration.clone(), seconds(t.median_us * 1e-6), rate]
            }
        };
        for other in &self.beside {
            cells.push(match other.times.get(&t.workload) {
                Some(us) if t.problem.is_none() => {
                    format!("{} ({:.2} of it)", seconds(us * 1e-6), t.median_us / us)
                }
                Some(us) => seconds(us * 1e-6),
                None => "-".into(),
            });
        }
        cells
    }

    /// Whether all is well.
    pub fn verdict(&self) -> Result<()> {
        let wrong = self.checks.iter().filter(|c| !c.ok).count();
        let untimed = self.timings.iter().filter(|t| t.problem.is_some()).count();
        match (wrong, untimed, self.problems.len()) {
            (0, 0, 0) => Ok(()),
            (wrong, untimed, failed) => Err(CliError::Failed(format!(
                "{wrong} kernels are wrong, {untimed} could not be timed, {failed} sections could not be measured"
            ))),
        }
    }
}
