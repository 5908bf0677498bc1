//! Integer arithmetic by type, on `i64` as the module says.

use crate::ops::{BinaryOp, CmpOp, UnaryOp};
use crate::types::ScalarType;

/// The value with the low bits of `v`, extended as the type's signedness says.
#[inline]
pub const fn wrap(t: ScalarType, v: i64) -> i64 {
    let shift = 64 - t.bits();
    if t.is_signed_int() { v << shift >> shift } else { ((v as u64) << shift >> shift) as i64 }
}

/// The low bits of a value, as the type stores them.
#[inline]
pub const fn to_bits(t: ScalarType, v: i64) -> u64 {
    let shift = 64 - t.bits();
    (v as u64) << shift >> shift
}

/// Least value of a type, in `i128` so that `u64` has its true bounds.
pub const fn min_value(t: ScalarType) -> i128 {
    if t.is_signed_int() { -(1i128 << (t.bits() - 1)) } else { 0 }
}

/// Greatest value of a type.
pub const fn max_value(t: ScalarType) -> i128 {
    if t.is_signed_int() { (1i128 << (t.bits() - 1)) - 1 } else { (1i128 << t.bits()) - 1 }
}

/// The mathematical value.
#[inline]
pub const fn value(t: ScalarType, v: i64) -> i128 {
    if matches!(t, ScalarType::U64) { v as u64 as i128 } else { v as i128 }
}

/// The value of the type nearest to `v`.
pub fn clamp(t: ScalarType, v: i128) -> i64 {
    v.clamp(min_value(t), max_value(t)) as i64
}

/// One-operand functions.
///
/// # Panics
/// If the function is not defined on integers: the typing rules exclude it.
#[inline]
pub fn unary(op: UnaryOp, t: ScalarType, x: i64) -> i64 {
    let bits = to_bits(t, x);
    let width = t.bits();
    match op {
        UnaryOp::Neg => wrap(t, x.wrapping_neg()),
        UnaryOp::Not => wrap(t, !x),
        UnaryOp::Abs => wrap(t, x.wrapping_abs()),
        UnaryOp::Popcount => wrap(t, bits.count_ones().into()),
        UnaryOp::Clz => wrap(t, (bits.leading_zeros() - (64 - width)).into()),
        UnaryOp::Ctz => wrap(t, bits.trailing_zeros().min(width).into()),
        UnaryOp::BitReverse => wrap(t, (bits.reverse_bits() >> (64 - width)) as i64),
        _ => unreachable!("{op} of integers"),
    }
}

/// Two-operand functions.
///
/// # Panics
/// If the function is not defined on integers: the typing rules exclude it.
#[inline]
pub fn binary(op: BinaryOp, t: ScalarType, a: i64, b: i64) -> i64 {
    let signed = t.is_signed_int();
    let width = u64::from(t.bits());
    let (ua, ub) = (a as u64, b as u64);
    match op {
        BinaryOp::Add => wrap(t, a.wrapping_add(b)),
        BinaryOp::Sub => wrap(t, a.wrapping_sub(b)),
        BinaryOp::Mul => wrap(t, a.wrapping_mul(b)),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorRem if b == 0 => 0,
        BinaryOp::Div if signed => wrap(t, a.wrapping_div(b)),
        BinaryOp::Rem if signed => a.wrapping_rem(b),
        BinaryOp::FloorDiv if signed => {
            let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
            wrap(t, q - i64::from(r != 0 && (r < 0) != (b < 0)))
        }
        BinaryOp::FloorRem if signed => {
            let r = a.wrapping_rem(b);
            if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
        }
        BinaryOp::Div | BinaryOp::FloorDiv => (ua / ub) as i64,
        BinaryOp::Rem | BinaryOp::FloorRem => (ua % ub) as i64,
        BinaryOp::MulHi if signed => wrap(t, ((i128::from(a) * i128::from(b)) >> width) as i64),
        BinaryOp::MulHi => ((u128::from(ua) * u128::from(ub)) >> width) as i64,
        BinaryOp::Min => {
            if less(t, b, a) {
                b
            } else {
                a
            }
        }
        BinaryOp::Max => {
            if less(t, a, b) {
                b
            } else {
                a
            }
        }
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        // A negative amount is a large one when taken as unsigned.
        BinaryOp::Shl => {
            if ub >= width {
                0
            } else {
                wrap(t, a << b)
            }
        }
        BinaryOp::Shr if signed => a >> ub.min(63),
        BinaryOp::Shr => {
            if ub >= width {
                0
            } else {
                (ua >> b) as i64
            }
        }
        BinaryOp::MinNan | BinaryOp::MaxNan | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::CopySign => {
            unreachable!("{op} of integers")
        }
    }
}

/// `a * b + c`, wrapping.
#[inline]
pub fn fma(t: ScalarType, a: i64, b: i64, c: i64) -> i64 {
    wrap(t, a.wrapping_mul(b).wrapping_add(c))
}

#[inline]
fn less(t: ScalarType, a: i64, b: i64) -> bool {
    if t == ScalarType::U64 { (a as u64) < b as u64 } else { a < b }
}

/// Comparison.
#[inline]
pub fn compare(op: CmpOp, t: ScalarType, a: i64, b: i64) -> bool {
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Lt => less(t, a, b),
        CmpOp::Le => !less(t, b, a),
        CmpOp::Gt => less(t, b, a),
        CmpOp::Ge => !less(t, a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp::*;

    /// Every pair of 8-bit values against Rust's own types.
    #[test]
    fn eight_bits_as_rust_has_them() {
        for a in i8::MIN..=i8::MAX {
            for b in i8::MIN..=i8::MAX {
                let f = |op| binary(op, ScalarType::I8, a.into(), b.into());
                assert_eq!(f(Add), a.wrapping_add(b).into());
                assert_eq!(f(Mul), a.wrapping_mul(b).into());
                assert_eq!(f(Div), if b == 0 { 0 } else { a.wrapping_div(b) }.into());
                assert_eq!(f(Rem), if b == 0 { 0 } else { a.wrapping_rem(b) }.into());
                assert_eq!(f(MulHi), ((i16::from(a) * i16::from(b)) >> 8).into());
                let floor = (f64::from(a) / f64::from(b)).floor();
                assert_eq!(f(FloorDiv), if b == 0 { 0 } else { i64::from(floor as i32 as i8) });
                if b != 0 {
                    assert_eq!(f(FloorRem), i64::from(i32::from(a) - floor as i32 * i32::from(b)), "{a} {b}");
                }
                assert_eq!(f(Shl), a.checked_shl(b as u8 as u32).unwrap_or(0).into());
                assert_eq!(f(Shr), a.checked_shr(b as u8 as u32).unwrap_or(if a < 0 { -1 } else { 0 }).into());
                let (ua, ub) = (a as u8, b as u8);
                let g = |op| binary(op, ScalarType::U8, ua.into(), ub.into());
                assert_eq!(g(Sub), ua.wrapping_sub(ub).into());
                assert_eq!(g(Div), ua.checked_div(ub).unwrap_or(0).into());
                assert_eq!(g(FloorRem), ua.checked_rem(ub).unwrap_or(0).into());
                assert_eq!(g(MulHi), ((u16::from(ua) * u16::from(ub)) >> 8).into());
                assert_eq!(g(Shr), ua.checked_shr(ub.into()).unwrap_or(0).into());
            }
        }
    }

    #[test]
    fn extremes() {
        let m = i64::MIN;
        assert_eq!(binary(Div, ScalarType::I64, m, -1), m);
        assert_eq!(binary(Rem, ScalarType::I64, m, -1), 0);
        assert_eq!(binary(FloorDiv, ScalarType::I64, m, -1), m);
        assert_eq!(binary(Div, ScalarType::U64, -1, 2), i64::MAX);
        assert_eq!(binary(MulHi, ScalarType::U64, -1, -1), -2);
        assert_eq!(binary(Max, ScalarType::U64, -1, 1), -1);
        assert!(compare(CmpOp::Gt, ScalarType::U64, -1, 1));
        assert_eq!(unary(UnaryOp::Clz, ScalarType::U4, 1), 3);
        assert_eq!(unary(UnaryOp::Ctz, ScalarType::I16, 0), 16);
        assert_eq!(unary(UnaryOp::BitReverse, ScalarType::I8, 1), -128);
        assert_eq!(unary(UnaryOp::Abs, ScalarType::I8, -128), -128);
        assert_eq!((wrap(ScalarType::I4, 9), wrap(ScalarType::U4, -1)), (-7, 15));
    }
}
