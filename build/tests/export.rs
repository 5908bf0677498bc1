//! Exported kernels in programs in C: built with the system's compiler, run on the CPU, and on a stand-in for CUDA.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::Command;

use tegula_build::{Class, Error, Target, export};
use tegula_ir::{Function, ScalarType};
use tegula_lang::kernel::{BuildOptions, KernelInfo};

#[path = "../../kernels/src/dropout.rs"]
mod dropout;
#[path = "../../kernels/src/elementwise.rs"]
mod elementwise;
#[path = "../../kernels/src/softmax.rs"]
mod softmax;

/// The kernels of the library that are exported here.
const KERNELS: &[&KernelInfo] =
    tegula::kernel_list![elementwise::add, dropout::dropout, softmax::softmax, softmax::softmax_long];

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

fn build(kernel: &str, options: BuildOptions, class: Class) -> Function {
    let info: &KernelInfo = KERNELS.iter().find(|k| k.name == kernel).expect("it is in the list");
    let options = if info.types.is_empty() { options } else { options.ty(info.types[0], ScalarType::F32) };
    let plain = info.build(&options).expect("the kernel is right");
    info.build(&BuildOptions { specs: class.specs(&plain), ..options }).expect("the kernel is right")
}

/// Exports to a folder.
fn exported(folder: &Path, name: &str, function: &Function, targets: &[&str]) {
    let targets: Vec<Target> = targets.iter().map(|t| Target::by_name(t, TRIPLE).expect("a target")).collect();
    let files = export::export(name, function, &targets).expect("it can be exported");
    export::write(folder, &files).expect("the folder can be written");
}

/// Compiles a program in C with all warnings as errors.
fn compile(folder: &Path, main: &str, names: &[&str], flags: &[&str]) -> PathBuf {
    let program = folder.join("program");
    std::fs::write(folder.join("main.c"), main).expect("the folder can be written");
    let mut cc = Command::new("cc");
    cc.current_dir(folder).args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o", "program", "main.c"]);
    cc.args(flags);
    for name in names {
        cc.arg(format!("{name}.c"));
        if folder.join(format!("{name}.o")).exists() {
            cc.arg(format!("{name}.o"));
        }
    }
    let output = cc.args(["-ldl", "-lm", "-pthread"]).output().expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a program that must end well.
fn run(program: &Path, prepare: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(program);
    prepare(&mut command);
    let output = command.output().expect("the program starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    out.into_owned()
}

#[test]
fn a_program_in_c_runs_kernels_on_the_cpu() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(folder.path(), "add_any", &build("add", BuildOptions::default(), Class::Any), &["cpu:x86-64"]);
    let softmax = build("softmax", BuildOptions::default().dim("N", 128), Class::Contiguous);
    exported(folder.path(), "softmax_f32", &softmax, &["cpu:x86-64"]);
    let program = compile(folder.path(), include_str!("export/cpu.c"), &["add_any", "softmax_f32"], &[]);
    assert_eq!(run(&program, |_| {}).trim(), "ok");
}

#[test]
fn kernels_with_scalars_and_a_grid_are_called_with_them() {
    let folder = tempfile::tempdir().expect("a folder");
    exported(folder.path(), "dropout_f32", &build("dropout", BuildOptions::default(), Class::Any), &["cpu:x86-64"]);
    let long = build("softmax_long", BuildOptions::default().dim("B", 32), Class::Any);
    exported(folder.path(), "softmax_long", &long, &["cpu:x86-64"]);
    let names = ["dropout_f32", "softmax_long"];
    let program = compile(folder.path(), include_str!("export/grid.c"), &names, &[]);
    assert_eq!(run(&program, |_| {}).trim(), "ok");
}

/// Without a driver the program runs, and is told so; with one that is found it launches on the GPU. Here the driver is
/// the stand-in `libcuda.so.1` over a virtual GPU, if it was built (`cargo build -p tegula-vgpu-cuda`).
#[test]
fn a_program_in_c_launches_on_cuda() {
    let folder = tempfile::tempdir().expect("a folder");
    let add = build("add", BuildOptions::default(), Class::Any);
    exported(folder.path(), "add_f32", &add, &["sm_80", "sm_90a", "gfx942"]);
    for file in ["add_f32.sm_80.ptx", "add_f32.sm_90a.ptx", "add_f32.gfx942.co", "tegula.h"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
    let program = compile(folder.path(), include_str!("export/cuda.c"), &["add_f32"], &[]);
    let nowhere = tempfile::tempdir().expect("a folder");
    let alone = run(&program, |c| _ = c.env("LD_LIBRARY_PATH", nowhere.path()));
    assert!(alone.contains("no driver") || alone.contains("ok on sm_"), "{alone}");

    let Some(stand_in) = stand_in() else {
        println!("no stand-in for libcuda was built: not launched");
        return;
    };
    std::os::unix::fs::symlink(stand_in, nowhere.path().join("libcuda.so.1")).expect("a link");
    for (model, architecture) in [("a100", "ok on sm_80"), ("h100", "ok on sm_90")] {
        let out = run(&program, |c| _ = c.env("LD_LIBRARY_PATH", nowhere.path()).env("VGPU_MODEL", model));
        assert!(out.contains(architecture), "{model}: {out}");
    }
}

/// The library that `cargo build` makes of the crate `tegula-vgpu-cuda`.
fn stand_in() -> Option<PathBuf> {
    let program = std::env::current_exe().expect("this program has a path");
    let folder = program.parent()?.parent()?;
    [folder.join("libcuda.so"), folder.join("deps/libcuda.so")].into_iter().find(|p| p.exists())
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let add = build("add", BuildOptions::default(), Class::Any);
    let target = |name: &str| Target::by_name(name, TRIPLE);
    let cpu = || target("cpu:x86-64").expect("a target");
    let refused = |name: &str, targets: &[Target]| {
        let Err(Error::Export { message, .. }) = export::export(name, &add, targets) else { panic!("{name}") };
        message
    };
    assert!(refused("2add", &[cpu()]).contains("not a name in C"));
    assert!(refused("add", &[cpu(), cpu()]).contains("one level"));
    let Err(e) = target("sm_81") else { panic!("there is an sm_81") };
    assert!(e.to_string().contains("sm_80"), "{e}");
    let Err(e) = target("cpu:z80") else { panic!("there is a z80") };
    assert!(e.to_string().contains("cpu:x86-64-v3"), "{e}");
}
