//! Integer arithmetic and logic: add to mad, shifts, bit fields, dot products, carry chains.

// A shift of a product reads as it is written.
#![allow(clippy::precedence)]

use super::Op;
use super::lanes::{LaneOp, Registers, lanes};
use crate::error::Result;
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::syntax::ast::Instruction;

/// Instructions that set or use the carry flag.
pub(crate) struct CarryOp {
    kind: CarryKind,
    reads_carry: bool,
    sets_carry: bool,
    wide: bool,
    d: u32,
    a: u32,
    b: u32,
    c: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CarryKind {
    Add,
    Sub,
    /// Multiply-add of the low or high half, signed or not.
    Mad {
        high: bool,
        signed: bool,
    },
}

impl CarryOp {
    pub fn execute(&self, registers: &mut Registers, mask: u32) {
        let mut carry = 0_u32;
        let (mut words, mut doubles) = ([0_u32; 32], [0_u64; 32]);
        let bits = if self.wide { 64 } else { 32 };
        let modulus = 1_u128 << bits;
        for lane in 0..32 {
            let get = |slot: u32| {
                u128::from(if self.wide { registers.d(slot)[lane] } else { registers.w(slot)[lane].into() })
            };
            let carry_in = u128::from(self.reads_carry && (registers.carry >> lane) & 1 == 1);
            let (a, b) = (get(self.a), get(self.b));
            let (result, out) = match self.kind {
                CarryKind::Add => (a + b + carry_in, a + b + carry_in >= modulus),
                // For subtraction the flag is the borrow.
                CarryKind::Sub => ((a + modulus).wrapping_sub(b + carry_in), a < b + carry_in),
                CarryKind::Mad { high, signed } => {
                    let product = if signed && bits == 64 {
                        i128::from(a as i64).wrapping_mul(i128::from(b as i64)) as u128
                    } else if signed {
                        (i64::from(a as i32) * i64::from(b as i32)) as u64 as u128
                    } else {
                        a * b
                    };
                    let part = (if high { product >> bits } else { product }) % modulus;
                    let sum = part + get(self.c) + carry_in;
                    (sum, sum >= modulus)
                }
            };
            words[lane] = result as u32;
            doubles[lane] = result as u64;
            carry |= u32::from(out) << lane;
        }
        if self.wide {
            registers.set_d(self.d, &doubles, mask);
        } else {
            registers.set_w(self.d, &words, mask);
        }
        if self.sets_carry {
            registers.carry = (registers.carry & !mask) | (carry & mask);
        }
    }
}

fn carry(d: &mut Decoder, i: &Instruction, ty: Ty, kind: CarryKind, reads_carry: bool, sets_carry: bool) -> Result<Op> {
    let wide = match ty {
        Ty::U32 | Ty::S32 | Ty::B32 => false,
        Ty::U64 | Ty::S64 | Ty::B64 => true,
        _ => return Err(d.bad("carry chains have 32 or 64 bits")),
    };
    let count = if matches!(kind, CarryKind::Mad { .. }) { 4 } else { 3 };
    if i.operands.len() != count {
        return Err(d.bad(format!("expected {count} operands")));
    }
    let mut source = |index: usize| {
        let Some(operand) = i.operands.get(index) else {
            return Ok(0);
        };
        if wide { d.double(operand, ty) } else { d.word(operand, ty) }
    };
    let (a, b) = (source(1)?, source(2)?);
    let c = source(3)?;
    let d = if wide { d.double_destination(&i.operands[0])? } else { d.word_destination(&i.operands[0])? };
    Ok(Op::Carry(CarryOp { kind, reads_carry, sets_carry, wide, d, a, b, c }))
}

/// Bits `start..start + length` of a value.
#[inline]
fn bfe(value: u64, start: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (start, length) = (start & 0xFF, length & 0xFF);
    if length == 0 {
        return 0;
    }
    let top = (start + length - 1).min(bits - 1);
    let sign = signed && (value >> top) & 1 == 1;
    let field = if start >= bits { 0 } else { value >> start };
    let keep = length.min(bits.saturating_sub(start));
    let ones = if keep >= 64 { u64::MAX } else { (1 << keep) - 1 };
    let field = field & ones;
    let result = if sign { field | !ones } else { field };
    if bits == 32 { result & 0xFFFF_FFFF } else { result }
}

/// `into` with bits `start..start + length` replaced by the low bits of `value`.
#[inline]
fn bfi(value: u64, into: u64, start: u32, length: u32, bits: u32) -> u64 {
    let (start, length) = (start & 0xFF, length & 0xFF);
    if start >= bits || length == 0 {
        return into;
    }
    let length = length.min(bits - start);
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    (into & !(ones << start)) | ((value & ones) << start)
}

/// The position of the highest bit that differs from the sign (signed) or is set.
#[inline]
fn bfind(value: u64, bits: u32, signed: bool, shift: bool) -> u32 {
    let value = if signed && (value >> (bits - 1)) & 1 == 1 { !value } else { value };
    let value = if bits == 32 { value & 0xFFFF_FFFF } else { value };
    match value {
        0 => u32::MAX,
        value => {
            let position = 63 - value.leading_zeros();
            if shift { bits - 1 - position } else { position }
        }
    }
}

/// The position of the `count`-th set bit from `base`, upwards or downwards.
fn fns(mask: u32, base: u32, count: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if count == 0 {
        return if (mask >> base) & 1 == 1 { base } else { u32::MAX };
    }
    let mut left = count.unsigned_abs();
    let mut at = i64::from(base);
    while (0..32).contains(&at) {
        if (mask >> at) & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += i64::from(count.signum());
    }
    u32::MAX
}

/// A dot product of `N` parts of a word with as many bytes, each signed or not.
#[inline]
fn dot(a: [i64; 4], b: [i64; 4], parts: usize, c: u32) -> u32 {
    let sum: i64 = (0..parts).map(|n| a[n] * b[n]).sum();
    c.wrapping_add(sum as u32)
}

#[inline]
fn bytes(value: u32, signed: bool) -> [i64; 4] {
    value.to_le_bytes().map(|byte| if signed { i64::from(byte as i8) } else { byte.into() })
}

#[inline]
fn halves(value: u32, signed: bool) -> [i64; 4] {
    let half = |v: u32| {
        if signed { i64::from(v as u16 as i16) } else { i64::from(v as u16) }
    };
    [half(value), half(value >> 16), 0, 0]
}

#[inline]
fn upper_bytes(value: u32, signed: bool) -> [i64; 4] {
    let [_, _, a, b] = bytes(value, signed);
    [a, b, 0, 0]
}

/// `prmt`: bytes selected out of eight.
#[inline]
fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let pool = u64::from(b) << 32 | u64::from(a);
    let mut result = 0;
    for n in 0..4 {
        let select = (selector >> (n * 4)) & 15;
        let byte = (pool >> ((select & 7) * 8)) as u8;
        let byte = if select & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result |= u32::from(byte) << (n * 8);
    }
    result
}

fn prmt_mode(mode: &str) -> Option<fn(u32) -> u32> {
    fn nibbles(f: impl Fn(u32) -> u32) -> u32 {
        (0..4).map(|n| (f(n) & 7) << (n * 4)).sum()
    }
    Some(match mode {
        "f4e" => |c| nibbles(|n| n + (c & 3)),
        "b4e" => |c| nibbles(|n| 8 + (c & 3) - n),
        "rc8" => |c| nibbles(|_| c & 3),
        "ecl" => |c| nibbles(|n| n.max(c & 3)),
        "ecr" => |c| nibbles(|n| n.min(c & 3)),
        "rc16" => |c| nibbles(|n| (n & 1) + (c & 1) * 2),
        _ => return None,
    })
}

/// The bits of a bitwise function of three inputs, its table in the lowest byte of `table`.
#[inline]
fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    for minterm in 0..8 {
        let chosen = 0_u32.wrapping_sub((table >> minterm) & 1);
        let x = if minterm & 4 != 0 { a } else { !a };
        let y = if minterm & 2 != 0 { b } else { !b };
        let z = if minterm & 1 != 0 { c } else { !c };
        result |= chosen & x & y & z;
    }
    result
}

#[inline]
fn s16(value: u32) -> i32 {
    i32::from(value as u16 as i16)
}

/// A function of both halves of words.
#[inline]
fn pairs(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[inline]
fn div_s(a: i64, b: i64) -> i64 {
    if b == 0 { -1 } else { a.wrapping_div(b) }
}

/// Decodes an integer instruction; none if the opcode is not one.
#[allow(clippy::cognitive_complexity)]
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    use Ty::{B16, B32, B64, S16, S16x2, S32, S64, U16, U16x2, U32, U64};
    let opcode = i.opcode.as_str();
    let wide = m.take("wide");
    let half = m.any(&["lo", "hi"]);
    let carry_out = m.take("cc");
    let saturate = m.take("sat");
    let relu = m.take("relu");
    let shift_amount = m.take("shiftamt");
    let clamp = matches!(opcode, "shf" | "bmsk" | "szext").then(|| m.any(&["clamp", "wrap"])).flatten();
    let direction = (opcode == "shf").then(|| m.any(&["l", "r"])).flatten();
    let mode = (opcode == "prmt").then(|| m.map(prmt_mode)).flatten();
    let lop_combine = (opcode == "lop3").then(|| m.any(&["or", "and"])).flatten();
    let Some(ty) = m.ty() else {
        return Ok(None);
    };
    if relu && !matches!(opcode, "min" | "max") {
        return Err(d.bad("`.relu` is for min and max"));
    }
    let saturates = match opcode {
        "add" | "sub" => true,
        "mad" | "mad24" => half == Some("hi"),
        _ => false,
    };
    if saturate && !(saturates && ty == S32) {
        return Err(d.bad("`.sat` is for s32"));
    }
    if carry_out || matches!(opcode, "addc" | "subc" | "madc") {
        let mad = CarryKind::Mad { high: half == Some("hi"), signed: ty.is_signed() };
        let kind = match opcode {
            "add" | "addc" => CarryKind::Add,
            "sub" | "subc" => CarryKind::Sub,
            "mad" | "madc" => mad,
            _ => return Err(d.bad("`.cc` is for add, sub and mad")),
        };
        return carry(d, i, ty, kind, opcode.ends_with('c'), carry_out).map(Some);
    }
    let op = match (opcode, ty) {
        ("add", S32) if saturate => d.www(i, ty, lanes!(W(a: W, b: W), (a as i32).saturating_add(b as i32) as u32)),
        ("add", U32 | S32 | B32) => d.www(i, ty, lanes!(W(a: W, b: W), a.wrapping_add(b))),
        ("add", U16 | S16 | B16) => d.www(i, ty, lanes!(W(a: W, b: W), a.wrapping_add(b) & 0xFFFF)),
        ("add", U64 | S64 | B64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a.wrapping_add(b))),
        ("add", U16x2 | S16x2) => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, u16::wrapping_add))),
        ("sub", S32) if saturate => d.www(i, ty, lanes!(W(a: W, b: W), (a as i32).saturating_sub(b as i32) as u32)),
        ("sub", U32 | S32 | B32) => d.www(i, ty, lanes!(W(a: W, b: W), a.wrapping_sub(b))),
        ("sub", U16 | S16 | B16) => d.www(i, ty, lanes!(W(a: W, b: W), a.wrapping_sub(b) & 0xFFFF)),
        ("sub", U64 | S64 | B64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a.wrapping_sub(b))),
        ("sub", U16x2 | S16x2) => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, u16::wrapping_sub))),

        ("mul", U16) if wide => d.www(i, ty, lanes!(W(a: W, b: W), (a & 0xFFFF) * (b & 0xFFFF))),
        ("mul", S16) if wide => d.www(i, ty, lanes!(W(a: W, b: W), (s16(a) * s16(b)) as u32)),
        ("mul", U32) if wide => d.dww(i, ty, lanes!(D(a: W, b: W), u64::from(a) * u64::from(b))),
        ("mul", S32) if wide => d.dww(i, ty, lanes!(D(a: W, b: W), (i64::from(a as i32) * i64::from(b as i32)) as u64)),
        ("mul", U64) if wide => return Err(d.unsupported("wide products of 64-bit values")),
        ("mul", U16) if half == Some("hi") => d.www(i, ty, lanes!(W(a: W, b: W), (a & 0xFFFF) * (b & 0xFFFF) >> 16)),
        ("mul", S16) if half == Some("hi") => d.www(i, ty, lanes!(W(a: W, b: W), (s16(a) * s16(b)) as u32 >> 16)),
        ("mul", U32) if half == Some("hi") => {
            d.www(i, ty, lanes!(W(a: W, b: W), (u64::from(a) * u64::from(b) >> 32) as u32))
        }
        ("mul", S32) if half == Some("hi") => {
            d.www(i, ty, lanes!(W(a: W, b: W), (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32))
        }
        ("mul", U64) if half == Some("hi") => {
            d.ddd(i, ty, lanes!(D(a: D, b: D), (u128::from(a) * u128::from(b) >> 64) as u64))
        }
        ("mul", S64) if half == Some("hi") => {
            d.ddd(i, ty, lanes!(D(a: D, b: D), (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64))
        }
        ("mul", U16 | S16) if half.is_some() => d.www(i, ty, lanes!(W(a: W, b: W), a.wrapping_mul(b) & 0xFFFF)),
        ("mul", U32 | S32) if half.is_some() => d.www(i, ty, lanes!(W(a: W, b: W), a.wrapping_mul(b))),
        ("mul", U64 | S64) if half.is_some() => d.ddd(i, ty, lanes!(D(a: D, b: D), a.wrapping_mul(b))),

        ("mad", U16) if wide => mad_wide16(d, i, ty, lanes!(W(a: W, b: W, c: W), ((a & 0xFFFF) * (b & 0xFFFF)).wrapping_add(c))),
        ("mad", S16) if wide => mad_wide16(d, i, ty, lanes!(W(a: W, b: W, c: W), ((s16(a) * s16(b)) as u32).wrapping_add(c))),
        ("mad", U32) if wide => mad_wide(d, i, ty, lanes!(D(a: W, b: W, c: D), (u64::from(a) * u64::from(b)).wrapping_add(c))),
        ("mad", S32) if wide => {
            mad_wide(d, i, ty, lanes!(D(a: W, b: W, c: D), ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c)))
        }
        ("mad", U16) if half == Some("hi") => {
            d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), ((a & 0xFFFF) * (b & 0xFFFF) >> 16).wrapping_add(c) & 0xFFFF))
        }
        ("mad", S16) if half == Some("hi") => {
            d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), ((s16(a) * s16(b)) as u32 >> 16).wrapping_add(c) & 0xFFFF))
        }
        ("mad", U32) if half == Some("hi") => {
            d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), ((u64::from(a) * u64::from(b) >> 32) as u32).wrapping_add(c)))
        }
        ("mad", S32) if half == Some("hi") && saturate => d.wwww(
            i,
            ty,
            lanes!(W(a: W, b: W, c: W), ((i64::from(a as i32) * i64::from(b as i32) >> 32) as i32).saturating_add(c as i32) as u32),
        ),
        ("mad", S32) if half == Some("hi") => d.wwww(
            i,
            ty,
            lanes!(W(a: W, b: W, c: W), ((i64::from(a as i32) * i64::from(b as i32) >> 32) as u32).wrapping_add(c)),
        ),
        ("mad", U64) if half == Some("hi") => {
            d.dddd(i, ty, lanes!(D(a: D, b: D, c: D), ((u128::from(a) * u128::from(b) >> 64) as u64).wrapping_add(c)))
        }
        ("mad", S64) if half == Some("hi") => d.dddd(
            i,
            ty,
            lanes!(D(a: D, b: D, c: D), ((i128::from(a as i64) * i128::from(b as i64) >> 64) as u64).wrapping_add(c)),
        ),
        ("mad", U16 | S16) if half.is_some() => {
            d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), a.wrapping_mul(b).wrapping_add(c) & 0xFFFF))
        }
        ("mad", U32 | S32) if half.is_some() => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), a.wrapping_mul(b).wrapping_add(c))),
        ("mad", U64 | S64) if half.is_some() => d.dddd(i, ty, lanes!(D(a: D, b: D, c: D), a.wrapping_mul(b).wrapping_add(c))),

        ("mul24", U32) => match half {
            Some("hi") => d.www(i, ty, lanes!(W(a: W, b: W), (u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF) >> 16) as u32)),
            _ => d.www(i, ty, lanes!(W(a: W, b: W), (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF))),
        },
        ("mul24", S32) => match half {
            Some("hi") => d.www(
                i,
                ty,
                lanes!(W(a: W, b: W), (i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8) >> 16) as u32),
            ),
            _ => d.www(i, ty, lanes!(W(a: W, b: W), (((a << 8) as i32 >> 8).wrapping_mul((b << 8) as i32 >> 8)) as u32)),
        },
        ("mad24", U32) => match half {
            Some("hi") => d.wwww(
                i,
                ty,
                lanes!(W(a: W, b: W, c: W), ((u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF) >> 16) as u32).wrapping_add(c)),
            ),
            _ => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF).wrapping_add(c))),
        },
        ("mad24", S32) => match half {
            Some("hi") if saturate => d.wwww(
                i,
                ty,
                lanes!(W(a: W, b: W, c: W), {
                    let product = i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8) >> 16;
                    (product as i32).saturating_add(c as i32) as u32
                }),
            ),
            Some("hi") => d.wwww(
                i,
                ty,
                lanes!(W(a: W, b: W, c: W), ((i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8) >> 16) as u32).wrapping_add(c)),
            ),
            _ => d.wwww(
                i,
                ty,
                lanes!(W(a: W, b: W, c: W), (((a << 8) as i32 >> 8).wrapping_mul((b << 8) as i32 >> 8) as u32).wrapping_add(c)),
            ),
        },

        ("div", U32) => d.www(i, ty, lanes!(W(a: W, b: W), a.checked_div(b).unwrap_or(u32::MAX))),
        ("div", S32) => d.www(i, ty, lanes!(W(a: W, b: W), div_s((a as i32).into(), (b as i32).into()) as u32)),
        ("div", U64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a.checked_div(b).unwrap_or(u64::MAX))),
        ("div", S64) => d.ddd(i, ty, lanes!(D(a: D, b: D), div_s(a as i64, b as i64) as u64)),
        ("div", U16) => d.www(i, ty, lanes!(W(a: W, b: W), a.checked_div(b).unwrap_or(0xFFFF) & 0xFFFF)),
        ("div", S16) => d.www(i, ty, lanes!(W(a: W, b: W), div_s(s16(a).into(), s16(b).into()) as u32 & 0xFFFF)),
        ("rem", U32) => d.www(i, ty, lanes!(W(a: W, b: W), a.checked_rem(b).unwrap_or(a))),
        ("rem", S32) => d.www(i, ty, lanes!(W(a: W, b: W), if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 })),
        ("rem", U64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a.checked_rem(b).unwrap_or(a))),
        ("rem", S64) => d.ddd(i, ty, lanes!(D(a: D, b: D), if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 })),
        ("rem", U16) => d.www(i, ty, lanes!(W(a: W, b: W), a.checked_rem(b).unwrap_or(a))),
        ("rem", S16) => d.www(i, ty, lanes!(W(a: W, b: W), if b == 0 { a } else { s16(a).wrapping_rem(s16(b)) as u32 & 0xFFFF })),

        ("abs", S32) => d.ww(i, ty, lanes!(W(a: W), (a as i32).wrapping_abs() as u32)),
        ("abs", S64) => d.dd(i, ty, lanes!(D(a: D), (a as i64).wrapping_abs() as u64)),
        ("abs", S16) => d.ww(i, ty, lanes!(W(a: W), s16(a).wrapping_abs() as u32 & 0xFFFF)),
        ("neg", S32) => d.ww(i, ty, lanes!(W(a: W), a.wrapping_neg())),
        ("neg", S64) => d.dd(i, ty, lanes!(D(a: D), a.wrapping_neg())),
        ("neg", S16) => d.ww(i, ty, lanes!(W(a: W), a.wrapping_neg() & 0xFFFF)),
        ("min", S32) if relu => d.www(i, ty, lanes!(W(a: W, b: W), (a as i32).min(b as i32).max(0) as u32)),
        ("max", S32) if relu => d.www(i, ty, lanes!(W(a: W, b: W), (a as i32).max(b as i32).max(0) as u32)),
        ("min", S16x2) if relu => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16))),
        ("max", S16x2) if relu => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16))),
        ("min", U16 | U32) => d.www(i, ty, lanes!(W(a: W, b: W), a.min(b))),
        ("max", U16 | U32) => d.www(i, ty, lanes!(W(a: W, b: W), a.max(b))),
        ("min", S32) => d.www(i, ty, lanes!(W(a: W, b: W), (a as i32).min(b as i32) as u32)),
        ("max", S32) => d.www(i, ty, lanes!(W(a: W, b: W), (a as i32).max(b as i32) as u32)),
        ("min", S16) => d.www(i, ty, lanes!(W(a: W, b: W), s16(a).min(s16(b)) as u32 & 0xFFFF)),
        ("max", S16) => d.www(i, ty, lanes!(W(a: W, b: W), s16(a).max(s16(b)) as u32 & 0xFFFF)),
        ("min", U64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a.min(b))),
        ("max", U64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a.max(b))),
        ("min", S64) => d.ddd(i, ty, lanes!(D(a: D, b: D), (a as i64).min(b as i64) as u64)),
        ("max", S64) => d.ddd(i, ty, lanes!(D(a: D, b: D), (a as i64).max(b as i64) as u64)),
        ("min", U16x2) => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, Ord::min))),
        ("max", U16x2) => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, Ord::max))),
        ("min", S16x2) => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, |a, b| (a as i16).min(b as i16) as u16))),
        ("max", S16x2) => d.www(i, ty, lanes!(W(a: W, b: W), pairs(a, b, |a, b| (a as i16).max(b as i16) as u16))),

        ("sad", U32) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), a.abs_diff(b).wrapping_add(c))),
        ("sad", S32) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), (a as i32).abs_diff(b as i32).wrapping_add(c))),
        ("sad", U16) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), a.abs_diff(b).wrapping_add(c) & 0xFFFF)),
        ("sad", S16) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), s16(a).abs_diff(s16(b)).wrapping_add(c) & 0xFFFF)),
        ("sad", U64) => d.dddd(i, ty, lanes!(D(a: D, b: D, c: D), a.abs_diff(b).wrapping_add(c))),
        ("sad", S64) => d.dddd(i, ty, lanes!(D(a: D, b: D, c: D), (a as i64).abs_diff(b as i64).wrapping_add(c))),

        ("popc", B32) => d.ww(i, ty, lanes!(W(a: W), a.count_ones())),
        ("popc", B64) => d.wd(i, ty, lanes!(W(a: D), a.count_ones())),
        ("clz", B32) => d.ww(i, ty, lanes!(W(a: W), a.leading_zeros())),
        ("clz", B64) => d.wd(i, ty, lanes!(W(a: D), a.leading_zeros())),
        ("brev", B32) => d.ww(i, ty, lanes!(W(a: W), a.reverse_bits())),
        ("brev", B64) => d.dd(i, ty, lanes!(D(a: D), a.reverse_bits())),
        ("bfind", U32) if shift_amount => d.ww(i, ty, lanes!(W(a: W), bfind(a.into(), 32, false, true))),
        ("bfind", S32) if shift_amount => d.ww(i, ty, lanes!(W(a: W), bfind(a.into(), 32, true, true))),
        ("bfind", U64) if shift_amount => d.wd(i, ty, lanes!(W(a: D), bfind(a, 64, false, true))),
        ("bfind", S64) if shift_amount => d.wd(i, ty, lanes!(W(a: D), bfind(a, 64, true, true))),
        ("bfind", U32) => d.ww(i, ty, lanes!(W(a: W), bfind(a.into(), 32, false, false))),
        ("bfind", S32) => d.ww(i, ty, lanes!(W(a: W), bfind(a.into(), 32, true, false))),
        ("bfind", U64) => d.wd(i, ty, lanes!(W(a: D), bfind(a, 64, false, false))),
        ("bfind", S64) => d.wd(i, ty, lanes!(W(a: D), bfind(a, 64, true, false))),
        ("fns", B32) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), fns(a, b, c as i32))),
        ("bfe", U32) => d.wwii(i, ty, lanes!(W(a: W, b: W, c: W), bfe(a.into(), b, c, 32, false) as u32)),
        ("bfe", S32) => d.wwii(i, ty, lanes!(W(a: W, b: W, c: W), bfe(a.into(), b, c, 32, true) as u32)),
        ("bfe", U64) => d.ddii(i, ty, lanes!(D(a: D, b: W, c: W), bfe(a, b, c, 64, false))),
        ("bfe", S64) => d.ddii(i, ty, lanes!(D(a: D, b: W, c: W), bfe(a, b, c, 64, true))),
        ("bfi", B32) => {
            d.wwwii(i, ty, lanes!(W(a: W, b: W, c: W, e: W), bfi(a.into(), b.into(), c, e, 32) as u32))
        }
        ("bfi", B64) => d.dddii(i, ty, lanes!(D(a: D, b: D, c: W, e: W), bfi(a, b, c, e, 64))),
        ("bmsk", B32) => match clamp {
            Some("wrap") => d.www(i, ty, lanes!(W(a: W, b: W), {
                let (a, b) = (a & 31, b & 31);
                (((1_u64 << b) - 1) << a) as u32
            })),
            _ => d.www(i, ty, lanes!(W(a: W, b: W), {
                if a >= 32 { 0 } else { (((1_u64 << b.min(32)) - 1) << a) as u32 }
            })),
        },
        ("szext", U32) => match clamp {
            Some("wrap") => d.www(i, ty, lanes!(W(a: W, b: W), bfe(a.into(), 0, b & 31, 32, false) as u32)),
            _ => d.www(i, ty, lanes!(W(a: W, b: W), if b >= 32 { a } else { bfe(a.into(), 0, b, 32, false) as u32 })),
        },
        ("szext", S32) => match clamp {
            Some("wrap") => d.www(i, ty, lanes!(W(a: W, b: W), bfe(a.into(), 0, b & 31, 32, true) as u32)),
            _ => d.www(i, ty, lanes!(W(a: W, b: W), if b >= 32 { a } else { bfe(a.into(), 0, b, 32, true) as u32 })),
        },

        ("and", B32 | B16) => d.www(i, ty, lanes!(W(a: W, b: W), a & b)),
        ("or", B32 | B16) => d.www(i, ty, lanes!(W(a: W, b: W), a | b)),
        ("xor", B32 | B16) => d.www(i, ty, lanes!(W(a: W, b: W), a ^ b)),
        ("not", B32) => d.ww(i, ty, lanes!(W(a: W), !a)),
        ("not", B16) => d.ww(i, ty, lanes!(W(a: W), !a & 0xFFFF)),
        ("cnot", B32 | B16) => d.ww(i, ty, lanes!(W(a: W), u32::from(a == 0))),
        ("and", B64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a & b)),
        ("or", B64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a | b)),
        ("xor", B64) => d.ddd(i, ty, lanes!(D(a: D, b: D), a ^ b)),
        ("not", B64) => d.dd(i, ty, lanes!(D(a: D), !a)),
        ("cnot", B64) => d.dd(i, ty, lanes!(D(a: D), u64::from(a == 0))),
        ("and", Ty::Pred) => d.ppp(i, ty, |d, a, b| *d = a & b),
        ("or", Ty::Pred) => d.ppp(i, ty, |d, a, b| *d = a | b),
        ("xor", Ty::Pred) => d.ppp(i, ty, |d, a, b| *d = a ^ b),
        ("not", Ty::Pred) => d.pp(i, ty, |d, a| *d = !a),
        ("lop3", B32) if lop_combine.is_none() => d.wwwww(i, ty, lanes!(W(a: W, b: W, c: W, e: W), lop3(a, b, c, e))),
        ("lop3", B32) => return lop3_predicate(d, i, lop_combine == Some("or")).map(Some),

        ("shl", B32) => d.wwi(i, ty, lanes!(W(a: W, b: W), if b > 31 { 0 } else { a << b })),
        ("shl", B16) => d.wwi(i, ty, lanes!(W(a: W, b: W), if b > 15 { 0 } else { a << b & 0xFFFF })),
        ("shl", B64) => d.ddi(i, ty, lanes!(D(a: D, b: W), if b > 63 { 0 } else { a << b })),
        ("shr", U32 | B32) => d.wwi(i, ty, lanes!(W(a: W, b: W), if b > 31 { 0 } else { a >> b })),
        ("shr", S32) => d.wwi(i, ty, lanes!(W(a: W, b: W), (a as i32 >> b.min(31)) as u32)),
        ("shr", U16 | B16) => d.wwi(i, ty, lanes!(W(a: W, b: W), if b > 15 { 0 } else { (a & 0xFFFF) >> b })),
        ("shr", S16) => d.wwi(i, ty, lanes!(W(a: W, b: W), (s16(a) >> b.min(15)) as u32 & 0xFFFF)),
        ("shr", U64 | B64) => d.ddi(i, ty, lanes!(D(a: D, b: W), if b > 63 { 0 } else { a >> b })),
        ("shr", S64) => d.ddi(i, ty, lanes!(D(a: D, b: W), (a as i64 >> b.min(63)) as u64)),
        ("shf", B32) => match (direction, clamp) {
            (Some("l"), Some("clamp")) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), {
                ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32
            })),
            (Some("l"), _) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), {
                ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32
            })),
            (Some("r"), Some("clamp")) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), {
                ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
            })),
            (Some("r"), _) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), {
                ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32
            })),
            _ => return Err(d.bad("`.l` or `.r` is missing")),
        },
        ("prmt", B32) => match mode {
            None => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), prmt(a, b, c))),
            Some(_) => return prmt_with_mode(d, i).map(Some),
        },
        ("dp4a" | "dp2a", U32 | S32) => {
            let second = m.ty().unwrap_or(ty);
            let signs = (ty == S32, second == S32);
            if opcode == "dp4a" {
                match signs {
                    (false, false) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(bytes(a, false), bytes(b, false), 4, c))),
                    (false, true) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(bytes(a, false), bytes(b, true), 4, c))),
                    (true, false) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(bytes(a, true), bytes(b, false), 4, c))),
                    (true, true) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(bytes(a, true), bytes(b, true), 4, c))),
                }
            } else {
                match (signs, half == Some("hi")) {
                    ((false, false), false) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, false), bytes(b, false), 2, c))),
                    ((false, true), false) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, false), bytes(b, true), 2, c))),
                    ((true, false), false) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, true), bytes(b, false), 2, c))),
                    ((true, true), false) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, true), bytes(b, true), 2, c))),
                    ((false, false), true) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, false), upper_bytes(b, false), 2, c))),
                    ((false, true), true) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, false), upper_bytes(b, true), 2, c))),
                    ((true, false), true) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, true), upper_bytes(b, false), 2, c))),
                    ((true, true), true) => d.wwww(i, ty, lanes!(W(a: W, b: W, c: W), dot(halves(a, true), upper_bytes(b, true), 2, c))),
                }
            }
        }
        _ => return Ok(None),
    };
    op.map(Some)
}

#[allow(clippy::type_complexity)]
fn mad_wide16(
    d: &mut Decoder,
    i: &Instruction,
    ty: Ty,
    f: fn(&mut [u32; 32], &[u32; 32], &[u32; 32], &[u32; 32]),
) -> Result<Op> {
    let [to, a, b, c] = d.operands(i)?;
    let (a, b, c) = (d.word(a, ty)?, d.word(b, ty)?, d.word(c, Ty::U32)?);
    Ok(Op::Lane(LaneOp::WWWW { f, d: d.word_destination(to)?, a, b, c }))
}

#[allow(clippy::type_complexity)]
fn mad_wide(
    d: &mut Decoder,
    i: &Instruction,
    ty: Ty,
    f: fn(&mut [u64; 32], &[u32; 32], &[u32; 32], &[u64; 32]),
) -> Result<Op> {
    let [to, a, b, c] = d.operands(i)?;
    let (a, b, c) = (d.word(a, ty)?, d.word(b, ty)?, d.double(c, Ty::U64)?);
    Ok(Op::Lane(LaneOp::DWWD { f, d: d.double_destination(to)?, a, b, c }))
}

/// `lop3.or.b32 d|p, a, b, c, table, q`: the result, and whether it is non-zero combined with a predicate.
fn lop3_predicate(d: &mut Decoder, i: &Instruction, or: bool) -> Result<Op> {
    use crate::ptx::syntax::ast::Operand;
    let [to, a, b, c, table, q] = d.operands(i)?;
    let Operand::Pair(value, predicate) = to else {
        return Err(d.bad("expected `d|p`"));
    };
    let sources = (d.word(a, Ty::B32)?, d.word(b, Ty::B32)?, d.word(c, Ty::B32)?, d.word(table, Ty::B32)?);
    let q = d.predicate_source(q)?;
    let (to, p) = (d.word_destination(value)?, d.predicate_destination(predicate)?);
    Ok(Op::Lop3(Lop3Op { d: to, p, a: sources.0, b: sources.1, c: sources.2, table: sources.3, q, or }))
}

/// `lop3` with a predicate result.
pub(crate) struct Lop3Op {
    d: u32,
    p: u32,
    a: u32,
    b: u32,
    c: u32,
    table: u32,
    q: (u32, bool),
    or: bool,
}

impl Lop3Op {
    pub fn execute(&self, registers: &mut Registers, mask: u32) {
        let mut result = [0; 32];
        let mut nonzero = 0;
        for (lane, result) in result.iter_mut().enumerate() {
            let get = |slot| registers.w(slot)[lane];
            *result = lop3(get(self.a), get(self.b), get(self.c), get(self.table));
            nonzero |= u32::from(*result != 0) << lane;
        }
        let (q, negated) = self.q;
        let q = if negated { !registers.p(q) } else { registers.p(q) };
        registers.set_w(self.d, &result, mask);
        registers.set_p(self.p, if self.or { nonzero | q } else { nonzero & q }, mask);
    }
}

fn prmt_with_mode(d: &mut Decoder, i: &Instruction) -> Result<Op> {
    let mode = i.modifiers.iter().find(|word| prmt_mode(word).is_some());
    macro_rules! by_mode {
        ($($name:literal)*) => {
            match mode.map(String::as_str) {
                $(Some($name) => d.wwww(i, Ty::B32, lanes!(W(a: W, b: W, c: W), {
                    prmt_mode($name).map_or(0, |selector| prmt(a, b, selector(c)))
                })),)*
                _ => Err(d.bad("unknown mode")),
            }
        };
    }
    by_mode!("f4e" "b4e" "rc8" "ecl" "ecr" "rc16")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields() {
        assert_eq!(bfe(0xFFFF_0000, 16, 8, 32, true), 0xFFFF_FFFF);
        assert_eq!(bfe(0x1234_5678, 8, 8, 32, false), 0x56);
        assert_eq!(bfe(0x8000_0000, 28, 8, 32, true), 0xFFFF_FFF8);
        assert_eq!(bfe(0x8000_0000, 40, 4, 32, true), 0xFFFF_FFFF);
        assert_eq!(bfe(7, 0, 0, 32, true), 0);
        assert_eq!(bfi(0xF, 0, 30, 4, 32), 0xC000_0000);
        assert_eq!(bfind(0xFFFF_FFF0, 32, true, false), 3);
        assert_eq!(bfind(0x10, 32, false, true), 27);
        assert_eq!(fns(0b1010_1000, 0, 2), 5);
        assert_eq!(fns(0b1010_1000, 7, -2), 5);
    }

    #[test]
    fn byte_permutation_and_tables() {
        assert_eq!(prmt(0x3322_1100, 0x7766_5544, 0x7410), 0x7744_1100);
        assert_eq!(prmt(0x0000_0080, 0, 0x8888), 0xFFFF_FFFF);
        assert_eq!(lop3(0xF0F0, 0xCCCC, 0xAAAA, 0x80) & 0xFFFF, 0xF0F0 & 0xCCCC & 0xAAAA);
        assert_eq!(lop3(0xF0F0, 0xCCCC, 0xAAAA, 0x96) & 0xFFFF, 0xF0F0 ^ 0xCCCC ^ 0xAAAA);
    }
}
