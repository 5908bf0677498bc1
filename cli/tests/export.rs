//! `tegula export` from outside: the files, the report, and a program in C over them on both stand-ins.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const MAIN: &str = r#"
#include <stdio.h>
#include "softmax_f16.h"

int main(void) {
    uint16_t in[4] = { 0, 0, 0, 0 }, out[4] = { 0 };
    tegula_tensor x = { in, { 1, 4 }, { 4, 1 } }, y = { out, { 1, 4 }, { 4, 1 } };
    if (softmax_f16_cpu(&x, &y) != TEGULA_OK || out[0] != 0x3400 || out[3] != 0x3400)
        return puts(softmax_f16_error()), 1;
    x.data = NULL;
    /* No memory of these devices: they are asked, and refuse before anything is launched. */
    if (softmax_f16_cuda(NULL, &x, NULL) == TEGULA_OK || softmax_f16_hip(NULL, &x, NULL) == TEGULA_OK)
        return 1;
    return puts(softmax_f16_error()), 0;
}
"#;

fn tegula(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tegula")).arg("export").args(args).output().expect("the command starts")
}

fn cc(folder: &Path, args: &[&str]) {
    let strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1"];
    let output =
        Command::new("cc").current_dir(folder).args(strict).args(args).output().expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_kernel_is_exported_for_hosts_in_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let output = tegula(&[
        "softmax",
        "--dtype",
        "f16",
        "--dim",
        "N=64",
        "--targets",
        "cpu:x86-64,sm_80,sm_90a,gfx942",
        "--lang",
        "c",
        "--class",
        "any",
        "--output",
        &path,
        "--json",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["name"], &report["class"]), (&"softmax_f16".into(), &"any".into()));
    for (ending, magic) in [
        (".h", &b"/* Kernel `softmax` with "[..]),
        (".c", b"/* softmax_f16"),
        (".o", b"\x7fELF"),
        (".sm_80.ptx", b"//"),
        (".sm_90a.ptx", b"//"),
        (".gfx942.co", b"\x7fELF"),
        (".hipfb", b"__CLANG_OFFLOAD_BUNDLE__"),
    ] {
        let file = folder.path().join(format!("softmax_f16{ending}"));
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert!(bytes.starts_with(magic), "{ending}: {}", String::from_utf8_lossy(&bytes[..40]));
        let listed = report["files"].as_array().expect("files").iter();
        let told =
            listed.filter(|f| f["path"] == file.to_str().expect("text")).map(|f| &f["bytes"]).collect::<Vec<_>>();
        assert_eq!(told, [&Value::from(bytes.len())], "{ending}");
    }
    std::fs::write(folder.path().join("main.c"), MAIN).expect("the folder can be written");
    cc(folder.path(), &["-o", "program", "main.c", "softmax_f16.c", "softmax_f16.o", "-ldl", "-lm", "-pthread"]);
    let mut program = tegula_vgpu_driver::testing::command(&folder.path().join("program"), &[("VGPU_MODEL", "h200")])
        .expect("the stand-ins are dev-dependencies");
    let output = program.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("is NULL"), "{text}");
}

#[test]
fn build_time_parameters_are_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = |causal: &str| {
        let path = folder.path().join(causal).display().to_string();
        let set = format!("causal={causal}");
        let args = ["attention", "--set", &set, "--dim", "BM=16", "--dim", "BN=16", "--dim", "D=32"];
        let output = tegula(&[&args[..], &["--targets", "sm_80", "--output", &path]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(folder.path().join(causal).join("attention.sm_80.ptx")).expect("it was exported")
    };
    assert_ne!(code("true"), code("false"));
}

#[test]
fn what_cannot_be_exported_is_said_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    for (args, status, part) in [
        (&["softmax", "--targets", "sm_81"][..], 2, "sm_80"),
        (&["softmax", "--targets", "cpu", "--lang", "fortran"], 2, "fortran"),
        (&["softmax", "--targets", "cpu", "--class", "alined"], 2, "aligned"),
        (&["softmax", "--targets", "cpu", "--name", "2fast"], 1, "not a name in C"),
        (&["attention", "--targets", "cpu", "--set", "casual=true"], 2, "causal"),
        (&["attention", "--targets", "cpu", "--set", "causal"], 2, "--set causal=true"),
    ] {
        let output = tegula(&[args, &["--output", &path]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?}: no `{part}` in: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0, "nothing was written");
}
