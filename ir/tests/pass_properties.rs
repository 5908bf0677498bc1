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

/// Kernels over the tiles of an output and the tiles along a second axis of an input, for any extents, tile sizes and
/// promises: what `bounds-elim` marks holds, which the interpreter checks at every access.
mod tiled {
    use super::*;
    use tegula_ir::exec::{HostArg, HostTensor, grid_of};
    use tegula_ir::literal::Literal;
    use tegula_ir::text::parse_function;
    use tegula_ir::types::ScalarType;

    /// The numbers that such a kernel is made from.
    #[derive(Clone, Debug)]
    struct Shape {
        /// Extents in units of the promised divisors.
        units: [i64; 3],
        divisors: [i64; 3],
        /// Tile sizes, and by what the counters are scaled.
        tiles: [i64; 3],
        scales: [i64; 3],
        /// How the count of tiles is written, and where loops start.
        form: u8,
        lower: i64,
        limit: i64,
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let three = |range: std::ops::Range<i64>| [range.clone(), range.clone(), range];
        (three(0..5), three(1..7), three(1..7), three(1..7), 0..4u8, -2..3i64, 0..6i64).prop_map(
            |(units, divisors, tiles, scales, form, lower, limit)| {
                // Mostly counters are scaled by the tile's size, as kernels do.
                let scales = std::array::from_fn(|i| if scales[i] > 2 { tiles[i] } else { scales[i] });
                Shape { units, divisors, tiles, scales, form, lower, limit }
            },
        )
    }

    fn kernel(s: &Shape) -> String {
        let ([d0, d1, d2], [t0, t1, t2], [s0, s1, s2]) = (s.divisors, s.tiles, s.scales);
        let (r1, r2, lower) = (t1 - 1, t2 - 1, s.lower);
        let count = match s.form {
            0 => "%tk = div %e2r, %t2",
            1 => "%tk = div %e2, %t2",
            2 => "%tk0 = div %e2r, %t2\n  %tk = min %limit, %tk0",
            // In elements, step by step.
            _ => "%tk = add %e2, %z",
        };
        let (step, scale) = if s.form == 3 { (t2, 1) } else { (1, s2) };
        format!(
            "
kernel @k(%x: view<2d, i32> read {{extent_divisor = [{d1}, {d2}]}}, %o: view<2d, i32> write {{extent_divisor = [{d0}, {d1}]}}, %limit: i64) grid(%o = [{t0}, {t1}]) {{
  %z = constant 0 : i64
  %pid = program_id 0 : i64
  %t1 = constant {t1} : i64
  %r1 = constant {r1} : i64
  %e1 = view_extent %o axis 1 : i64
  %e1r = add %e1, %r1
  %c1 = div %e1r, %t1
  %j = rem %pid, %c1
  %i = div %pid, %c1
  %s0 = constant {s0} : i64
  %s1 = constant {s1} : i64
  %oi = mul %i, %s0
  %oj = mul %j, %s1
  %t2 = constant {t2} : i64
  %r2 = constant {r2} : i64
  %e2 = view_extent %x axis 1 : i64
  %e2r = add %e2, %r2
  {count}
  %lower = constant {lower} : i64
  %step = constant {step} : i64
  %scale = constant {scale} : i64
  %zero = constant 0 : tile<{t1}x{t2}xi32>
  %sum = for %k = %lower to %tk step %step iter(%c = %zero) {{
    %ok = mul %k, %scale
    %v = load %x[%oj, %ok] : tile<{t1}x{t2}xi32>
    %n = add %c, %v
    yield %n
  }}
  %row = reduce sum %sum axes [1]
  %row1 = reshape %row : tile<1x{t1}xi32>
  %out = broadcast %row1 : tile<{t0}x{t1}xi32>
  store %out, %o[%oi, %oj]
  return
}}"
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn marks_of_bounds_elim_hold(s in shapes()) {
            let f = parse_function(&kernel(&s), "k.tile").unwrap_or_else(|e| panic!("{e}\n{}", kernel(&s)));
            let mut after = f.clone();
            for stage in Registry::builtin().pipeline("cse,bounds-elim").unwrap().stages {
                stage.pass.run(&mut after, &mut PassContext::new()).unwrap();
            }
            let [e0, e1, e2]: [i64; 3] = std::array::from_fn(|i| s.units[i] * s.divisors[i]);
            let mut x = HostTensor::zeros(ScalarType::I32, &[e1, e2]);
            x.data.iter_mut().enumerate().for_each(|(i, b)| *b = (i % 3) as u8);
            let o = HostTensor::zeros(ScalarType::I32, &[e0, e1]);
            let args = [HostArg::Tensor(x), HostArg::Tensor(o), HostArg::Scalar(Literal::Int(s.limit))];
            let grid = grid_of(&f, &args).unwrap().unwrap();
            let run = |f: &tegula_ir::Function| {
                let mut args = args.to_vec();
                let result = Interpreter::new().run(f, grid, &mut args);
                result.map(|_| args).map_err(|e| TestCaseError::fail(format!("{e}\n{f}")))
            };
            prop_assert_eq!(run(&f)?, run(&after)?);
        }
    }
}
