//! Runs the files of `tests/filetests` on every executor. What they mean stands in `tegula_ir::testing::filetest`.
//!
//! `TEGULA_BLESS=1 cargo test --test filetests` writes anew what the files expect; part of a path behind `--` chooses
//! files. Kernels marked `test compile` are compiled by the tests of the code generators.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_codegen_cpu::CpuExecutor;
use tegula_ir::interp::Interpreter;
use tegula_ir::pass::Registry;
use tegula_ir::testing::filetest::{Runner, collect};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let runner: &'static Runner = Box::leak(Box::new(Runner {
        registry: Registry::builtin(),
        executors: vec![Box::new(Interpreter::new()), Box::new(CpuExecutor::default())],
    }));
    let bless = std::env::var_os("TEGULA_BLESS").is_some();
    let files = collect(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let trials = files.into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        Trial::test(name, move || {
            if bless {
                runner.bless(&path).map_err(Failed::from)?;
            }
            runner.check(&path).map_err(Failed::from)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
