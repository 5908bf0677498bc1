//! 32-bit floats: arithmetic, minimum and maximum, rounding, and the pieces of division.

use super::operand::{F32, I32, Ty, U32, op1, op2, op3, round_f32};
use super::special::div_scale;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::Inst;
use crate::numeric::{Rounding, fma_f32};

/// Fused multiply-add over lanes. Where the processor has the instruction, the loop is compiled for it.
#[inline]
pub(crate) fn fma_lanes(a: &[f32; 64], b: &[f32; 64], c: &[f32; 64]) -> [f32; 64] {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn fast(a: &[f32; 64], b: &[f32; 64], c: &[f32; 64]) -> [f32; 64] {
            std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
        }
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the features were detected.
            return unsafe { fast(a, b, c) };
        }
    }
    std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
}

fn fma(cx: &mut Cx<'_>, i: &Inst) {
    let a = F32::load(cx, i, 0);
    let b = F32::load(cx, i, 1);
    let c = F32::load(cx, i, 2);
    let out = match cx.w.mode.round_32 {
        Rounding::NearestEven => fma_lanes(&a, &b, &c),
        mode => std::array::from_fn(|lane| fma_f32(a[lane], b[lane], c[lane], mode)),
    };
    F32::store(cx, i, &out);
}

/// A sum, difference or product: in the nearest mode as the host does it, otherwise through a double-width fused operation.
#[inline(always)]
fn arithmetic(
    cx: &mut Cx<'_>,
    i: &Inst,
    nearest: impl Fn(f32, f32) -> f32,
    directed: impl Fn(f32, f32, Rounding) -> f32,
) {
    match cx.w.mode.round_32 {
        Rounding::NearestEven => op2::<F32, F32, F32>(cx, i, nearest),
        mode => op2::<F32, F32, F32>(cx, i, |a, b| directed(a, b, mode)),
    }
}

/// The smaller one; a number wins over NaN, and -0 is smaller than +0.
pub(crate) fn min_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return if b.is_nan() { quiet(a) } else { b };
    }
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

/// The larger one; a number wins over NaN, and +0 is larger than -0.
pub(crate) fn max_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        return if b.is_nan() { quiet(a) } else { b };
    }
    if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

fn quiet(value: f32) -> f32 {
    f32::from_bits(value.to_bits() | 0x0040_0000)
}

/// IEEE 754-2019 minimum and maximum: NaN wins.
pub(crate) fn minimum_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else {
        min_f32(a, b)
    }
}

/// As [`minimum_f32`].
pub(crate) fn maximum_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else {
        max_f32(a, b)
    }
}

fn med3(a: f32, b: f32, c: f32) -> f32 {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min_f32(min_f32(a, b), c);
    }
    max_f32(min_f32(a, b), min_f32(max_f32(a, b), c))
}

/// Zero times anything is zero (DirectX 9).
fn legacy_mul(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// `v_div_fixup_f32`: the quotient corrected for special operands.
fn div_fixup(quotient: f32, denominator: f32, numerator: f32) -> f32 {
    let negative = denominator.is_sign_negative() != numerator.is_sign_negative();
    let sign = |v: f32| if negative { -v } else { v };
    if numerator.is_nan() {
        quiet(numerator)
    } else if denominator.is_nan() {
        quiet(denominator)
    } else if (denominator == 0.0 && numerator == 0.0) || (denominator.is_infinite() && numerator.is_infinite()) {
        f32::from_bits(0xffc0_0000)
    } else if denominator == 0.0 || numerator.is_infinite() {
        sign(f32::INFINITY)
    } else if denominator.is_infinite() || numerator == 0.0 {
        sign(0.0)
    } else if exponent(numerator) - exponent(denominator) < -150 {
        // Underflow: what is below any denormal.
        sign(f32::from_bits(1) * 0.5)
    } else if exponent(denominator) == 255 {
        sign(f32::INFINITY)
    } else if quotient.is_nan() {
        // The operands are finite numbers: an intermediate result has overflowed, and so would the quotient.
        sign(f32::INFINITY)
    } else {
        sign(quotient.abs())
    }
}

fn exponent(value: f32) -> i32 {
    (value.to_bits() >> 23 & 0xff) as i32
}

/// `v_div_fmas_f32`: a fused multiply-add whose result is scaled back where `v_div_scale` scaled.
fn div_fmas(cx: &mut Cx<'_>, i: &Inst) {
    cx.hazard_div_fmas(i);
    let scaled = cx.w.vcc();
    let a = F32::load(cx, i, 0);
    let b = F32::load(cx, i, 1);
    let c = F32::load(cx, i, 2);
    let fused = fma_lanes(&a, &b, &c);
    let out = std::array::from_fn(|lane| {
        if scaled >> lane & 1 == 0 {
            return fused[lane];
        }
        // The product of operands scaled up goes back down, and the other way round, by the addend's exponent.
        let shift = if exponent(c[lane]) > 127 { 64 } else { -64 };
        let exact = f64::from(fused[lane]) * 2.0_f64.powi(shift);
        exact as f32
    });
    F32::store(cx, i, &out);
}

/// Scaling by a power of two, rounded once.
pub(super) fn ldexp(value: f32, exponent: i32, mode: Rounding) -> f32 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Exponents beyond these give zero or infinity whatever the value is.
    round_f32(f64::from(value) * 2.0_f64.powi(exponent.clamp(-400, 400)), mode)
}

fn frexp(value: f32) -> (f32, i32) {
    let (mantissa, exponent) = super::float64::frexp(f64::from(value));
    (mantissa as f32, exponent)
}

fn cube(x: f32, y: f32, z: f32) -> (f32, f32, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    // Face, s, t, and twice the major axis.
    if az >= ax && az >= ay {
        if z < 0.0 { (5.0, -x, -y, z * 2.0) } else { (4.0, x, -y, z * 2.0) }
    } else if ay >= ax {
        if y < 0.0 { (3.0, x, -z, y * 2.0) } else { (2.0, x, z, y * 2.0) }
    } else if x < 0.0 {
        (1.0, z, -y, x * 2.0)
    } else {
        (0.0, -z, -y, x * 2.0)
    }
}

/// The product for a power of a lighting model: without light where the exponent or the factor say so, and with zero for zero.
fn mullit(a: f32, b: f32, exponent: f32) -> f32 {
    if b.is_nan() || b <= f32::MIN || exponent.is_nan() || exponent <= 0.0 {
        f32::MIN
    } else if a == 0.0 || b == 0.0 {
        0.0
    } else {
        a * b
    }
}

pub(super) const TABLE: &[Entry] = &[
    ("v_add_f32", Class::Float, |c, i| arithmetic(c, i, |a, b| a + b, |a, b, m| fma_f32(a, 1.0, b, m))),
    ("v_sub_f32", Class::Float, |c, i| arithmetic(c, i, |a, b| a - b, |a, b, m| fma_f32(a, 1.0, -b, m))),
    ("v_subrev_f32", Class::Float, |c, i| arithmetic(c, i, |a, b| b - a, |a, b, m| fma_f32(b, 1.0, -a, m))),
    ("v_mul_f32", Class::Float, |c, i| {
        arithmetic(c, i, |a, b| a * b, |a, b, m| round_f32(f64::from(a) * f64::from(b), m));
    }),
    ("v_mul_legacy_f32", Class::Float, |c, i| op2::<F32, F32, F32>(c, i, legacy_mul)),
    ("v_fma_f32", Class::Float, fma),
    ("v_fmac_f32", Class::Float, fma),
    ("v_fmamk_f32", Class::Float, fma),
    ("v_fmaak_f32", Class::Float, fma),
    ("v_fma_legacy_f32", Class::Float, |c, i| {
        op3::<F32, F32, F32, F32>(c, i, |a, b, d| if a == 0.0 || b == 0.0 { d } else { a.mul_add(b, d) });
    }),
    ("v_fmac_legacy_f32", Class::Float, |c, i| {
        op3::<F32, F32, F32, F32>(c, i, |a, b, d| if a == 0.0 || b == 0.0 { d } else { a.mul_add(b, d) });
    }),
    ("v_min_f32", Class::Float, |c, i| op2::<F32, F32, F32>(c, i, min_f32)),
    ("v_max_f32", Class::Float, |c, i| op2::<F32, F32, F32>(c, i, max_f32)),
    ("v_minimum_f32", Class::Float, |c, i| op2::<F32, F32, F32>(c, i, minimum_f32)),
    ("v_maximum_f32", Class::Float, |c, i| op2::<F32, F32, F32>(c, i, maximum_f32)),
    ("v_min3_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| min_f32(min_f32(a, b), d))),
    ("v_max3_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| max_f32(max_f32(a, b), d))),
    ("v_med3_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, med3)),
    ("v_minimum3_f32", Class::Float, |c, i| {
        op3::<F32, F32, F32, F32>(c, i, |a, b, d| minimum_f32(minimum_f32(a, b), d))
    }),
    ("v_maximum3_f32", Class::Float, |c, i| {
        op3::<F32, F32, F32, F32>(c, i, |a, b, d| maximum_f32(maximum_f32(a, b), d))
    }),
    ("v_maxmin_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| min_f32(max_f32(a, b), d))),
    ("v_minmax_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| max_f32(min_f32(a, b), d))),
    ("v_maximumminimum_f32", Class::Float, |c, i| {
        op3::<F32, F32, F32, F32>(c, i, |a, b, d| minimum_f32(maximum_f32(a, b), d));
    }),
    ("v_minimummaximum_f32", Class::Float, |c, i| {
        op3::<F32, F32, F32, F32>(c, i, |a, b, d| maximum_f32(minimum_f32(a, b), d));
    }),
    ("v_trunc_f32", Class::Float, |c, i| op1::<F32, F32>(c, i, f32::trunc)),
    ("v_ceil_f32", Class::Float, |c, i| op1::<F32, F32>(c, i, f32::ceil)),
    ("v_floor_f32", Class::Float, |c, i| op1::<F32, F32>(c, i, f32::floor)),
    ("v_rndne_f32", Class::Float, |c, i| op1::<F32, F32>(c, i, f32::round_ties_even)),
    // The fraction stays below one, whatever rounding does.
    ("v_fract_f32", Class::Float, |c, i| op1::<F32, F32>(c, i, |a| (a - a.floor()).min(f32::from_bits(0x3f7f_ffff)))),
    ("v_ldexp_f32", Class::Float, |c, i| {
        let mode = c.w.mode.round_32;
        op2::<F32, I32, F32>(c, i, |a, b| ldexp(a, b, mode));
    }),
    ("v_frexp_exp_i32_f32", Class::Float, |c, i| op1::<F32, I32>(c, i, |a| frexp(a).1)),
    ("v_frexp_mant_f32", Class::Float, |c, i| op1::<F32, F32>(c, i, |a| frexp(a).0)),
    ("v_div_scale_f32", Class::Float, div_scale::<F32>),
    ("v_div_fmas_f32", Class::Float, div_fmas),
    ("v_div_fixup_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, div_fixup)),
    ("v_cubeid_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| cube(a, b, d).0)),
    ("v_cubesc_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| cube(a, b, d).1)),
    ("v_cubetc_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| cube(a, b, d).2)),
    ("v_cubema_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, |a, b, d| cube(a, b, d).3)),
    ("v_mullit_f32", Class::Float, |c, i| op3::<F32, F32, F32, F32>(c, i, mullit)),
    // Dot products of halves with a 32-bit sum, in the short encoding.
    ("v_dot2c_f32_f16", Class::Float, |c, i| {
        op3::<U32, U32, F32, F32>(c, i, super::packed::dot2_f16);
    }),
    ("v_dot2c_f32_bf16", Class::Float, |c, i| {
        op3::<U32, U32, F32, F32>(c, i, super::packed::dot2_bf16);
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_and_zeros() {
        assert!(min_f32(0.0, -0.0).is_sign_negative());
        assert!(min_f32(-0.0, 0.0).is_sign_negative());
        assert!(max_f32(-0.0, 0.0).is_sign_positive());
        assert_eq!(max_f32(f32::NAN, 1.0), 1.0);
        assert!(maximum_f32(f32::NAN, 1.0).is_nan());
        assert_eq!(med3(3.0, 1.0, 2.0), 2.0);
    }

    #[test]
    fn fixup_of_special_operands() {
        assert_eq!(div_fixup(1.5, 2.0, -3.0), -1.5);
        assert!(div_fixup(1.0, 0.0, 0.0).is_nan());
        assert_eq!(div_fixup(1.0, 0.0, -1.0), f32::NEG_INFINITY);
        assert_eq!(div_fixup(1.0, f32::INFINITY, 1.0), 0.0);
        assert_eq!(ldexp(1.0, 127, Rounding::NearestEven), 2.0_f32.powi(127));
        assert_eq!(ldexp(1.0, -150, Rounding::NearestEven), 0.0);
        assert_eq!(frexp(8.0), (0.5, 4));
        assert_eq!(mullit(2.0, 3.0, 1.0), 6.0);
        assert_eq!(mullit(0.0, f32::INFINITY, 1.0), 0.0);
        assert_eq!(mullit(2.0, 3.0, -1.0), f32::MIN);
        assert_eq!(mullit(2.0, f32::NAN, 1.0), f32::MIN);
    }
}
