//! The `vgpu` command: runs GPU code on the CPU, and tells what is in it.

use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use tegula_vgpu::counters::{Class, Counters};
use tegula_vgpu::error::{Error, Result};
use tegula_vgpu::gcn::Arch;
use tegula_vgpu::gcn::isa::opcodes;
use tegula_vgpu::launch::Outcome;
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::tool::launch_file::write_report;
use tegula_vgpu::tool::{CodeFile, LaunchFile, Report, Status};
use tegula_vgpu::trace::{Event, Tracer, Value};

// A reader that has gone (`vgpu info FILE | head`) is no error, where the macros of the standard library panic.
macro_rules! print {
    ($($text:tt)*) => { let _ = write!(std::io::stdout(), $($text)*); };
}
macro_rules! println {
    ($($text:tt)*) => { let _ = writeln!(std::io::stdout(), $($text)*); };
}

/// Runs PTX and AMD code objects on virtual GPUs.
///
/// Exit status: 0 clean, 2 bad launch, 3 findings (or stopped by the program), 4 unsupported instruction.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a launch: buffers from .npy files, outputs to .npy files, findings to the terminal and the report.
    Run {
        /// The launch, in JSON.
        launch: PathBuf,
    },
    /// Tells a file's kernels: parameters, registers, shared memory, and whether their instructions are supported.
    Info {
        /// PTX text or a code object.
        file: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tells which opcodes of an AMD architecture the machine executes, as LLVM knows them, or of all architectures.
    Isa {
        /// Such as gfx942.
        target: Option<String>,
    },
    /// Runs a launch and prints each instruction that a warp executes, with the registers of its first lane.
    Trace {
        /// The launch, in JSON.
        launch: PathBuf,
        /// Only this program, as x,y,z.
        #[arg(long, value_parser = program)]
        program: Option<[u32; 3]>,
        /// Only this warp.
        #[arg(long)]
        warp: Option<u32>,
        /// Only instructions that contain this.
        #[arg(long)]
        contains: Option<String>,
        /// Stop printing after so many.
        #[arg(long, default_value_t = u64::MAX)]
        limit: u64,
    },
    /// Runs a launch and prints what was counted.
    Counters {
        /// The launch, in JSON.
        launch: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

fn program(text: &str) -> std::result::Result<[u32; 3], String> {
    let parts: Vec<u32> =
        text.split(',').map(str::parse).collect::<std::result::Result<_, _>>().map_err(|_| "expected x,y,z")?;
    parts.try_into().map_err(|_| "expected x,y,z".to_owned())
}

fn main() -> ExitCode {
    let status = match Cli::parse().command {
        Command::Run { launch } => run(&launch),
        Command::Info { file, json } => info(&file, json),
        Command::Isa { target } => isa(target.as_deref()),
        Command::Trace { launch, program, warp, contains, limit } => trace(&launch, program, warp, contains, limit),
        Command::Counters { launch, json } => counters(&launch, json),
    };
    let status = status.unwrap_or_else(|error| {
        eprintln!("vgpu: {error}");
        Status::of(&error)
    });
    ExitCode::from(status as u8)
}

/// Runs a launch file. A launch that cannot be started has a report too, if it says where.
fn launch(path: &Path, tracer: Option<&Tracer<'_>>) -> Result<Report> {
    let file = LaunchFile::read(path)?;
    match file.prepare() {
        Ok(prepared) => prepared.run(tracer),
        Err(error) => {
            let report = Report::new(&Err(error.clone()), &Outcome::default());
            if let Some(path) = &file.report {
                write_report(&file.folder.join(path), &report)?;
            }
            Err(error)
        }
    }
}

/// Prints what a run found.
fn tell(report: &Report) {
    print!("{}", report.printed);
    for finding in &report.findings {
        eprintln!("{finding}");
    }
    if report.findings_dropped > 0 {
        eprintln!("{} more findings", report.findings_dropped);
    }
    if let Some(error) = &report.error {
        eprintln!("vgpu: {error}");
    }
}

fn run(path: &Path) -> Result<Status> {
    let report = launch(path, None)?;
    tell(&report);
    Ok(report.status)
}

fn counters(path: &Path, json: bool) -> Result<Status> {
    let report = launch(path, None)?;
    tell(&report);
    if json {
        println!("{}", serde_json::to_string_pretty(&report.counters).map_err(|e| Error::BadLaunch(e.to_string()))?);
    } else {
        table(&report.counters);
    }
    Ok(report.status)
}

fn table(counters: &Counters) {
    println!("warp instructions      {:>14}", counters.total());
    for class in Class::ALL {
        let count = counters.of(class);
        if count > 0 {
            println!("  {:<20} {count:>14}", format!("{class:?}").to_lowercase());
        }
    }
    for (name, value) in [
        ("lane operations", counters.lane_operations),
        ("matrix multiply-adds", counters.matrix_multiply_adds),
        ("global load sectors", counters.global_load_sectors),
        ("global load bytes", counters.global_load_bytes),
        ("global store sectors", counters.global_store_sectors),
        ("global store bytes", counters.global_store_bytes),
        ("shared accesses", counters.shared_accesses),
        ("bank conflict cycles", counters.bank_conflict_cycles),
        ("async copy bytes", counters.async_copy_bytes),
        ("bulk copy bytes", counters.bulk_copy_bytes),
        ("barriers", counters.barriers),
        ("max bytes in flight", counters.max_bytes_in_flight),
    ] {
        println!("{name:<22} {value:>14}");
    }
    let o = &counters.occupancy;
    println!("occupancy              {} of {} warps, limited by {}", o.warps, o.max_warps, o.limited_by);
}

fn info(path: &Path, json: bool) -> Result<Status> {
    let memory = GlobalMemory::default();
    let code = CodeFile::load(path, &memory)?;
    let entries = code.info()?;
    let unsupported = entries.iter().any(|entry| !entry.unsupported.is_empty());
    if json {
        let value = serde_json::json!({ "target": code.target(), "entries": entries });
        println!("{}", serde_json::to_string_pretty(&value).map_err(|e| Error::BadLaunch(e.to_string()))?);
    } else {
        println!("target {}", code.target());
        for entry in &entries {
            println!("\nkernel {}", entry.name);
            println!("  registers {}", entry.registers);
            println!("  shared {} bytes, local {} bytes a thread", entry.shared, entry.local);
            println!("  parameters");
            for (name, offset, size) in &entry.params {
                println!("    {offset:>5} {size:>4} bytes  {name}");
            }
            println!("  instruction families");
            for (name, count, supported) in &entry.families {
                println!("    {count:>6}  {name}{}", if *supported { "" } else { "  NOT WHOLLY SUPPORTED" });
            }
            println!("  instructions");
            for (name, count, supported) in &entry.instructions {
                println!("    {count:>6}  {name}{}", if *supported { "" } else { "  NOT SUPPORTED" });
            }
            for message in &entry.unsupported {
                println!("  {message}");
            }
        }
    }
    Ok(if unsupported { Status::Unsupported } else { Status::Clean })
}

fn isa(target: Option<&str>) -> Result<Status> {
    let arches = match target {
        Some(name) => {
            vec![Arch::from_name(name).ok_or_else(|| Error::BadLaunch(format!("no instruction set for `{name}`")))?]
        }
        None => Arch::ALL.to_vec(),
    };
    for arch in arches {
        let all = opcodes(arch);
        let missing: Vec<_> = all.iter().filter(|opcode| !opcode.supported).collect();
        println!("{arch}: {} opcodes, {} executed, {} not", all.len(), all.len() - missing.len(), missing.len());
        for opcode in missing {
            println!("  {:<8} {:>4}  {}", opcode.encoding, opcode.number, opcode.mnemonic);
        }
    }
    Ok(Status::Clean)
}

fn trace(
    path: &Path,
    program: Option<[u32; 3]>,
    warp: Option<u32>,
    contains: Option<String>,
    limit: u64,
) -> Result<Status> {
    let printed = Mutex::new(0);
    let sink = |event: Event| {
        let mut count = printed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *count >= limit {
            return;
        }
        *count += 1;
        let [x, y, z] = event.program;
        let list = |values: &[Value]| {
            let show = |v: &Value| match v.bits {
                Some(bits) => format!("{}={bits:x}", v.register),
                None => format!("{}=outstanding", v.register),
            };
            values.iter().map(show).collect::<Vec<_>>().join(" ")
        };
        println!(
            "({x},{y},{z}).{} {:08x} {:>5}: {}  [{}] -> [{}]",
            event.warp,
            event.mask,
            event.location.to_string(),
            event.text,
            list(&event.reads),
            list(&event.writes)
        );
    };
    let mut tracer = Tracer::new(&sink);
    tracer.program = program;
    tracer.warp = warp;
    tracer.contains = contains;
    let report = launch(path, Some(&tracer))?;
    tell(&report);
    Ok(report.status)
}
