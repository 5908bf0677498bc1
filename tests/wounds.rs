//! Mistakes that other tile languages have made, each as a test of every executor: the interpreter on the kernel as
//! written and after the target-independent passes, the CPU, and the virtual GPUs with the sanitizer on.
//!
//! Wounds of compiling and launching (16, 17, 18) are tests of `tegula-runtime`.

use std::sync::Arc;

use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::interp::Interpreter;
use tegula_ir::literal::Literal;
use tegula_ir::numeric::eval;
use tegula_ir::ops::Rounding;
use tegula_ir::pass::PassContext;
use tegula_ir::passes::{OptLevel, default_pipeline};
use tegula_ir::testing::value::elements;
use tegula_ir::text::parse_function;
use tegula_ir::types::ScalarType;
use tegula_runtime::executors;

/// The interpreter on what the target-independent passes make of a kernel.
struct Optimised;

impl Executor for Optimised {
    fn name(&self) -> String {
        "passes, then interp".to_owned()
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        let mut function = function.clone();
        for stage in default_pipeline(OptLevel::Default).stages {
            let passed = stage.pass.run(&mut function, &mut PassContext::new());
            passed.map_err(|e| ExecError::Compile(e.to_string()))?;
        }
        Interpreter::new().run(&function, grid, args)
    }
}

/// Every executor; the interpreter comes first.
fn all() -> Vec<Arc<dyn Executor + Send + Sync>> {
    let named = |name| executors::by_name(name).unwrap_or_else(|e| panic!("{e}"));
    let mut all = vec![named("interp"), Arc::new(Optimised) as Arc<_>];
    all.extend(["cpu", "vgpu:sm_80", "vgpu:sm_90a", "vgpu:gfx942"].map(named));
    all
}

fn parse(text: &str) -> Function {
    parse_function(text, "wound.tile").unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a kernel on every executor, all of which must give the same. Gives the last argument's elements.
fn run_with(text: &str, programs: u32, args: impl Fn() -> Vec<HostArg>) -> Vec<f64> {
    let f = parse(text);
    let mut first: Option<Vec<f64>> = None;
    for executor in all() {
        let mut args = args();
        executor.run(&f, [programs, 1, 1], &mut args).unwrap_or_else(|e| panic!("{}: {e}", executor.name()));
        let found = match args.last() {
            Some(HostArg::Tensor(t)) => values(t),
            other => panic!("{other:?}"),
        };
        let first = first.get_or_insert_with(|| found.clone());
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        if let Some(i) = (0..found.len()).find(|&i| !same(first[i], found[i])) {
            panic!("{} gives {} for element {i}, the interpreter {}", executor.name(), found[i], first[i]);
        }
    }
    first.unwrap_or_default()
}

fn run_grid(text: &str, programs: u32, args: &[HostArg]) -> Vec<f64> {
    run_with(text, programs, || args.to_vec())
}

fn run(text: &str, args: &[HostArg]) -> Vec<f64> {
    run_grid(text, 1, args)
}

fn tensor(t: ScalarType, extents: &[i64], values: &[f64]) -> HostArg {
    let bytes = t.memory_bytes().unwrap() as usize;
    let one = |&v: &f64| {
        let v = eval::cast(ScalarType::F64, t, Rounding::NearestEven, false, Literal::Float(v));
        eval::to_bits(t, v).to_le_bytes()[..bytes].to_vec()
    };
    HostArg::Tensor(HostTensor::from_bytes(t, extents, values.iter().flat_map(one).collect()))
}

fn zeros(t: ScalarType, extents: &[i64]) -> HostArg {
    HostArg::Tensor(HostTensor::zeros(t, extents))
}

fn values(t: &HostTensor) -> Vec<f64> {
    let value = |v| match v {
        Literal::Bool(b) => f64::from(u8::from(b)),
        Literal::Int(v) => v as f64,
        Literal::Float(v) => v,
    };
    elements(t).into_iter().map(value).collect()
}

/// 1: an f32 `dot` is IEEE f32, not tf32: ones[64, 64] · (1 + 2⁻¹²) is 64.015625, where tf32 gives 64.
#[test]
fn wound_01_f32_dot_is_not_rounded_to_tf32() {
    let kernel = "
kernel @k(%a: view<2d, f32> read, %b: view<2d, f32> read, %o: view<2d, f32> write) {
  %z = constant 0 : i64
  %x = load %a[%z, %z] : tile<64x64xf32>
  %y = load %b[%z, %z] : tile<64x64xf32>
  %c = constant 0.0 : tile<64x64xf32>
  %d = dot %x, %y, %c
  store %d, %o[%z, %z]
  return
}";
    let ones = tensor(ScalarType::F32, &[64, 64], &[1.0; 4096]);
    let factor = tensor(ScalarType::F32, &[64, 64], &[1.0 + 2f64.powi(-12); 4096]);
    let out = run(kernel, &[ones, factor, zeros(ScalarType::F32, &[64, 64])]);
    assert!(out.iter().all(|&v| v == 64.015625), "{}", out[0]);
}

/// 2: offsets do not wrap at 32 bits: row 319 of a tensor with row stride 7,864,320 is at 2,508,718,080.
#[test]
fn wound_02_offsets_are_64_bits() {
    let stride = 7_864_320;
    let at = 319 * stride as usize;
    let kernel = "
kernel @k(%x: view<2d, u8> read_write, %row: i64) {
  %z = constant 0 : i64
  %one = constant 1 : i64
  %v = load %x[%row, %z] : tile<1x1xu8>
  %c = constant 7 : tile<1x1xu8>
  %s = add %v, %c
  store %s, %x[%row, %one]
  %r32 = cast %row : i32
  %i = splat %r32 : tile<1xi32>
  %two = constant 2 : tile<1xi32>
  %g = load %x gather [%i, %two] : tile<1xu8>
  %g2 = reshape %g : tile<1x1xu8>
  store %g2, %x[%row, %z]
  return
}";
    let f = parse(kernel);
    for executor in all() {
        // Zeroed pages that are never touched take no memory.
        let mut data = vec![0u8; at + 3];
        data[at] = 35;
        data[at + 2] = 9;
        let x = HostTensor { elem: ScalarType::U8, data, offset: 0, extents: vec![320, 3], strides: vec![stride, 1] };
        let mut args = [HostArg::Tensor(x), HostArg::Scalar(Literal::Int(319))];
        executor.run(&f, [1, 1, 1], &mut args).unwrap_or_else(|e| panic!("{}: {e}", executor.name()));
        let HostArg::Tensor(x) = &args[0] else { unreachable!() };
        assert_eq!(x.data[at..], [9, 42, 9], "{}", executor.name());
    }
}

/// 3: offsets are not reassociated in 32 bits: row 7 of a bf16 tensor of 2²⁹ elements with row stride 67,108,864 is
/// 939,524,096 bytes in, which row and stride scaled to bytes one by one do not give in 32 bits.
#[test]
fn wound_03_offsets_are_not_reassociated_in_32_bits() {
    let stride = 67_108_864usize;
    let kernel = "
kernel @k(%x: view<2d, bf16> read, %row: i32, %o: view<1d, f32> write) {
  %z = constant 0 : i64
  %r = splat %row : tile<32xi32>
  %c = arange axis 0 : tile<32xi32>
  %five = constant 5 : tile<32xi32>
  %c5 = add %c, %five
  %g = load %x gather [%r, %c5] : tile<32xbf16>
  %f = cast %g : tile<32xf32>
  store %f, %o[%z]
  return
}";
    let args = || {
        // Zeroed pages that are never touched take no memory.
        let mut data = vec![0u8; 2 * 8 * stride];
        for i in 0..32 {
            let at = 2 * (7 * stride + 5 + i);
            data[at..at + 2].copy_from_slice(&half::bf16::from_f32(i as f32 + 1.0).to_le_bytes());
        }
        let x = HostTensor::from_bytes(ScalarType::BF16, &[8, stride as i64], data);
        vec![HostArg::Tensor(x), HostArg::Scalar(Literal::Int(7)), zeros(ScalarType::F32, &[32])]
    };
    assert_eq!(run_with(kernel, 1, args), (1..=32).map(f64::from).collect::<Vec<_>>());
}

/// 4: a cumulative sum along an axis longer than a wavefront, in a loop that carries the sum of what came before.
#[test]
fn wound_04_long_scans_in_loops() {
    let n = 300;
    let kernel = format!(
        "
kernel @k(%x: view<2d, i32> read, %o: view<2d, i32> write) {{
  %z = constant 0 : i64
  %one = constant 1 : i64
  %rows = constant 5 : i64
  %start = constant 0 : i32
  %end = for %i = %z to %rows step %one iter(%carry = %start) -> i32 {{
    %v = load %x[%i, %z] : tile<1x{n}xi32>
    %c = scan sum %v axis 1
    %b = splat %carry : tile<1x{n}xi32>
    %s = add %c, %b
    store %s, %o[%i, %z]
    %total = reduce sum %v axes [0, 1]
    %next = add %carry, %total
    yield %next
  }}
  return
}}"
    );
    let x: Vec<f64> = (0..5 * n).map(|i| f64::from(i * 7919 % 1000 - 400)).collect();
    let n = i64::from(n);
    let out = run(&kernel, &[tensor(ScalarType::I32, &[5, n], &x), zeros(ScalarType::I32, &[5, n])]);
    let mut sum = 0.0;
    for (i, v) in x.iter().enumerate() {
        sum += v;
        assert_eq!(out[i], sum, "element {i}");
    }
}

/// 5: an associative scan keeps the order of a non-commutative function, forward and reverse: the composition of
/// x ↦ a x + b is (a₁ a₂, b₁ a₂ + b₂), checked against a loop over the elements.
#[test]
fn wound_05_scans_keep_the_order_of_operands() {
    let n = 77;
    let a: Vec<f64> = (0..n).map(|i| f64::from(i % 5 - 2)).collect();
    let b: Vec<f64> = (0..n).map(|i| f64::from(i % 7 - 3)).collect();
    for reverse in [false, true] {
        let kernel = format!(
            "
kernel @k(%a: view<1d, f64> read, %b: view<1d, f64> read, %o: view<1d, f64> write) {{
  %z = constant 0 : i64
  %x = load %a[%z] : tile<{n}xf64>
  %y = load %b[%z] : tile<{n}xf64>
  %p, %q = scan_with %x, %y axis 0{} (%a1: f64, %b1: f64, %a2: f64, %b2: f64) -> tile<{n}xf64>, tile<{n}xf64> {{
    %aa = mul %a1, %a2
    %ba = mul %b1, %a2
    %bb = add %ba, %b2
    yield %aa, %bb
  }}
  store %q, %o[%z]
  return
}}",
            if reverse { " reverse" } else { "" }
        );
        let inputs = [tensor(ScalarType::F64, &[n.into()], &a), tensor(ScalarType::F64, &[n.into()], &b)];
        let out = run(&kernel, &[inputs[0].clone(), inputs[1].clone(), zeros(ScalarType::F64, &[n.into()])]);
        let mut order: Vec<usize> = (0..n as usize).collect();
        if reverse {
            order.reverse();
        }
        let mut state = 0.0;
        for i in order {
            state = state * a[i] + b[i];
            assert_eq!(out[i], state, "element {i}, reverse {reverse}");
        }
    }
}

/// 6: a loop whose store is conditional at run time, and whose load reads what the iteration before has stored.
#[test]
fn wound_06_conditional_stores_that_the_next_iteration_loads() {
    let kernel = "
kernel @k(%n: i64, %x: view<1d, i32> read_write) {
  %z = constant 0 : i64
  %one = constant 1 : i64
  %three = constant 3 : i64
  %eight = constant 8 : i64
  for %i = %z to %n step %one {
    %at = mul %i, %eight
    %v = load %x[%at] : tile<16xi32>
    %w = add %v, %v
    %m = rem %i, %three
    %c = cmp ne %m, %one
    if %c {
      %next = add %at, %eight
      store %w, %x[%next]
      yield
    }
    yield
  }
  return
}";
    let mut want: Vec<f64> = (0..120).map(|i| f64::from(i % 11 - 5)).collect();
    let args = [HostArg::Scalar(Literal::Int(12)), tensor(ScalarType::I32, &[120], &want)];
    for i in (0..12).filter(|i| i % 3 != 1) {
        let doubled: Vec<f64> = want[8 * i..8 * i + 16].iter().map(|v| 2.0 * v).collect();
        want[8 * i + 8..8 * i + 24].copy_from_slice(&doubled);
    }
    assert_eq!(run(kernel, &args), want);
}

/// 7: max and argmax with NaN and infinity in every position: NaN is passed over by `max`, kept by `max_nan`, and
/// never an argmax; of equal values the first counts.
#[test]
fn wound_07_extremes_with_nan_and_infinity() {
    let n = 33;
    let kernel = format!(
        "
kernel @k(%x: view<2d, f32> read, %o: view<2d, f32> write) {{
  %z = constant 0 : i64
  %p = program_id 0
  %row = load %x[%p, %z] : tile<1x{n}xf32>
  %v = reshape %row : tile<{n}xf32>
  %m = reduce max %v axes [0]
  %mn = reduce max_nan %v axes [0]
  %a, %i = arg_reduce max %v axis 0
  %b, %j = arg_reduce min %v axis 0
  %if = cast %i : f32
  %jf = cast %j : f32
  %mp = join %m, %mn
  %ai = join %a, %if
  %bj = join %b, %jf
  %six = cat %mp, %ai, %bj axis 0 : tile<6xf32>
  %all = reshape %six : tile<1x6xf32>
  store %all, %o[%p, %z]
  return
}}"
    );
    let base: Vec<f64> = (0..n).map(|i| (f64::from(i) - 16.0).abs()).collect();
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for at in 0..n as usize {
        rows.extend(specials.map(|v| {
            let mut row = base.clone();
            row[at] = v;
            row
        }));
    }
    rows.push(vec![f64::NAN; n as usize]);
    rows.push(vec![f64::NEG_INFINITY; n as usize]);
    let count = rows.len() as i64;
    let x = tensor(ScalarType::F32, &[count, n.into()], &rows.concat());
    let out = run_grid(&kernel, rows.len() as u32, &[x, zeros(ScalarType::F32, &[count, 6])]);
    let out: Vec<&[f64]> = out.chunks(6).collect();
    for at in 0..n as usize {
        let (top, low) = (if at == 0 { 32.0 } else { 0.0 }, if at == 16 { 15.0 } else { 16.0 });
        let [nan, inf, neg] = [out[3 * at], out[3 * at + 1], out[3 * at + 2]];
        assert!(nan[1].is_nan());
        assert_eq!((nan[0], nan[2], nan[3], nan[5]), (16.0, 16.0, top, low), "NaN at {at}");
        assert_eq!(inf[..4], [f64::INFINITY, f64::INFINITY, f64::INFINITY, at as f64]);
        assert_eq!((neg[0], neg[4], neg[5]), (16.0, f64::NEG_INFINITY, at as f64));
    }
    let [nan, neg] = [out[rows.len() - 2], out[rows.len() - 1]];
    assert!(nan[0].is_nan() && nan[1].is_nan() && nan[2].is_nan() && nan[4].is_nan());
    assert_eq!((nan[3], nan[5]), (0.0, 0.0));
    assert_eq!(neg[..4], [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]);
}

/// 8: 256 truth values count to 256, and the sum of truth values itself is refused with a way out.
#[test]
fn wound_08_counting_truth_values() {
    let kernel = "
kernel @k(%x: view<1d, i1> read, %o: view<1d, i32> write) {
  %z = constant 0 : i64
  %v = load %x[%z] : tile<256xi1>
  %c = cast %v : tile<256xi32>
  %s = reduce sum %c axes [0]
  %t = splat %s : tile<1xi32>
  store %t, %o[%z]
  return
}";
    let out = run(kernel, &[tensor(ScalarType::Bool, &[256], &[1.0; 256]), zeros(ScalarType::I32, &[1])]);
    assert_eq!(out, [256.0]);
    let refused =
        parse_function(&kernel.replace("reduce sum %c", "reduce sum %v").replace("i32 write", "i1 write"), "k");
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("reduce sum is not defined on i1"), "{message}");
}

/// 9: −1 / 2 is 0 and −5 % 3 is −2, as in Rust, whether folded while compiling or computed at run time.
#[test]
fn wound_09_division_as_in_rust() {
    let kernel = "
kernel @k(%a: i32, %b: i32, %c: i32, %d: i32, %o: view<1d, i32> write) {
  %z = constant 0 : i64
  %m1 = constant -1 : i32
  %two = constant 2 : i32
  %m5 = constant -5 : i32
  %three = constant 3 : i32
  %q = div %m1, %two
  %r = rem %m5, %three
  %s = div %a, %b
  %t = rem %c, %d
  %qr = join %q, %r
  %st = join %s, %t
  %all = cat %qr, %st axis 0 : tile<4xi32>
  store %all, %o[%z]
  return
}";
    let scalars = [-1, 2, -5, 3].map(|v| HostArg::Scalar(Literal::Int(v)));
    let args: Vec<HostArg> = scalars.into_iter().chain([zeros(ScalarType::I32, &[4])]).collect();
    assert_eq!(run(kernel, &args), [0.0, -2.0, 0.0, -2.0]);
}

/// 10: a bf16 atomic add, for which some targets have no instruction, with several lanes on one element.
#[test]
fn wound_10_bf16_atomic_add_with_duplicate_indices() {
    let kernel = "
kernel @k(%x: view<1d, bf16> read_write) {
  %i = arange axis 0 : tile<128xi32>
  %three = constant 3 : tile<128xi32>
  %at = rem %i, %three
  %one = constant 1.0 : tile<128xbf16>
  %old = atomic_rmw add %one, %x gather [%at] {ordering = relaxed, scope = device} : tile<128xbf16>
  return
}";
    let out = run_grid(kernel, 2, &[tensor(ScalarType::BF16, &[3], &[0.5, 8.0, -100.0])]);
    // Every sum on the way is a value of bf16 but for halves above 128, which are not reached.
    assert_eq!(out, [86.5, 94.0, -16.0]);
}

/// 11: fp8 conversions: FNUZ 0x80 is NaN, 1.125 to e5m2 is 1.0 (to even), and every f16 value converts to the nearest
/// fp8 value, which is found here by search.
#[test]
fn wound_11_fp8_conversions() {
    for t in [ScalarType::F8E4M3, ScalarType::F8E5M2, ScalarType::F8E4M3Fnuz, ScalarType::F8E5M2Fnuz] {
        let kernel = format!(
            "
kernel @k(%x: view<1d, f16> read, %o: view<1d, {t}> write) {{
  %p = program_id 0
  %size = constant 1024 : i64
  %at = mul %p, %size
  %v = load %x[%at] : tile<1024xf16>
  %c = cast %v : tile<1024x{t}>
  store %c, %o[%at]
  return
}}"
        );
        let data = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let x = HostArg::Tensor(HostTensor::from_bytes(ScalarType::F16, &[65536], data));
        let out = run_grid(&kernel, 64, &[x, zeros(t, &[65536])]);
        let value = |bits: u8| match eval::from_bits(t, bits.into()) {
            Literal::Float(v) => v,
            other => panic!("{other:?}"),
        };
        let finite: Vec<(f64, u8)> = (0..=u8::MAX).map(|b| (value(b), b)).filter(|(v, _)| v.is_finite()).collect();
        let max = finite.iter().map(|(v, _)| *v).fold(0.0, f64::max);
        for bits in 0..=u16::MAX {
            let x = f64::from(half::f16::from_bits(bits));
            let got = out[usize::from(bits)];
            if x.is_nan() {
                assert!(got.is_nan());
                continue;
            }
            let distance = |v: f64| (v - x).abs();
            let best = finite.iter().map(|&(v, _)| distance(v)).fold(f64::INFINITY, f64::min);
            // Beyond half a step above the largest value, conversion overflows.
            let step = max - finite.iter().map(|&(v, _)| v).filter(|&v| v < max).fold(0.0, f64::max);
            if x.abs() > max + step / 2.0 || (x.abs() == max + step / 2.0 && t != ScalarType::F8E4M3) {
                let infinite = t == ScalarType::F8E5M2 && got == x.signum() * f64::INFINITY;
                assert!(infinite || (t != ScalarType::F8E5M2 && got.is_nan()), "{t} {x}: {got}");
                continue;
            }
            assert_eq!(distance(got), best, "{t} {x}: {got}");
            // A tie goes to the even encoding.
            let ties: Vec<u8> = finite.iter().filter(|(v, _)| distance(*v) == best).map(|&(_, b)| b).collect();
            let encodings = ties.iter().filter(|&&b| value(b) == got);
            assert!(ties.len() < 2 || encodings.into_iter().any(|b| b & 1 == 0) || got == 0.0, "{t} {x}: {got}");
        }
        let one = out[usize::from(half::f16::from_f64(1.125).to_bits())];
        if matches!(t, ScalarType::F8E5M2 | ScalarType::F8E5M2Fnuz) {
            assert_eq!(one, 1.0);
        }
        let fnuz = matches!(t, ScalarType::F8E4M3Fnuz | ScalarType::F8E5M2Fnuz);
        assert_eq!(value(0x80).is_nan(), fnuz);
    }
}

/// 12: a store of rows of 466 bytes, in a tensor whose rows are 512 bytes or no multiple of 16 bytes apart, does not touch
/// the bytes between them.
#[test]
fn wound_12_bytes_between_rows_are_not_touched() {
    let kernel = "
kernel @k(%v: u8, %o: view<2d, u8> write {unit_inner}) {
  %z = constant 0 : i64
  %t = splat %v : tile<8x512xu8>
  store %t, %o[%z, %z]
  return
}";
    let f = parse(kernel);
    for stride in [512, 471] {
        let mut o = HostTensor::from_bytes(ScalarType::U8, &[5, 466], vec![0xa5; 5 * stride]);
        o.strides = vec![stride as i64, 1];
        for executor in all() {
            let mut args = [HostArg::Scalar(Literal::Int(7)), HostArg::Tensor(o.clone())];
            executor.run(&f, [1, 1, 1], &mut args).unwrap_or_else(|e| panic!("{}: {e}", executor.name()));
            let HostArg::Tensor(found) = &args[1] else { unreachable!() };
            for (i, &byte) in found.data.iter().enumerate() {
                let want = if i % stride < 466 { 7 } else { 0xa5 };
                assert_eq!(byte, want, "{}, stride {stride}, byte {i}", executor.name());
            }
        }
    }
}

/// 13: a masked load without a padding value gives zero, and lanes that are masked off at the end of an allocation
/// are not touched, through views and through pointers.
#[test]
fn wound_13_masked_lanes_are_not_touched() {
    let kernel = "
kernel @k(%p: ptr<f32>, %x: view<1d, f32> read, %o: view<1d, f32> write) {
  %z = constant 0 : i64
  %i = arange axis 0 : tile<64xi32>
  %n = constant 61 : tile<64xi32>
  %m = cmp lt %i, %n
  %q = ptr_add %p, %i
  %a = load %q mask %m
  %b = load %x[%z] mask %m : tile<64xf32>
  %s = add %a, %b
  store %s, %o[%z]
  return
}";
    let full: Vec<f64> = (0..61).map(|i| f64::from(i) + 1.0).collect();
    let HostArg::Tensor(t) = tensor(ScalarType::F32, &[61], &full) else { unreachable!() };
    let out = run(kernel, &[HostArg::Ptr(t.clone()), HostArg::Tensor(t.clone()), zeros(ScalarType::F32, &[64])]);
    assert!((0..61).all(|i| out[i] == 2.0 * full[i]));
    assert_eq!(out[61..], [0.0, 0.0, 0.0]);
    // Without the mask the pointer leaves its allocation, and that is an error.
    let f = parse(&kernel.replace("load %q mask %m", "load %q"));
    for executor in all() {
        let mut args = [HostArg::Ptr(t.clone()), HostArg::Tensor(t.clone()), zeros(ScalarType::F32, &[64])];
        let result = executor.run(&f, [1, 1, 1], &mut args);
        assert!(matches!(result, Err(ExecError::Kernel(_))), "{}: {result:?}", executor.name());
    }
}

/// 14: two products into one accumulator in the body of a loop are both added.
#[test]
fn wound_14_two_accumulations_in_one_body() {
    let kernel = "
kernel @k(%a: view<2d, f32> read, %b: view<2d, f32> read, %o: view<2d, f32> write) {
  %z = constant 0 : i64
  %one = constant 1 : i64
  %n = constant 3 : i64
  %k = constant 16 : i64
  %init = constant 0.0 : tile<16x16xf32>
  %sum = for %i = %z to %n step %one iter(%acc = %init) -> tile<16x16xf32> {
    %at = mul %i, %k
    %x = load %a[%z, %at] : tile<16x16xf32>
    %y = load %b[%at, %z] : tile<16x16xf32>
    %s = dot %x, %y, %acc
    %t = dot %y, %x, %s
    yield %t
  }
  store %sum, %o[%z, %z]
  return
}";
    let a: Vec<f64> = (0..16 * 48).map(|i| f64::from(i % 7 - 3)).collect();
    let b: Vec<f64> = (0..48 * 16).map(|i| f64::from(i % 5 - 2)).collect();
    let args = [
        tensor(ScalarType::F32, &[16, 48], &a),
        tensor(ScalarType::F32, &[48, 16], &b),
        zeros(ScalarType::F32, &[16, 16]),
    ];
    let out = run(kernel, &args);
    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
        let mut want = 0.0;
        for i in 0..3 {
            let x = |r: usize, c: usize| a[r * 48 + 16 * i + c];
            let y = |r: usize, c: usize| b[(16 * i + r) * 16 + c];
            want += (0..16).map(|k| x(row, k) * y(k, column) + y(row, k) * x(k, column)).sum::<f64>();
        }
        assert_eq!(out[row * 16 + column], want, "[{row}, {column}]");
    }
}

/// 15: `x/d + y/d` is two divisions and an addition: no division becomes a multiplication, no product is fused.
#[test]
fn wound_15_no_asymmetric_contraction() {
    let kernel = "
kernel @k(%x: view<1d, f32> read, %y: view<1d, f32> read, %o: view<1d, f32> write) {
  %z = constant 0 : i64
  %a = load %x[%z] : tile<256xf32>
  %b = load %y[%z] : tile<256xf32>
  %d = constant 1e-6 : tile<256xf32>
  %p = div %a, %d
  %q = div %b, %d
  %s = add %p, %q
  store %s, %o[%z]
  return
}";
    let x: Vec<f64> = (0..256).map(|i| f64::from((i as f32 * 0.37).sin())).collect();
    let y: Vec<f64> = x.iter().map(|v| -v).collect();
    let args = |x: &[f64], y: &[f64]| {
        [tensor(ScalarType::F32, &[256], x), tensor(ScalarType::F32, &[256], y), zeros(ScalarType::F32, &[256])]
    };
    assert!(run(kernel, &args(&x, &y)).iter().all(|&v| v == 0.0));
    let y: Vec<f64> = (0..256).map(|i| f64::from((i as f32 * 0.11).cos())).collect();
    let out = run(kernel, &args(&x, &y));
    for i in 0..256 {
        let want = x[i] as f32 / 1e-6f32 + y[i] as f32 / 1e-6f32;
        assert_eq!(out[i], f64::from(want), "element {i}");
    }
}
