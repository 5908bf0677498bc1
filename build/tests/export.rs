//! Exported kernels in programs in C: built with the system's compiler, run on the CPU, and on the stand-ins of CUDA and HIP.
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
    for (name, text) in [("main.c", main), ("check.h", include_str!("export/check.h"))] {
        std::fs::write(folder.join(name), text).expect("the folder can be written");
    }
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

/// Exports `add` for GPUs, and compiles a program in C against it.
fn program_for_gpus(folder: &Path, main: &str) -> PathBuf {
    let add = build("add", BuildOptions::default(), Class::Any);
    exported(folder, "add_f32", &add, &["sm_80", "sm_90a", "gfx90a", "gfx942"]);
    for file in ["add_f32.sm_80.ptx", "add_f32.sm_90a.ptx", "add_f32.gfx942.co", "add_f32.hipfb", "tegula.h"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    compile(folder, main, &["add_f32"], &[])
}

/// Without a driver a program runs, and is told so.
fn assert_runs_alone(program: &Path, on_a_device: &str) {
    let nowhere = tempfile::tempdir().expect("a folder");
    let alone = run(program, |c| _ = c.env("LD_LIBRARY_PATH", nowhere.path()).current_dir(folder_of(program)));
    assert!(alone.contains("no driver") || alone.contains(on_a_device), "{alone}");
}

fn folder_of(program: &Path) -> &Path {
    program.parent().expect("it is in a folder")
}

/// Runs a program on the stand-in of a GPU's model.
fn run_on(program: &Path, model: &str) -> String {
    let libraries = tegula_vgpu_driver::testing::library_dir().expect("the stand-ins are dev-dependencies");
    run(program, |c| _ = c.env("LD_LIBRARY_PATH", libraries).env("VGPU_MODEL", model).current_dir(folder_of(program)))
}

#[test]
fn a_program_in_c_launches_on_cuda() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = program_for_gpus(folder.path(), include_str!("export/cuda.c"));
    assert_runs_alone(&program, "ok on sm_");
    for (model, architecture) in [("a100", "ok on sm_80"), ("h100", "ok on sm_90")] {
        let out = run_on(&program, model);
        assert!(out.contains(architecture), "{model}: {out}");
    }
}

#[test]
fn a_program_in_c_launches_on_hip() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = program_for_gpus(folder.path(), include_str!("export/hip.c"));
    assert_runs_alone(&program, "ok on HIP");
    let out = run_on(&program, "mi300x");
    assert!(out.contains("ok on HIP"), "{out}");
}

/// The bundle holds what Clang's bundler finds in it, where that is installed (Debian: `clang-tools-22`).
#[test]
fn bundles_are_those_of_clang() {
    let folder = tempfile::tempdir().expect("a folder");
    let add = build("add", BuildOptions::default(), Class::Any);
    exported(folder.path(), "add", &add, &["gfx942", "gfx1100"]);
    let read = |file: &str| std::fs::read(folder.path().join(file)).expect("it was exported");
    let bundle = read("add.hipfb");
    assert!(bundle.starts_with(b"__CLANG_OFFLOAD_BUNDLE__\x03"));
    for object in [read("add.gfx942.co"), read("add.gfx1100.co")] {
        let at = bundle.chunks(4096).position(|c| object.starts_with(c) || c.starts_with(&object));
        let at = 4096 * at.expect("the code object is in the bundle, at a page");
        assert_eq!(bundle[at..at + object.len()], object);
    }

    let tools = ["/usr/lib/llvm-22/bin/clang-offload-bundler", "clang-offload-bundler-22", "clang-offload-bundler"];
    let bundler = |args: &[&str]| {
        let run = |tool| Command::new(tool).current_dir(folder.path()).arg("--type=o").args(args).output();
        let output = std::env::var_os("TEGULA_BUNDLER").map_or_else(
            || tools.iter().find_map(|tool| run(std::ffi::OsString::from(tool)).ok()),
            |tool| Some(run(tool).expect("the bundler starts")),
        )?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(listed) = bundler(&["--list", "--input=add.hipfb"]) else {
        return println!("no clang-offload-bundler: its view of the bundle is not compared");
    };
    for entry in ["hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4-amdgcn-amd-amdhsa--gfx1100"] {
        assert!(listed.lines().any(|l| l == entry), "{listed}");
    }
    let target = "--targets=hipv4-amdgcn-amd-amdhsa--gfx942";
    bundler(&["--unbundle", target, "--input=add.hipfb", "--output=back.co"]).expect("it was there a moment ago");
    assert_eq!(read("back.co"), read("add.gfx942.co"));
}

/// With NVIDIA's tool `fatbinary` (`scripts/fetch-ptxas`), code for its GPUs comes as a fatbin as well.
#[test]
fn fatbins_are_written_where_the_tool_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let add = build("add", BuildOptions::default(), Class::Any);
    exported(folder.path(), "add", &add, &["sm_80", "sm_90a"]);
    let fatbin = std::fs::read(folder.path().join("add.fatbin"));
    if tegula_codegen_nvptx::ptxas::find_tool("fatbinary", "TEGULA_FATBINARY").is_none() {
        assert!(fatbin.is_err(), "nobody could write it");
        return println!("no fatbinary: no fatbin");
    }
    let fatbin = fatbin.expect("it was exported");
    assert_eq!(fatbin[..4], 0xba55_ed50_u32.to_le_bytes());
}

/// A target that is named twice has its code once: C takes no two arrays of one name.
#[test]
fn a_target_that_is_named_twice_counts_once() {
    let add = build("add", BuildOptions::default(), Class::Any);
    let names = |targets: &[&str]| {
        let targets: Vec<Target> = targets.iter().map(|t| Target::by_name(t, TRIPLE).expect("a target")).collect();
        let files = export::export("add", &add, &targets).expect("it can be exported");
        files.into_iter().map(|f| f.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["sm_80", "cpu", "sm_80", "cpu"]), names(&["sm_80", "cpu"]));
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let add = build("add", BuildOptions::default(), Class::Any);
    let target = |name: &str| Target::by_name(name, TRIPLE);
    let cpu = |level: &str| target(&format!("cpu:{level}")).expect("a target");
    let refused = |name: &str, targets: &[Target]| {
        let Err(Error::Export { message, .. }) = export::export(name, &add, targets) else { panic!("{name}") };
        message
    };
    assert!(refused("2add", &[cpu("x86-64")]).contains("not a name in C"));
    assert!(refused("add", &[cpu("x86-64"), cpu("x86-64-v3")]).contains("one level"));
    let Err(e) = target("sm_81") else { panic!("there is an sm_81") };
    assert!(e.to_string().contains("sm_80"), "{e}");
    let Err(e) = target("cpu:z80") else { panic!("there is a z80") };
    assert!(e.to_string().contains("cpu:x86-64-v3"), "{e}");
}
