//! `tegula session` from outside, on the stand-in of CUDA.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

fn session(variables: &[(&str, &str)], args: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_tegula"));
    let mut command =
        tegula_vgpu_driver::testing::command(program, variables).expect("the stand-ins are dev-dependencies");
    command
        .env("TEGULA_CACHE", "off")
        .envs(variables.iter().copied())
        .arg("session")
        .args(args)
        .output()
        .expect("the command starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn kernels_are_checked_and_timed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("session.json");
    let beside = folder.path().join("other.json");
    std::fs::write(&beside, r#"{"system": "Other 1.0", "times": {"add f16 5000": 1.0}}"#).expect("a file");
    let (json_text, beside) = (json.display().to_string(), beside.display().to_string());
    let output = session(
        &[("VGPU_MODEL", "h200")],
        &["--device", "cuda:0", "--quick", "--filter", "add", "--json", &json_text, "--beside", &beside],
    );
    let printed = text(&output);
    assert!(output.status.success(), "{printed}");
    let parts =
        ["NVIDIA H200", "sm_90a", "checks passed", "add f16 5000", "GB/s", "Other 1.0", "of it)", "over the driver"];
    for part in parts {
        assert!(printed.contains(part), "`{part}` is not in: {printed}");
    }
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the report")).expect("JSON");
    assert_eq!(report["target"], "sm_90a");
    let checks = report["checks"].as_array().expect("checks");
    assert!(!checks.is_empty() && checks.iter().all(|c| c["ok"] == true), "{report}");
    let timing = &report["timings"][0];
    assert!(timing["median_us"].as_f64().is_some_and(|us| us > 0.0), "{report}");
}

/// What a session finds wrong, it says, and fails.
#[test]
fn a_kernel_that_is_wrong_is_told() {
    // Launches that do nothing leave the outputs unwritten.
    let variables = [("VGPU_MODEL", "a100"), ("VGPU_NULL_LAUNCH", "1")];
    let output = session(&variables, &["--device", "cuda:0", "--quick", "--filter", "gelu", "--only", "check"]);
    let printed = text(&output);
    assert!(!output.status.success(), "{printed}");
    assert!(printed.contains("kernels are wrong") && printed.contains("gelu"), "{printed}");
}

/// What is packed for one machine is all that a session there needs.
#[test]
fn kernels_are_compiled_to_be_carried() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kernels.tegula").display().to_string();
    let what = ["--quick", "--filter", "softmax"];
    let output = session(&[], &[&["--pack", &file, "--targets", "sm_90a"], &what[..]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let json = folder.path().join("session.json").display().to_string();
    let take = ["--kernels", &file, "--device", "cuda:0", "--json", &json];
    let output = session(&[("VGPU_MODEL", "h200")], &[&take[..], &what[..]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the report")).expect("JSON");
    assert_eq!(report["kernels"]["compiled"], 0, "{report}");
    let checks = report["checks"].as_array().expect("checks");
    assert!(!checks.is_empty() && checks.iter().all(|c| c["ok"] == true), "{report}");

    let broken = folder.path().join("broken").display().to_string();
    std::fs::write(&broken, "no archive").expect("a file");
    let output = session(&[("VGPU_MODEL", "h200")], &["--kernels", &broken, "--device", "cuda:0"]);
    assert!(!output.status.success() && text(&output).contains("broken"), "{}", text(&output));
    let output = session(&[], &["--pack", &file, "--targets", "sm_90"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("did you mean `sm_80`?"), "{}", text(&output));
}

/// On CUDA both are kept: what the compiler made, and the machine code that the driver made of that, which a second session
/// takes.
#[test]
fn what_the_driver_makes_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().display().to_string();
    let json = folder.path().join("session.json").display().to_string();
    let variables = [("VGPU_MODEL", "h200"), ("TEGULA_CACHE_DIR", &path), ("TEGULA_CACHE", "on")];
    let kernels = || {
        let what = ["--device", "cuda:0", "--quick", "--filter", "copy", "--only", "check", "--json", &json];
        let output = session(&variables, &what);
        assert!(output.status.success(), "{}", text(&output));
        let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("the report")).expect("JSON");
        let number = |name: &str| report["kernels"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {report}"));
        (number("compiled"), number("disk"))
    };
    let (compiled, _) = kernels();
    assert!(compiled > 0);
    assert_eq!(kernels(), (0, compiled));

    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tegula"));
    let output = command.args(["cache", "list", "--json"]).envs(variables).output().expect("the command starts");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let listed = listed.as_array().expect("an array");
    let of = |format: &str| listed.iter().filter(|k| k["format"] == format && k["kernel"] == "copy").count();
    assert_eq!((of("ptx"), of("cubin"), listed.len()), (compiled as usize, compiled as usize, 2 * compiled as usize));
    assert!(listed.iter().all(|k| k["current"] == true), "{listed:?}");
}
