//! Algebra of integers, floats and truth values.

use crate::analysis::constants::literal;
use crate::function::{Function, Value};
use crate::literal::Literal;
use crate::numeric::{eval, int};
use crate::ops::{BinaryOp, CmpOp, OpKind, UnaryOp};
use crate::passes::rewrite::Emitter;
use crate::types::ScalarType;

/// A simpler value for an arithmetic op.
pub fn simplify(e: &mut Emitter<'_>, kind: &OpKind, result: Value) -> Option<Value> {
    match *kind {
        OpKind::Unary { op, x, .. } => unary(e, op, x),
        OpKind::Binary { op, a, b } => {
            let t = e.f.ty(a).elem_scalar()?;
            match (literal(e.f, a), literal(e.f, b)) {
                (_, Some(c)) => with_constant(e, op, t, a, b, c, result),
                (Some(_), None) if is_commutative(op) => Some(e.binary(op, b, a)),
                (Some(c), None) => constant_first(e, op, t, c, b, result),
                (None, None) => same_operands(e, op, t, a, b, result),
            }
        }
        OpKind::Compare { op, a, b } => compare(e, op, a, b, result),
        OpKind::Select { cond, a, b } => select(e, cond, a, b),
        OpKind::Fma { a, b, c } => fma(e, a, b, c),
        OpKind::Cast { x, to, rounding, saturate } => {
            let from = e.f.ty(x).elem_scalar()?;
            if from == to && !(saturate && from.is_float()) {
                return Some(x);
            }
            // A conversion that loses nothing can be left out of a chain.
            let &OpKind::Cast { x: source, to: middle, .. } = e.f.def_kind(x)? else { return None };
            let source_type = e.f.ty(source).elem_scalar()?;
            let same_family = source_type.is_float() == middle.is_float();
            if !is_exact(source_type, middle) || !(same_family || source_type == ScalarType::Bool) {
                return None;
            }
            Some(e.value(OpKind::Cast { x: source, to, rounding, saturate }))
        }
        OpKind::Bitcast { x, to } => {
            if e.f.ty(x).elem_scalar() == Some(to) {
                return Some(x);
            }
            let &OpKind::Bitcast { x: source, .. } = e.f.def_kind(x)? else { return None };
            Some(e.value(OpKind::Bitcast { x: source, to }))
        }
        _ => None,
    }
}

/// Whether the order of the operands does not matter (NaN payloads aside).
pub fn is_commutative(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Mul | MulHi | Min | Max | MinNan | MaxNan | And | Or | Xor)
}

/// Whether every value of one type is one of the other.
pub fn is_exact(from: ScalarType, to: ScalarType) -> bool {
    use ScalarType::*;
    if from == to || from == Bool {
        return true;
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => match to {
            F64 => true,
            F32 => from != F64,
            F16 => from.is_fp8(),
            // Five exponent bits and up to three mantissa bits.
            BF16 => from.is_fp8(),
            _ => false,
        },
        (false, true) => {
            let mantissa = crate::numeric::FloatFormat::of(to).mantissa_bits + 1;
            let magnitude = if from.is_signed_int() { from.bits() - 1 } else { from.bits() };
            !to.is_fp8() && magnitude <= mantissa
        }
        (false, false) => match (from.is_signed_int(), to.is_signed_int()) {
            (true, true) | (false, false) => to.is_int() && from.bits() <= to.bits(),
            (false, true) => from.bits() < to.bits(),
            (true, false) => false,
        },
        (true, false) => false,
    }
}

fn unary(e: &mut Emitter<'_>, op: UnaryOp, x: Value) -> Option<Value> {
    match (op, e.f.def_kind(x)?.clone()) {
        (UnaryOp::Neg, OpKind::Unary { op: UnaryOp::Neg, x: y, .. })
        | (UnaryOp::Not, OpKind::Unary { op: UnaryOp::Not, x: y, .. }) => Some(y),
        (UnaryOp::Abs, OpKind::Unary { op: UnaryOp::Abs, .. }) => Some(x),
        (UnaryOp::Abs, OpKind::Unary { op: UnaryOp::Neg, x: y, .. }) => Some(e.unary(UnaryOp::Abs, y)),
        (UnaryOp::Not, OpKind::Compare { op, a, b }) => {
            let float = e.f.ty(a).elem_scalar()?.is_float();
            // With a NaN, both x < y and x >= y are false.
            let inverse = match op {
                CmpOp::Eq => CmpOp::Ne,
                CmpOp::Ne => CmpOp::Eq,
                _ if float => return None,
                CmpOp::Lt => CmpOp::Ge,
                CmpOp::Ge => CmpOp::Lt,
                CmpOp::Gt => CmpOp::Le,
                CmpOp::Le => CmpOp::Gt,
            };
            Some(e.compare(inverse, a, b))
        }
        (UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round | UnaryOp::RoundEven, inner) => {
            let is_integral = matches!(
                inner,
                OpKind::Unary {
                    op: UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round | UnaryOp::RoundEven,
                    ..
                }
            );
            is_integral.then_some(x)
        }
        _ => None,
    }
}

/// `a op c`, where `b` is the constant `c`.
fn with_constant(
    e: &mut Emitter<'_>,
    op: BinaryOp,
    t: ScalarType,
    a: Value,
    b: Value,
    c: Literal,
    result: Value,
) -> Option<Value> {
    use BinaryOp::*;
    let ty = e.f.ty(result).clone();
    match c {
        Literal::Bool(c) => match (op, c) {
            (And, true) | (Or | Xor, false) => Some(a),
            (And, false) | (Or, true) => Some(b),
            (Xor, true) => Some(e.unary(UnaryOp::Not, a)),
            _ => None,
        },
        Literal::Int(c) => {
            let (zero, one, ones) = (c == 0, c == 1, c == int::wrap(t, -1));
            let (least, greatest) = (int::min_value(t) == int::value(t, c), int::max_value(t) == int::value(t, c));
            match op {
                Add | Or | Xor | Shl | Shr if zero => return Some(a),
                Sub if zero => return Some(a),
                Mul | Div | FloorDiv if one => return Some(a),
                // Division by zero gives zero.
                Mul | And | MulHi | Div | FloorDiv | Rem | FloorRem if zero => return Some(e.constant_like(result, 0)),
                Rem | FloorRem if one => return Some(e.constant_like(result, 0)),
                And if ones => return Some(a),
                Or if ones => return Some(b),
                Xor if ones => return Some(e.unary(UnaryOp::Not, a)),
                Min if greatest => return Some(a),
                Max if least => return Some(a),
                Min if least => return Some(b),
                Max if greatest => return Some(b),
                Sub if t.is_signed_int() => {
                    let negated = e.constant(Literal::Int(int::wrap(t, c.wrapping_neg())), &ty);
                    return Some(e.binary(Add, a, negated));
                }
                _ => {}
            }
            // (x op c1) op c2 = x op (c1 op c2).
            let associative = matches!(op, Add | Mul | And | Or | Xor | Min | Max);
            let &OpKind::Binary { op: inner, a: x, b: y } = e.f.def_kind(a)? else { return None };
            if !associative || inner != op {
                return None;
            }
            let folded = eval::binary(op, t, literal(e.f, y)?, Literal::Int(c))?;
            let folded = e.constant(folded, &ty);
            Some(e.binary(op, x, folded))
        }
        Literal::Float(c) => match op {
            // x + -0.0 is x also for x = -0.0; x + 0.0 is not.
            Add if c == 0.0 && c.is_sign_negative() => Some(a),
            Sub if c == 0.0 && c.is_sign_positive() => Some(a),
            Mul | Div if c == 1.0 => Some(a),
            Mul | Div if c == -1.0 => Some(e.unary(UnaryOp::Neg, a)),
            Div if is_power_of_two(c) && eval::normalise(t, Literal::Float(1.0 / c)) == Literal::Float(1.0 / c) => {
                let inverse = e.constant(Literal::Float(1.0 / c), &ty);
                Some(e.binary(Mul, a, inverse))
            }
            _ => None,
        },
    }
}

/// A normal power of two whose reciprocal is one too.
fn is_power_of_two(c: f64) -> bool {
    c.is_normal() && (1.0 / c).is_normal() && c.to_bits() & ((1 << 52) - 1) == 0
}

/// `c op b` for the constant `c`, where the op does not commute.
fn constant_first(
    e: &mut Emitter<'_>,
    op: BinaryOp,
    t: ScalarType,
    c: Literal,
    b: Value,
    result: Value,
) -> Option<Value> {
    use BinaryOp::*;
    match (op, c) {
        (Sub, Literal::Int(0)) if t.is_signed_int() => Some(e.unary(UnaryOp::Neg, b)),
        (Sub, Literal::Float(c)) if c == 0.0 && c.is_sign_negative() => Some(e.unary(UnaryOp::Neg, b)),
        (Div | FloorDiv | Rem | FloorRem | Shl | Shr, Literal::Int(0)) => Some(e.constant_like(result, 0)),
        _ => None,
    }
}

fn same_operands(e: &mut Emitter<'_>, op: BinaryOp, t: ScalarType, a: Value, b: Value, result: Value) -> Option<Value> {
    use BinaryOp::*;
    if a != b {
        return None;
    }
    match op {
        Sub | Xor | Rem | FloorRem if !t.is_float() => Some(e.constant_like(result, 0)),
        And | Or | Min | Max | MinNan | MaxNan => Some(a),
        _ => None,
    }
}

fn compare(e: &mut Emitter<'_>, op: CmpOp, a: Value, b: Value, result: Value) -> Option<Value> {
    let t = e.f.ty(a).elem_scalar()?;
    if a == b && !t.is_float() {
        return Some(e.constant_like(result, matches!(op, CmpOp::Eq | CmpOp::Le | CmpOp::Ge).into()));
    }
    let constant = literal(e.f, b);
    if literal(e.f, a).is_some() && constant.is_none() {
        return Some(e.compare(mirrored(op), b, a));
    }
    match constant? {
        // Comparisons with the ends of the type.
        Literal::Int(c) if t.is_int() => {
            let c = int::value(t, c);
            let known = match op {
                CmpOp::Lt if c == int::min_value(t) => false,
                CmpOp::Ge if c == int::min_value(t) => true,
                CmpOp::Gt if c == int::max_value(t) => false,
                CmpOp::Le if c == int::max_value(t) => true,
                _ => return None,
            };
            Some(e.constant_like(result, known.into()))
        }
        Literal::Bool(c) => match op {
            CmpOp::Eq | CmpOp::Ne if (op == CmpOp::Eq) == c => Some(a),
            CmpOp::Eq | CmpOp::Ne => Some(e.unary(UnaryOp::Not, a)),
            _ => None,
        },
        _ => None,
    }
}

/// The predicate with its operands exchanged.
pub fn mirrored(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        CmpOp::Eq | CmpOp::Ne => op,
    }
}

fn is_bool(f: &Function, v: Value) -> bool {
    f.ty(v).elem_scalar() == Some(ScalarType::Bool)
}

fn select(e: &mut Emitter<'_>, cond: Value, a: Value, b: Value) -> Option<Value> {
    if let Some(Literal::Bool(c)) = literal(e.f, cond) {
        return Some(if c { a } else { b });
    }
    if a == b {
        return Some(a);
    }
    if let Some(&OpKind::Unary { op: UnaryOp::Not, x, .. }) = e.f.def_kind(cond) {
        return Some(e.select(x, b, a));
    }
    // A condition that is the same for all elements.
    if let Some(&OpKind::Splat { x, .. }) = e.f.def_kind(cond) {
        return Some(e.select(x, a, b));
    }
    let same_shape = e.f.ty(cond).shape() == e.f.ty(a).shape();
    if is_bool(e.f, a) && same_shape {
        match (literal(e.f, a), literal(e.f, b)) {
            (Some(Literal::Bool(true)), Some(Literal::Bool(false))) => return Some(cond),
            (Some(Literal::Bool(false)), Some(Literal::Bool(true))) => return Some(e.unary(UnaryOp::Not, cond)),
            _ => {}
        }
    }
    None
}

fn fma(e: &mut Emitter<'_>, a: Value, b: Value, c: Value) -> Option<Value> {
    let float = e.f.ty(a).elem_scalar()?.is_float();
    if literal(e.f, a).is_some() && literal(e.f, b).is_none() {
        return Some(e.value(OpKind::Fma { a: b, b: a, c }));
    }
    match (literal(e.f, b), literal(e.f, c)) {
        (Some(Literal::Float(1.0) | Literal::Int(1)), _) => Some(e.binary(BinaryOp::Add, a, c)),
        (Some(Literal::Int(0)), _) => Some(c),
        (_, Some(Literal::Int(0))) => Some(e.binary(BinaryOp::Mul, a, b)),
        (_, Some(Literal::Float(z))) if float && z == 0.0 && z.is_sign_negative() => {
            Some(e.binary(BinaryOp::Mul, a, b))
        }
        _ => None,
    }
}
