//! The command over kernels that are not those of the library. This program is its own test: started with a variable set, it
//! is the example's command.

use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;

#[path = "../examples/own_kernels.rs"]
mod own_kernels;

const AS_COMMAND: &str = "TEGULA_TEST_IS_THE_COMMAND";

fn main() -> ExitCode {
    if std::env::var_os(AS_COMMAND).is_some() {
        return own_kernels::main();
    }
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let trials = vec![
        trial("kernels_are_listed", kernels_are_listed),
        trial("every_stage_can_be_shown", every_stage_can_be_shown),
        trial("kernels_run_against_the_interpreter", kernels_run_against_the_interpreter),
        trial("everything_is_checked", everything_is_checked),
        trial("wrong_arguments_are_errors_of_one_line", wrong_arguments_are_errors_of_one_line),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn command(args: &[&str]) -> Output {
    let program = std::env::current_exe().expect("this program");
    Command::new(program).args(args).env(AS_COMMAND, "1").output().expect("the command starts")
}

fn success(args: &[&str]) -> String {
    let output = command(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&success(&[args, &["--json"]].concat())).expect("JSON")
}

fn kernels_are_listed() {
    let kernels = json(&["kernels"]);
    let names: Vec<&str> = kernels.as_array().expect("an array").iter().filter_map(|k| k["name"].as_str()).collect();
    assert_eq!(names, ["saxpy", "row_sums"]);
    assert!(kernels[0]["source"].as_str().expect("a place").contains("own_kernels.rs:"));
}

fn every_stage_can_be_shown() {
    assert!(success(&["compile", "saxpy", "--target", "sm_90a", "--emit", "ptx"]).contains(".entry saxpy"));
    assert!(success(&["compile", "row_sums", "--dtype", "bf16", "--emit", "tile"]).contains("bf16"));
}

fn kernels_run_against_the_interpreter() {
    for device in ["cpu", "vgpu:sm_80", "vgpu:gfx942"] {
        let saxpy = ["run", "saxpy", "--arg", "x=1031", "--arg", "y=1031", "--arg", "out=1031", "--arg", "a=-2.5"];
        let outcome = json(&[&saxpy[..], &["--device", device, "--check"]].concat());
        assert_eq!((&outcome["ok"], &outcome["args"][3]), (&Value::from(true), &Value::from("a=-2.5")));
        assert!(outcome["error"].as_f64().expect("an error") <= outcome["bound"].as_f64().expect("a bound"));
        let sums = ["run", "row_sums", "--arg", "x=3x700", "--arg", "sums=3", "--grid", "3", "--set", "negated=true"];
        assert_eq!(json(&[&sums[..], &["--device", device, "--check", "--dtype", "f16"]].concat())["ok"], true);
    }
}

fn everything_is_checked() {
    let rows = json(&["check", "--targets", "cpu,sm_80,gfx942"]);
    let rows = rows.as_array().expect("an array");
    // One for `saxpy`, one for each float type of `row_sums`.
    assert_eq!(rows.len(), 5);
    for row in rows {
        let results = row["results"].as_array().expect("an array");
        assert_eq!(results.len(), 3);
        assert!(results.iter().all(|r| r[1] == "ok"), "{row}");
    }
}

fn wrong_arguments_are_errors_of_one_line() {
    for (args, part) in [
        (&["compile", "saxpi"][..], "did you mean `saxpy`?"),
        (&["compile", "matmul"], "choose from: saxpy, row_sums"),
        (&["run", "saxpy"], "--arg x=64 --arg y=64 --arg out=64 --arg a=1"),
        (&["run", "saxpy", "--size", "N=3"], "--arg"),
        (&["run", "saxpy", "--arg", "other=3"], "choose from: x, y, out, a"),
        (&["run", "saxpy", "--arg", "x"], "as in --arg x=64x100"),
        (&["run", "saxpy", "--arg", "x=3x4", "--arg", "y=3", "--arg", "out=3", "--arg", "a=1"], "--arg x=64"),
        (&["run", "saxpy", "--arg", "x=3", "--arg", "y=3", "--arg", "out=3", "--arg", "a=one"], "a number of type f32"),
        (&["run", "row_sums", "--arg", "x=3x4", "--arg", "sums=3"], "--grid"),
        (
            &["run", "saxpy", "--arg", "x=3", "--arg", "y=3", "--arg", "out=3", "--arg", "a=1", "--grid", "1"],
            "leave it out",
        ),
        (&["run", "row_sums", "--arg", "x=9999999x9999999", "--arg", "sums=3", "--grid", "3"], "choose smaller sizes"),
        (&["tune", "saxpy"], "no problem"),
        (&["demo"], "does not have"),
    ] {
        let output = command(args);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.trim_end().lines().count() == 1 && error.contains(part), "{args:?}: no `{part}` in: {error}");
    }
}
