//! Evaluation of scalar functions on literals, for constant folding.

use super::{FloatFormat, float, int};
use crate::literal::Literal;
use crate::ops::{BinaryOp, CmpOp, Rounding, UnaryOp};
use crate::types::ScalarType;

/// The literal rounded or wrapped to a value that the type can hold, of the same family.
pub fn normalise(t: ScalarType, v: Literal) -> Literal {
    match v {
        Literal::Bool(b) => Literal::Bool(b),
        Literal::Int(v) => Literal::Int(int::wrap(t, v)),
        Literal::Float(v) => Literal::Float(FloatFormat::of(t).round(v)),
    }
}

/// A one-operand function of a value of type `t`; `None` where the families do not fit.
pub fn unary(op: UnaryOp, fast: bool, t: ScalarType, x: Literal) -> Option<Literal> {
    Some(match x {
        Literal::Bool(b) if op == UnaryOp::Not => Literal::Bool(!b),
        Literal::Int(v) if t.is_int() && !op.is_float_only() => Literal::Int(int::unary(op, t, v)),
        Literal::Float(v) if op.is_predicate() => Literal::Bool(float::predicate(op)(v)),
        Literal::Float(v) if t.is_float() && (op.is_float_only() || matches!(op, UnaryOp::Neg | UnaryOp::Abs)) => {
            Literal::Float(FloatFormat::of(t).round(float::unary(op, fast)(v)))
        }
        _ => return None,
    })
}

/// A two-operand function of values of type `t`; `None` where the families do not fit.
pub fn binary(op: BinaryOp, t: ScalarType, a: Literal, b: Literal) -> Option<Literal> {
    Some(match (a, b) {
        (Literal::Bool(a), Literal::Bool(b)) => Literal::Bool(boolean(op, a, b)?),
        (Literal::Int(a), Literal::Int(b)) if t.is_int() => Literal::Int(int::binary(op, t, a, b)),
        (Literal::Float(a), Literal::Float(b)) if t.is_float() => {
            Literal::Float(FloatFormat::of(t).round(float::binary(op)(a, b)))
        }
        _ => return None,
    })
}

/// Logical functions.
pub fn boolean(op: BinaryOp, a: bool, b: bool) -> Option<bool> {
    match op {
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        _ => None,
    }
}

/// A comparison of values of type `t`; `None` where the families do not fit.
pub fn compare(op: CmpOp, t: ScalarType, a: Literal, b: Literal) -> Option<bool> {
    Some(match (a, b) {
        (Literal::Bool(a), Literal::Bool(b)) => int::compare(op, ScalarType::U8, a.into(), b.into()),
        (Literal::Int(a), Literal::Int(b)) => int::compare(op, t, a, b),
        (Literal::Float(a), Literal::Float(b)) => float::compare(op, a, b),
        _ => return None,
    })
}

/// `a * b + c` on values of type `t`; `None` where the families do not fit.
pub fn fma(t: ScalarType, a: Literal, b: Literal, c: Literal) -> Option<Literal> {
    match (a, b, c) {
        (Literal::Int(a), Literal::Int(b), Literal::Int(c)) => Some(Literal::Int(int::fma(t, a, b, c))),
        (Literal::Float(a), Literal::Float(b), Literal::Float(c)) => {
            Some(Literal::Float(float::fma(FloatFormat::of(t), a, b, c)))
        }
        _ => None,
    }
}

/// Conversion by value from type `from` to type `to`.
pub fn cast(from: ScalarType, to: ScalarType, rounding: Rounding, saturate: bool, x: Literal) -> Literal {
    match x {
        Literal::Bool(b) => Literal::small(to, b.into()),
        Literal::Int(v) => match to {
            ScalarType::Bool => Literal::Bool(v != 0),
            t if t.is_float() => Literal::Float(int_to_float(from, t, rounding, saturate, v)),
            t if saturate => Literal::Int(int::clamp(t, int::value(from, v))),
            t => Literal::Int(int::wrap(t, v)),
        },
        Literal::Float(v) => match to {
            ScalarType::Bool => Literal::Bool(v != 0.0),
            t if t.is_float() => Literal::Float(float_to_float(t, rounding, saturate, v)),
            t => Literal::Int(float_to_int(t, v)),
        },
    }
}

/// An integer of type `from` as a float of type `to`.
pub fn int_to_float(from: ScalarType, to: ScalarType, rounding: Rounding, saturate: bool, v: i64) -> f64 {
    let value = int::value(from, v);
    let format = FloatFormat::of(to);
    format.decode(format.encode_int(value < 0, value.unsigned_abs() as u64, rounding, saturate))
}

/// A float rounded to type `to`.
pub fn float_to_float(to: ScalarType, rounding: Rounding, saturate: bool, v: f64) -> f64 {
    let format = FloatFormat::of(to);
    if rounding == Rounding::NearestEven && !saturate && format.special == super::format::Special::Ieee {
        return format.round(v);
    }
    format.decode(format.encode(v, rounding, saturate))
}

/// A float as an integer of type `to`: truncated and saturated, NaN to zero.
pub fn float_to_int(to: ScalarType, v: f64) -> i64 {
    int::clamp(to, v as i128)
}

/// The bits of a value, in the low bits of the result.
pub fn to_bits(t: ScalarType, x: Literal) -> u64 {
    match x {
        Literal::Bool(b) => b.into(),
        Literal::Int(v) => int::to_bits(t, v),
        // As the encoder does, in an instruction: arguments of launches come by here.
        Literal::Float(v) if t == ScalarType::F32 && !v.is_nan() => (v as f32).to_bits().into(),
        Literal::Float(v) => FloatFormat::of(t).encode(v, Rounding::NearestEven, false),
    }
}

/// The value with these bits; bits above the type's width are ignored.
pub fn from_bits(t: ScalarType, bits: u64) -> Literal {
    match t {
        ScalarType::Bool => Literal::Bool(bits & 1 != 0),
        t if t.is_float() => Literal::Float(FloatFormat::of(t).decode(int::to_bits(t, bits as i64))),
        t => Literal::Int(int::wrap(t, bits as i64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(from: ScalarType, to: ScalarType, x: Literal) -> Literal {
        cast(from, to, Rounding::NearestEven, false, x)
    }

    #[test]
    fn casts_follow_rust() {
        use ScalarType::*;
        assert_eq!(to(F32, I8, Literal::Float(300.7)), Literal::Int(127));
        assert_eq!(to(F32, U8, Literal::Float(-3.0)), Literal::Int(0));
        assert_eq!(to(F32, I32, Literal::Float(f64::NAN)), Literal::Int(0));
        assert_eq!(to(F64, U64, Literal::Float(1e30)), Literal::Int(-1));
        assert_eq!(to(I32, I8, Literal::Int(300)), Literal::Int(44));
        assert_eq!(cast(I32, I8, Rounding::NearestEven, true, Literal::Int(300)), Literal::Int(127));
        assert_eq!(cast(U64, I64, Rounding::NearestEven, true, Literal::Int(-1)), Literal::Int(i64::MAX));
        assert_eq!(to(U64, F32, Literal::Int(-1)), Literal::Float(18446744073709551616.0));
        assert_eq!(to(F16, Bool, Literal::Float(f64::NAN)), Literal::Bool(true));
        assert_eq!(to(Bool, BF16, Literal::Bool(true)), Literal::Float(1.0));
    }

    #[test]
    fn wound_9_division_as_in_rust() {
        let i = |v| Literal::Int(v);
        assert_eq!(binary(BinaryOp::Div, ScalarType::I32, i(-1), i(2)), Some(i(0)));
        assert_eq!(binary(BinaryOp::Rem, ScalarType::I32, i(-5), i(3)), Some(i(-2)));
    }

    #[test]
    fn bits_round_trip() {
        for t in ScalarType::ALL {
            for bits in [0u64, 1, 0x3c, 0x7f, 0x80, 0xff, 0x7c01, 0xffff, 0x7fc0_0001, u64::MAX] {
                let bits = if t == ScalarType::Bool { bits & 1 } else { int::to_bits(t, bits as i64) };
                assert_eq!(to_bits(t, from_bits(t, bits)), bits, "{t} {bits:#x}");
            }
        }
    }
}
