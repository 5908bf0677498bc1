//! Generated programs keep their meaning through each pass by itself, and through lists of passes, as the interpreter
//! says; and the passes give the same result twice.

use tegula_ir::exec::Executor;
use tegula_ir::interp::Interpreter;
use tegula_ir::pass::{PassManager, Registry};
use tegula_ir::testing::generate::{Config, Program, decisions, shrink};

/// Seeds for each pass list.
const SEEDS: u64 = 150;

/// Runs a pass list on a program and compares its results.
fn check(list: &[u32], passes: &str) -> Result<(), String> {
    let program = Program::new(list, &Config::default());
    let run = |function, what: &str| {
        let mut args = program.args.clone();
        Interpreter::new().run(function, program.grid, &mut args).map_err(|e| format!("{what}: {e}"))?;
        Ok::<_, String>(args)
    };
    let wanted = run(&program.function, "before the passes")?;
    let optimise = || {
        let mut manager = PassManager::new(Registry::builtin().pipeline(passes).map_err(|e| e.to_string())?);
        manager.verify = true;
        let mut function = program.function.clone();
        manager.run(&mut function).map_err(|e| e.to_string())?;
        Ok::<_, String>(function)
    };
    let function = optimise()?;
    if function.to_string() != optimise()?.to_string() {
        return Err("two runs of the passes differ".into());
    }
    let found = run(&function, "after the passes").map_err(|e| format!("{e}\n{function}"))?;
    program.compare(&wanted, &found).map_err(|e| format!("{e}\nafter the passes:\n{function}"))
}

#[track_caller]
fn keeps_meaning(passes: &str) {
    for seed in 0..SEEDS {
        let list = decisions(seed);
        let Err(error) = check(&list, passes) else { continue };
        let small = shrink(&list, 2000, |list| check(list, passes).is_err());
        let error = check(&small, passes).err().unwrap_or(error);
        let program = Program::new(&small, &Config::default());
        panic!("{passes}, seed {seed}: {error}\n{}", program.filetest("", None));
    }
}

#[test]
fn each_pass_keeps_meaning() {
    // Layouts have tests of their own, in `assign_layouts.rs`, for each width of warps.
    for pass in Registry::builtin().iter().filter(|pass| pass.name != "assign-layouts") {
        keeps_meaning(pass.name);
    }
}

#[test]
fn pass_lists_keep_meaning() {
    keeps_meaning("canonicalize,cse,licm,canonicalize,cse,dce");
    keeps_meaning("unroll{full=8,factor=2},if-convert{limit=4096},canonicalize,cse,licm,dce");
    keeps_meaning("expand-math,canonicalize,cse,dce");
}
