//! Unary, binary and ternary arithmetic, comparison and selection.

use inkwell::FloatPredicate::{OEQ, OGE, OGT, OLE, OLT, ONE, UNE, UNO};
use inkwell::IntPredicate::{self, EQ, NE, SGT, SLT, UGE, UGT, ULT};
use inkwell::values::InstructionOpcode as Opcode;
use tegula_ir::ops::{BinaryOp, CmpOp, UnaryOp};
use tegula_ir::types::{Elem, ScalarType};

use super::convert::{convert, to_f32};
use super::{Conversion, NativeOps, register_type};
use crate::emit::{Emitter, Val};

/// A one-operand operation; `None` if it is a function that an earlier pass expands (`exp`, `sin` and their like).
pub fn unary<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    op: UnaryOp,
    ty: ScalarType,
    x: Val<'c>,
    fast: bool,
) -> Option<Val<'c>> {
    if let Some(value) = native.unary(e, op, ty, x, fast) {
        return Some(value);
    }
    let math = |name: &str| in_f32(e, native, ty, x, |x| e.intrinsic(name, &[x.get_type()], &[x]));
    // These are exact in the operand's own type.
    let direct = |name: &str| e.intrinsic(name, &[x.get_type()], &[x]);
    Some(match op {
        UnaryOp::Neg if ty.is_float() => e.fneg(x),
        UnaryOp::Neg => e.sub(e.int_like(x, 0), x),
        UnaryOp::Not => e.not(x),
        UnaryOp::Abs if ty.is_float() => direct("llvm.fabs"),
        UnaryOp::Abs => e.intrinsic("llvm.abs", &[x.get_type()], &[x, e.bool(false)]),
        UnaryOp::Popcount => direct("llvm.ctpop"),
        UnaryOp::Clz => e.intrinsic("llvm.ctlz", &[x.get_type()], &[x, e.bool(false)]),
        UnaryOp::Ctz => e.intrinsic("llvm.cttz", &[x.get_type()], &[x, e.bool(false)]),
        UnaryOp::BitReverse => direct("llvm.bitreverse"),
        UnaryOp::Sqrt => math("llvm.sqrt"),
        UnaryOp::Floor => math("llvm.floor"),
        UnaryOp::Ceil => math("llvm.ceil"),
        UnaryOp::Trunc => math("llvm.trunc"),
        UnaryOp::RoundEven => math("llvm.roundeven"),
        UnaryOp::Round => in_f32(e, native, ty, x, |x| round_half_away(e, x)),
        UnaryOp::Recip => in_f32(e, native, ty, x, |x| e.fdiv(e.float_like(x, 1.0), x)),
        UnaryOp::Rsqrt => {
            in_f32(e, native, ty, x, |x| e.fdiv(e.float_like(x, 1.0), e.intrinsic("llvm.sqrt", &[x.get_type()], &[x])))
        }
        UnaryOp::IsNan => e.fcmp(UNO, x, x),
        UnaryOp::IsInf => {
            let magnitude = direct("llvm.fabs");
            e.fcmp(OEQ, magnitude, e.float_like(x, f64::INFINITY))
        }
        UnaryOp::IsFinite => {
            let magnitude = direct("llvm.fabs");
            e.fcmp(OLT, magnitude, e.float_like(x, f64::INFINITY))
        }
        UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Cbrt
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Erf
        | UnaryOp::Sigmoid
        | UnaryOp::Silu
        | UnaryOp::Gelu => return None,
    })
}

/// Computes a function of a 16-bit float in `f32` and rounds once; wider floats are computed as they are.
fn in_f32<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    ty: ScalarType,
    x: Val<'c>,
    function: impl FnOnce(Val<'c>) -> Val<'c>,
) -> Val<'c> {
    match ty {
        ScalarType::F16 | ScalarType::BF16 => {
            let y = function(to_f32(e, native, ty, x));
            convert(e, native, Conversion::nearest(ScalarType::F32, ty), y)
        }
        _ => function(x),
    }
}

/// Rust's `round`. LLVM's expansion of `llvm.round` differs between targets in cost; this one is exact everywhere:
/// truncate, and step away from zero where at least a half was cut off.
fn round_half_away<'c>(e: &Emitter<'c, '_>, x: Val<'c>) -> Val<'c> {
    let truncated = e.intrinsic("llvm.trunc", &[x.get_type()], &[x]);
    let cut = e.intrinsic("llvm.fabs", &[x.get_type()], &[e.fsub(x, truncated)]);
    let step = e.intrinsic("llvm.copysign", &[x.get_type()], &[e.float_like(x, 1.0), x]);
    let away = e.fadd(truncated, step);
    let rounded = e.select(e.fcmp(OGE, cut, e.float_like(x, 0.5)), away, truncated);
    // Keeps the sign of zero, and infinity (whose cut is NaN) is its own truncation.
    e.intrinsic("llvm.copysign", &[x.get_type()], &[rounded, x])
}

/// A two-operand operation; `None` if it is a function that an earlier pass expands (`pow`, `atan2`), or the float
/// remainder, which needs a loop (see [`float_rem`]).
pub fn binary<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    op: BinaryOp,
    ty: ScalarType,
    a: Val<'c>,
    b: Val<'c>,
) -> Option<Val<'c>> {
    if let Some(value) = native.binary(e, op, ty, a, b) {
        return Some(value);
    }
    let float = ty.is_float();
    let signed = ty.is_signed_int();
    let call = |name: &str| e.intrinsic(name, &[a.get_type()], &[a, b]);
    Some(match op {
        BinaryOp::Add if float => e.fadd(a, b),
        BinaryOp::Sub if float => e.fsub(a, b),
        BinaryOp::Mul if float => e.fmul(a, b),
        BinaryOp::Div if float => e.fdiv(a, b),
        BinaryOp::Add => e.add(a, b),
        BinaryOp::Sub => e.sub(a, b),
        BinaryOp::Mul => e.mul(a, b),
        BinaryOp::Rem | BinaryOp::FloorRem if float => return None,
        BinaryOp::FloorDiv if float => in_f32_2(e, native, ty, a, b, |a, b| float_floor_div(e, a, b)),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorRem => int_division(e, op, signed, a, b),
        BinaryOp::MulHi => {
            let bits = ty.bits();
            let widen = |v| if signed { e.sext_or_trunc(v, 2 * bits) } else { e.zext_or_trunc(v, 2 * bits) };
            e.zext_or_trunc(e.lshr_const(e.mul(widen(a), widen(b)), bits), bits)
        }
        BinaryOp::Min if float => call("llvm.minimumnum"),
        BinaryOp::Max if float => call("llvm.maximumnum"),
        BinaryOp::Min => call(if signed { "llvm.smin" } else { "llvm.umin" }),
        BinaryOp::Max => call(if signed { "llvm.smax" } else { "llvm.umax" }),
        BinaryOp::MinNan => call("llvm.minimum"),
        BinaryOp::MaxNan => call("llvm.maximum"),
        BinaryOp::And => e.and(a, b),
        BinaryOp::Or => e.or(a, b),
        BinaryOp::Xor => e.xor(a, b),
        BinaryOp::Shl | BinaryOp::Shr => shift(e, op, signed, a, b),
        BinaryOp::CopySign => call("llvm.copysign"),
        BinaryOp::Pow | BinaryOp::Atan2 => return None,
    })
}

/// The largest integer not above the quotient. Where the quotient was rounded up to an integer, the exact remainder
/// gives it away by its sign.
fn float_floor_div<'c>(e: &Emitter<'c, '_>, a: Val<'c>, b: Val<'c>) -> Val<'c> {
    let floor = e.intrinsic("llvm.floor", &[a.get_type()], &[e.fdiv(a, b)]);
    let remainder = e.fma(e.fneg(floor), b, a);
    let zero = e.float_like(a, 0.0);
    let opposite = e.xor(e.fcmp(OLT, remainder, zero), e.fcmp(OLT, b, zero));
    let too_large = e.and(opposite, e.fcmp(ONE, remainder, zero));
    e.select(too_large, e.fsub(floor, e.float_like(a, 1.0)), floor)
}

fn in_f32_2<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    ty: ScalarType,
    a: Val<'c>,
    b: Val<'c>,
    function: impl FnOnce(Val<'c>, Val<'c>) -> Val<'c>,
) -> Val<'c> {
    match ty {
        ScalarType::F16 | ScalarType::BF16 => {
            let y = function(to_f32(e, native, ty, a), to_f32(e, native, ty, b));
            convert(e, native, Conversion::nearest(ScalarType::F32, ty), y)
        }
        _ => function(a, b),
    }
}

/// Integer division and remainder, defined for every operand: division by zero gives 0, the overflowing quotient
/// wraps. In LLVM both are undefined, so the divisor is replaced first.
fn int_division<'c>(e: &Emitter<'c, '_>, op: BinaryOp, signed: bool, a: Val<'c>, b: Val<'c>) -> Val<'c> {
    let zero = e.int_like(b, 0);
    let known = e.as_const(b);
    let by_zero = e.icmp(EQ, b, zero);
    let safe = match known {
        Some(v) if v != 0 && !(signed && v == -1) => b,
        _ => {
            let unsafe_divisor = if signed {
                let minimum = e.shl_const(e.int_like(a, 1), e.element_bits(a) - 1);
                let overflows = e.and(e.icmp(EQ, a, minimum), e.icmp(EQ, b, e.int_like(b, -1)));
                e.or(by_zero, overflows)
            } else {
                by_zero
            };
            e.select(unsafe_divisor, e.int_like(b, 1), b)
        }
    };
    let (div, rem) = if signed { (Opcode::SDiv, Opcode::SRem) } else { (Opcode::UDiv, Opcode::URem) };
    // With the divisor 1 the quotient is the dividend, which is the wrapped MIN / -1, and the remainder is 0.
    let or_zero = |quotient| e.select(by_zero, zero, quotient);
    match op {
        BinaryOp::Div => or_zero(e.binop(div, a, safe)),
        BinaryOp::FloorDiv if !signed => or_zero(e.binop(div, a, safe)),
        BinaryOp::Rem => e.binop(rem, a, safe),
        BinaryOp::FloorRem if !signed => e.binop(rem, a, safe),
        _ => {
            // Truncation and flooring differ where there is a remainder whose sign is not the divisor's.
            let remainder = e.binop(rem, a, safe);
            let differs = e.and(e.icmp(NE, remainder, zero), e.icmp(SLT, e.xor(remainder, safe), zero));
            if op == BinaryOp::FloorDiv {
                let quotient = e.binop(div, a, safe);
                or_zero(e.select(differs, e.sub(quotient, e.int_like(b, 1)), quotient))
            } else {
                e.select(differs, e.add(remainder, safe), remainder)
            }
        }
    }
}

/// Shifts are defined for every amount; in LLVM an amount of the width or more is not.
fn shift<'c>(e: &Emitter<'c, '_>, op: BinaryOp, signed: bool, a: Val<'c>, b: Val<'c>) -> Val<'c> {
    let bits = e.element_bits(a);
    let in_range = match e.as_const(b) {
        Some(n) if (0..i64::from(bits)).contains(&n) => None,
        _ => Some(e.icmp(ULT, b, e.int_like(b, bits.into()))),
    };
    if op == BinaryOp::Shr && signed {
        let last = e.int_like(b, i64::from(bits) - 1);
        return e.ashr(a, in_range.map_or(b, |in_range| e.select(in_range, b, last)));
    }
    let opcode = if op == BinaryOp::Shl { Opcode::Shl } else { Opcode::LShr };
    match in_range {
        None => e.binop(opcode, a, b),
        // The select hides the poison of the shift that is not taken only if the amount is made safe as well.
        Some(in_range) => {
            // In 64 bits by a minimum: a select LLVM 22 turns into PTX's own shift, whose amount has 32 bits, and then the
            // upper half of the amount is not looked at.
            let amount = if bits == 64 {
                e.intrinsic("llvm.umin", &[b.get_type()], &[b, e.int_like(b, 63)])
            } else {
                e.select(in_range, b, e.int_like(b, 0))
            };
            e.select(in_range, e.binop(opcode, a, amount), e.int_like(a, 0))
        }
    }
}

/// The exact float remainder with the sign of the dividend (C's `fmod`) of two scalars, by long division of the
/// mantissas. GPUs have no instruction for it, and the usual `a - trunc(a / b) * b` is wrong for large quotients.
pub fn float_rem<'c>(e: &Emitter<'c, '_>, native: &dyn NativeOps, ty: ScalarType, a: Val<'c>, b: Val<'c>) -> Val<'c> {
    in_f32_2(e, native, ty, a, b, |a, b| {
        let (mantissa, bits) = if e.element_bits(a) == 64 { (52, 64) } else { (23, 32) };
        let c = |v: i64| e.const_int(bits, v);
        let magnitude_mask = c(((1u64 << (bits - 1)) - 1) as i64);
        let (x, y) = (e.and(e.to_bits(a), magnitude_mask), e.and(e.to_bits(b), magnitude_mask));
        let sign = e.xor(e.to_bits(a), x);
        let infinity = c((((1u64 << (bits - 1 - mantissa)) - 1) << mantissa) as i64);
        let undefined = e.or(e.icmp(UGE, x, infinity), e.or(e.icmp(UGT, y, infinity), e.icmp(EQ, y, c(0))));

        // Mantissas with an explicit leading one where normal, exponents from 1.
        let split = |v: Val<'c>| {
            let field = e.lshr_const(v, mantissa);
            let normal = e.icmp(NE, field, c(0));
            let fraction = e.and(v, c((1 << mantissa) - 1));
            (e.or(fraction, e.select(normal, c(1 << mantissa), c(0))), e.select(normal, field, c(1)))
        };
        let ((mx, ex), (my, ey)) = (split(x), split(y));
        let my = e.select(undefined, c(1), my);
        let steps = e.sub(ex, ey);
        let divides = e.and(e.not(undefined), e.icmp(SGT, steps, c(-1)));

        // r = mx · 2^steps mod my: one bit of the quotient a step.
        let reduced = e.if_then(divides, &[x], || {
            let first = e.urem(mx, my);
            let (from, head, exit) = (e.current_block(), e.block("fmod"), e.block("fmod.end"));
            let body = e.block("fmod.step");
            e.br(head);
            e.move_to(head);
            let (left, rest) = (e.phi(e.int(bits).into()), e.phi(e.int(bits).into()));
            let (l, r) = (left.as_basic_value(), rest.as_basic_value());
            let more = e.and(e.icmp(NE, l, c(0)), e.icmp(NE, r, c(0)));
            e.cond_br(more, body, exit);
            e.move_to(body);
            let doubled = e.shl_const(r, 1);
            let next = e.select(e.icmp(UGE, doubled, my), e.sub(doubled, my), doubled);
            let next_left = e.sub(l, c(1));
            e.br(head);
            left.add_incoming(&[(&steps, from), (&next_left, body)]);
            rest.add_incoming(&[(&first, from), (&next, body)]);
            e.move_to(exit);
            // Normalise: the remainder stands at the exponent of y.
            let lead = e.intrinsic("llvm.ctlz", &[e.int(bits).into()], &[r, e.bool(false)]);
            let want = e.sub(lead, c(i64::from(bits) - 1 - i64::from(mantissa)));
            let room = e.sub(ey, c(1));
            let subnormal = e.icmp(SGT, want, room);
            let up = e.select(subnormal, room, want);
            let shifted = e.shl(r, up);
            let exponent = e.select(subnormal, c(0), e.sub(e.sub(ey, up), c(1)));
            let value = e.add(shifted, e.shl_const(exponent, mantissa));
            vec![e.select(e.icmp(EQ, r, c(0)), c(0), value)]
        })[0];
        let value = e.bitcast(e.or(reduced, sign), a.get_type());
        // x is the remainder of itself where |x| < |y|, also where y is infinite.
        let nan = e.float_like(a, f64::NAN);
        e.select(undefined, nan, value)
    })
}

/// The float remainder with the sign of the divisor, from [`float_rem`].
pub fn float_floor_rem<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    ty: ScalarType,
    a: Val<'c>,
    b: Val<'c>,
) -> Val<'c> {
    in_f32_2(e, native, ty, a, b, |a, b| {
        let wide = if e.element_bits(a) == 64 { ScalarType::F64 } else { ScalarType::F32 };
        let r = float_rem(e, native, wide, a, b);
        let zero = e.float_like(r, 0.0);
        let differs = e.xor(e.fcmp(OLT, r, zero), e.fcmp(OLT, b, zero));
        let is_zero = e.fcmp(OEQ, r, zero);
        let adjusted = e.select(differs, e.fadd(r, b), r);
        // A zero has the divisor's sign.
        e.select(is_zero, e.intrinsic("llvm.copysign", &[r.get_type()], &[zero, b]), adjusted)
    })
}

/// A comparison; gives `i1`.
pub fn compare<'c>(e: &Emitter<'c, '_>, op: CmpOp, elem: Elem, a: Val<'c>, b: Val<'c>) -> Val<'c> {
    if elem.scalar().is_some_and(ScalarType::is_float) {
        let predicate = match op {
            CmpOp::Eq => OEQ,
            CmpOp::Ne => UNE,
            CmpOp::Lt => OLT,
            CmpOp::Le => OLE,
            CmpOp::Gt => OGT,
            CmpOp::Ge => OGE,
        };
        return e.fcmp(predicate, a, b);
    }
    e.icmp(int_predicate(op, elem.scalar().is_some_and(ScalarType::is_signed_int)), a, b)
}

/// The integer predicate of a comparison.
pub fn int_predicate(op: CmpOp, signed: bool) -> IntPredicate {
    match (op, signed) {
        (CmpOp::Eq, _) => EQ,
        (CmpOp::Ne, _) => NE,
        (CmpOp::Lt, true) => SLT,
        (CmpOp::Lt, false) => ULT,
        (CmpOp::Le, true) => IntPredicate::SLE,
        (CmpOp::Le, false) => IntPredicate::ULE,
        (CmpOp::Gt, true) => SGT,
        (CmpOp::Gt, false) => UGT,
        (CmpOp::Ge, true) => IntPredicate::SGE,
        (CmpOp::Ge, false) => UGE,
    }
}

/// `a * b + c`: one rounding for floats, wrapping for integers.
pub fn fma<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    ty: ScalarType,
    a: Val<'c>,
    b: Val<'c>,
    c: Val<'c>,
) -> Val<'c> {
    match ty {
        ScalarType::F16 | ScalarType::BF16 if !native.has_fma(ty) => {
            let wide = |v| convert(e, native, Conversion::nearest(ty, ScalarType::F64), v);
            let sum = fma_to_odd(e, wide(a), wide(b), wide(c));
            convert(e, native, Conversion::nearest(ScalarType::F64, ty), sum)
        }
        ty if ty.is_float() => e.fma(a, b, c),
        _ => e.add(e.mul(a, b), c),
    }
}

/// `a * b + c` of 16-bit floats in `f64`, rounded to odd: the product is exact, and the last bit of the sum remembers whether
/// something was cut off, so that the rounding to 16 bits that follows is as good as the only one.
pub fn fma_to_odd<'c>(e: &Emitter<'c, '_>, a: Val<'c>, b: Val<'c>, c: Val<'c>) -> Val<'c> {
    let product = e.fmul(a, b);
    let sum = e.fadd(product, c);
    // Knuth's two-sum: the exact error of the addition.
    let part = e.fsub(sum, product);
    let error = e.fadd(e.fsub(product, e.fsub(sum, part)), e.fsub(c, part));
    let (zero, bits) = (e.float_like(sum, 0.0), e.to_bits(sum));
    let even = e.icmp(EQ, e.and(bits, e.int_like(bits, 1)), e.int_like(bits, 0));
    let cut = e.and(e.fcmp(ONE, error, zero), even);
    // Away from zero where the error has the sum's sign, else towards zero; both neighbours are odd.
    let differs = e.xor(e.fcmp(OGT, error, zero), e.fcmp(OGT, sum, zero));
    let step = e.select(differs, e.int_like(bits, -1), e.int_like(bits, 1));
    e.bitcast(e.select(cut, e.add(bits, step), bits), sum.get_type())
}

/// A constant of an element type from its literal.
pub fn literal<'c>(e: &Emitter<'c, '_>, ty: ScalarType, value: tegula_ir::literal::Literal) -> Val<'c> {
    use tegula_ir::literal::Literal;
    match value {
        Literal::Bool(b) => e.bool(b),
        Literal::Int(v) => e.const_int(ty.bits(), v),
        Literal::Float(v) if ty.is_fp8() => {
            // Constants fold, so this leaves no instructions.
            let wide = e.const_float(e.context.f64_type(), v);
            convert(e, &super::Generic, Conversion::nearest(ScalarType::F64, ty), wide)
        }
        Literal::Float(v) => {
            let ty = register_type(e, Elem::Scalar(ty)).into_float_type();
            e.const_float(ty, v)
        }
    }
}
