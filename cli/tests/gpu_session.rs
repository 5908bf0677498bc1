//! `scripts/gpu-session` from end to end on the drivers' stand-ins: on a machine with the compiler, and packed to be carried
//! to one without LLVM.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts");

/// The `tegula` command with the compiler, as this package's tests have it.
const PROGRAM: &str = env!("CARGO_BIN_EXE_tegula");

fn libraries() -> PathBuf {
    tegula_vgpu_driver::testing::library_dir().expect("the stand-ins are dev-dependencies")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command that must end well.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let printed = text(&output);
    assert!(output.status.success(), "{printed}");
    printed
}

/// A session on the stand-in of a model; gives what it printed and its JSON. `around` is a command to run it by.
fn session(around: &[String], script: &Path, model: &str, options: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, cache) = (folder.path().join("out"), folder.path().join("cache"));
    let mut arguments: Vec<String> = around.to_vec();
    arguments.push(script.display().to_string());
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]).args(["--stand-in", model, "--quick"]).args(options);
    command.arg("--libraries").arg(libraries()).arg("--out").arg(&out).env("TEGULA_CACHE_DIR", cache);
    let printed = run(&mut command);
    let json = std::fs::read(out.join("session.json")).expect("the session leaves a report");
    assert!(out.join("session.txt").exists() && out.join("doctor.txt").exists());
    (printed, serde_json::from_slice(&json).expect("the report is JSON"))
}

/// All sections are there, and found nothing wrong.
fn assert_complete(report: &Value, target: &str) {
    assert_eq!(report["target"], target);
    let section = |name: &str| report[name].as_array().unwrap_or_else(|| panic!("no {name} in {report}")).clone();
    let checks = section("checks");
    assert!(!checks.is_empty() && checks.iter().all(|c| c["ok"] == true), "{report}");
    assert_eq!(section("launches").len(), 6, "{report}");
    assert!(section("launches").iter().all(|l| l["ns"].as_f64().is_some_and(|ns| ns > 0.0)), "{report}");
    assert!(section("cache").iter().all(|c| c["hit_us"].as_f64().is_some_and(|us| us > 0.0)), "{report}");
    assert!(section("timings").iter().all(|t| t["problem"].is_null()), "{report}");
    assert!(section("timings").iter().any(|t| t["median_us"].as_f64().is_some_and(|us| us > 0.0)), "{report}");
    assert_eq!(section("missing").len(), 2, "PyTorch and Triton are said to be missing: {report}");
    assert!(section("problems").is_empty(), "{report}");
}

fn on_model(model: &str, target: &str) {
    let script = Path::new(SCRIPTS).join("gpu-session");
    let options = ["--program", PROGRAM, "--filter", "softmax"];
    let (printed, report) = session(&[], &script, model, &options);
    assert_complete(&report, target);
    assert!(report["cache"].as_array().is_some_and(|c| c.iter().all(|c| c["origin"] == "disk")), "{report}");
    for part in
        ["checks passed", "19 arguments", "softmax f16 8x256", "GB/s", "medians", "say nothing of speed", "results are"]
    {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
}

#[test]
fn a_session_runs_on_the_stand_in_of_cuda() {
    on_model("h200", "sm_90a");
}

#[test]
fn a_session_runs_on_the_stand_in_of_hip() {
    on_model("mi300x", "gfx942");
}

/// PyTorch and Triton stand beside us where Python finds them: here modules in their place, which count.
#[test]
fn a_session_stands_beside_other_systems() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut command = Command::new(Path::new(SCRIPTS).join("gpu-session"));
    command.args(["--program", PROGRAM, "--quick", "--only", "time", "--filter", "softmax", "--out"]).arg(&out);
    // Not as a stand-in, which is compared with nothing.
    command.env("LD_LIBRARY_PATH", libraries()).env("VGPU_MODEL", "h200").env("TEGULA_CACHE", "off");
    command.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/beside"));
    command.env("FAKE_TORCH_LOG", folder.path().join("log"));
    let printed = run(&mut command);
    let report = std::fs::read(out.join("session.json")).expect("the session leaves a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let beside: Vec<_> = report["beside"].as_array().expect("systems").iter().map(|b| &b["system"]).collect();
    assert_eq!(beside, ["PyTorch 2.99 (cuBLAS)", "Triton 3.99"], "{printed}");
    assert_eq!(report["missing"], serde_json::json!([]), "{printed}");
    let row = printed.lines().find(|l| l.contains("softmax f16 8x256") && l.contains("time"));
    assert_eq!(row.map(|row| row.matches("of it)").count()), Some(2), "{printed}");
}

/// A packed folder has no LLVM in it and needs none: the session runs where no LLVM library can be opened.
#[test]
fn a_packed_session_runs_without_llvm() {
    let folder = tempfile::tempdir().expect("a folder");
    let packed = folder.path().join("packed");
    let mut pack = Command::new(Path::new(SCRIPTS).join("gpu-session"));
    pack.arg("--pack").arg(&packed).args(["--program", PROGRAM, "--profile", "dev", "--quick", "--filter", "add"]);
    pack.args(["--targets", "sm_80,gfx942"]);
    // Beside the other artifacts; the compiler's program there keeps its name.
    let target = Path::new(PROGRAM).parent().and_then(Path::parent).expect("the program is in the target folder");
    pack.env("CARGO_TARGET_DIR", target).env("TEGULA_CACHE_DIR", folder.path().join("cache"));
    run(&mut pack);

    for file in ["gpu-session", "gpu-session-beside/__main__.py", "gpu-session-beside/kernels/attention.py"] {
        assert!(packed.join(file).is_file(), "{file}");
    }
    let program = packed.join("tegula-portable");
    let needed = run(Command::new("ldd").arg(&program));
    assert!(needed.contains("libc.so") && !needed.contains("LLVM"), "{needed}");

    let hidden = without_llvm();
    if hidden.is_empty() {
        println!("namespaces cannot be made here: LLVM is only not needed, and not hidden");
    } else {
        let output = Command::new(&hidden[0]).args(&hidden[1..]).args([PROGRAM, "kernels"]).output();
        assert!(!output.expect("the command starts").status.success(), "the compiler is hidden");
    }
    // PTX for sm_80 runs on the newer GPU as well.
    for (model, target) in [("a100", "sm_80"), ("h200", "sm_90a"), ("mi300x", "gfx942")] {
        let (_, report) = session(&hidden, &packed.join("gpu-session"), model, &["--filter", "add"]);
        assert_complete(&report, target);
        assert_eq!(report["kernels"]["compiled"], 0, "{report}");
        assert_ne!(report["kernels"]["embedded"], 0, "{report}");
    }
}

/// A command that runs another one where the LLVM library of this machine is an empty file; nothing where that cannot be
/// done.
fn without_llvm() -> Vec<String> {
    let needed = run(Command::new("ldd").arg(PROGRAM));
    let library = needed.lines().find(|l| l.contains("LLVM")).and_then(|l| l.split_whitespace().nth(2));
    let library = library.unwrap_or_else(|| panic!("the compiler needs no LLVM: {needed}"));
    let hide = format!("mount --bind /dev/null \"$(realpath {library})\" && exec \"$@\"");
    let command: Vec<String> =
        ["unshare", "--map-root-user", "--mount", "sh", "-c", &hide, "sh"].map(str::to_owned).to_vec();
    let works = Command::new(&command[0]).args(&command[1..]).arg("true").output();
    if works.is_ok_and(|o| o.status.success()) { command } else { Vec::new() }
}
