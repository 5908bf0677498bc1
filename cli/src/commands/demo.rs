//! `tegula demo`: the headline kernels on the CPU at real sizes, each checked against an `f64` reference; then the same
//! kernels compiled for GPUs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tegula::ir::{Function, ScalarType};
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::compiler::{Compilation, Target};
use tegula::runtime::executors::{self, Prepared};

use crate::Library;
use crate::args::DemoArgs;
use crate::case::build;
use crate::cases::Case;
use crate::error::{CliError, Result};
use crate::problem::Sizes;
use crate::select::target;
use crate::table::{Columns, byte_size, seconds};

/// One line of the demo: kernel, variant, element type, sizes.
type Item = (&'static str, &'static str, ScalarType, &'static [(&'static str, i64)]);

const ITEMS: &[Item] = &[
    ("add", "", ScalarType::F32, &[("N", 1 << 24)]),
    ("softmax", "", ScalarType::F32, &[("M", 4096), ("N", 4096)]),
    ("layernorm", "", ScalarType::F32, &[("M", 4096), ("N", 4096)]),
    ("matmul", "", ScalarType::F32, &[("M", 1024), ("N", 1024), ("K", 1024)]),
    ("matmul", "", ScalarType::F16, &[("M", 1024), ("N", 1024), ("K", 1024)]),
    ("matmul", "", ScalarType::BF16, &[("M", 1024), ("N", 1024), ("K", 1024)]),
    ("attention", "", ScalarType::F32, &[("B", 1), ("H", 8), ("G", 8), ("M", 1024), ("N", 1024), ("D", 64)]),
    ("attention", "causal", ScalarType::F32, &[("B", 1), ("H", 8), ("G", 8), ("M", 1024), ("N", 1024), ("D", 64)]),
];

const TARGETS: &[&str] = &["sm_80", "sm_90a", "gfx942"];

/// The shortest time that a kernel is measured for.
const MEASURE: Duration = Duration::from_millis(500);

/// What came of it. `--json` prints this.
#[derive(Default, Serialize)]
struct Report {
    /// Threads of the CPU that were used.
    threads: usize,
    cpu: Vec<OnCpu>,
    gpu: Vec<ForGpu>,
}

/// A kernel on the CPU.
#[derive(Serialize)]
struct OnCpu {
    kernel: String,
    dtype: &'static str,
    sizes: Vec<(&'static str, i64)>,
    compile_seconds: f64,
    /// The median of the launches.
    seconds: f64,
    /// 10⁹ operations a second; absent where nothing is computed.
    gflops: Option<f64>,
    /// 10⁹ bytes a second, each counted once.
    gbytes: f64,
    error: f64,
    bound: f64,
    ok: bool,
}

/// A kernel compiled for a GPU.
#[derive(Serialize)]
struct ForGpu {
    kernel: String,
    dtype: &'static str,
    target: &'static str,
    file: String,
    bytes: usize,
    shared_bytes: u32,
    threads: u32,
    compile_seconds: f64,
}

/// Runs the demo.
pub fn run(library: &Library, args: &DemoArgs) -> Result<()> {
    let mut report = Report { threads: executors::cpu_threads(), ..Report::default() };
    if !args.json {
        println!("On the CPU, compiled just in time ({} threads):\n", report.threads);
    }
    let bar = ProgressBar::new(ITEMS.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let mut functions = Vec::new();
    let mut wrong = Vec::new();
    for item in ITEMS {
        let (case, sizes) = find(library, item, args.small)?;
        let elem = item.2;
        bar.set_message(format!("{} {elem}", case.name()));
        let f = build(&BuildOptions::default(), case, &sizes, elem)?;
        let (row, problem) = on_cpu(case, &sizes, elem, &f)?;
        wrong.extend(problem);
        report.cpu.push(row);
        functions.push((case.name(), elem, f));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !args.json {
        println!("{}", cpu_table(&report.cpu));
    }

    fs::create_dir_all(&args.output)
        .map_err(|e| CliError::Failed(format!("cannot make {}: {e}", args.output.display())))?;
    if !args.json {
        println!("For GPUs, without one (files in {}):\n", args.output.display());
    }
    for (name, elem, f) in &functions {
        for t in TARGETS {
            report.gpu.push(for_gpu(name, *elem, f, target(t)?, &args.output)?);
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report).expect("the report is plain data"));
    } else {
        print!("{}", gpu_table(&report.gpu));
    }
    if wrong.is_empty() { Ok(()) } else { Err(CliError::Failed(wrong.join("\n"))) }
}

/// The case of an item, and its sizes.
fn find(library: &Library, item: &Item, small: bool) -> Result<(&'static Case, Sizes)> {
    let &(kernel, variant, _, sizes) = item;
    let case = library.cases.iter().find(|c| c.kernel == kernel && c.variant == variant);
    let case = case.ok_or_else(|| CliError::Usage("the demo is of kernels that this command does not have".into()))?;
    let mut chosen = case.default_sizes();
    for (name, value) in sizes {
        let scaled = if small && *value > 64 { (value / 8).max(1) } else { *value };
        chosen.set(name, scaled);
    }
    Ok((case, chosen))
}

/// Runs a kernel on the CPU. Gives what is wrong with its results, too.
fn on_cpu(case: &Case, sizes: &Sizes, elem: ScalarType, f: &Function) -> Result<(OnCpu, Option<String>)> {
    let problem = (case.problem)(sizes, elem, 1);
    let failed = |e: tegula::runtime::Error| CliError::Failed(e.to_string());
    let start = Instant::now();
    let prepared = Prepared::cpu(f).map_err(failed)?;
    let compile_seconds = start.elapsed().as_secs_f64();
    let mut outputs = problem.args.clone();
    let grid = problem.grid(f).map_err(|e| CliError::Failed(e.to_string()))?;
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < 3 || begin.elapsed() < MEASURE && times.len() < 1000 {
        let start = Instant::now();
        prepared.launch(grid, &mut outputs).map_err(failed)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let checked = problem.check(&outputs);
    let row = OnCpu {
        kernel: case.name(),
        dtype: elem.name(),
        sizes: sizes.0.clone(),
        compile_seconds,
        seconds: median,
        gflops: (problem.flops > 0.0).then(|| problem.flops / median / 1e9),
        gbytes: problem.bytes / median / 1e9,
        error: checked.as_ref().map_or_else(|m| m.error, |e| *e),
        bound: problem.expected.iter().map(|e| e.tolerance).fold(0.0, f64::max),
        ok: checked.is_ok(),
    };
    Ok((row, checked.err().map(|m| format!("{} {elem}: {m}", case.name()))))
}

fn cpu_table(rows: &[OnCpu]) -> Columns {
    let mut table =
        Columns::new(&["kernel", "dtype", "size", ">compile", ">time", ">GFLOP/s", ">GB/s", ">error", ">bound"]);
    for row in rows {
        let size: Vec<_> = row.sizes.iter().filter(|(n, _)| *n != "B").map(|(_, v)| v.to_string()).collect();
        table.row([
            row.kernel.clone(),
            row.dtype.into(),
            size.join(" x "),
            seconds(row.compile_seconds),
            seconds(row.seconds),
            row.gflops.map_or_else(|| "-".into(), |g| format!("{g:.1}")),
            format!("{:.1}", row.gbytes),
            format!("{:.1e}{}", row.error, if row.ok { "" } else { " !" }),
            format!("{:.1e}", row.bound),
        ]);
    }
    table
}

/// Compiles a kernel for a GPU and writes the code to the folder.
fn for_gpu(name: &str, elem: ScalarType, f: &Function, target: Target, folder: &Path) -> Result<ForGpu> {
    let start = Instant::now();
    let code = Compilation::new(f.clone(), target).code(false).map_err(|e| CliError::Failed(e.to_string()))?;
    let compile_seconds = start.elapsed().as_secs_f64();
    let (extension, bytes) = match &code.object {
        Some(object) => ("hsaco", object.as_slice()),
        None => ("ptx", code.assembly.as_bytes()),
    };
    let path = folder.join(format!("{}_{elem}.{}.{extension}", name.replace('/', "_"), target.name()));
    fs::write(&path, bytes).map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))?;
    Ok(ForGpu {
        kernel: name.into(),
        dtype: elem.name(),
        target: target.name(),
        file: path.display().to_string(),
        bytes: bytes.len(),
        shared_bytes: code.shared_bytes.unwrap_or(0),
        threads: code.threads.unwrap_or(0),
        compile_seconds,
    })
}

fn gpu_table(rows: &[ForGpu]) -> Columns {
    let mut table = Columns::new(&["kernel", "dtype", "target", "file", ">size", ">shared", ">threads", ">compile"]);
    for row in rows {
        let file = Path::new(&row.file).file_name().unwrap_or_default().to_string_lossy().into_owned();
        table.row([
            row.kernel.clone(),
            row.dtype.into(),
            row.target.into(),
            file,
            byte_size(row.bytes),
            byte_size(row.shared_bytes as usize),
            row.threads.to_string(),
            seconds(row.compile_seconds),
        ]);
    }
    table
}
