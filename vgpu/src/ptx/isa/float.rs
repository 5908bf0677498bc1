//! `f32` and `f64` arithmetic.
//!
//! Results of `f32` operations that are not numbers are the canonical NaN, as the hardware gives it.

use super::Op;
use super::lanes::{LaneOp, lanes};
use crate::error::Result;
use crate::numeric::{Rounding, flush_f32, fma_f32, round_f64_to_f32};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::program::{L32, L64};
use crate::ptx::syntax::ast::Instruction;

/// The canonical NaN of `f32` results.
const NAN: u32 = 0x7FFF_FFFF;

#[inline(always)]
pub(super) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// The bits of a result.
#[inline(always)]
pub(super) fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// An input under `.ftz`.
#[inline(always)]
pub(super) fn z(bits: u32) -> f32 {
    flush_f32(f32::from_bits(bits))
}

/// A result under `.ftz`.
#[inline(always)]
pub(super) fn zbits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { flush_f32(value).to_bits() }
}

/// A result under `.sat`: clamped to 0..=1, NaN to 0.
#[inline(always)]
pub(super) fn saturate(value: f32) -> f32 {
    // The order of the arguments sends NaN and -0 to +0.
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// The four variants of a function: with and without `.ftz` and `.sat`.
macro_rules! variants {
    ($ftz:expr, $sat:expr, ($($x:ident),*), $body:expr) => {
        match ($ftz, $sat) {
            (false, false) => lanes!(W($($x: W),*), { $(let $x = f($x);)* bits($body) }),
            (true, false) => lanes!(W($($x: W),*), { $(let $x = z($x);)* zbits($body) }),
            (false, true) => lanes!(W($($x: W),*), { $(let $x = f($x);)* bits(saturate($body)) }),
            (true, true) => lanes!(W($($x: W),*), { $(let $x = z($x);)* zbits(saturate($body)) }),
        }
    };
}

fn unsupported_rounding(d: &Decoder) -> crate::error::Error {
    d.bad("this rounding mode is not allowed here")
}

/// `fma` of whole registers, with the hardware's instruction where the host has one.
macro_rules! fma_kernel {
    ($name:ident, $x:ident, $in:expr, $out:expr) => {
        fn $name(d: &mut L32, a: &L32, b: &L32, c: &L32) {
            #[inline(always)]
            fn body(d: &mut L32, a: &L32, b: &L32, c: &L32) {
                for lane in 0..32 {
                    d[lane] = $out($in(a[lane]).mul_add($in(b[lane]), $in(c[lane])));
                }
            }
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn with_fma(d: &mut L32, a: &L32, b: &L32, c: &L32) {
                    body(d, a, b, c);
                }
                if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the features are there.
                    unsafe { with_fma(d, a, b, c) };
                    return;
                }
            }
            body(d, a, b, c);
        }
    };
}
fma_kernel!(fma_plain, x, f, bits);
fma_kernel!(fma_ftz, x, z, zbits);

fn fma_double(d: &mut L64, a: &L64, b: &L64, c: &L64) {
    for lane in 0..32 {
        d[lane] = f64::from_bits(a[lane]).mul_add(f64::from_bits(b[lane]), f64::from_bits(c[lane])).to_bits();
    }
}

/// `a` and `b` added, rounded in a direction. The sum of two `f32` need not be exact in `f64`; the residue decides then.
fn add_directed(a: f32, b: f32, mode: Rounding) -> f32 {
    fma_f32(a, 1.0, b, mode)
}

fn mul_directed(a: f32, b: f32, mode: Rounding) -> f32 {
    round_f64_to_f32(f64::from(a) * f64::from(b), mode)
}

/// A quotient rounded in a direction: the nearest one, moved when its residue says that it lies on the wrong side.
fn div_directed(a: f32, b: f32, mode: Rounding) -> f32 {
    let nearest = a / b;
    if !(nearest.is_finite() || a.is_finite() && b.is_finite() && b != 0.0) || mode == Rounding::NearestEven {
        return nearest;
    }
    if nearest.is_infinite() {
        return round_f64_to_f32(f64::from(a) / f64::from(b), mode);
    }
    // quotient - exact has the sign of (quotient * b - a) / b; the product is exact in f64.
    let residue = (f64::from(nearest) * f64::from(b) - f64::from(a)) * f64::from(b).signum();
    nudge(nearest, residue, mode)
}

fn sqrt_directed(a: f32, mode: Rounding) -> f32 {
    let nearest = a.sqrt();
    if !nearest.is_finite() || mode == Rounding::NearestEven {
        return nearest;
    }
    nudge(nearest, f64::from(nearest) * f64::from(nearest) - f64::from(a), mode)
}

/// A nearest result moved to the other side of the exact one where the mode wants that; `residue` is nearest minus exact.
fn nudge(nearest: f32, residue: f64, mode: Rounding) -> f32 {
    let up = match mode {
        Rounding::Up => true,
        Rounding::Down => false,
        _ => nearest < 0.0,
    };
    if up && residue < 0.0 {
        nearest.next_up()
    } else if !up && residue > 0.0 {
        nearest.next_down()
    } else {
        nearest
    }
}

/// `f64` results in a direction: the nearest, moved by the sign of what it is off, which fma gives exactly.
fn nudge64(nearest: f64, exact_minus_nearest: f64, mode: Rounding) -> f64 {
    if !nearest.is_finite() {
        return nearest;
    }
    let up = match mode {
        Rounding::Up => true,
        Rounding::Down => false,
        _ => nearest < 0.0,
    };
    if up && exact_minus_nearest > 0.0 {
        nearest.next_up()
    } else if !up && exact_minus_nearest < 0.0 {
        nearest.next_down()
    } else {
        nearest
    }
}

fn add64(a: f64, b: f64, mode: Rounding) -> f64 {
    let sum = a + b;
    let part = sum - a;
    nudge64(sum, (a - (sum - part)) + (b - part), mode)
}

fn mul64(a: f64, b: f64, mode: Rounding) -> f64 {
    let product = a * b;
    nudge64(product, a.mul_add(b, -product), mode)
}

fn div64(a: f64, b: f64, mode: Rounding) -> f64 {
    let quotient = a / b;
    nudge64(quotient, (-quotient).mul_add(b, a) * b.signum(), mode)
}

fn sqrt64(a: f64, mode: Rounding) -> f64 {
    let root = a.sqrt();
    nudge64(root, (-root).mul_add(root, a), mode)
}

/// A fused multiply-add in a direction: product and sum are split into a rounded part and an exact rest.
fn fma64(a: f64, b: f64, c: f64, mode: Rounding) -> f64 {
    let nearest = a.mul_add(b, c);
    let product = a * b;
    let rest = a.mul_add(b, -product);
    let sum = product + c;
    let part = sum - product;
    let low = (product - (sum - part)) + (c - part);
    nudge64(nearest, (sum - nearest) + (low + rest), mode)
}

/// `max` and `min` as PTX has them: a number wins over NaN unless `.NaN` is asked for, and -0 is less than +0.
#[inline(always)]
pub(super) fn max32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() {
        return a;
    }
    if a == b {
        return f32::from_bits(a.to_bits() & b.to_bits());
    }
    if a > b { a } else { b }
}

#[inline(always)]
pub(super) fn min32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() {
        return a;
    }
    if a == b {
        return f32::from_bits(a.to_bits() | b.to_bits());
    }
    if a < b { a } else { b }
}

#[inline(always)]
fn nan_max(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { max32(a, b) }
}

#[inline(always)]
fn nan_min(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { min32(a, b) }
}

/// `.xorsign.abs`: of the magnitudes, with the product's sign.
#[inline(always)]
fn xorsign(a: f32, b: f32, g: impl Fn(f32, f32) -> f32) -> f32 {
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let value = g(a.abs(), b.abs());
    f32::from_bits((value.to_bits() & 0x7FFF_FFFF) | sign)
}

fn max64(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => f64::from_bits(a.to_bits() & b.to_bits()),
        _ => {
            if a > b {
                a
            } else {
                b
            }
        }
    }
}

fn min64(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => f64::from_bits(a.to_bits() | b.to_bits()),
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

/// A directed operation's function for one of the three directions.
macro_rules! directed {
    ($mode:expr, $ftz:expr, $sat:expr, ($($x:ident),*), |$m:ident| $body:expr) => {
        match $mode {
            Rounding::TowardZero => variants!($ftz, $sat, ($($x),*), { let $m = Rounding::TowardZero; $body }),
            Rounding::Up => variants!($ftz, $sat, ($($x),*), { let $m = Rounding::Up; $body }),
            _ => variants!($ftz, $sat, ($($x),*), { let $m = Rounding::Down; $body }),
        }
    };
}

macro_rules! directed64 {
    ($mode:expr, ($($x:ident),*), |$m:ident| $body:expr) => {
        match $mode {
            Rounding::TowardZero => lanes!(D($($x: D),*), { let $m = Rounding::TowardZero; $(let $x = f64::from_bits($x);)* f64::to_bits($body) }),
            Rounding::Up => lanes!(D($($x: D),*), { let $m = Rounding::Up; $(let $x = f64::from_bits($x);)* f64::to_bits($body) }),
            _ => lanes!(D($($x: D),*), { let $m = Rounding::Down; $(let $x = f64::from_bits($x);)* f64::to_bits($body) }),
        }
    };
}

/// A pair of `f32` in 64 bits.
macro_rules! packed {
    ($ftz:expr, ($($x:ident),*), $body:expr) => {
        if $ftz {
            lanes!(D($($x: D),*), {
                let one = |$($x: u32),*| { $(let $x = z($x);)* zbits($body) };
                u64::from(one($($x as u32),*)) | u64::from(one($(($x >> 32) as u32),*)) << 32
            })
        } else {
            lanes!(D($($x: D),*), {
                let one = |$($x: u32),*| { $(let $x = f($x);)* bits($body) };
                u64::from(one($($x as u32),*)) | u64::from(one($(($x >> 32) as u32),*)) << 32
            })
        }
    };
}

/// Decodes an `f32`, `f32x2` or `f64` arithmetic instruction; none if the opcode is not one.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let opcode = i.opcode.as_str();
    let approx = m.any(&["approx", "full"]);
    let mode = m.rounding();
    let ftz = m.take("ftz");
    let sat = m.take("sat");
    let nan = m.take("NaN");
    let sign = m.take("xorsign") && m.take("abs");
    let Some(ty) = m.ty() else { return Ok(None) };
    let nearest = matches!(mode, None | Some(Rounding::NearestEven));
    let mode = mode.unwrap_or_default();
    if mode == Rounding::NearestAway {
        return Err(unsupported_rounding(d));
    }
    let op = match ty {
        Ty::F32 => match opcode {
            "add" if nearest => d.www(i, ty, variants!(ftz, sat, (a, b), a + b)),
            "sub" if nearest => d.www(i, ty, variants!(ftz, sat, (a, b), a - b)),
            "mul" if nearest => d.www(i, ty, variants!(ftz, sat, (a, b), a * b)),
            "fma" | "mad" if nearest && !sat => d.wwww(i, ty, if ftz { fma_ftz } else { fma_plain }),
            "fma" | "mad" if nearest => d.wwww(i, ty, variants!(ftz, sat, (a, b, c), a.mul_add(b, c))),
            "add" => d.www(i, ty, directed!(mode, ftz, sat, (a, b), |mode| add_directed(a, b, mode))),
            "sub" => d.www(i, ty, directed!(mode, ftz, sat, (a, b), |mode| add_directed(a, -b, mode))),
            "mul" => d.www(i, ty, directed!(mode, ftz, sat, (a, b), |mode| mul_directed(a, b, mode))),
            "fma" | "mad" => d.wwww(i, ty, directed!(mode, ftz, sat, (a, b, c), |mode| fma_f32(a, b, c, mode))),
            "div" if approx.is_some() || nearest => d.www(i, ty, variants!(ftz, sat, (a, b), a / b)),
            "div" => d.www(i, ty, directed!(mode, ftz, sat, (a, b), |mode| div_directed(a, b, mode))),
            "rcp" if approx.is_some() || nearest => d.ww(i, ty, variants!(ftz, sat, (a), 1.0 / a)),
            "rcp" => d.ww(i, ty, directed!(mode, ftz, sat, (a), |mode| div_directed(1.0, a, mode))),
            "sqrt" if approx.is_some() || nearest => d.ww(i, ty, variants!(ftz, sat, (a), a.sqrt())),
            "sqrt" => d.ww(i, ty, directed!(mode, ftz, sat, (a), |mode| sqrt_directed(a, mode))),
            "abs" => {
                d.ww(i, ty, if ftz { lanes!(W(a: W), z(a).abs().to_bits()) } else { lanes!(W(a: W), a & 0x7FFF_FFFF) })
            }
            "neg" => {
                d.ww(i, ty, if ftz { lanes!(W(a: W), (-z(a)).to_bits()) } else { lanes!(W(a: W), a ^ 0x8000_0000) })
            }
            "min" | "max" if i.operands.len() == 4 => match (opcode, nan) {
                ("max", false) => d.wwww(i, ty, variants!(ftz, false, (a, b, c), max32(max32(a, b), c))),
                ("max", true) => d.wwww(i, ty, variants!(ftz, false, (a, b, c), nan_max(nan_max(a, b), c))),
                (_, false) => d.wwww(i, ty, variants!(ftz, false, (a, b, c), min32(min32(a, b), c))),
                (_, true) => d.wwww(i, ty, variants!(ftz, false, (a, b, c), nan_min(nan_min(a, b), c))),
            },
            "max" => match (nan, sign) {
                (false, false) => d.www(i, ty, variants!(ftz, false, (a, b), max32(a, b))),
                (true, false) => d.www(i, ty, variants!(ftz, false, (a, b), nan_max(a, b))),
                (false, true) => d.www(i, ty, variants!(ftz, false, (a, b), xorsign(a, b, max32))),
                (true, true) => d.www(i, ty, variants!(ftz, false, (a, b), xorsign(a, b, nan_max))),
            },
            "min" => match (nan, sign) {
                (false, false) => d.www(i, ty, variants!(ftz, false, (a, b), min32(a, b))),
                (true, false) => d.www(i, ty, variants!(ftz, false, (a, b), nan_min(a, b))),
                (false, true) => d.www(i, ty, variants!(ftz, false, (a, b), xorsign(a, b, min32))),
                (true, true) => d.www(i, ty, variants!(ftz, false, (a, b), xorsign(a, b, nan_min))),
            },
            "copysign" => d.www(i, ty, lanes!(W(a: W, b: W), (b & 0x7FFF_FFFF) | (a & 0x8000_0000))),
            _ => return Ok(None),
        },
        Ty::F32x2 if nearest => match opcode {
            "add" => d.ddd(i, ty, packed!(ftz, (a, b), a + b)),
            "sub" => d.ddd(i, ty, packed!(ftz, (a, b), a - b)),
            "mul" => d.ddd(i, ty, packed!(ftz, (a, b), a * b)),
            "fma" => d.dddd(i, ty, packed!(ftz, (a, b, c), a.mul_add(b, c))),
            _ => return Ok(None),
        },
        Ty::F64 => match opcode {
            "add" if nearest => d.ddd(i, ty, lanes!(D(a: D, b: D), (f64::from_bits(a) + f64::from_bits(b)).to_bits())),
            "sub" if nearest => d.ddd(i, ty, lanes!(D(a: D, b: D), (f64::from_bits(a) - f64::from_bits(b)).to_bits())),
            "mul" if nearest => d.ddd(i, ty, lanes!(D(a: D, b: D), (f64::from_bits(a) * f64::from_bits(b)).to_bits())),
            "div" if nearest => d.ddd(i, ty, lanes!(D(a: D, b: D), (f64::from_bits(a) / f64::from_bits(b)).to_bits())),
            "fma" | "mad" if nearest => d.dddd(i, ty, fma_double),
            "rcp" if approx.is_some() => {
                d.dd(i, ty, lanes!(D(a: D), (1.0 / f64::from_bits(a)).to_bits() & !0xFFFF_FFFF))
            }
            "rcp" if nearest => d.dd(i, ty, lanes!(D(a: D), (1.0 / f64::from_bits(a)).to_bits())),
            "sqrt" if nearest => d.dd(i, ty, lanes!(D(a: D), f64::from_bits(a).sqrt().to_bits())),
            "add" => d.ddd(i, ty, directed64!(mode, (a, b), |m| add64(a, b, m))),
            "sub" => d.ddd(i, ty, directed64!(mode, (a, b), |m| add64(a, -b, m))),
            "mul" => d.ddd(i, ty, directed64!(mode, (a, b), |m| mul64(a, b, m))),
            "div" => d.ddd(i, ty, directed64!(mode, (a, b), |m| div64(a, b, m))),
            "fma" | "mad" => d.dddd(i, ty, directed64!(mode, (a, b, c), |m| fma64(a, b, c, m))),
            "rcp" => d.dd(i, ty, directed64!(mode, (a), |m| div64(1.0, a, m))),
            "sqrt" => d.dd(i, ty, directed64!(mode, (a), |m| sqrt64(a, m))),
            "abs" => d.dd(i, ty, lanes!(D(a: D), a & (u64::MAX >> 1))),
            "neg" => d.dd(i, ty, lanes!(D(a: D), a ^ (1 << 63))),
            "max" => d.ddd(i, ty, lanes!(D(a: D, b: D), max64(f64::from_bits(a), f64::from_bits(b)).to_bits())),
            "min" => d.ddd(i, ty, lanes!(D(a: D, b: D), min64(f64::from_bits(a), f64::from_bits(b)).to_bits())),
            "copysign" => d.ddd(i, ty, lanes!(D(a: D, b: D), (b & (u64::MAX >> 1)) | (a & (1 << 63)))),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    op.map(Some)
}

/// `testp`: the class of a number.
pub(super) fn decode_testp(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(class) = m.any(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]) else {
        return Ok(None);
    };
    let ty = m.ty();
    macro_rules! test {
        ($($name:literal $method:expr;)*) => {
            match (class, ty) {
                $(
                    ($name, Some(Ty::F32)) => d.pw(i, Ty::F32, lanes!(P(a: W), { let x = f32::from_bits(a); $method(f64::from(x), x.is_normal(), x.is_subnormal()) })),
                    ($name, Some(Ty::F64)) => d.pd(i, Ty::F64, lanes!(P(a: D), { let x = f64::from_bits(a); $method(x, x.is_normal(), x.is_subnormal()) })),
                )*
                _ => return Ok(None),
            }
        };
    }
    test! {
        "finite" |x: f64, _, _| x.is_finite();
        "infinite" |x: f64, _, _| x.is_infinite();
        "number" |x: f64, _, _| !x.is_nan();
        "notanumber" |x: f64, _, _| x.is_nan();
        "normal" |_, normal, _| normal;
        "subnormal" |_, _, subnormal| subnormal;
    }
    .map(Some)
}

/// The lane operation of `LaneOp::WW` for a function of the caller's.
pub(super) fn unary(d: &mut Decoder, i: &Instruction, f: fn(&mut L32, &L32)) -> Result<Op> {
    let [to, a] = d.operands(i)?;
    let a = d.word(a, Ty::F32)?;
    Ok(Op::Lane(LaneOp::WW { f, d: d.word_destination(to)?, a }))
}
