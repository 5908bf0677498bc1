//! Passes keep the meaning of programs: generated kernels give the same on the interpreter before and after, bit for
//! bit where the pass does not expand math functions, and stay valid.
//!
//! `TEGULA_CASES` sets the number of programs for each pass list (default 300).

use proptest::prelude::*;
use tegula_ir::exec::Executor;
use tegula_ir::interp::Interpreter;
use tegula_ir::pass::{PassContext, Registry};
use tegula_ir::passes::{OptLevel, default_pass_list};
use tegula_ir::testing::generate::{Config, Info, Program};
use tegula_ir::verify::verify;

/// Checks one program; the error is a filetest that shows the difference.
fn check(list: &[u32], passes: &str, exact: bool) -> Result<(), String> {
    let mut p = Program::new(list, &Config::default());
    let interp = Interpreter::new().with_work_limit(1 << 28);
    let mut wanted = p.args.clone();
    let printed = interp.run(&p.function, p.grid, &mut wanted).map_err(|e| format!("before: {e}"))?;
    let mut after = p.function.clone();
    let show = |message: String, after: &tegula_ir::Function| {
        format!("{message}\n{}\nafter {passes}:\n{after}", p.filetest("", Some(&wanted)))
    };
    for stage in Registry::builtin().pipeline(passes).map_err(|e| e.to_string())?.stages {
        stage.pass.run(&mut after, &mut PassContext::new()).map_err(|e| e.to_string())?;
        if let Err(errors) = verify(&after) {
            return Err(show(format!("{} makes it invalid: {}", stage.text, errors[0]), &after));
        }
    }
    let mut found = p.args.clone();
    let again = interp.run(&after, p.grid, &mut found).map_err(|e| show(format!("after: {e}"), &after))?;
    if exact && printed != again {
        return Err(show(format!("printed {printed:?}, then {again:?}"), &after));
    }
    let infos = p.infos.clone();
    if exact {
        p.infos.iter_mut().for_each(|i| *i = Info { rel: 0.0, abs: 0.0, ..*i });
    }
    let result = p.compare(&wanted, &found);
    p.infos = infos;
    result.map_err(|e| format!("{e}\n{}\nafter {passes}:\n{after}", p.filetest("", Some(&wanted))))
}

fn holds(passes: &str, exact: bool) {
    let cases = std::env::var("TEGULA_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let lists = prop::collection::vec(any::<u32>(), 0..400);
    let result = runner.run(&lists, |list| check(&list, passes, exact).map_err(TestCaseError::fail));
    if let Err(e) = result {
        panic!("{e}");
    }
}

/// One test for each pass list.
macro_rules! preserve {
    ($($name:ident: $passes:expr, $exact:expr;)*) => {
        $(#[test]
        fn $name() {
            holds($passes, $exact);
        })*
    };
}

preserve! {
    canonicalize: "canonicalize", true;
    cse: "cse", true;
    dce: "dce", true;
    licm: "licm", true;
    if_convert: "if-convert{limit=100000}", true;
    unroll: "unroll{full=8,factor=3,max-ops=10000}", true;
    simplify_address: "simplify-address", true;
    bounds_elim: "canonicalize,cse,bounds-elim", true;
    expand_math: "expand-math", false;
    default_pipeline: default_pass_list(OptLevel::Default), true;
    aggressive_pipeline: default_pass_list(OptLevel::Aggressive), true;
    everything: "unroll,if-convert,canonicalize,cse,licm,simplify-address,expand-math,canonicalize,cse,licm,dce", false;
}
