//! Runs the `test run` files of `tests/filetests` at the root of the workspace on the CPU, fused and not.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_codegen_cpu::{CpuExecutor, CpuOptions};
use tegula_ir::exec::{ExecError, Executor, HostArg};
use tegula_ir::function::Function;
use tegula_ir::pass::Registry;
use tegula_ir::testing::filetest::{Runner, collect};

/// The CPU under its own name, on one thread.
struct Cpu(CpuExecutor);

impl Executor for Cpu {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        self.0.run(function, grid, args)
    }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests/run");
    let files = collect(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut trials = Vec::new();
    for fuse in [true, false] {
        let options = CpuOptions { fuse, ..CpuOptions::default() };
        let runner: &'static Runner = Box::leak(Box::new(Runner {
            registry: Registry::builtin(),
            executors: vec![Box::new(Cpu(CpuExecutor::new(options, 1)))],
        }));
        for path in files.clone() {
            let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
            let name = format!("{}/{name}", if fuse { "fused" } else { "plain" });
            trials.push(Trial::test(name, move || runner.check(&path).map_err(Failed::from)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
