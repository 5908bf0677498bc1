//! `f16` and `bf16` arithmetic, single and packed in pairs.
//!
//! Sums and products are computed in `f32` and rounded once more, which for these widths gives the correctly rounded result; fused
//! multiply-adds go through `f64` rounded to odd, for the same reason.

use super::Op;
use super::float::{max32, min32};
use super::lanes::LaneOp;
use crate::error::Result;
use crate::numeric::{Format, Overflow, Rounding, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::program::L32;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::tensor_map::OOB_NAN;

/// What modifies an operation; kept in a constant operand of it.
const PACKED: u32 = 1;
const FTZ: u32 = 2;
const SAT: u32 = 4;
const RELU: u32 = 8;
const NAN: u32 = 16;
const XORSIGN: u32 = 32;
const OOB: u32 = 64;

trait Kind {
    const FORMAT: Format;
    const QUIET: u16 = 0x7FFF;
    fn wide(bits: u16) -> f32;
    fn narrow(value: f32) -> u16;
    const SUBNORMAL: u16;
}

struct F16;
struct BF16;

impl Kind for F16 {
    const FORMAT: Format = Format::F16;
    const SUBNORMAL: u16 = 0x7C00;
    fn wide(bits: u16) -> f32 {
        f16_to_f32(bits)
    }
    fn narrow(value: f32) -> u16 {
        f32_to_f16(value)
    }
}

impl Kind for BF16 {
    const FORMAT: Format = Format::BF16;
    const SUBNORMAL: u16 = 0x7F80;
    fn wide(bits: u16) -> f32 {
        bf16_to_f32(bits)
    }
    fn narrow(value: f32) -> u16 {
        f32_to_bf16(value)
    }
}

fn input<K: Kind>(bits: u16, flags: u32) -> f32 {
    let bits = if flags & FTZ != 0 && bits & K::SUBNORMAL == 0 { bits & 0x8000 } else { bits };
    K::wide(bits)
}

fn output<K: Kind>(bits: u16, flags: u32) -> u16 {
    let value = K::wide(bits);
    if value.is_nan() {
        return if flags & SAT != 0 { 0 } else { K::QUIET };
    }
    if flags & RELU != 0 && value <= 0.0 {
        return 0;
    }
    if flags & SAT != 0 {
        return K::narrow(if value > 0.0 { value.min(1.0) } else { 0.0 });
    }
    if flags & FTZ != 0 && bits & K::SUBNORMAL == 0 { bits & 0x8000 } else { bits }
}

/// Applies a function to one or both halves.
fn each<const N: usize>(sources: [u32; N], flags: u32, f: impl Fn([u16; N]) -> u16) -> u32 {
    let low = f(sources.map(|s| s as u16));
    if flags & PACKED == 0 {
        return low.into();
    }
    u32::from(low) | u32::from(f(sources.map(|s| (s >> 16) as u16))) << 16
}

fn binary<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: u32, f: impl Fn(f32, f32) -> f32) {
    for lane in 0..32 {
        d[lane] = each([a[lane], b[lane]], flags, |[a, b]| {
            output::<K>(K::narrow(f(input::<K>(a, flags), input::<K>(b, flags))), flags)
        });
    }
}

fn add<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: &L32) {
    binary::<K>(d, a, b, flags[0], |a, b| a + b);
}

fn sub<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: &L32) {
    binary::<K>(d, a, b, flags[0], |a, b| a - b);
}

fn mul<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: &L32) {
    binary::<K>(d, a, b, flags[0], |a, b| a * b);
}

/// `a * b + c` rounded to odd in `f64`; `a * b` is exact there.
pub(super) fn fma_to_odd(a: f32, b: f32, c: f32) -> f64 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    let part = sum - product;
    let rest = (product - (sum - part)) + (c - part);
    if rest == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if rest > 0.0 { sum.next_up() } else { sum.next_down() }
}

fn fma<K: Kind>(d: &mut L32, a: &L32, b: &L32, c: &L32, flags: &L32) {
    let flags = flags[0];
    for lane in 0..32 {
        d[lane] = each([a[lane], b[lane], c[lane]], flags, |[a, b, c]| {
            // What a tensor copy filled in for elements out of bounds counts as zero.
            if flags & OOB != 0 && [a, b].contains(&OOB_NAN) {
                return 0;
            }
            let exact = fma_to_odd(input::<K>(a, flags), input::<K>(b, flags), input::<K>(c, flags));
            output::<K>(K::FORMAT.encode(exact, Rounding::NearestEven, Overflow::Infinite) as u16, flags)
        });
    }
}

fn extremum<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: u32, f: impl Fn(f32, f32) -> f32) {
    binary::<K>(d, a, b, flags, |a, b| {
        if flags & NAN != 0 && (a.is_nan() || b.is_nan()) {
            f32::NAN
        } else if flags & XORSIGN != 0 {
            let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
            f32::from_bits((f(a.abs(), b.abs()).to_bits() & 0x7FFF_FFFF) | sign)
        } else {
            f(a, b)
        }
    });
}

fn max<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: &L32) {
    extremum::<K>(d, a, b, flags[0], max32);
}

fn min<K: Kind>(d: &mut L32, a: &L32, b: &L32, flags: &L32) {
    extremum::<K>(d, a, b, flags[0], min32);
}

fn unary<K: Kind>(d: &mut L32, a: &L32, flags: u32, f: impl Fn(f32) -> f32) {
    for lane in 0..32 {
        d[lane] = each([a[lane]], flags, |[a]| output::<K>(K::narrow(f(input::<K>(a, flags))), flags));
    }
}

fn abs<K: Kind>(d: &mut L32, a: &L32, flags: &L32) {
    unary::<K>(d, a, flags[0], f32::abs);
}

fn neg<K: Kind>(d: &mut L32, a: &L32, flags: &L32) {
    unary::<K>(d, a, flags[0], |a| -a);
}

fn ex2<K: Kind>(d: &mut L32, a: &L32, flags: &L32) {
    unary::<K>(d, a, flags[0], f32::exp2);
}

fn tanh<K: Kind>(d: &mut L32, a: &L32, flags: &L32) {
    unary::<K>(d, a, flags[0], f32::tanh);
}

/// Decodes an arithmetic instruction of these types; none if the opcode is not one.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let mut flags = 0;
    m.take("approx");
    match m.rounding() {
        None | Some(Rounding::NearestEven) => {}
        Some(_) => return Err(d.unsupported("these types round to nearest even only")),
    }
    for (name, flag) in [("ftz", FTZ), ("sat", SAT), ("relu", RELU), ("NaN", NAN), ("xorsign", XORSIGN), ("oob", OOB)] {
        if m.take(name) {
            flags |= flag;
        }
    }
    m.take("abs");
    let Some(ty) = m.ty() else { return Ok(None) };
    let brain = match ty {
        Ty::F16 | Ty::F16x2 => false,
        Ty::BF16 | Ty::BF16x2 => true,
        _ => return Ok(None),
    };
    if matches!(ty, Ty::F16x2 | Ty::BF16x2) {
        flags |= PACKED;
    }
    macro_rules! pick {
        ($name:ident) => {
            if brain { $name::<BF16> } else { $name::<F16> }
        };
    }
    let e = d.constant_word(flags);
    if matches!(i.opcode.as_str(), "abs" | "neg" | "ex2" | "tanh") {
        let [to, a] = d.operands(i)?;
        let a = d.word(a, ty)?;
        let to = d.word_destination(to)?;
        let f = match i.opcode.as_str() {
            "abs" => pick!(abs),
            "neg" => pick!(neg),
            "ex2" => pick!(ex2),
            _ => pick!(tanh),
        };
        return Ok(Some(Op::Lane(LaneOp::WWW { f, d: to, a, b: e })));
    }
    if matches!(i.opcode.as_str(), "fma" | "mad") {
        let [to, a, b, c] = d.operands(i)?;
        let (a, b, c) = (d.word(a, ty)?, d.word(b, ty)?, d.word(c, ty)?);
        let to = d.word_destination(to)?;
        return Ok(Some(Op::Lane(LaneOp::WWWWW { f: pick!(fma), d: to, a, b, c, e })));
    }
    let f = match i.opcode.as_str() {
        "add" => pick!(add),
        "sub" => pick!(sub),
        "mul" => pick!(mul),
        "max" => pick!(max),
        "min" => pick!(min),
        _ => return Ok(None),
    };
    let [to, a, b] = d.operands(i)?;
    let (a, b) = (d.word(a, ty)?, d.word(b, ty)?);
    let to = d.word_destination(to)?;
    Ok(Some(Op::Lane(LaneOp::WWWW { f, d: to, a, b, c: e })))
}
