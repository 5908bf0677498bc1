//! `cvt`: conversions between all types, with rounding, saturation, `.ftz` and `.relu`.
//!
//! The common ones are lane functions; all others go through [`ConvertOp`], value by value.

use super::Op;
use super::lanes::{LaneOp, Registers, lanes};
use crate::error::Result;
use crate::numeric::{
    Format, Overflow, Rounding, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, flush_f32, round_f64_to_f32,
    round_integer,
};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};

/// A conversion by types and modes.
pub(crate) struct ConvertOp {
    to: Ty,
    from: Ty,
    mode: Rounding,
    /// Round to an integral value (`.rni` and the like).
    integral: Option<Rounding>,
    saturate: bool,
    finite: bool,
    relu: bool,
    ftz: bool,
    /// Whether the source and the destination are registers of 64 bits.
    doubles: (bool, bool),
    d: u32,
    /// The source; for packed destinations the one of the upper half.
    a: u32,
    /// The source of the lower half.
    b: u32,
    /// Random bits for `.rs`.
    random: u32,
    /// Bits of the destination register where a signed result that is narrower is sign-extended to them; else 0.
    extend: u32,
}

/// A value on its way.
#[derive(Clone, Copy)]
enum Value {
    Integer(i128),
    Float(f64),
}

/// The small format behind a packed or single float type.
fn format(ty: Ty) -> Option<Format> {
    Some(match ty {
        Ty::F16 | Ty::F16x2 => Format::F16,
        Ty::BF16 | Ty::BF16x2 => Format::BF16,
        Ty::TF32 => Format::TF32,
        Ty::F32 => Format::F32,
        Ty::F64 => Format::F64,
        Ty::E4M3 | Ty::E4M3x2 => Format::E4M3,
        Ty::E5M2 | Ty::E5M2x2 => Format::E5M2,
        Ty::E2M3x2 => Format::E2M3,
        Ty::E3M2x2 => Format::E3M2,
        Ty::E2M1x2 => Format::E2M1,
        _ => return None,
    })
}

fn is_packed(ty: Ty) -> bool {
    matches!(ty, Ty::F16x2 | Ty::BF16x2 | Ty::E4M3x2 | Ty::E5M2x2 | Ty::E2M3x2 | Ty::E3M2x2 | Ty::E2M1x2 | Ty::UE8M0x2)
}

/// Bits between the halves of a packed type.
fn pitch(ty: Ty) -> u32 {
    match ty {
        Ty::F16x2 | Ty::BF16x2 => 16,
        Ty::E2M1x2 => 4,
        _ => 8,
    }
}

impl ConvertOp {
    pub fn execute(&self, registers: &mut Registers, mask: u32) {
        let (wide_source, wide_destination) = self.doubles;
        let (mut words, mut doubles) = ([0_u32; 32], [0_u64; 32]);
        for lane in 0..32 {
            let random = if self.random == NONE { 0 } else { registers.w(self.random)[lane] };
            let source = |slot: u32| {
                if wide_source { registers.d(slot)[lane] } else { registers.w(slot)[lane].into() }
            };
            let result = if is_packed(self.to) {
                let pitch = pitch(self.to);
                let (high, low) = if is_packed(self.from) {
                    let bits = source(self.a);
                    let from = self::pitch(self.from);
                    ((bits >> from) & ((1 << from) - 1), bits & ((1 << from) - 1))
                } else {
                    (source(self.a), source(self.b))
                };
                // Two random halves of 16 bits for the two values.
                self.one(high, random & 0xFFFF_0000) << pitch | self.one(low, random << 16)
            } else {
                self.one(source(self.a), random)
            };
            let result = if self.extend == 0 {
                result
            } else {
                let unused = 64 - self.to.bits();
                ((result << unused) as i64 >> unused) as u64 & (u64::MAX >> (64 - self.extend))
            };
            words[lane] = result as u32;
            doubles[lane] = result;
        }
        if wide_destination {
            registers.set_d(self.d, &doubles, mask);
        } else {
            registers.set_w(self.d, &words, mask);
        }
    }

    fn value(&self, bits: u64) -> Value {
        if let Some(format) = format(self.from) {
            let mut value = match self.from {
                Ty::F64 => f64::from_bits(bits),
                Ty::F32 => f32::from_bits(bits as u32).into(),
                Ty::TF32 => f32::from_bits(bits as u32).into(),
                _ => format.decode(bits),
            };
            if self.ftz && self.from == Ty::F32 {
                value = flush_f32(value as f32).into();
            }
            return Value::Float(value);
        }
        if self.from == Ty::UE8M0x2 {
            return Value::Float(if bits & 0xFF == 0xFF { f64::NAN } else { ((bits & 0xFF) as f64 - 127.0).exp2() });
        }
        let width = self.from.bits();
        let kept = if width == 64 { bits } else { bits & ((1 << width) - 1) };
        Value::Integer(if self.from.is_signed() {
            i128::from((kept << (64 - width)) as i64 >> (64 - width))
        } else {
            kept.into()
        })
    }

    /// Converts one value.
    fn one(&self, bits: u64, random: u32) -> u64 {
        match (self.value(bits), format(self.to)) {
            (Value::Float(value), _) if self.to == Ty::UE8M0x2 => scale_bits(value, self.mode),
            (Value::Float(value), Some(_)) => self.to_float(value, random),
            (Value::Integer(value), Some(_)) => self.integer_to_float(value),
            (Value::Float(value), None) => self.to_integer(value),
            (Value::Integer(value), None) => {
                let width = self.to.bits();
                let clamped = if self.saturate { clamp(value, self.to) } else { value };
                clamped as u64 & if width == 64 { u64::MAX } else { (1 << width) - 1 }
            }
        }
    }

    fn to_float(&self, value: f64, random: u32) -> u64 {
        let mut value = value;
        if let Some(mode) = self.integral {
            value = round_integer(value, mode);
        }
        if self.saturate {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        if self.relu && !value.is_nan() && value <= 0.0 {
            value = 0.0;
        }
        let mode = match self.mode {
            Rounding::Stochastic(_) => Rounding::Stochastic(random),
            mode => mode,
        };
        let overflow = if self.finite { Overflow::Saturate } else { Overflow::Infinite };
        match self.to {
            Ty::F64 => value.to_bits(),
            Ty::F32 => {
                let mut result = round_f64_to_f32(value, mode);
                if self.ftz {
                    result = flush_f32(result);
                }
                if result.is_nan() { 0x7FFF_FFFF } else { result.to_bits().into() }
            }
            Ty::TF32 => {
                if value.is_nan() {
                    0x7FFF_FFFF
                } else {
                    Format::TF32.encode(value, mode, overflow) << 13
                }
            }
            Ty::F16 | Ty::F16x2 | Ty::BF16 | Ty::BF16x2 if value.is_nan() => 0x7FFF,
            Ty::E5M2 | Ty::E5M2x2 if value.is_nan() => 0x7F,
            to => format(to).map_or(0, |format| format.encode(value, mode, overflow)),
        }
    }

    fn integer_to_float(&self, value: i128) -> u64 {
        let mode = self.mode;
        // i64 and u64 do not all fit f64: the nearest is corrected by comparing exactly.
        let nearest = value as f64;
        let (single, double) = match mode {
            Rounding::NearestEven => (value as f32, nearest),
            _ => {
                let up = match mode {
                    Rounding::Up => true,
                    Rounding::Down => false,
                    _ => value < 0,
                };
                let mut single = value as f32;
                let mut double = nearest;
                match (up, (single as i128).cmp(&value), (double as i128).cmp(&value)) {
                    (true, s, d) => {
                        if s.is_lt() {
                            single = single.next_up();
                        }
                        if d.is_lt() {
                            double = double.next_up();
                        }
                    }
                    (false, s, d) => {
                        if s.is_gt() {
                            single = single.next_down();
                        }
                        if d.is_gt() {
                            double = double.next_down();
                        }
                    }
                }
                (single, double)
            }
        };
        match self.to {
            Ty::F64 => if self.saturate { nearest.clamp(0.0, 1.0) } else { double }.to_bits(),
            Ty::F32 => u64::from(if self.saturate { single.clamp(0.0, 1.0) } else { single }.to_bits()),
            // Towards zero in f64 with a sticky bit, so that the second rounding sees what the first one dropped.
            _ => {
                let mut odd = value as f64;
                if odd as i128 != value && odd.to_bits() & 1 == 0 {
                    odd = if (odd as i128) < value { odd.next_up() } else { odd.next_down() };
                }
                self.to_float(odd, 0)
            }
        }
    }

    fn to_integer(&self, value: f64) -> u64 {
        let width = self.to.bits();
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        if value.is_nan() {
            // What the PTX ISA says of NaN.
            return if self.from == Ty::F64 || width == 64 { 1 << (width - 1) } else { 0 };
        }
        let rounded = round_integer(value, self.integral.unwrap_or(self.mode));
        clamp(rounded as i128, self.to) as u64 & mask
    }
}

/// The power of two of a scale, rounded up or towards zero, saturated.
fn scale_bits(value: f64, mode: Rounding) -> u64 {
    if value.is_nan() {
        return 0xFF;
    }
    let value = value.abs();
    if value == 0.0 {
        return 0;
    }
    let exponent = value.log2();
    let exponent = if mode == Rounding::Up { exponent.ceil() } else { exponent.floor() };
    (exponent + 127.0).clamp(0.0, 254.0) as u64
}

fn clamp(value: i128, ty: Ty) -> i128 {
    let width = ty.bits();
    if ty.is_signed() {
        value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        value.clamp(0, (1 << width) - 1)
    }
}

/// Decodes `cvt`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if m.take("pack") {
        return decode_pack(d, i, m).map(Some);
    }
    let integral = m.integer_rounding();
    let stochastic = m.take("rs");
    let mode = m.rounding();
    let ftz = m.take("ftz");
    let saturate = m.take("sat");
    let finite = m.take("satfinite");
    let relu = m.take("relu");
    m.take("scaled::n2::ue8m0");
    let (Some(to), Some(from)) = (m.ty(), m.ty()) else {
        return Ok(None);
    };
    let mode = if stochastic { Rounding::Stochastic(0) } else { mode.unwrap_or_default() };
    let plain = !saturate && !finite && !relu && !ftz && integral.is_none();
    let nearest = mode == Rounding::NearestEven;
    let mut is_double = |ty: Ty, operand| match i.operands.get(operand) {
        // An integer may be held by a larger register ("Operand Size Exceeding Instruction-Type Size" of the PTX ISA).
        Some(o) if ty.is_integer() && ty.bits() < 64 => d.is_double(o),
        _ => ty.bits() == 64 && !is_packed(ty),
    };
    let doubles = (is_double(from, 1), is_double(to, 0));
    let exceeding = doubles != (from.bits() == 64, to.bits() == 64);
    // The common ones.
    let pair = i.operands.len() == 3;
    if plain && nearest && !pair && !exceeding {
        let op = match (to, from) {
            (Ty::F32, Ty::F16) => d.ww(
                i,
                from,
                lanes!(W(a: W), {
                    let x = f16_to_f32(a as u16);
                    if x.is_nan() { 0x7FFF_FFFF } else { x.to_bits() }
                }),
            ),
            (Ty::F32, Ty::BF16) => d.ww(
                i,
                from,
                lanes!(W(a: W), {
                    let x = bf16_to_f32(a as u16);
                    if x.is_nan() { 0x7FFF_FFFF } else { x.to_bits() }
                }),
            ),
            (Ty::F16, Ty::F32) => d.ww(
                i,
                from,
                lanes!(W(a: W), {
                    let x = f32::from_bits(a);
                    if x.is_nan() { 0x7FFF } else { u32::from(f32_to_f16(x)) }
                }),
            ),
            (Ty::BF16, Ty::F32) => d.ww(
                i,
                from,
                lanes!(W(a: W), {
                    let x = f32::from_bits(a);
                    if x.is_nan() { 0x7FFF } else { u32::from(f32_to_bf16(x)) }
                }),
            ),
            (Ty::F32, Ty::S32) => d.ww(i, from, lanes!(W(a: W), (a as i32 as f32).to_bits())),
            (Ty::F32, Ty::U32) => d.ww(i, from, lanes!(W(a: W), (a as f32).to_bits())),
            (Ty::U32 | Ty::S32 | Ty::B32, Ty::U64 | Ty::S64 | Ty::B64) => d.wd(i, from, lanes!(W(a: D), a as u32)),
            (Ty::U64 | Ty::S64 | Ty::B64, Ty::U32 | Ty::B32) => d.dw(i, from, lanes!(D(a: W), u64::from(a))),
            (Ty::U64 | Ty::S64 | Ty::B64, Ty::S32) => d.dw(i, from, lanes!(D(a: W), a as i32 as i64 as u64)),
            (Ty::U32 | Ty::S32 | Ty::B32, Ty::U32 | Ty::S32 | Ty::B32) => d.ww(i, from, lanes!(W(a: W), a)),
            (Ty::U32 | Ty::S32 | Ty::B32, Ty::U16 | Ty::B16) => d.ww(i, from, lanes!(W(a: W), a & 0xFFFF)),
            (Ty::U32 | Ty::S32 | Ty::B32, Ty::S16) => d.ww(i, from, lanes!(W(a: W), a as u16 as i16 as u32)),
            (Ty::U16 | Ty::S16 | Ty::B16, Ty::U32 | Ty::S32 | Ty::B32) => d.ww(i, from, lanes!(W(a: W), a & 0xFFFF)),
            _ => {
                return general(
                    d,
                    i,
                    ConvertOp {
                        to,
                        from,
                        mode,
                        integral,
                        saturate,
                        finite,
                        relu,
                        ftz,
                        doubles,
                        d: 0,
                        a: 0,
                        b: 0,
                        random: NONE,
                        extend: 0,
                    },
                )
                .map(Some);
            }
        };
        return op.map(Some);
    }
    if plain && nearest && pair && from == Ty::F32 {
        match to {
            Ty::F16x2 => return d.www(i, from, lanes!(W(a: W, b: W), {
                let h = |x: u32| { let x = f32::from_bits(x); if x.is_nan() { 0x7FFF } else { u32::from(f32_to_f16(x)) } };
                h(a) << 16 | h(b)
            })).map(Some),
            Ty::BF16x2 => return d.www(i, from, lanes!(W(a: W, b: W), {
                let h = |x: u32| { let x = f32::from_bits(x); if x.is_nan() { 0x7FFF } else { u32::from(f32_to_bf16(x)) } };
                h(a) << 16 | h(b)
            })).map(Some),
            _ => {}
        }
    }
    general(
        d,
        i,
        ConvertOp {
            to,
            from,
            mode,
            integral,
            saturate,
            finite,
            relu,
            ftz,
            doubles,
            d: 0,
            a: 0,
            b: 0,
            random: NONE,
            extend: 0,
        },
    )
    .map(Some)
}

fn general(d: &mut Decoder, i: &Instruction, mut op: ConvertOp) -> Result<Op> {
    let known = |ty: Ty| format(ty).is_some() || ty.is_integer() || ty == Ty::UE8M0x2;
    if !known(op.to) || !known(op.from) {
        return Err(d.unsupported("conversion between these types"));
    }
    if is_packed(op.from) && !is_packed(op.to) {
        return Err(d.bad("a pair converts to a pair"));
    }
    let Some((to, sources)) = i.operands.split_first() else {
        return Err(d.bad("operands are missing"));
    };
    let expected = if is_packed(op.to) && !is_packed(op.from) { 2 } else { 1 };
    let stochastic = matches!(op.mode, Rounding::Stochastic(_));
    if sources.len() != expected + usize::from(stochastic) {
        return Err(d.bad(format!("expected {expected} sources")));
    }
    let mut source = |operand: &Operand| -> Result<u32> {
        if op.doubles.0 { d.double(operand, op.from) } else { d.word(operand, op.from) }
    };
    op.a = source(&sources[0])?;
    if expected == 2 {
        op.b = source(&sources[1])?;
    }
    if stochastic {
        op.random = d.word(&sources[expected], Ty::B32)?;
    }
    if op.to.is_integer() && op.to.is_signed() {
        op.extend = d.bits_of(to).filter(|&bits| bits > op.to.bits() && bits <= 64).unwrap_or(0);
    }
    op.d = if op.doubles.1 { d.double_destination(to)? } else { d.word_destination(to)? };
    Ok(Op::Convert(op))
}

/// `cvt.pack.sat.u8.s32.b32 d, a, b, c`: two integers saturated and packed, with what was packed before shifted up.
fn decode_pack(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Op> {
    m.take("sat");
    let (Some(to), Some(Ty::S32)) = (m.ty(), m.ty()) else {
        return Err(d.bad("packs values of type s32"));
    };
    if i.operands.len() == 3 {
        return match to {
            Ty::U16 => d.www(i, Ty::S32, lanes!(W(a: W, b: W), pack(a, b, 0, Ty::U16))),
            Ty::S16 => d.www(i, Ty::S32, lanes!(W(a: W, b: W), pack(a, b, 0, Ty::S16))),
            _ => Err(d.bad("types of 8 bits and less need a third operand")),
        };
    }
    m.take("b32");
    match to {
        Ty::U8 => d.wwww(i, Ty::S32, lanes!(W(a: W, b: W, c: W), pack(a, b, c, Ty::U8))),
        Ty::S8 => d.wwww(i, Ty::S32, lanes!(W(a: W, b: W, c: W), pack(a, b, c, Ty::S8))),
        Ty::U4 => d.wwww(i, Ty::S32, lanes!(W(a: W, b: W, c: W), pack(a, b, c, Ty::U4))),
        Ty::S4 => d.wwww(i, Ty::S32, lanes!(W(a: W, b: W, c: W), pack(a, b, c, Ty::S4))),
        Ty::U2 => d.wwww(i, Ty::S32, lanes!(W(a: W, b: W, c: W), pack(a, b, c, Ty::U2))),
        Ty::S2 => d.wwww(i, Ty::S32, lanes!(W(a: W, b: W, c: W), pack(a, b, c, Ty::S2))),
        _ => Err(d.bad("this type cannot be packed")),
    }
}

fn pack(a: u32, b: u32, c: u32, ty: Ty) -> u32 {
    let width = ty.bits();
    let part = |x: u32| clamp((x as i32).into(), ty) as u32 & ((1 << width) - 1);
    let low = part(b) | part(a) << width;
    if width == 16 { low } else { low | c << (2 * width) }
}

/// `szext` and friends aside, `mov`-like widening of predicates is not `cvt`; this builds the one lane operation others need.
pub(super) fn copy_word(d: u32, a: u32) -> Op {
    Op::Lane(LaneOp::WW { f: lanes!(W(a: W), a), d, a })
}

/// The same for 64 bits.
pub(super) fn copy_double(d: u32, a: u32) -> Op {
    Op::Lane(LaneOp::DD { f: lanes!(D(a: D), a), d, a })
}
