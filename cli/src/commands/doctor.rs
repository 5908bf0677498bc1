//! `tegula doctor`: what was found on this machine, what is missing, and how to get it.

use std::process::Command;

use serde::Serialize;
use tegula::runtime::Device;
use tegula_artifact::ptxas;

use crate::args::Json;
use crate::error::Result;
use crate::table::Columns;

/// One thing looked for. With `--json`, an array of these.
#[derive(Serialize)]
struct Finding {
    /// What was looked for.
    what: &'static str,
    /// Whether it is there.
    found: bool,
    /// Version, path or description.
    detail: String,
    /// What it is needed for, and how to get it where it is missing.
    note: &'static str,
}

/// Looks, and prints.
pub fn run(args: &Json) -> Result<()> {
    let findings = findings();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings).expect("findings are plain data"));
        return Ok(());
    }
    let mut table = Columns::new(&["", "what", "found", "for"]);
    for f in &findings {
        let mark = if f.found { "ok" } else { "--" };
        table.row([mark.into(), f.what.into(), f.detail.clone(), f.note.into()]);
    }
    print!("{table}");
    println!("\ndevices:");
    for device in Device::all() {
        println!("  {:<10} {}", device.name(), device.description());
    }
    Ok(())
}

fn findings() -> Vec<Finding> {
    let library = |what, name: &str, note| {
        let handle = find_library(name);
        Finding { what, found: handle.is_some(), detail: handle.unwrap_or_else(|| format!("no {name}")), note }
    };
    let tool = |what, command: &str, note| {
        let version = tool_version(command);
        Finding { what, found: version.is_some(), detail: version.unwrap_or_else(|| format!("no {command}")), note }
    };
    vec![
        llvm(),
        Finding { what: "CPU", found: true, detail: cpu(), note: "running kernels on this machine" },
        library("NVIDIA driver", "libcuda.so.1", "running on NVIDIA GPUs; comes with the NVIDIA driver"),
        library("HIP", "libamdhip64.so", "running on AMD GPUs; comes with ROCm's package hip-runtime-amd"),
        ptxas(),
        tool(
            "llvm-readelf",
            "/usr/lib/llvm-22/bin/llvm-readelf",
            "tests of code objects, only; Debian package llvm-22",
        ),
    ]
}

fn ptxas() -> Finding {
    let found = ptxas::find();
    let version = found.as_ref().and_then(|path| tool_version(&path.display().to_string()));
    let detail = match (&found, &version) {
        (Some(path), Some(version)) => format!("{} ({version})", path.display()),
        (Some(path), None) => format!("{} does not run", path.display()),
        (None, _) => "no ptxas".into(),
    };
    let note =
        "assembling PTX where the driver cannot (TEGULA_PTXAS); tests of PTX; comes with CUDA, or scripts/fetch-ptxas";
    Finding { what: "ptxas", found: version.is_some(), detail, note }
}

fn llvm() -> Finding {
    #[cfg(feature = "compiler")]
    let (found, detail) = (true, tegula_codegen::llvm_version());
    #[cfg(not(feature = "compiler"))]
    let (found, detail) = (false, "this program has no compiler".into());
    Finding { what: "LLVM", found, detail, note: "compiling kernels; linked into programs with the compiler" }
}

/// The path of a shared library in the places where the loader looks.
fn find_library(name: &str) -> Option<String> {
    let path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let standard =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/opt/rocm/lib"];
    path.split(':')
        .filter(|p| !p.is_empty())
        .chain(standard)
        .map(|dir| format!("{dir}/{name}"))
        .find(|p| std::path::Path::new(p).exists())
}

/// The line of a tool's `--version` that has a number in it.
fn tool_version(command: &str) -> Option<String> {
    let output = Command::new(command).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|l| l.contains("release") || l.contains("version"))?;
    Some(line.trim().to_owned())
}

fn cpu() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")).map(|l| l.trim_start_matches([' ', '\t', ':']));
    format!("{}, {cores} threads", model.unwrap_or(std::env::consts::ARCH))
}
