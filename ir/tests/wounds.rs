//! Mistakes that other tile languages have made, each as a test of the reference interpreter, before and after the
//! target-independent passes.

use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor};
use tegula_ir::interp::Interpreter;
use tegula_ir::literal::Literal;
use tegula_ir::numeric::eval;
use tegula_ir::ops::Rounding;
use tegula_ir::pass::PassContext;
use tegula_ir::passes::{OptLevel, default_pipeline};
use tegula_ir::text::parse_function;
use tegula_ir::types::ScalarType;

/// The kernel as written, and after the passes.
fn kernels(text: &str) -> [Function; 2] {
    let f = parse_function(text, "wound.tile").unwrap_or_else(|e| panic!("{e}"));
    let mut optimised = f.clone();
    for stage in default_pipeline(OptLevel::Default).stages {
        stage.pass.run(&mut optimised, &mut PassContext::new()).unwrap();
    }
    [f, optimised]
}

/// Runs the kernel as written and after the passes; both must give the same. Gives the last argument's elements.
fn run(text: &str, args: &[HostArg]) -> Vec<f64> {
    let [a, b] = kernels(text).map(|f| {
        let mut args = args.to_vec();
        Interpreter::new().run(&f, [1, 1, 1], &mut args).unwrap();
        match args.pop() {
            Some(HostArg::Tensor(t)) => elements(&t),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(a.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), b.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    a
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

fn elements(t: &HostTensor) -> Vec<f64> {
    let bytes = t.elem.memory_bytes().unwrap() as usize;
    let one = |c: &[u8]| {
        let mut b = [0; 8];
        b[..bytes].copy_from_slice(c);
        match eval::from_bits(t.elem, u64::from_le_bytes(b)) {
            Literal::Bool(b) => f64::from(u8::from(b)),
            Literal::Int(v) => v as f64,
            Literal::Float(v) => v,
        }
    };
    t.data.chunks(bytes).map(one).collect()
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
    for f in kernels(kernel) {
        // Zeroed pages that are never touched take no memory.
        let mut data = vec![0u8; at + 3];
        data[at] = 35;
        data[at + 2] = 9;
        let x = HostTensor { elem: ScalarType::U8, data, offset: 0, extents: vec![320, 3], strides: vec![stride, 1] };
        let mut args = [HostArg::Tensor(x), HostArg::Scalar(Literal::Int(319))];
        Interpreter::new().run(&f, [1, 1, 1], &mut args).unwrap();
        let HostArg::Tensor(x) = &args[0] else { unreachable!() };
        assert_eq!(x.data[at..], [9, 42, 9]);
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

/// 7: max and argmax with NaN and infinity in every position: NaN is passed over by `max`, kept by `max_nan`, and
/// never an argmax; of equal values the first counts.
#[test]
fn wound_07_extremes_with_nan_and_infinity() {
    let n = 33;
    let kernel = format!(
        "
kernel @k(%x: view<1d, f32> read, %o: view<1d, f32> write) {{
  %z = constant 0 : i64
  %v = load %x[%z] : tile<{n}xf32>
  %m = reduce max %v axes [0]
  %p = reduce max_nan %v axes [0]
  %a, %i = arg_reduce max %v axis 0
  %b, %j = arg_reduce min %v axis 0
  %if = cast %i : f32
  %jf = cast %j : f32
  %mp = join %m, %p
  %ai = join %a, %if
  %bj = join %b, %jf
  %all = cat %mp, %ai, %bj axis 0 : tile<6xf32>
  store %all, %o[%z]
  return
}}"
    );
    let run = |x: &[f64]| run(&kernel, &[tensor(ScalarType::F32, &[n], x), zeros(ScalarType::F32, &[6])]);
    let base: Vec<f64> = (0..n).map(|i| (i as f64 - 16.0).abs()).collect();
    for at in 0..n as usize {
        let with = |v: f64| {
            let mut x = base.clone();
            x[at] = v;
            x
        };
        let (top, low) = (if at == 0 { 32 } else { 0 }, if at == 16 { 15 } else { 16 });
        let out = run(&with(f64::NAN));
        assert!(out[1].is_nan());
        assert_eq!((out[0], out[2], out[3]), (16.0, 16.0, f64::from(top)), "NaN at {at}");
        assert_eq!(out[5], f64::from(low), "NaN at {at}");
        let out = run(&with(f64::INFINITY));
        assert_eq!(out[..4], [f64::INFINITY, f64::INFINITY, f64::INFINITY, at as f64]);
        let out = run(&with(f64::NEG_INFINITY));
        assert_eq!((out[0], out[4], out[5]), (16.0, f64::NEG_INFINITY, at as f64));
    }
    let out = run(&vec![f64::NAN; n as usize]);
    assert!(out[0].is_nan() && out[1].is_nan() && out[2].is_nan() && out[4].is_nan());
    assert_eq!((out[3], out[5]), (0.0, 0.0));
    assert_eq!(
        run(&vec![f64::NEG_INFINITY; n as usize])[..4],
        [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]
    );
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

/// 11: fp8 conversions: FNUZ 0x80 is NaN, 1.125 to e5m2 is 1.0 (to even), and every f16 value converts to the nearest
/// fp8 value, which is found here by search.
#[test]
fn wound_11_fp8_conversions() {
    for t in [ScalarType::F8E4M3, ScalarType::F8E5M2, ScalarType::F8E4M3Fnuz, ScalarType::F8E5M2Fnuz] {
        let kernel = format!(
            "
kernel @k(%x: view<1d, f16> read, %o: view<1d, {t}> write) {{
  %z = constant 0 : i64
  %v = load %x[%z] : tile<65536xf16>
  %c = cast %v : tile<65536x{t}>
  store %c, %o[%z]
  return
}}"
        );
        let data = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let x = HostArg::Tensor(HostTensor::from_bytes(ScalarType::F16, &[65536], data));
        let out = run(&kernel, &[x, zeros(t, &[65536])]);
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
    let unmasked = kernel.replace("load %q mask %m", "load %q");
    for f in kernels(&unmasked) {
        let mut args = [HostArg::Ptr(t.clone()), HostArg::Tensor(t.clone()), zeros(ScalarType::F32, &[64])];
        let result = Interpreter::new().run(&f, [1, 1, 1], &mut args);
        assert!(matches!(result, Err(ExecError::Kernel(d)) if d.message.contains("invalid load")));
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
        assert_eq!(out[i], want.into(), "element {i}");
    }
}
