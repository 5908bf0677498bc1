//! Generated programs on the interpreter and on the CPU. The root package runs many more, in child processes.

use tegula_codegen_cpu::{CpuExecutor, CpuOptions};
use tegula_ir::exec::Executor;
use tegula_ir::interp::Interpreter;
use tegula_ir::testing::generate::{Config, Program};

/// A list of decisions for a seed.
fn decisions(seed: u64) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let n = 20 + next() % 300;
    (0..n).map(|_| next()).collect()
}

#[test]
fn agree_with_the_interpreter() {
    let count = std::env::var("TEGULA_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let first = std::env::var("TEGULA_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let program = Program::new(&decisions(seed), &Config::default());
        if count == 1 {
            // A crash leaves nothing else behind.
            println!("{}", program.filetest("", None));
        }
        let mut want = program.args.clone();
        let expected = Interpreter::new().run(&program.function, program.grid, &mut want);
        for fuse in [true, false] {
            let cpu = CpuExecutor::new(CpuOptions { fuse, ..CpuOptions::default() }, 1);
            let mut got = program.args.clone();
            let found = cpu.run(&program.function, program.grid, &mut got);
            let fail = |what: &str| panic!("seed {seed}, fuse {fuse}: {what}\n{}", program.filetest("", None));
            match (&expected, &found) {
                (Ok(a), Ok(b)) if a == b => {
                    program.compare(&want, &got).unwrap_or_else(|e| fail(&e));
                }
                (Err(_), Err(_)) => {}
                (a, b) => fail(&format!("interpreter {a:?}, cpu {b:?}")),
            }
        }
    }
}
