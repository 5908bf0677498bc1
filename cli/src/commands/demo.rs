//! `tegula demo`: the headline kernels on the CPU at real sizes, each checked against an `f64` reference; then the same
//! kernels compiled for GPUs.

use std::fs;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tegula::ir::ScalarType;
use tegula::ir::exec::grid_of;
use tegula::lang::kernel::BuildOptions;
use tegula::runtime::compiler::{Compilation, Target};
use tegula::runtime::executors::{self, Prepared};

use crate::Library;
use crate::args::DemoArgs;
use crate::case::build;
use crate::error::{CliError, Result};
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

/// Runs the demo.
pub fn run(library: &Library, args: &DemoArgs) -> Result<()> {
    println!("On the CPU, compiled just in time ({} threads):\n", executors::cpu_threads());
    let bar = ProgressBar::new(ITEMS.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is valid"));
    let mut table =
        Columns::new(&["kernel", "dtype", "size", ">compile", ">time", ">GFLOP/s", ">GB/s", ">error", ">bound"]);
    let mut functions = Vec::new();
    let mut wrong = Vec::new();
    for &(kernel, variant, elem, sizes) in ITEMS {
        let case = library.cases.iter().find(|c| c.kernel == kernel && c.variant == variant);
        let case = case.ok_or_else(|| CliError::Failed(format!("the library has no case {kernel}/{variant}")))?;
        let mut chosen = case.default_sizes();
        for (name, value) in sizes {
            let scaled = if args.small && *value > 64 { (value / 8).max(1) } else { *value };
            chosen.set(name, scaled);
        }
        bar.set_message(format!("{} {elem}: data and reference", case.name()));
        let f = build(&BuildOptions::default(), case, &chosen, elem)?;
        let problem = (case.problem)(&chosen, elem, 1);

        bar.set_message(format!("{} {elem}: compile and run", case.name()));
        let failed = |e: tegula::runtime::Error| CliError::Failed(e.to_string());
        let start = Instant::now();
        let prepared = Prepared::cpu(&f).map_err(failed)?;
        let compile = start.elapsed();
        let mut outputs = problem.args.clone();
        let grid = match problem.grid {
            Some(grid) => grid,
            None => grid_of(&f, &outputs).map_err(|e| CliError::Failed(e.to_string()))?.unwrap_or([1, 1, 1]),
        };
        let mut times = Vec::new();
        let begin = Instant::now();
        while times.len() < 3 || begin.elapsed() < MEASURE && times.len() < 1000 {
            let start = Instant::now();
            prepared.launch(grid, &mut outputs).map_err(failed)?;
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let bound = problem.expected.iter().map(|e| e.tolerance).fold(0.0, f64::max);
        let error = match problem.check(&outputs) {
            Ok(error) => format!("{error:.1e}"),
            Err(m) => {
                wrong.push(format!("{} {elem}: {m}", case.name()));
                format!("{:.1e} !", m.error)
            }
        };
        let size: Vec<_> = chosen.0.iter().filter(|(n, _)| *n != "B").map(|(_, v)| v.to_string()).collect();
        table.row([
            case.name(),
            elem.name().into(),
            size.join(" x "),
            seconds(compile.as_secs_f64()),
            seconds(median),
            if problem.flops > 0.0 { format!("{:.1}", problem.flops / median / 1e9) } else { "-".into() },
            format!("{:.1}", problem.bytes / median / 1e9),
            error,
            format!("{bound:.1e}"),
        ]);
        functions.push((case.name(), elem, f));
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!("{table}");

    fs::create_dir_all(&args.output)
        .map_err(|e| CliError::Failed(format!("cannot make {}: {e}", args.output.display())))?;
    println!("For GPUs, without one (files in {}):\n", args.output.display());
    let mut table = Columns::new(&["kernel", "dtype", "target", "file", ">size", ">shared", ">threads", ">compile"]);
    for (name, elem, f) in &functions {
        for target in TARGETS {
            let t = Target::by_name(target).map_err(|e| CliError::Failed(e.to_string()))?;
            let start = Instant::now();
            let compilation = Compilation::new(f.clone(), t);
            let code = compilation.code(false).map_err(|e| CliError::Failed(e.to_string()))?;
            let elapsed = start.elapsed().as_secs_f64();
            let (extension, bytes) = match &code.object {
                Some(object) => ("hsaco", object.as_slice()),
                None => ("ptx", code.assembly.as_bytes()),
            };
            let file = format!("{}_{elem}.{target}.{extension}", name.replace('/', "_"));
            let path = args.output.join(&file);
            fs::write(&path, bytes).map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))?;
            table.row([
                name.clone(),
                elem.name().into(),
                (*target).into(),
                file,
                byte_size(bytes.len()),
                byte_size(code.shared_bytes.unwrap_or(0) as usize),
                code.threads.map_or_else(|| "-".into(), |t| t.to_string()),
                seconds(elapsed),
            ]);
        }
    }
    print!("{table}");
    if wrong.is_empty() { Ok(()) } else { Err(CliError::Failed(wrong.join("\n"))) }
}
