//! The kernels of `tests/filetests` that are marked for compilation, compiled and linked for AMD GPUs, and their metadata
//! read back by `llvm-readelf`.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_codegen::target::Architecture;
use tegula_codegen_amdgpu::{Options, compile};
use tegula_ir::function::Function;
use tegula_ir::testing::filetest::CompileTest;

/// LLVM's tool that reads the notes of code objects.
const READELF: &str = "/usr/lib/llvm-22/bin/llvm-readelf";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests");
    let readelf = Path::new(READELF);
    if !readelf.is_file() {
        println!("SKIPPED: {READELF} is missing, so the metadata of code objects is not read back");
    }
    let tests = CompileTest::collect(&root, |target| target.starts_with("gfx")).unwrap_or_else(|e| panic!("{e}"));
    let trials =
        tests.into_iter().map(|test| Trial::test(test.name.clone(), move || test.run(check).map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn check(function: &Function, target: &str) -> Result<(), String> {
    let architecture = Architecture::by_name(target).map_err(|e| e.to_string())?;
    let options = Options { keep_assembly: std::env::var_os("TEGULA_SHOW").is_some(), ..Options::default() };
    let compiled = compile(function, target, &options).map_err(|e| e.to_string())?;
    if let Some(assembly) = &compiled.assembly {
        println!("{assembly}");
    }
    if !Path::new(READELF).is_file() {
        return Ok(());
    }
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    std::fs::write(file.path(), &compiled.code_object).map_err(|e| e.to_string())?;
    let output = std::process::Command::new(READELF).arg("--notes").arg(file.path()).output();
    let notes = String::from_utf8_lossy(&output.map_err(|e| e.to_string())?.stdout).into_owned();
    let info = &compiled.info;
    for expected in [
        format!(".group_segment_fixed_size: {}", info.static_shared),
        format!(".max_flat_workgroup_size: {}", info.threads),
        format!(".wavefront_size: {}", architecture.warp_size),
        format!(".symbol:         '{}.kd'", function.name),
    ] {
        let found = notes.contains(&expected) || notes.contains(&expected.replace('\'', ""));
        if !found {
            return Err(format!("the metadata lacks `{expected}`:\n{notes}"));
        }
    }
    // Explicit arguments stand in the notes as listed.
    let offsets: Vec<u32> = note_values(&notes, ".offset:").into_iter().take(info.params.len()).collect();
    let wanted: Vec<u32> = info.params.iter().map(|p| p.offset).collect();
    if offsets != wanted {
        return Err(format!("arguments at {offsets:?}, expected {wanted:?}\n{notes}"));
    }
    if note_values(&notes, ".vgpr_spill_count:") != [0] {
        return Err(format!("registers are spilled\n{notes}"));
    }
    Ok(())
}

/// The numbers behind a key of the notes, in order.
fn note_values(notes: &str, key: &str) -> Vec<u32> {
    notes.lines().filter_map(|line| line.split_once(key)?.1.trim().parse().ok()).collect()
}
