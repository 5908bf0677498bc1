//! Generated programs, executed through upstream MLIR passes and by the interpreter; and their round trips through the
//! interchange form.

mod common;

use common::anonymous_text;
use tegula_ir::ScalarType;
use tegula_ir::exec::{ExecError, Executor};
use tegula_ir::interp::Interpreter;
use tegula_ir::testing::generate::{Config, Program, decisions};
use tegula_mlir::export::export;
use tegula_mlir::import::import;
use tegula_mlir::run::MlirExecutor;
use tegula_mlir::session::Session;

/// How many programs must have been executed.
const PROGRAMS: usize = 200;

/// Seeds after which it is given up: most programs have an op that upstream MLIR has no equal for.
const SEEDS: u64 = 20_000;

#[test]
fn executed_programs_agree_with_the_interpreter() {
    let config = Config {
        max_ops: 8,
        max_elements: 128,
        types: vec![ScalarType::F32, ScalarType::F64, ScalarType::I32, ScalarType::I64, ScalarType::I8],
        memory: false,
        combine: false,
        facts: false,
        ..Config::default()
    };
    let mlir = MlirExecutor::new().expect("MLIR loads");
    let mut executed = 0;
    for seed in 0..SEEDS {
        if executed == PROGRAMS {
            break;
        }
        let program = Program::new(&decisions(seed), &config);
        // Decided before anything is run, so that what MLIR does not cover costs nothing.
        if tegula_mlir::lower::lower(&program.function).is_err() {
            continue;
        }
        let (mut want, mut got) = (program.args.clone(), program.args.clone());
        let fail = |what: String| panic!("seed {seed}: {what}\n{}", program.filetest("", None));
        match Interpreter::new().run(&program.function, program.grid, &mut want) {
            Ok(_) => {}
            // A failed assertion or the like: MLIR has no way to tell of it.
            Err(ExecError::Kernel(_)) => continue,
            Err(e) => fail(e.to_string()),
        }
        if let Err(e) = mlir.run(&program.function, program.grid, &mut got) {
            fail(e.to_string());
        }
        program.compare(&want, &got).unwrap_or_else(fail);
        executed += 1;
    }
    assert_eq!(executed, PROGRAMS, "too few programs could be executed");
}

#[test]
fn all_programs_round_trip() {
    let session = Session::new().expect("MLIR loads");
    let mut exported = 0;
    for seed in 0..200 {
        let program = Program::new(&decisions(seed), &Config::default());
        let mlir = match export(&program.function) {
            Ok(mlir) => mlir,
            Err(e) if e.to_string().contains("inputs or carried values") => continue,
            Err(e) => panic!("seed {seed}: {e}"),
        };
        exported += 1;
        let back = import(&session, &mlir).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{mlir}"));
        assert_eq!(anonymous_text(&back), anonymous_text(&program.function), "seed {seed}");
    }
    // The others have more inputs of different types than the dialect has operands.
    assert!(exported >= 150, "only {exported} of 200 could be exported");
}
