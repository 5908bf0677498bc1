//! Conversions between element types.

use inkwell::FloatPredicate::{OGT, OLT, UNE, UNO};
use inkwell::IntPredicate::{EQ, NE, SGT, SLT, UGT, ULT};
use inkwell::values::InstructionOpcode as Opcode;
use tegula_ir::ops::Rounding;
use tegula_ir::types::{Elem, ScalarType};

use super::float_format::{FloatFormat, round_to, widen_to_f32};
use super::{Conversion, NativeOps, register_type};
use crate::emit::{Emitter, Ty, Val};

/// Converts by value, as [`tegula_ir::ops::OpKind::Cast`] says.
pub fn convert<'c>(e: &Emitter<'c, '_>, native: &dyn NativeOps, conversion: Conversion, x: Val<'c>) -> Val<'c> {
    let Conversion { from, to, saturate, .. } = conversion;
    // An infinity saturates within its own format too.
    if from == to && !(saturate && from.is_float()) {
        return x;
    }
    match (from.is_float(), to.is_float()) {
        (true, _) if to == ScalarType::Bool => {
            let wide = to_ieee(e, native, from, x);
            e.fcmp(UNE, wide, e.float_like(wide, 0.0))
        }
        (false, _) if to == ScalarType::Bool => e.icmp(NE, x, e.int_like(x, 0)),
        (true, true) => float_to_float(e, native, conversion, x),
        (true, false) => float_to_int(e, native, from, to, x),
        (false, true) => int_to_float(e, native, conversion, x),
        (false, false) => int_to_int(e, conversion, x),
    }
}

/// A float as one of LLVM's float types: the 8-bit formats become `f32`, the others stay.
pub fn to_ieee<'c>(e: &Emitter<'c, '_>, native: &dyn NativeOps, from: ScalarType, x: Val<'c>) -> Val<'c> {
    if !from.is_fp8() {
        return x;
    }
    let conversion = Conversion::nearest(from, ScalarType::F32);
    native.convert(e, conversion, x).unwrap_or_else(|| widen_to_f32(e, x, format(from)))
}

/// A float of at most 32 bits as `f32`.
pub fn to_f32<'c>(e: &Emitter<'c, '_>, native: &dyn NativeOps, from: ScalarType, x: Val<'c>) -> Val<'c> {
    let x = to_ieee(e, native, from, x);
    match from {
        ScalarType::F16 | ScalarType::BF16 => e.cast(Opcode::FPExt, x, e.type_like(x, e.f32_type())),
        _ => x,
    }
}

fn format(ty: ScalarType) -> FloatFormat {
    FloatFormat::of(ty).expect("the caller has a float")
}

fn float_type<'c>(e: &Emitter<'c, '_>, shape: Val<'c>, ty: ScalarType) -> Ty<'c> {
    e.type_like(shape, register_type(e, Elem::Scalar(ty)))
}

fn float_to_float<'c>(e: &Emitter<'c, '_>, native: &dyn NativeOps, conversion: Conversion, x: Val<'c>) -> Val<'c> {
    let Conversion { from, to, rounding, saturate } = conversion;
    let widens = !to.is_fp8() && {
        let (from, to) = (format(from), format(to));
        from.mantissa <= to.mantissa && from.bias <= to.bias
    };
    // An instruction that widens leaves an infinity as it is.
    if !(widens && saturate)
        && let Some(converted) = native.convert(e, conversion, x)
    {
        return converted;
    }
    let (source, x) = match from {
        ScalarType::F64 => (ScalarType::F64, x),
        _ => (ScalarType::F32, to_f32(e, native, from, x)),
    };
    if source != from
        && let Some(converted) = native.convert(e, Conversion { from: source, ..conversion }, x)
    {
        return converted;
    }
    if widens {
        // Every value has its equal in `to`; an infinity still saturates.
        let wide = match to {
            _ if source == to => x,
            ScalarType::BF16 => f32_to_bf16(e, x),
            _ => float_cast(e, x, to),
        };
        return if saturate { clamp_to_finite(e, wide, to) } else { wide };
    }
    // What every target converts in one correctly rounded step. Other pairs LLVM may turn into calls of a run-time
    // library, or into two roundings.
    let native = matches!((source, to), (ScalarType::F32, ScalarType::F16) | (ScalarType::F64, ScalarType::F32));
    if native && rounding == Rounding::NearestEven {
        let x = if saturate { clamp_to_finite(e, x, to) } else { x };
        return float_cast(e, x, to);
    }
    if (source, to, rounding, saturate) == (ScalarType::F32, ScalarType::BF16, Rounding::NearestEven, false) {
        return f32_to_bf16(e, x);
    }
    let code = round_to(e, e.to_bits(x), format(source), format(to), rounding, saturate);
    if to.is_fp8() { code } else { e.bitcast(code, float_type(e, code, to)) }
}

/// The common case of [`round_to`] in a handful of instructions: bf16 is the upper half of `f32`.
fn f32_to_bf16<'c>(e: &Emitter<'c, '_>, x: Val<'c>) -> Val<'c> {
    let bits = e.to_bits(x);
    let odd = e.and(e.lshr_const(bits, 16), e.int_like(bits, 1));
    let rounded = e.add(bits, e.add(odd, e.int_like(bits, 0x7fff)));
    let quiet = e.or(bits, e.int_like(bits, 0x40_0000));
    let code = e.select(e.fcmp(UNO, x, x), quiet, rounded);
    let code = e.zext_or_trunc(e.lshr_const(code, 16), 16);
    e.bitcast(code, float_type(e, code, ScalarType::BF16))
}

fn float_cast<'c>(e: &Emitter<'c, '_>, x: Val<'c>, to: ScalarType) -> Val<'c> {
    let op = if e.element_bits(x) < to.bits() { Opcode::FPExt } else { Opcode::FPTrunc };
    e.cast(op, x, float_type(e, x, to))
}

/// Brings what is beyond the largest finite value of `to` back to it. NaN passes.
pub fn clamp_to_finite<'c>(e: &Emitter<'c, '_>, x: Val<'c>, to: ScalarType) -> Val<'c> {
    let max = format(to).max_value();
    let (high, low) = (e.float_like(x, max), e.float_like(x, -max));
    let x = e.select(e.fcmp(OGT, x, high), high, x);
    e.select(e.fcmp(OLT, x, low), low, x)
}

/// Truncating and saturating, NaN to zero, as Rust's `as`.
fn float_to_int<'c>(
    e: &Emitter<'c, '_>,
    native: &dyn NativeOps,
    from: ScalarType,
    to: ScalarType,
    x: Val<'c>,
) -> Val<'c> {
    let x = match from {
        ScalarType::F64 => x,
        _ => to_f32(e, native, from, x),
    };
    let name = if to.is_signed_int() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
    let result = e.type_like(x, e.int(to.bits()));
    e.intrinsic(name, &[result, x.get_type()], &[x])
}

fn int_to_float<'c>(e: &Emitter<'c, '_>, native: &dyn NativeOps, conversion: Conversion, x: Val<'c>) -> Val<'c> {
    let Conversion { from, to, rounding, saturate } = conversion;
    // Bool is one unsigned bit.
    let signed = from.is_signed_int();
    let cast = |x: Val<'c>, ty: ScalarType| {
        let op = if signed { Opcode::SIToFP } else { Opcode::UIToFP };
        e.cast(op, x, float_type(e, x, ty))
    };
    let value_bits = from.bits() - u32::from(signed);
    let exact_in = |ty: ScalarType| value_bits <= format(ty).mantissa + 1;
    match to {
        ScalarType::F32 | ScalarType::F64 if rounding == Rounding::NearestEven || exact_in(to) => cast(x, to),
        ScalarType::F64 => int_to_f64_directed(e, x, signed, rounding),
        _ if exact_in(ScalarType::F32) => {
            let wide = cast(x, ScalarType::F32);
            float_to_float(e, native, Conversion { from: ScalarType::F32, to, rounding, saturate }, wide)
        }
        _ => {
            let x = if exact_in(ScalarType::F64) { x } else { round_to_odd(e, x, signed) };
            let wide = cast(x, ScalarType::F64);
            float_to_float(e, native, Conversion { from: ScalarType::F64, to, rounding, saturate }, wide)
        }
    }
}

/// A 64-bit integer with at most 53 significant bits, rounded to odd: rounding the result again to a format of fewer
/// than 52 bits gives what rounding the integer itself would.
fn round_to_odd<'c>(e: &Emitter<'c, '_>, x: Val<'c>, signed: bool) -> Val<'c> {
    let low = e.and(x, e.int_like(x, 0x7ff));
    let sticky = e.zext_or_trunc(e.icmp(NE, low, e.int_like(x, 0)), 64);
    let high = e.and(x, e.int_like(x, !0x7ff));
    // Small integers keep their low bits: they are exact already.
    let odd = e.or(high, e.shl_const(sticky, 11));
    let small = if signed {
        e.icmp(ULT, e.add(e.ashr(x, e.int_like(x, 53)), e.int_like(x, 1)), e.int_like(x, 2))
    } else {
        e.icmp(ULT, x, e.int_like(x, 1 << 53))
    };
    e.select(small, x, odd)
}

/// A 64-bit integer to `f64` in a directed rounding: nearest, then one step back where that went the wrong way.
fn int_to_f64_directed<'c>(e: &Emitter<'c, '_>, x: Val<'c>, signed: bool, rounding: Rounding) -> Val<'c> {
    let negative = if signed { e.icmp(SLT, x, e.int_like(x, 0)) } else { e.icmp(NE, x, x) };
    let magnitude = e.select(negative, e.sub(e.int_like(x, 0), x), x);
    // The nearest double of the magnitude, by truncation to 53 bits: the dropped bits decide about one step up.
    let leading = e.intrinsic("llvm.ctlz", &[x.get_type()], &[magnitude, e.bool(false)]);
    let is_zero = e.icmp(EQ, magnitude, e.int_like(x, 0));
    let shift = e.select(is_zero, e.int_like(x, 0), leading);
    let normalised = e.shl(magnitude, shift);
    let truncated = e.lshr_const(normalised, 11);
    let dropped = e.icmp(NE, e.and(normalised, e.int_like(x, 0x7ff)), e.int_like(x, 0));
    let up = match rounding {
        Rounding::TowardZero | Rounding::NearestEven => e.icmp(NE, x, x),
        Rounding::Up => e.and(dropped, e.not(negative)),
        Rounding::Down => e.and(dropped, negative),
    };
    let rounded = e.add(truncated, e.zext_or_trunc(up, 64));
    // value = rounded · 2^(11 - shift); both the integer and the power are exact.
    let double = e.type_like(x, e.context.f64_type());
    let exponent = e.sub(e.int_like(x, 1023 + 11), shift);
    let scale = e.bitcast(e.shl_const(exponent, 52), double);
    let value = e.fmul(e.cast(Opcode::UIToFP, rounded, double), scale);
    let value = e.select(is_zero, e.zero(double), value);
    e.select(negative, e.fneg(value), value)
}

/// Wraps, or with `saturate` gives the nearest value that the result type has.
fn int_to_int<'c>(e: &Emitter<'c, '_>, conversion: Conversion, x: Val<'c>) -> Val<'c> {
    let Conversion { from, to, saturate, .. } = conversion;
    let signed = from.is_signed_int();
    let resize = |x: Val<'c>| if signed { e.sext_or_trunc(x, to.bits()) } else { e.zext_or_trunc(x, to.bits()) };
    if !saturate || from == ScalarType::Bool {
        return resize(x);
    }
    // Bounds of `to` as far as values of `from` can reach them.
    let (from_min, from_max) = range(from);
    let (to_min, to_max) = range(to);
    let mut x = x;
    if from_max > to_max {
        let limit = e.int_like(x, to_max as i64);
        x = e.select(e.icmp(if signed { SGT } else { UGT }, x, limit), limit, x);
    }
    if from_min < to_min {
        let limit = e.int_like(x, to_min as i64);
        x = e.select(e.icmp(SLT, x, limit), limit, x);
    }
    resize(x)
}

/// Least and greatest value of an integer type.
fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed_int() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}
