//! `tegula session` from outside, on the stand-in of CUDA.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

fn session(variables: &[(&str, &str)], args: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_tegula"));
    let mut command =
        tegula_vgpu_driver::testing::command(program, variables).expect("the stand-ins are dev-dependencies");
    command.env("TEGULA_CACHE", "off").arg("session").args(args).output().expect("the command starts")
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
    for part in ["NVIDIA H200", "sm_90a", "checks passed", "add f16 5000", "GB/s", "Other 1.0", "of it)"] {
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
    let output = session(&variables, &["--device", "cuda:0", "--quick", "--filter", "gelu", "--no-time"]);
    let printed = text(&output);
    assert!(!output.status.success(), "{printed}");
    assert!(printed.contains("kernels are wrong") && printed.contains("gelu"), "{printed}");
}

#[test]
fn kernels_are_compiled_to_be_carried() {
    let variables = [("VGPU_MODEL", "h200"), ("VGPU_NULL_LAUNCH", "1")];
    let output = session(&variables, &["--device", "cuda:0", "--quick", "--filter", "softmax", "--compile-only"]);
    assert!(output.status.success(), "{}", text(&output));
}
