//! Every op on every element type that it takes, against the interpreter: on the CPU, with ops fused and not, and, where
//! `TEGULA_OP_TABLE=gpus` is set, on the virtual GPUs with the sanitizer on, which takes some minutes. The table is
//! `tegula_ir::testing::op_table`; part of the name of a row or an executor behind `--` chooses.

use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tegula_codegen_cpu::{CpuExecutor, CpuOptions};
use tegula_ir::exec::Executor;
use tegula_ir::testing::op_table::rows;
use tegula_runtime::executors;

/// Virtual GPUs that are asked for by the variable.
const GPUS: [&str; 3] = ["sm_80", "sm_90a", "gfx942"];

fn main() {
    let named = |name: &str| executors::by_name(name).unwrap_or_else(|e| panic!("{e}"));
    let unfused = CpuExecutor::new(CpuOptions { fuse: false, ..CpuOptions::default() }, 1);
    let mut executors: Vec<(&str, Arc<dyn Executor + Send + Sync>)> =
        vec![("cpu", named("cpu")), ("unfused", Arc::new(unfused))];
    if std::env::var("TEGULA_OP_TABLE").is_ok_and(|v| v == "gpus") {
        executors.extend(GPUS.map(|name| (name, named(&format!("vgpu:{name}")))));
    }
    let mut trials = Vec::new();
    for (name, executor) in executors {
        trials.extend(rows().into_iter().map(|row| {
            let executor = executor.clone();
            Trial::test(format!("{name} {}", row.name), move || row.check(executor.as_ref()).map_err(Failed::from))
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
