//! The kernels of `tests/filetests` that are marked for compilation, compiled for NVIDIA GPUs and checked by `ptxas`
//! where there is one.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_codegen_nvptx::{Options, compile, ptxas};
use tegula_ir::function::Function;
use tegula_ir::testing::filetest::{Command, TestFile, collect};
use tegula_ir::text::parse_module;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests");
    let assembler = ptxas::find();
    if assembler.is_none() {
        println!("SKIPPED: ptxas is missing, so PTX is only compiled, not assembled; run scripts/fetch-ptxas");
    }
    let files = collect(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut trials = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for target in marked_targets(&text) {
            let name = format!("{} {target}", path.strip_prefix(&root).unwrap_or(&path).display());
            let (text, assembler) = (text.clone(), assembler.clone());
            trials.push(Trial::test(name.clone(), move || {
                for function in parse_module(&text, &name).map_err(|e| Failed::from(e.to_string()))?.functions {
                    check(function, &target, assembler.as_deref()).map_err(Failed::from)?;
                }
                Ok(())
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The NVIDIA targets that a file is to be compiled for.
fn marked_targets(text: &str) -> Vec<String> {
    let is_nvidia = |target: &&String| target.starts_with("sm_");
    match TestFile::parse(text) {
        Ok(file) => file
            .commands
            .iter()
            .filter_map(|command| match command {
                Command::Compile(targets) => Some(targets.iter().filter(is_nvidia).cloned()),
                _ => None,
            })
            .flatten()
            .collect(),
        Err(_) => Vec::new(),
    }
}

fn check(function: Function, target: &str, assembler: Option<&Path>) -> Result<(), String> {
    let name = function.name.clone();
    let compiled = compile(&function, target, &Options::default()).map_err(|e| format!("@{name}: {e}"))?;
    let Some(assembler) = assembler else { return Ok(()) };
    let assembled =
        ptxas::assemble(assembler, &compiled.ptx, target).map_err(|e| format!("@{name}: {e}\n{}", compiled.ptx))?;
    if !assembled.warnings.is_empty() {
        return Err(format!("@{name}: {}\n{}", assembled.warnings.join("\n"), compiled.ptx));
    }
    if std::env::var_os("TEGULA_SHOW").is_some() {
        println!("{}\n{name}: {} registers, {} spilled", compiled.ptx, assembled.registers, assembled.spill_bytes);
    }
    Ok(())
}
