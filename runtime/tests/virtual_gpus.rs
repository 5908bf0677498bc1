//! The runs of `tests/filetests` on virtual GPUs: every op as compiled for sm_80, sm_90a and gfx942.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_ir::interp::Interpreter;
use tegula_ir::pass::Registry;
use tegula_ir::testing::filetest::{Command, Runner, TestFile, collect};
use tegula_runtime::virtual_gpu::VirtualGpu;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests");
    let files = collect(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut trials = Vec::new();
    for architecture in ["sm_80", "sm_90a", "gfx942"] {
        let gpu = VirtualGpu::new(architecture).unwrap_or_else(|| panic!("{architecture}"));
        let runner: &'static Runner = Box::leak(Box::new(Runner {
            registry: Registry::builtin(),
            // The wording of errors is the interpreter's, which comes first.
            executors: vec![Box::new(Interpreter::new()), Box::new(gpu)],
        }));
        for path in &files {
            let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let runs = TestFile::parse(&text)
                .is_ok_and(|file| file.commands.iter().any(|command| matches!(command, Command::Run(_))));
            if runs {
                let name = format!("{architecture} {}", path.strip_prefix(&root).unwrap_or(path).display());
                let path = path.clone();
                trials.push(Trial::test(name, move || runner.check(&path).map_err(Failed::from)));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
