//! The kernels of `tests/filetests` that are marked for compilation, compiled for NVIDIA GPUs and checked by `ptxas`
//! where there is one.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_codegen_nvptx::{Options, compile, ptxas};
use tegula_ir::function::Function;
use tegula_ir::testing::filetest::CompileTest;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests");
    let assembler = ptxas::find();
    if assembler.is_none() {
        println!("SKIPPED: ptxas is missing, so PTX is only compiled, not assembled; run scripts/fetch-ptxas");
    }
    let tests = CompileTest::collect(&root, |target| target.starts_with("sm_")).unwrap_or_else(|e| panic!("{e}"));
    let trials = tests.into_iter().map(|test| {
        let assembler = assembler.clone();
        Trial::test(test.name.clone(), move || {
            test.run(|function, target| check(function, target, assembler.as_deref())).map_err(Failed::from)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn check(function: &Function, target: &str, assembler: Option<&Path>) -> Result<(), String> {
    let compiled = compile(function, target, &Options::default()).map_err(|e| e.to_string())?;
    let Some(assembler) = assembler else { return Ok(()) };
    let assembled = ptxas::assemble(assembler, &compiled.ptx, target).map_err(|e| format!("{e}\n{}", compiled.ptx))?;
    if !assembled.warnings.is_empty() {
        return Err(format!("{}\n{}", assembled.warnings.join("\n"), compiled.ptx));
    }
    if std::env::var_os("TEGULA_SHOW").is_some() {
        println!(
            "{}\n{}: {} registers, {} spilled",
            compiled.ptx, function.name, assembled.registers, assembled.spill_bytes
        );
    }
    Ok(())
}
