//! The command from outside: output, JSON, exit statuses, one-line errors.

use std::process::{Command, Output};

use clap::Parser;
use serde_json::Value;

fn tegula(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tegula")).args(args).output().expect("the command starts")
}

fn success(args: &[&str]) -> String {
    let output = tegula(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

/// Standard error, which must be one line, of a call that must exit with 2.
fn usage_error(args: &[&str]) -> String {
    let output = tegula(args);
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{args:?}: {error}");
    error
}

#[test]
fn kernels_are_listed() {
    let table = success(&["kernels"]);
    assert!(table.lines().any(|l| l.starts_with("matmul ") && l.contains("BM=64")));
    let json: Value = serde_json::from_str(&success(&["kernels", "--json"])).expect("JSON");
    let softmax = json.as_array().expect("an array").iter().find(|k| k["name"] == "softmax").expect("softmax");
    assert_eq!(softmax["params"][0]["name"], "x");
    assert_eq!(softmax["dims"][1]["name"], "N");
    assert!(softmax["source"].as_str().expect("a string").contains("softmax.rs:"));
}

/// The properties of arguments that make another kernel: few, and all of them listed.
#[test]
fn specialisations_are_listed() {
    let table = success(&["kernels", "--specialisations"]);
    let line = |start: &str| table.lines().find(|l| l.trim_start().starts_with(start)).expect("a line");
    let properties = "address % 16, unit inner stride, below 2 GiB, no alias, extent 0 % 16, extent 1 % 16, \
                      stride 0 % 16, stride 1 % 16";
    assert!(line("softmax ").ends_with(properties), "{table}");
    let json: Value = serde_json::from_str(&success(&["kernels", "--specialisations", "--json"])).expect("JSON");
    let kernels = json.as_array().expect("an array");
    let param = |kernel: &str, name: &str| {
        let kernel = kernels.iter().find(|k| k["name"] == kernel).unwrap_or_else(|| panic!("no {kernel}"));
        let param = kernel["params"].as_array().expect("an array").iter().find(|p| p["name"] == name);
        param.unwrap_or_else(|| panic!("no {name} in {kernel}"))["specialisations"].clone()
    };
    assert_eq!(param("softmax", "x").as_array().map(Vec::len), Some(8));
    for kernel in kernels {
        for p in kernel["params"].as_array().expect("an array") {
            let (ty, properties) = (p["type"].as_str().expect("a type"), p["specialisations"].as_array());
            let properties = properties.unwrap_or_else(|| panic!("none of {p}"));
            match ty {
                "Scalar<f32>" => assert!(properties.is_empty(), "{p}"),
                "Scalar<i32>" => assert!(properties.is_empty() || properties == &["value % 16"], "{p}"),
                _ => {}
            }
        }
    }
    assert!(success(&["kernels", "--json"]).find("specialisations").is_none());
}

/// As in `tegula kernels | head`.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [&["kernels"][..], &["kernels", "--json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_tegula")).args(args).stdout(writer).output();
        let output = output.expect("the command starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && error.is_empty(), "{args:?}: {error}");
    }
}

#[test]
fn every_stage_can_be_shown() {
    for (target, emit, part) in [
        ("cpu", "tile", "kernel @softmax"),
        ("cpu", "tile-opt", "kernel @softmax"),
        ("cpu", "llvm", "define"),
        ("cpu", "asm", "softmax"),
        ("sm_80", "layout", "#l0 = layout<"),
        ("sm_90a", "ptx", ".target sm_90a"),
        ("sm_90a", "llvm", "ptx_kernel"),
        ("gfx942", "tile-opt", "kernel @softmax"),
        ("gfx942", "asm", "amdgcn-amd-amdhsa--gfx942"),
    ] {
        let text = success(&["compile", "softmax", "--dim", "N=256", "--target", target, "--emit", emit]);
        assert!(text.contains(part), "{target} {emit}: no {part}");
    }
    // With the defaults left out.
    assert!(!success(&["compile", "add"]).is_empty());
}

#[test]
fn every_kernel_compiles_with_nothing_chosen() {
    let kernels: serde_json::Value = serde_json::from_str(&success(&["kernels", "--json"])).expect("JSON");
    for kernel in kernels.as_array().expect("an array") {
        let name = kernel["name"].as_str().expect("a name");
        assert!(!kernel["instances"].as_array().expect("an array").is_empty(), "{name}");
        success(&["compile", name, "--emit", "tile"]);
    }
}

#[test]
fn build_time_parameters_are_set_by_name() {
    let text = |args: &[&str]| success(&[&["compile", "matmul_bias", "--emit", "tile"], args].concat());
    assert_eq!(text(&[]), text(&["--set", "activation=identity"]));
    assert_ne!(text(&[]), text(&["--set", "activation=gelu"]));
    let causal =
        |value: &str| success(&["compile", "attention", "--emit", "tile", "--set", &format!("causal={value}")]);
    assert_ne!(causal("true"), causal("false"));
    let error = usage_error(&["compile", "attention", "--set", "causal=maybe"]);
    assert!(error.contains("`causal` cannot be `maybe`; it is a `bool`"), "{error}");
}

#[test]
fn tuning_measures_records_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tune.toml");
    let records = file.to_str().expect("a name");
    let tune = |more: &[&str]| {
        let own = ["tune", "transpose", "--size", "M=40", "--size", "N=70", "--launches", "2", "--records", records];
        success(&[&own[..], more].concat())
    };
    let report: serde_json::Value = serde_json::from_str(&tune(&["--json", "--dim", "BN=32"])).expect("JSON");
    assert_eq!(report["candidates"].as_array().expect("an array").len(), 3);
    assert!(report["best"]["microseconds"].as_f64().expect("a time") > 0.0);
    assert_eq!(report["default"]["config"], "BN=32 BM=32");
    let text = std::fs::read_to_string(&file).expect("records");
    assert_eq!(text.matches("[[record]]").count(), 3, "{text}");
    assert!(tune(&["--dim", "BN=32"]).contains("times as fast as the default"));
    assert_eq!(std::fs::read_to_string(&file).expect("records"), text, "nothing was measured again");

    assert!(usage_error(&["tune", "transpose", "--device", "vgpu:sm_80"]).contains("no time of its own"));
    let output = tegula(&["tune", "rope", "--records", records]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to choose from"));
}

#[test]
fn objects_are_written() {
    let folder = std::env::temp_dir().join(format!("tegula-command-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for target in ["cpu", "gfx942"] {
        let file = folder.join(target);
        let path = file.to_str().expect("a path in UTF-8");
        let args = ["compile", "add", "--target", target, "--emit", "object", "-o", path, "--json"];
        let report: Value = serde_json::from_str(&success(&args)).expect("JSON");
        let object = std::fs::read(&file).expect("the object");
        assert_eq!(&object[..4], b"\x7fELF");
        assert_eq!(report["bytes"], object.len());
        assert_eq!(report["threads"].is_null(), target == "cpu");
    }
    std::fs::remove_dir_all(&folder).expect("the folder can go");
}

#[test]
fn kernels_run_and_are_checked() {
    for device in ["cpu", "interp", "vgpu:sm_90a"] {
        let json =
            success(&["run", "softmax", "--device", device, "--size", "M=3", "--size", "N=65", "--check", "--json"]);
        let outcome: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(outcome["ok"], true);
        assert!(outcome["error"].as_f64().expect("a number") <= outcome["bound"].as_f64().expect("a number"));
    }
}

#[test]
fn passes_run_on_files() {
    let file = std::env::temp_dir().join(format!("tegula-command-{}.tile", std::process::id()));
    let text = "kernel @k(%x: view<1d, i32> write) {\n  %a = constant 2 : i32\n  %b = add %a, %a : i32\n  \
                %i = constant 0 : i64\n  store %b, %x gather [%i]\n  return\n}\n";
    std::fs::write(&file, text).expect("the file");
    let path = file.to_str().expect("a path in UTF-8");
    let out = success(&["opt", path, "--passes", "canonicalize,dce"]);
    assert!(out.contains("constant 4 : i32") && !out.contains("add"), "{out}");
    assert!(usage_error(&["opt", path, "--passes", "canonicalise"]).contains("did you mean `canonicalize`?"));
    assert!(usage_error(&["opt", path, "--passes", "fold"]).contains("choose from: assign-layouts, bounds-elim"));
    assert!(usage_error(&["opt", path, "--passes", "unroll{times=2}"]).contains("its options are"));
    assert!(usage_error(&["opt", path, "--print-after", "cze"]).contains("did you mean `cse`?"));
    // What is wrong in the file is no mistake on the command line.
    std::fs::write(&file, "kernel @k() {").expect("the file");
    assert_eq!(tegula(&["opt", path]).status.code(), Some(1));
    // A list of every pass: each can be run by its name.
    let list: Value = serde_json::from_str(&success(&["opt", "--list", "--json"])).expect("JSON");
    std::fs::write(&file, text).expect("the file");
    for pass in list.as_array().expect("an array") {
        success(&["opt", path, "--passes", pass["pass"].as_str().expect("a name")]);
    }
    std::fs::remove_file(&file).expect("the file can go");
}

#[test]
fn wrong_command_lines_name_the_nearest_choice() {
    for (args, part) in [
        (&[][..], "[subcommands: kernels, compile"),
        (&["kernals"], "kernels"),
        (&["frobnicate"], "choose from: kernels, compile"),
        (&["cache"], "[subcommands: info, list"),
        (&["cache", "frobnicate"], "choose from: info, list"),
        (&["kernels", "--jsno"], "--json"),
        (&["compile"], "<KERNEL>"),
        (&["compile", "sofmax"], "did you mean `softmax`?"),
        (&["compile", "frobnicate"], "choose from: add, copy"),
        (&["compile", "two\nlines"], "choose from: add, copy"),
        (&["compile", "add", "--target", "sm_91"], "sm_9"),
        (&["compile", "add", "--target", "gfx942x"], "did you mean `gfx942`?"),
        (&["compile", "add", "--target", ""], "choose from: cpu, sm_80"),
        (&["compile", "add", "--target", "gfx942", "--emit", "ptx"], "--emit asm"),
        (&["compile", "add", "--target", "sm_80", "--emit", "object"], "--emit ptx"),
        (&["compile", "add", "--emit", "layout"], "--emit tile-opt"),
        (&["compile", "add", "--emit", "tyle"], "tile"),
        (&["compile", "add", "--dtype", "f17"], "did you mean `f16`?"),
        (&["compile", "add", "--dtype", "f8e4m3"], "choose from: f32, f16, bf16, f64"),
        (&["compile", "matmul", "--dim", "BX=3"], "B"),
        (&["compile", "matmul", "--dim", "Q=3"], "choose from: BM, BN, BK"),
        (&["compile", "matmul", "--dim", "BM"], "--dim BM=128"),
        (&["compile", "matmul", "--dim", "BM=0"], "at least 1"),
        (&["compile", "matmul", "--dim", "BM=x"], "--dim BM=128"),
        (&["compile", "add", "--warps", "3"], "1, 2, 4, 8, 16 or 32"),
        (&["compile", "add", "--stages", "0"], "the least is 1"),
        (&["compile", "attention", "--set", "casual=true"], "did you mean `causal`?"),
        (&["compile", "attention", "--set", "causal"], "--set causal=true"),
        (&["compile", "attention", "--set", "causal=maybe"], "it is a `bool`"),
        (&["compile", "matmul_bias", "--set", "activation=rel"], "it is a `Activation`"),
        (&["compile", "add", "--set", "x=1"], "there are none"),
        (&["run", "add", "--size", "M=3"], "N"),
        (&["run", "add", "--size", "N"], "--size M=1000"),
        (&["run", "add", "--size", "N=-1"], "not negative"),
        (&["run", "add", "--size", "N=99999999999999"], "choose smaller sizes"),
        (&["run", "rope", "--size", "D=3"], "D is even"),
        (&["run", "attention", "--size", "H=3", "--size", "G=2"], "H is a multiple of G"),
        (&["run", "argmax", "--size", "N=0"], "N is at least 1"),
        (&["run", "add", "--device", "vgpu:sm_80a"], "vgpu:sm_80"),
        (&["run", "add", "--device", "gpu"], "did you mean `cpu`?"),
        (&["run", "add", "--device", "vgpu:gfx90a"], "vgpu:gfx9"),
        (&["run", "attention", "--variant", "casual"], "causal"),
        (&["run", "add", "--variant", "big"], "no variants"),
        (&["run", "add", "--arg", "x=3"], "--size"),
        (&["check", "frobnicate"], "choose from: add, copy"),
        (&["check", "--targets", "sm_8"], "sm_80"),
        (&["opt"], "<FILE>"),
        (&["export"], "not provided: <KERNEL>"),
        (&["opt", "/nowhere/file.tile"], "cannot read"),
        (&["opt", "/"], "cannot read"),
    ] {
        let error = usage_error(args);
        assert!(error.contains(part), "{args:?}: no `{part}` in: {error}");
    }
}

#[test]
fn what_fails_is_no_mistake_on_the_command_line() {
    for (args, part) in [
        (&["compile", "add", "-o", "/nowhere/file"][..], "cannot write /nowhere/file"),
        (&["compile", "add", "--dim", "B=1000000", "--target", "sm_80"], "use a smaller tile"),
        // The tile is too narrow for the row: the result is wrong.
        (
            &["run", "softmax", "--device", "interp", "--dim", "N=4", "--size", "N=9", "--size", "M=2", "--check"],
            "expected",
        ),
    ] {
        let output = tegula(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?}: no `{part}` in: {error}");
    }
    // As on a full disk.
    let full = std::fs::File::create("/dev/full").expect("the device");
    let output = Command::new(env!("CARGO_BIN_EXE_tegula")).arg("kernels").stdout(full).output();
    assert_eq!(output.expect("the command starts").status.code(), Some(1));
}

/// Sizes that kernels are seldom run with, and tiles that do not divide them.
#[test]
fn odd_sizes_run() {
    for args in [
        &["softmax", "--size", "M=0", "--size", "N=5"][..],
        &["softmax", "--size", "M=5", "--size", "N=0"],
        &["add", "--size", "N=0", "--device", "vgpu:gfx942"],
        &["matmul_split_k", "--size", "M=65", "--size", "N=67", "--size", "K=100", "--dim", "BM=32", "--dtype", "f64"],
        &["rope", "--size", "S=17", "--size", "B=1", "--size", "H=2", "--size", "D=6", "--dim", "S=4"],
        &["cumsum", "--size", "M=5", "--size", "N=70", "--dim", "R=2", "--device", "interp"],
        &["attention", "--size", "H=4", "--size", "G=2", "--size", "M=5", "--size", "N=7", "--size", "D=33"],
    ] {
        success(&[&["run"], args, &["--check"]].concat());
    }
}

#[test]
fn everything_can_be_checked() {
    let rows = success(&["check", "copy", "--json"]);
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), 4, "one for each element type");
    for row in rows {
        let results = row["results"].as_array().expect("an array");
        // Every target that `compile` takes, and the CPU.
        assert!(results.len() >= 10 && results.iter().all(|r| r[1] == "ok"), "{row}");
    }
    let table = success(&["check", "transpose", "--candidates", "--targets", "sm_90a"]);
    assert!(table.contains("BM=16 BN=128 warps=8"), "{table}");
}

/// The command lines in the documents are command lines.
#[test]
fn documented_command_lines_are_understood() {
    let mut seen = 0;
    for text in [
        include_str!("../../README.md"),
        include_str!("../../docs/book/src/command.md"),
        include_str!("../../docs/book/src/tuning.md"),
    ] {
        for line in text.lines().filter(|l| l.starts_with("tegula ")) {
            let words = line.split('#').next().unwrap_or_default().split_whitespace();
            if let Err(e) = tegula_cli::args::Cli::try_parse_from(words) {
                panic!("{line}: {e}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen}");
}

#[test]
fn the_doctor_tells_what_is_here() {
    let findings: Value = serde_json::from_str(&success(&["doctor", "--json"])).expect("JSON");
    assert!(findings.as_array().expect("an array").iter().any(|f| f["what"] == "LLVM" && f["found"] == true));
}

#[test]
fn the_demo_runs() {
    let folder = std::env::temp_dir().join(format!("tegula-demo-{}", std::process::id()));
    let out = success(&["demo", "--small", "--output", folder.to_str().expect("a path in UTF-8")]);
    assert!(out.contains("GFLOP/s") && out.contains("matmul"));
    assert!(folder.join("softmax_f32.gfx942.hsaco").exists() && folder.join("matmul_f16.sm_90a.ptx").exists());
    std::fs::remove_dir_all(&folder).expect("the folder can go");
}

#[test]
fn the_kernel_cache_is_shown_verified_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
        command.args(args).env("TEGULA_CACHE_DIR", folder.path()).env_remove("TEGULA_CACHE");
        command
    };
    let output = |args: &[&str]| command(args).output().expect("the command starts");
    let json = |args: &[&str]| -> Value {
        serde_json::from_slice(&output(&[args, &["--json"]].concat()).stdout).expect("JSON")
    };
    let info = json(&["cache", "info"]);
    assert_eq!((&info["entries"], &info["problem"]), (&Value::from(0), &Value::Null));
    assert_eq!(info["folder"], folder.path().to_str().expect("text"));
    assert_eq!(json(&["cache", "list"]), Value::Array(Vec::new()));
    assert_eq!(json(&["cache", "verify"])["entries"], 0);

    // Two files that are no kernels, as a broken disk may leave them.
    let name = "0".repeat(64);
    let entries = folder.path().join("kernels-v1");
    std::fs::write(entries.join(format!("{name}.kernel")), "broken").expect("it can be written");
    std::fs::write(entries.join("note.kernel"), "broken").expect("it can be written");
    let verified = output(&["cache", "verify"]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&verified.stderr).contains("2 damaged"));
    assert!(String::from_utf8_lossy(&verified.stdout).contains("0 of 2 kernels are sound"));
    let list = json(&["cache", "list"]);
    assert_eq!(list.as_array().expect("an array").len(), 2);
    assert!(list[0]["problem"].is_string() && list[0]["kernel"].is_null() && list[0]["current"] == false);
    assert!(String::from_utf8_lossy(&output(&["cache", "list"]).stdout).contains("not a file of the kernel cache"));
    assert_eq!(json(&["cache", "prune"])["files"], 0);
    assert_eq!(json(&["cache", "prune", "--stale"])["files"], 2);
    std::fs::write(entries.join(format!("{name}.kernel")), "broken").expect("it can be written");
    assert_eq!(json(&["cache", "prune", "--max-size", "1"])["bytes"], 6);
    std::fs::write(entries.join(format!("{name}.kernel")), "broken").expect("it can be written");
    assert_eq!(json(&["cache", "clear"])["files"], 1);

    let wrong = output(&["cache", "prune", "--max-size", "many"]);
    assert_eq!(wrong.status.code(), Some(2));
    let off = command(&["cache", "list"]).env("TEGULA_CACHE", "off").output().expect("the command starts");
    assert_eq!(off.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&off.stderr).contains("TEGULA_CACHE"));
}
