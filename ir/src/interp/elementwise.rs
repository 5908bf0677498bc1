//! Elementwise ops over whole buffers: the function is chosen once, outside the loop.

use super::buf::{Buf, map_elems2};
use crate::numeric::{FloatFormat, eval, float, int};
use crate::ops::{BinaryOp, CmpOp, Rounding, UnaryOp};
use crate::types::ScalarType;

/// One-operand functions.
pub fn unary(op: UnaryOp, fast: bool, t: ScalarType, x: &Buf) -> Buf {
    match x {
        Buf::Bool(v) => Buf::Bool(v.iter().map(|&b| !b).collect()),
        Buf::Int(v) => Buf::Int(v.iter().map(|&x| int::unary(op, t, x)).collect()),
        Buf::Float(v) if op.is_predicate() => {
            let f = float::predicate(op);
            Buf::Bool(v.iter().map(|&x| f(x)).collect())
        }
        Buf::Float(v) => {
            let (f, format) = (float::unary(op, fast), FloatFormat::of(t));
            Buf::Float(v.iter().map(|&x| format.round(f(x))).collect())
        }
    }
}

/// Two-operand functions.
pub fn binary(op: BinaryOp, t: ScalarType, a: &Buf, b: &Buf) -> Buf {
    match (a, b) {
        (Buf::Bool(a), Buf::Bool(b)) => Buf::Bool(
            a.iter().zip(b).map(|(&a, &b)| eval::boolean(op, a, b).expect("a function defined on i1")).collect(),
        ),
        (Buf::Int(a), Buf::Int(b)) => Buf::Int(a.iter().zip(b).map(|(&a, &b)| int::binary(op, t, a, b)).collect()),
        (Buf::Float(a), Buf::Float(b)) => {
            let format = FloatFormat::of(t);
            let with = |f: &dyn Fn(f64, f64) -> f64| Buf::Float(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect());
            let f = float::binary(op);
            with(&|a, b| format.round(f(a, b)))
        }
        _ => unreachable!("operands of one type"),
    }
}

/// Comparisons.
pub fn compare(op: CmpOp, t: ScalarType, a: &Buf, b: &Buf) -> Buf {
    Buf::Bool(match (a, b) {
        (Buf::Bool(a), Buf::Bool(b)) => {
            a.iter().zip(b).map(|(&a, &b)| int::compare(op, ScalarType::U8, a.into(), b.into())).collect()
        }
        (Buf::Int(a), Buf::Int(b)) => a.iter().zip(b).map(|(&a, &b)| int::compare(op, t, a, b)).collect(),
        (Buf::Float(a), Buf::Float(b)) => a.iter().zip(b).map(|(&a, &b)| float::compare(op, a, b)).collect(),
        _ => unreachable!("operands of one type"),
    })
}

/// Choice; a condition of one element stands for all.
pub fn select(cond: &Buf, a: &Buf, b: &Buf) -> Buf {
    let cond = cond.bools();
    if cond.len() == 1 {
        return if cond[0] { a.clone() } else { b.clone() };
    }
    map_elems2!(a, b, (v, w) => cond.iter().zip(v.iter().zip(w)).map(|(&c, (&x, &y))| if c { x } else { y }).collect())
}

/// Multiply and add with one rounding.
pub fn fma(t: ScalarType, a: &Buf, b: &Buf, c: &Buf) -> Buf {
    match (a, b, c) {
        (Buf::Int(a), Buf::Int(b), Buf::Int(c)) => {
            Buf::Int((0..a.len()).map(|i| int::fma(t, a[i], b[i], c[i])).collect())
        }
        (Buf::Float(a), Buf::Float(b), Buf::Float(c)) => {
            let format = FloatFormat::of(t);
            Buf::Float((0..a.len()).map(|i| float::fma(format, a[i], b[i], c[i])).collect())
        }
        _ => unreachable!("operands of one type"),
    }
}

/// Conversion by value.
pub fn cast(from: ScalarType, to: ScalarType, rounding: Rounding, saturate: bool, x: &Buf) -> Buf {
    match x {
        Buf::Bool(v) if to == ScalarType::Bool => Buf::Bool(v.clone()),
        Buf::Bool(v) if to.is_float() => Buf::Float(v.iter().map(|&b| f64::from(u8::from(b))).collect()),
        Buf::Bool(v) => Buf::Int(v.iter().map(|&b| int::wrap(to, b.into())).collect()),
        Buf::Int(v) if to == ScalarType::Bool => Buf::Bool(v.iter().map(|&x| x != 0).collect()),
        Buf::Int(v) if to.is_float() => {
            Buf::Float(v.iter().map(|&x| eval::int_to_float(from, to, rounding, saturate, x)).collect())
        }
        Buf::Int(v) if saturate => Buf::Int(v.iter().map(|&x| int::clamp(to, int::value(from, x))).collect()),
        Buf::Int(v) => Buf::Int(v.iter().map(|&x| int::wrap(to, x)).collect()),
        Buf::Float(v) if to == ScalarType::Bool => Buf::Bool(v.iter().map(|&x| x != 0.0).collect()),
        Buf::Float(v) if to.is_float() => {
            Buf::Float(v.iter().map(|&x| eval::float_to_float(to, rounding, saturate, x)).collect())
        }
        Buf::Float(v) => Buf::Int(v.iter().map(|&x| eval::float_to_int(to, x)).collect()),
    }
}

/// Reinterpretation; `from` is `None` for pointers, whose addresses are already integers.
pub fn bitcast(from: Option<ScalarType>, to: ScalarType, x: &Buf) -> Buf {
    let Some(from) = from else { return x.clone() };
    let mut out = Buf::splat(crate::literal::Literal::zero(to), 0);
    for i in 0..x.len() {
        out.push(eval::from_bits(to, eval::to_bits(from, x.get(i))));
    }
    out
}
