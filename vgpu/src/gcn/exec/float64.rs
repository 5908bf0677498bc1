//! 64-bit floats.

use super::operand::{F64, I32, Ty, op1, op2, op3};
use super::special::div_scale;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::Inst;
use crate::numeric::Rounding;

/// Mantissa in [0.5, 1) and exponent; zero, infinity and NaN keep exponent 0.
pub(crate) fn frexp(value: f64) -> (f64, i32) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    // Denormals are brought into the normal range first.
    let (scaled, bias) = if value.is_subnormal() { (value * 2.0_f64.powi(64), 64) } else { (value, 0) };
    let bits = scaled.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022 - bias;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

/// Scaling by a power of two, rounded once.
pub(super) fn ldexp(value: f64, exponent: i32) -> f64 {
    let (mantissa, old) = frexp(value);
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = exponent.clamp(-5000, 5000) + old;
    if exponent > 1024 {
        return f64::INFINITY.copysign(value);
    }
    if exponent < -1080 {
        return 0.0_f64.copysign(value);
    }
    // The first step is exact; only the last may round.
    if exponent >= -1020 {
        mantissa * 2.0 * power(exponent - 1)
    } else {
        mantissa * power(-1000) * power(exponent + 1000)
    }
}

fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Stops where a directed rounding mode would change a result that this machine rounds to nearest.
fn nearest_only(cx: &mut Cx<'_>, i: &Inst) -> bool {
    if cx.w.mode.round_16_64 == Rounding::NearestEven {
        return true;
    }
    cx.unsupported(i, "64-bit floats in a rounding mode other than to nearest even".to_owned());
    false
}

fn fma(cx: &mut Cx<'_>, i: &Inst) {
    cx.hazard_fma64(i);
    if !nearest_only(cx, i) {
        return;
    }
    let a = F64::load(cx, i, 0);
    let b = F64::load(cx, i, 1);
    let c = F64::load(cx, i, 2);
    F64::store(cx, i, &fma_lanes(&a, &b, &c));
}

/// Fused multiply-add over lanes, compiled for the instruction where the processor has it.
pub(crate) fn fma_lanes(a: &[f64; 64], b: &[f64; 64], c: &[f64; 64]) -> [f64; 64] {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn fast(a: &[f64; 64], b: &[f64; 64], c: &[f64; 64]) -> [f64; 64] {
            std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
        }
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the features were detected.
            return unsafe { fast(a, b, c) };
        }
    }
    std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
}

fn quiet(value: f64) -> f64 {
    f64::from_bits(value.to_bits() | 1 << 51)
}

pub(crate) fn min_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return if b.is_nan() { quiet(a) } else { b };
    }
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

pub(crate) fn max_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return if b.is_nan() { quiet(a) } else { b };
    }
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

/// IEEE 754-2019 minimum: NaN wins.
pub(crate) fn minimum_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else {
        min_f64(a, b)
    }
}

/// IEEE 754-2019 maximum: NaN wins.
pub(crate) fn maximum_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else {
        max_f64(a, b)
    }
}

fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32
}

fn div_fixup(quotient: f64, denominator: f64, numerator: f64) -> f64 {
    let negative = denominator.is_sign_negative() != numerator.is_sign_negative();
    let sign = |v: f64| if negative { -v } else { v };
    if numerator.is_nan() {
        quiet(numerator)
    } else if denominator.is_nan() {
        quiet(denominator)
    } else if (denominator == 0.0 && numerator == 0.0) || (denominator.is_infinite() && numerator.is_infinite()) {
        f64::from_bits(0xfff8 << 48)
    } else if denominator == 0.0 || numerator.is_infinite() {
        sign(f64::INFINITY)
    } else if denominator.is_infinite() || numerator == 0.0 || exponent(numerator) - exponent(denominator) < -1075 {
        sign(0.0)
    } else if quotient.is_nan() {
        // The operands are finite numbers: an intermediate result has overflowed, and so would the quotient.
        sign(f64::INFINITY)
    } else {
        sign(quotient.abs())
    }
}

fn div_fmas(cx: &mut Cx<'_>, i: &Inst) {
    cx.hazard_div_fmas(i);
    let scaled = cx.w.vcc();
    let a = F64::load(cx, i, 0);
    let b = F64::load(cx, i, 1);
    let c = F64::load(cx, i, 2);
    let fused = fma_lanes(&a, &b, &c);
    let out = std::array::from_fn(|lane| {
        if scaled >> lane & 1 == 0 {
            return fused[lane];
        }
        let shift = if exponent(c[lane]) > 1023 { 128 } else { -128 };
        ldexp(fused[lane], shift)
    });
    F64::store(cx, i, &out);
}

pub(super) const TABLE: &[Entry] = &[
    ("v_add_f64", Class::Float, |c, i| {
        if nearest_only(c, i) {
            op2::<F64, F64, F64>(c, i, |a, b| a + b);
        }
    }),
    ("v_mul_f64", Class::Float, |c, i| {
        if nearest_only(c, i) {
            op2::<F64, F64, F64>(c, i, |a, b| a * b);
        }
    }),
    ("v_fma_f64", Class::Float, fma),
    ("v_fmac_f64", Class::Float, fma),
    ("v_min_f64", Class::Float, |c, i| op2::<F64, F64, F64>(c, i, min_f64)),
    ("v_max_f64", Class::Float, |c, i| op2::<F64, F64, F64>(c, i, max_f64)),
    ("v_minimum_f64", Class::Float, |c, i| op2::<F64, F64, F64>(c, i, minimum_f64)),
    ("v_maximum_f64", Class::Float, |c, i| op2::<F64, F64, F64>(c, i, maximum_f64)),
    ("v_trunc_f64", Class::Float, |c, i| op1::<F64, F64>(c, i, f64::trunc)),
    ("v_ceil_f64", Class::Float, |c, i| op1::<F64, F64>(c, i, f64::ceil)),
    ("v_floor_f64", Class::Float, |c, i| op1::<F64, F64>(c, i, f64::floor)),
    ("v_rndne_f64", Class::Float, |c, i| op1::<F64, F64>(c, i, f64::round_ties_even)),
    ("v_fract_f64", Class::Float, |c, i| {
        op1::<F64, F64>(c, i, |a| (a - a.floor()).min(f64::from_bits(0x3fef_ffff_ffff_ffff)));
    }),
    ("v_ldexp_f64", Class::Float, |c, i| op2::<F64, I32, F64>(c, i, ldexp)),
    ("v_frexp_exp_i32_f64", Class::Float, |c, i| op1::<F64, I32>(c, i, |a| frexp(a).1)),
    ("v_frexp_mant_f64", Class::Float, |c, i| op1::<F64, F64>(c, i, |a| frexp(a).0)),
    ("v_div_scale_f64", Class::Float, div_scale::<F64>),
    ("v_div_fmas_f64", Class::Float, div_fmas),
    ("v_div_fixup_f64", Class::Float, |c, i| op3::<F64, F64, F64, F64>(c, i, div_fixup)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_rounds_once() {
        assert_eq!(ldexp(1.0, 1023), 2.0_f64.powi(1023));
        assert_eq!(ldexp(1.0, 1024), f64::INFINITY);
        assert_eq!(ldexp(1.5, -1074), f64::from_bits(2));
        assert_eq!(ldexp(f64::from_bits(1), 1074), 1.0);
        assert_eq!(ldexp(-1.0, -2000), 0.0);
        assert_eq!(frexp(f64::from_bits(1)), (0.5, -1073));
        assert_eq!(frexp(-6.0), (-0.75, 3));
    }
}
