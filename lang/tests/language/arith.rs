//! Arithmetic, math, comparisons and conversions.

use tegula::elem::{F8E4M3, F8E4M3Fnuz, F8E5M2};
use tegula::prelude::*;
use tegula_macros::kernel;

use crate::harness::{Value, empty, run, tensor, values};

type N8 = Const<8>;

/// Applies a function of one f32 tile, chosen by number.
#[kernel]
fn unary<T: Float>(x: &Tensor<T, 1>, y: &mut Tiles<T, (N8,)>, #[comptime] op: usize) {
    let x = x.tile::<(N8,)>(y.index()).load();
    let r = match op {
        0 => x.exp(),
        1 => x.exp2(),
        2 => x.expm1(),
        3 => x.log(),
        4 => x.log2(),
        5 => x.log10(),
        6 => x.log1p(),
        7 => x.sqrt(),
        8 => x.rsqrt(),
        9 => x.cbrt(),
        10 => x.recip(),
        11 => x.sin(),
        12 => x.cos(),
        13 => x.tan(),
        14 => x.asin(),
        15 => x.acos(),
        16 => x.atan(),
        17 => x.sinh(),
        18 => x.cosh(),
        19 => x.tanh(),
        20 => x.sigmoid(),
        21 => x.silu(),
        22 => x.floor(),
        23 => x.ceil(),
        24 => x.round(),
        25 => x.round_even(),
        26 => x.trunc(),
        27 => x.abs(),
        28 => -x,
        29 => x.relu(),
        30 => x.powi(3),
        31 => x.powi(-2),
        32 => x.powi(0),
        33 => x.clamp(-0.5, 1),
        34 => x * 2.0 + 1.0 - x / 4.0,
        35 => 1 - 2.0 * x,
        36 => x.mul_add(3.0, -1.0),
        37 => x.fast().exp(),
        38 => x.pow(2.0),
        39 => x.abs().fast().pow(2.5),
        40 => x.fast().atan2(x * x),
        _ => x.gelu(),
    };
    y.store(r);
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn reference(op: usize, x: f64) -> f64 {
    match op {
        0 | 37 => x.exp(),
        1 => x.exp2(),
        2 => x.exp_m1(),
        3 => x.ln(),
        4 => x.log2(),
        5 => x.log10(),
        6 => x.ln_1p(),
        7 => x.sqrt(),
        8 => 1.0 / x.sqrt(),
        9 => x.cbrt(),
        10 => 1.0 / x,
        11 => x.sin(),
        12 => x.cos(),
        13 => x.tan(),
        14 => x.asin(),
        15 => x.acos(),
        16 => x.atan(),
        17 => x.sinh(),
        18 => x.cosh(),
        19 => x.tanh(),
        20 => sigmoid(x),
        21 => x * sigmoid(x),
        22 => x.floor(),
        23 => x.ceil(),
        24 => x.round(),
        25 => x.round_ties_even(),
        26 => x.trunc(),
        27 => x.abs(),
        28 => -x,
        29 => x.max(0.0),
        30 => x.powi(3),
        31 => x.powi(-2),
        32 => 1.0,
        33 => x.clamp(-0.5, 1.0),
        34 => x * 2.0 + 1.0 - x / 4.0,
        35 => 1.0 - 2.0 * x,
        36 => x * 3.0 - 1.0,
        39 => x.abs().powf(2.5),
        40 => x.atan2(x * x),
        _ => x.powi(2),
    }
}

#[test]
fn functions_of_one_value() {
    let x = [-2.5f64, -0.5, -0.25, 0.125, 0.5, 0.75, 1.5, 2.5];
    for op in 0..41 {
        let input = tensor(&[8], x.map(|v| v as f32));
        let mut out = empty::<f32>(&[8]);
        run(unary::<f32>(&input, &mut out, op));
        let input = tensor(&[8], x.map(f16::from_f64));
        let mut narrow = empty::<f16>(&[8]);
        run(unary::<f16>(&input, &mut narrow, op));
        for (i, (&got, &small)) in values::<f32>(&out).iter().zip(&values::<f16>(&narrow)).enumerate() {
            let want = reference(op, x[i]);
            let same = f64::from(got) == want || got.is_nan() && want.is_nan();
            assert!(
                same || (f64::from(got) - want).abs() <= want.abs() * 4e-7,
                "op {op} of {}: {got}, not {want}",
                x[i]
            );
            let small = small.to_f64();
            assert!(
                small == want || small.is_nan() && want.is_nan() || (small - want).abs() <= want.abs() * 4e-3,
                "op {op} of {}: {small}, not {want} in f16",
                x[i]
            );
        }
    }
}

#[kernel]
fn float_binary(a: &Tensor<f32, 1>, b: &Tensor<f32, 1>, y: &mut Tiles<f32, (N8,)>, #[comptime] op: usize) {
    let i = y.index();
    let (a, b) = (a.tile::<(N8,)>(i).load(), b.tile::<(N8,)>(i).load());
    y.store(match op {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        3 => a / b,
        4 => a % b,
        5 => a.floor_div(b),
        6 => a.floor_rem(b),
        7 => a.minimum(b),
        8 => a.maximum(b),
        9 => a.minimum_nan(b),
        10 => a.maximum_nan(b),
        11 => a.copysign(b),
        12 => a.atan2(b),
        13 => select(a < b, a, b * 10.0),
        _ => select(a != b, a, 0.0),
    });
}

fn float_binary_of(op: usize, a: [f32; 8], b: [f32; 8]) -> Vec<f32> {
    let (a, b) = (tensor(&[8], a), tensor(&[8], b));
    let mut y = empty::<f32>(&[8]);
    run(float_binary(&a, &b, &mut y, op));
    values(&y)
}

#[test]
fn functions_of_two_floats() {
    let a = [5.5f32, -5.5, 5.5, -5.5, 0.0, 1.0, -1.0, 2.0];
    let b = [2.0f32, 2.0, -2.0, -2.0, 3.0, 1.0, 8.0, 0.5];
    let expected: [fn(f32, f32) -> f32; 9] = [
        |a, b| a + b,
        |a, b| a - b,
        |a, b| a * b,
        |a, b| a / b,
        |a, b| a % b,
        |a, b| (a / b).floor(),
        |a, b| a - b * (a / b).floor(),
        f32::min,
        f32::max,
    ];
    for (op, f) in expected.iter().enumerate() {
        assert_eq!(float_binary_of(op, a, b), (0..8).map(|i| f(a[i], b[i])).collect::<Vec<_>>(), "op {op}");
    }
    assert_eq!(float_binary_of(11, a, b)[..4], [5.5, 5.5, -5.5, -5.5]);
    assert_eq!(float_binary_of(12, a, b)[0], 5.5f32.atan2(2.0));
    assert_eq!(float_binary_of(13, a, b), [20.0, -5.5, -20.0, -5.5, 0.0, 10.0, -1.0, 5.0]);
}

#[test]
fn nan_is_passed_over_or_kept_as_the_name_says() {
    const NAN: f32 = f32::NAN;
    let a = [NAN, 1.0, NAN, 0.0, -0.0, NAN, 2.0, f32::INFINITY];
    let b = [1.0, NAN, NAN, -0.0, 0.0, f32::INFINITY, 3.0, NAN];
    assert_eq!(float_binary_of(7, a, b)[..2], [1.0, 1.0]);
    assert_eq!(float_binary_of(8, a, b)[..2], [1.0, 1.0]);
    assert!(float_binary_of(7, a, b)[2].is_nan());
    assert!(float_binary_of(7, a, b)[3].is_sign_negative() && float_binary_of(7, a, b)[4].is_sign_negative());
    assert!(float_binary_of(8, a, b)[3].is_sign_positive() && float_binary_of(8, a, b)[4].is_sign_positive());
    for op in [9, 10] {
        let r = float_binary_of(op, a, b);
        assert!([0, 1, 2, 5, 7].iter().all(|&i| r[i].is_nan()), "{r:?}");
    }
    // A comparison with NaN is false, but `!=` is true.
    assert_eq!(float_binary_of(13, a, b)[0], 10.0);
    assert!(float_binary_of(14, a, b)[0].is_nan());
}

#[kernel]
fn int_binary<T: Int>(a: &Tensor<T, 1>, b: &Tensor<T, 1>, y: &mut Tiles<T, (N8,)>, #[comptime] op: usize) {
    let i = y.index();
    let (a, b) = (a.tile::<(N8,)>(i).load(), b.tile::<(N8,)>(i).load());
    y.store(match op {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        3 => a / b,
        4 => a % b,
        5 => a.floor_div(b),
        6 => a.floor_rem(b),
        7 => a.mul_hi(b),
        8 => a & b,
        9 => a | b,
        10 => a ^ b,
        11 => a << b,
        12 => a >> b,
        13 => !a,
        14 => a.count_ones(),
        15 => a.leading_zeros(),
        16 => a.trailing_zeros(),
        17 => a.reverse_bits(),
        18 => a.minimum(b),
        19 => a.maximum(b),
        20 => a.mul_add(b, 1),
        21 => a.ceil_div(b),
        _ => (a & 3) + (a >> 1),
    });
}

fn int_binary_of<T: Int + Value>(op: usize, a: [T; 8], b: [T; 8]) -> Vec<T> {
    let (a, b) = (tensor(&[8], a), tensor(&[8], b));
    let mut y = empty::<T>(&[8]);
    run(int_binary::<T>(&a, &b, &mut y, op));
    values(&y)
}

/// An op's number and the same function on the host.
type Case<T> = (usize, fn(T, T) -> T);

#[test]
fn integer_division_is_rusts() {
    let a = [-1i32, -5, 5, -5, 7, i32::MIN, i32::MIN, -7];
    let b = [2i32, 3, -3, -3, 0, -1, 3, 2];
    let expected: [Case<i32>; 4] = [
        (3, |a, b| a.checked_div(b).unwrap_or(if b == 0 { 0 } else { i32::MIN })),
        (4, |a, b| a.checked_rem(b).unwrap_or(0)),
        (5, |a, b| if b == 0 { 0 } else { (f64::from(a) / f64::from(b)).floor() as i64 as i32 }),
        (6, |a, b| {
            if b == 0 { 0 } else { (i64::from(a) - (f64::from(a) / f64::from(b)).floor() as i64 * i64::from(b)) as i32 }
        }),
    ];
    for (op, f) in expected {
        assert_eq!(int_binary_of(op, a, b), (0..8).map(|i| f(a[i], b[i])).collect::<Vec<_>>(), "op {op}");
    }
    assert_eq!(int_binary_of(3, a, b)[..4], [0, -1, -1, 1]);
    assert_eq!(int_binary_of(4, a, b)[..4], [-1, -2, 2, -2]);
    assert_eq!(int_binary_of(21, [7, 8, 9, -7, 1, 0, 5, 6], [4, 4, 4, 4, 1, 3, 5, 4]), [2, 2, 3, -1, 1, 0, 1, 2]);
}

#[test]
fn bits_of_integers() {
    let a = [0u32, 1, 0x8000_0000, 0xffff_ffff, 0xdead_beef, 12, 255, 7];
    let b = [0u32, 1, 31, 32, 40, 2, 4, 0xffff_ffff];
    let expected: [Case<u32>; 13] = [
        (0, u32::wrapping_add),
        (1, u32::wrapping_sub),
        (2, u32::wrapping_mul),
        (7, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        (8, |a, b| a & b),
        (9, |a, b| a | b),
        (10, |a, b| a ^ b),
        (11, |a, b| a.checked_shl(b).unwrap_or(0)),
        (12, |a, b| a.checked_shr(b).unwrap_or(0)),
        (13, |a, _| !a),
        (14, |a, _| a.count_ones()),
        (15, |a, _| a.leading_zeros()),
        (17, |a, _| a.reverse_bits()),
    ];
    for (op, f) in expected {
        assert_eq!(int_binary_of(op, a, b), (0..8).map(|i| f(a[i], b[i])).collect::<Vec<_>>(), "op {op}");
    }
    assert_eq!(int_binary_of(16, a, b)[..3], [32, 0, 31]);
    assert_eq!(int_binary_of(22, a, b)[5], 6);
    let (a, b) = ([-8i8, -1, 64, 127, -128, 3, 4, 5], [1i8, 9, 1, 1, 7, 100, 0, -1]);
    assert_eq!(int_binary_of(12, a, b), [-4, -1, 32, 63, -1, 0, 4, 0]);
    assert_eq!(int_binary_of(0, a, b)[3], -128);
    assert_eq!(int_binary_of(19, a, b)[..3], [1, 9, 64]);
}

#[kernel]
fn logic(a: &Tensor<i32, 1>, y: &mut Tiles<i32, (N8,)>, #[comptime] flag: bool) {
    let a = a.tile::<(N8,)>(y.index()).load();
    let small = a < 3;
    let even = a % 2 == 0;
    let r = select(small && even, a * 0 + 1, 0)
        + select(small || even, a * 0 + 10, 0)
        + select(!small, a * 0 + 100, 0)
        + select(small.xor(even), a * 0 + 1000, 0)
        + select(flag && even, a * 0 + 10_000, 0)
        + select(even || flag, a * 0 + 100_000, 0)
        + select(1 <= a && a >= 4 || a == 0, a * 0 + 1_000_000, 0);
    y.store(r);
}

#[test]
fn logic_on_tiles_and_the_host() {
    for flag in [false, true] {
        let a = tensor(&[8], 0..8);
        let mut y = empty::<i32>(&[8]);
        run(logic(&a, &mut y, flag));
        let host = |a: i32| {
            let (small, even) = (a < 3, a % 2 == 0);
            [small && even, small || even, !small, small != even, flag && even, even || flag, a >= 4 || a == 0]
                .iter()
                .enumerate()
                .map(|(i, &b)| i32::from(b) * 10i32.pow(i as u32))
                .sum::<i32>()
        };
        assert_eq!(values::<i32>(&y), (0..8).map(host).collect::<Vec<_>>());
    }
}

#[kernel]
fn casts(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N8,)>, #[comptime] to: usize) {
    let x = x.tile::<(N8,)>(y.index()).load();
    y.store(match to {
        0 => x.cast::<i8>().cast::<f32>(),
        1 => x.cast::<u8>().cast(),
        2 => x.cast::<f16>().cast(),
        3 => x.cast::<bf16>().cast(),
        4 => x.cast::<F8E4M3>().cast(),
        5 => x.cast_saturating::<F8E4M3>().cast(),
        6 => x.cast::<F8E5M2>().cast(),
        7 => x.cast_saturating::<F8E5M2>().cast(),
        8 => x.cast_saturating::<F8E4M3Fnuz>().cast(),
        9 => x.cast_rounding::<bf16>(Rounding::TowardZero).cast(),
        10 => x.cast::<bool>().cast(),
        11 => x.cast::<i32>().cast::<i8>().cast(),
        12 => x.cast::<i32>().cast_saturating::<i8>().cast(),
        13 => x.bitcast::<u32>().bitcast::<f32>(),
        _ => x.cast::<f16>().cast_saturating::<i64>().cast(),
    });
}

fn casts_of(to: usize, x: [f32; 8]) -> Vec<f32> {
    let x = tensor(&[8], x);
    let mut y = empty::<f32>(&[8]);
    run(casts(&x, &mut y, to));
    values(&y)
}

#[test]
fn conversions() {
    let x = [1.125f32, -2.75, 300.0, -300.0, 1e9, f32::INFINITY, 0.0, 500.0];
    assert_eq!(casts_of(0, x), [1.0, -2.0, 127.0, -128.0, 127.0, 127.0, 0.0, 127.0]);
    assert_eq!(casts_of(1, x), [1.0, 0.0, 255.0, 0.0, 255.0, 255.0, 0.0, 255.0]);
    assert_eq!(casts_of(2, x)[4], f32::INFINITY);
    assert_eq!(casts_of(6, x)[..2], [1.0, -3.0]);
    assert_eq!(casts_of(4, x)[..4], [1.125, -2.75, 288.0, -288.0]);
    assert!(casts_of(4, x)[4].is_nan());
    assert_eq!(casts_of(5, x)[4..6], [448.0, 448.0]);
    assert_eq!(casts_of(6, x)[4..6], [f32::INFINITY, f32::INFINITY]);
    assert_eq!(casts_of(7, x)[4], 57344.0);
    assert_eq!(casts_of(8, x)[2..5], [240.0, -240.0, 240.0]);
    assert_eq!(casts_of(10, x), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(casts_of(11, x)[2..4], [44.0, -44.0]);
    assert_eq!(casts_of(12, x)[2..4], [127.0, -128.0]);
    assert_eq!(casts_of(13, x), x);
    let third = 1.0f32 / 3.0;
    assert_eq!(casts_of(9, [third; 8])[0], bf16::from_bits((third.to_bits() >> 16) as u16).to_f32());
}

#[kernel]
fn literals<T: Num>(x: &Tensor<T, 1>, y: &mut Tiles<T, (N8,)>) {
    let mut x = x.tile::<(N8,)>(y.index()).load();
    x += 1;
    x *= 3;
    x -= 2;
    x = 10 - x;
    y.store(x.maximum(0) + full::<T, (N8,)>(1));
}

#[test]
fn integer_literals_adapt_to_every_type() {
    fn case<T: Num + Value>(of: fn(u8) -> T) {
        let x = tensor(&[8], (0..8).map(|i| of(i % 3)));
        let mut y = empty::<T>(&[8]);
        run(literals::<T>(&x, &mut y));
        let expected: Vec<T> = (0..8u8).map(|i| of(10 - ((i % 3 + 1) * 3 - 2) + 1)).collect();
        assert_eq!(values::<T>(&y), expected);
    }
    case::<u8>(|v| v);
    case::<i8>(|v| v as i8);
    case::<i64>(i64::from);
    case::<u64>(u64::from);
    case::<f32>(f32::from);
    case::<f64>(f64::from);
    case::<bf16>(bf16::from);
}

#[kernel]
fn host_constants(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (N8,)>, #[comptime] shift: i32) {
    const SCALE: f32 = 0.5;
    let x = x.tile::<(N8,)>(y.index()).load();
    let n = 3;
    let half = N8::size() / 2;
    let twice = shift as f32 * 2.0;
    let r = SCALE * x + x * SCALE + (n + 1) as f32 + half as f32;
    y.store(if shift > 1 && n == 3 { r + twice } else { r });
}

#[test]
fn host_numbers_go_with_tiles_of_their_type() {
    let x = tensor(&[8], (0..8).map(|i| i as f32));
    let mut y = empty::<f32>(&[8]);
    run(host_constants(&x, &mut y, 5));
    assert_eq!(values::<f32>(&y), (0..8).map(|i| i as f32 + 18.0).collect::<Vec<_>>());
}
