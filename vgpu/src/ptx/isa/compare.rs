//! Comparison and selection: setp, set, selp, slct.

use super::Op;
use super::float::{f, z};
use super::lanes::{LaneOp, Registers, lanes};
use crate::error::Result;
use crate::numeric::{bf16_to_f32, f16_to_f32};
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::program::{L32, L64, NONE};
use crate::ptx::syntax::ast::{Instruction, Operand};

/// The comparison of whole registers.
#[derive(Clone, Copy)]
enum Compare {
    Words(fn(&mut u32, &L32, &L32)),
    Doubles(fn(&mut u32, &L64, &L64)),
}

/// A comparison whose result is combined with a predicate, goes to two predicates, or into a register.
pub(crate) struct CompareOp {
    low: Compare,
    /// For packed halves: the comparison of the upper ones.
    high: Option<Compare>,
    a: u32,
    b: u32,
    combine: Option<(Combine, u32, bool)>,
    to: Target,
}

#[derive(Clone, Copy)]
enum Combine {
    And,
    Or,
    Xor,
}

enum Target {
    /// `p|q`: the result, and what it would be negated (for packed halves: that of the upper ones).
    Predicates(u32, u32),
    /// All ones or the type's one, by the type of the destination; packed halves in their places.
    Word { slot: u32, one: u32 },
}

impl CompareOp {
    pub fn execute(&self, registers: &mut Registers, mask: u32) {
        let run = |compare: Compare| {
            let mut result = 0;
            match compare {
                Compare::Words(f) => f(&mut result, registers.w(self.a), registers.w(self.b)),
                Compare::Doubles(f) => f(&mut result, registers.d(self.a), registers.d(self.b)),
            }
            result
        };
        let combined = |result: u32| match self.combine {
            None => result,
            Some((how, slot, negated)) => {
                let c = if negated { !registers.p(slot) } else { registers.p(slot) };
                match how {
                    Combine::And => result & c,
                    Combine::Or => result | c,
                    Combine::Xor => result ^ c,
                }
            }
        };
        let low = run(self.low);
        let p = combined(low);
        match (&self.to, self.high) {
            (&Target::Predicates(first, second), high) => {
                let q = combined(high.map_or(!low, run));
                registers.set_p(first, p, mask);
                if second != NONE {
                    registers.set_p(second, q, mask);
                }
            }
            (&Target::Word { slot, one }, high) => {
                let q = high.map_or(0, |high| combined(run(high)));
                let mut value = [0; 32];
                for (lane, value) in value.iter_mut().enumerate() {
                    if (p >> lane) & 1 == 1 {
                        *value = one;
                    }
                    if (q >> lane) & 1 == 1 {
                        *value |= one << 16;
                    }
                }
                registers.set_w(slot, &value, mask);
            }
        }
    }
}

fn h(bits: u32) -> f32 {
    f16_to_f32(bits as u16)
}

fn b(bits: u32) -> f32 {
    bf16_to_f32(bits as u16)
}

fn flush_half(value: f32) -> f32 {
    if value.abs() < 6.103_515_6e-5 { 0.0 } else { value }
}

/// The comparison of a type, of the lower and (packed) upper halves.
// `a < b || a > b` is not `a != b` where one is not a number.
#[allow(clippy::double_comparisons)]
fn comparison(d: &Decoder, operator: &str, ty: Ty, ftz: bool) -> Result<(Compare, Option<Compare>)> {
    macro_rules! integers {
        ($variant:ident $kind:ident, $cast:expr) => {
            Ok((
                Compare::$variant(match operator {
                    "eq" => lanes!(P(a: $kind, b: $kind), $cast(a) == $cast(b)),
                    "ne" => lanes!(P(a: $kind, b: $kind), $cast(a) != $cast(b)),
                    "lt" | "lo" => lanes!(P(a: $kind, b: $kind), $cast(a) < $cast(b)),
                    "le" | "ls" => lanes!(P(a: $kind, b: $kind), $cast(a) <= $cast(b)),
                    "gt" | "hi" => lanes!(P(a: $kind, b: $kind), $cast(a) > $cast(b)),
                    "ge" | "hs" => lanes!(P(a: $kind, b: $kind), $cast(a) >= $cast(b)),
                    _ => return Err(d.bad(format!("`.{operator}` does not compare integers"))),
                }),
                None,
            ))
        };
    }
    macro_rules! floats {
        ($variant:ident $kind:ident, $cast:expr) => {
            Compare::$variant(match operator {
                "eq" => lanes!(P(a: $kind, b: $kind), $cast(a) == $cast(b)),
                "ne" => lanes!(P(a: $kind, b: $kind), { let (a, b) = ($cast(a), $cast(b)); a < b || a > b }),
                "lt" => lanes!(P(a: $kind, b: $kind), $cast(a) < $cast(b)),
                "le" => lanes!(P(a: $kind, b: $kind), $cast(a) <= $cast(b)),
                "gt" => lanes!(P(a: $kind, b: $kind), $cast(a) > $cast(b)),
                "ge" => lanes!(P(a: $kind, b: $kind), $cast(a) >= $cast(b)),
                "equ" => lanes!(P(a: $kind, b: $kind), { let (a, b) = ($cast(a), $cast(b)); !(a < b || a > b) }),
                "neu" => lanes!(P(a: $kind, b: $kind), $cast(a) != $cast(b)),
                "ltu" => lanes!(P(a: $kind, b: $kind), { let (a, b) = ($cast(a), $cast(b)); a < b || a.is_nan() || b.is_nan() }),
                "leu" => lanes!(P(a: $kind, b: $kind), { let (a, b) = ($cast(a), $cast(b)); a <= b || a.is_nan() || b.is_nan() }),
                "gtu" => lanes!(P(a: $kind, b: $kind), { let (a, b) = ($cast(a), $cast(b)); a > b || a.is_nan() || b.is_nan() }),
                "geu" => lanes!(P(a: $kind, b: $kind), { let (a, b) = ($cast(a), $cast(b)); a >= b || a.is_nan() || b.is_nan() }),
                "num" => lanes!(P(a: $kind, b: $kind), !$cast(a).is_nan() && !$cast(b).is_nan()),
                "nan" => lanes!(P(a: $kind, b: $kind), $cast(a).is_nan() || $cast(b).is_nan()),
                _ => return Err(d.bad(format!("`.{operator}` does not compare floats"))),
            })
        };
    }
    let upper = |low: Compare, high: Compare| Ok((low, Some(high)));
    match ty {
        Ty::B16 | Ty::U16 => integers!(Words W, |x: u32| x as u16),
        Ty::S16 => integers!(Words W, |x: u32| x as u16 as i16),
        Ty::B32 | Ty::U32 => integers!(Words W, |x: u32| x),
        Ty::S32 => integers!(Words W, |x: u32| x as i32),
        Ty::B64 | Ty::U64 => integers!(Doubles D, |x: u64| x),
        Ty::S64 => integers!(Doubles D, |x: u64| x as i64),
        Ty::F32 if ftz => Ok((floats!(Words W, z), None)),
        Ty::F32 => Ok((floats!(Words W, f), None)),
        Ty::F64 => Ok((floats!(Doubles D, f64::from_bits), None)),
        Ty::F16 if ftz => Ok((floats!(Words W, |x: u32| flush_half(h(x))), None)),
        Ty::F16 => Ok((floats!(Words W, h), None)),
        Ty::BF16 => Ok((floats!(Words W, b), None)),
        Ty::F16x2 if ftz => {
            upper(floats!(Words W, |x: u32| flush_half(h(x))), floats!(Words W, |x: u32| flush_half(h(x >> 16))))
        }
        Ty::F16x2 => upper(floats!(Words W, h), floats!(Words W, |x: u32| h(x >> 16))),
        Ty::BF16x2 => upper(floats!(Words W, b), floats!(Words W, |x: u32| b(x >> 16))),
        _ => Err(d.bad("values of this type are not compared")),
    }
}

const OPERATORS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

fn sources(d: &mut Decoder, a: &Operand, b: &Operand, ty: Ty) -> Result<(u32, u32)> {
    if ty.bits() == 64 { Ok((d.double(a, ty)?, d.double(b, ty)?)) } else { Ok((d.word(a, ty)?, d.word(b, ty)?)) }
}

fn combination(d: &mut Decoder, m: &mut Modifiers, operand: Option<&Operand>) -> Result<Option<(Combine, u32, bool)>> {
    let how = m.map(|word| {
        Some(match word {
            "and" => Combine::And,
            "or" => Combine::Or,
            "xor" => Combine::Xor,
            _ => return None,
        })
    });
    match (how, operand) {
        (None, None) => Ok(None),
        (Some(how), Some(operand)) => {
            let (slot, negated) = d.predicate_source(operand)?;
            Ok(Some((how, slot, negated)))
        }
        _ => Err(d.bad("a predicate to combine with goes with `.and`, `.or` or `.xor`")),
    }
}

/// Decodes `setp`.
pub(super) fn decode_setp(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(operator) = m.any(&OPERATORS) else {
        return Ok(None);
    };
    let ftz = m.take("ftz");
    let [to, a, b, rest @ ..] = i.operands.as_slice() else {
        return Err(d.bad("expected a predicate and two values"));
    };
    let combine = combination(d, m, rest.first())?;
    let Some(ty) = m.ty() else { return Ok(None) };
    let (low, high) = comparison(d, operator, ty, ftz)?;
    let (a, b) = sources(d, a, b, ty)?;
    let (p, q) = match to {
        Operand::Pair(p, q) => (d.predicate_destination(p)?, d.predicate_destination(q)?),
        p => (d.predicate_destination(p)?, NONE),
    };
    Ok(Some(match (low, high, combine) {
        (Compare::Words(f), None, None) if q == NONE => Op::Lane(LaneOp::PWW { f, d: p, a, b }),
        (Compare::Doubles(f), None, None) if q == NONE => Op::Lane(LaneOp::PDD { f, d: p, a, b }),
        _ => Op::Compare(CompareOp { low, high, a, b, combine, to: Target::Predicates(p, q) }),
    }))
}

/// Decodes `set`.
pub(super) fn decode_set(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(operator) = m.any(&OPERATORS) else {
        return Ok(None);
    };
    let ftz = m.take("ftz");
    let [to, a, b, rest @ ..] = i.operands.as_slice() else {
        return Err(d.bad("expected a destination and two values"));
    };
    let combine = combination(d, m, rest.first())?;
    let (Some(result), Some(ty)) = (m.ty(), m.ty()) else {
        return Ok(None);
    };
    let (low, high) = comparison(d, operator, ty, ftz)?;
    let (a, b) = sources(d, a, b, ty)?;
    let one = match result {
        Ty::F32 => 1.0_f32.to_bits(),
        Ty::F16 | Ty::F16x2 => 0x3C00,
        Ty::BF16 | Ty::BF16x2 => 0x3F80,
        _ if high.is_some() || result.bits() == 16 => 0xFFFF,
        Ty::U32 | Ty::S32 => u32::MAX,
        _ => return Err(d.bad("this type cannot be set")),
    };
    let to = Target::Word { slot: d.word_destination(to)?, one };
    Ok(Some(Op::Compare(CompareOp { low, high, a, b, combine, to })))
}

/// Decodes `selp`.
pub(super) fn decode_selp(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(ty) = m.ty() else { return Ok(None) };
    let [to, a, b, c] = d.operands(i)?;
    let (c, negated) = d.predicate_source(c)?;
    let (a, b) = sources(d, a, b, ty)?;
    let (a, b) = if negated { (b, a) } else { (a, b) };
    Ok(Some(Op::Lane(if ty.bits() == 64 {
        LaneOp::DDDP { f: lanes!(D(a: D, b: D, c: P), if c { a } else { b }), d: d.double_destination(to)?, a, b, c }
    } else {
        LaneOp::WWWP { f: lanes!(W(a: W, b: W, c: P), if c { a } else { b }), d: d.word_destination(to)?, a, b, c }
    })))
}

/// Decodes `slct`: selection by the sign of the third operand.
pub(super) fn decode_slct(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let ftz = m.take("ftz");
    let (Some(ty), Some(sign)) = (m.ty(), m.ty()) else {
        return Ok(None);
    };
    let [to, a, b, c] = d.operands(i)?;
    let (a, b) = sources(d, a, b, ty)?;
    let c = d.word(c, sign)?;
    if ty.bits() == 64 {
        let f = match (sign, ftz) {
            (Ty::F32, true) => lanes!(D(a: D, b: D, c: W), if z(c) >= 0.0 { a } else { b }),
            (Ty::F32, false) => lanes!(D(a: D, b: D, c: W), if f(c) >= 0.0 { a } else { b }),
            _ => lanes!(D(a: D, b: D, c: W), if c as i32 >= 0 { a } else { b }),
        };
        return Ok(Some(Op::Lane(LaneOp::DDDW { f, d: d.double_destination(to)?, a, b, c })));
    }
    let f = match (sign, ftz) {
        (Ty::F32, true) => lanes!(W(a: W, b: W, c: W), if z(c) >= 0.0 { a } else { b }),
        (Ty::F32, false) => lanes!(W(a: W, b: W, c: W), if f(c) >= 0.0 { a } else { b }),
        _ => lanes!(W(a: W, b: W, c: W), if c as i32 >= 0 { a } else { b }),
    };
    Ok(Some(Op::Lane(LaneOp::WWWW { f, d: d.word_destination(to)?, a, b, c })))
}
