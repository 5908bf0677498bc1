//! 16-bit floats, one to a lane.

use super::Entry;
use super::operand::{F16, F16Keep, I16, U16, U32, op1, op2, op3};
use crate::counters::Class;
use crate::numeric::{Rounding, bf16_to_f32, f32_to_bf16, round_f64_to_f32};

fn med3(a: f64, b: f64, c: f64) -> f64 {
    use super::float64::{max_f64, min_f64};
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min_f64(min_f64(a, b), c);
    }
    max_f64(min_f64(a, b), min_f64(max_f64(a, b), c))
}

/// The quotient corrected for special operands.
fn div_fixup(quotient: f64, denominator: f64, numerator: f64) -> f64 {
    let negative = denominator.is_sign_negative() != numerator.is_sign_negative();
    let sign = |v: f64| if negative { -v } else { v };
    if numerator.is_nan() || denominator.is_nan() {
        f64::NAN
    } else if (denominator == 0.0 && numerator == 0.0) || (denominator.is_infinite() && numerator.is_infinite()) {
        -f64::NAN
    } else if denominator == 0.0 || numerator.is_infinite() {
        sign(f64::INFINITY)
    } else if denominator.is_infinite() || numerator == 0.0 {
        sign(0.0)
    } else {
        sign(quotient.abs())
    }
}

use super::float64::{max_f64, maximum_f64, min_f64, minimum_f64};

/// Products of two halves are exact in a double, and so is their sum with a third unless the exponents are far apart; then the double's own
/// rounding is to odd, so that the second rounding cannot go wrong.
pub(crate) fn fma_f16(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    // Knuth's two-sum: what the addition lost.
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    if lost == 0.0 || sum.to_bits() & 1 != 0 {
        return sum;
    }
    // To odd: of the two neighbours of the exact value take the odd one.
    if (lost > 0.0) == (sum > 0.0) { f64::from_bits(sum.to_bits() + 1) } else { f64::from_bits(sum.to_bits() - 1) }
}

pub(super) const TABLE: &[Entry] = &[
    ("v_add_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, |a, b| a + b)),
    ("v_sub_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, |a, b| a - b)),
    ("v_subrev_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, |a, b| b - a)),
    ("v_mul_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, |a, b| a * b)),
    // The multiply-adds that are not fused round the product.
    ("v_mac_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, |a, b, d| round(a * b) + d)),
    ("v_madmk_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, |a, b, d| round(a * b) + d)),
    ("v_madak_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, |a, b, d| round(a * b) + d)),
    ("v_mad_legacy_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, |a, b, d| round(a * b) + d)),
    ("v_mad_f16", Class::Float, |c, i| op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, |a, b, d| round(a * b) + d)),
    ("v_fma_f16", Class::Float, |c, i| op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, fma_f16)),
    ("v_fma_legacy_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, fma_f16)),
    ("v_fmac_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, fma_f16)),
    ("v_fmamk_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, fma_f16)),
    ("v_fmaak_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, fma_f16)),
    ("v_min_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, min_f64)),
    ("v_max_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, max_f64)),
    ("v_minimum_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, minimum_f64)),
    ("v_maximum_f16", Class::Float, |c, i| op2::<F16, F16, F16>(c, i, maximum_f64)),
    ("v_min3_f16", Class::Float, |c, i| {
        op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, |a, b, d| min_f64(min_f64(a, b), d))
    }),
    ("v_max3_f16", Class::Float, |c, i| {
        op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, |a, b, d| max_f64(max_f64(a, b), d))
    }),
    ("v_med3_f16", Class::Float, |c, i| op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, med3)),
    ("v_minimum3_f16", Class::Float, |c, i| {
        op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, |a, b, d| minimum_f64(minimum_f64(a, b), d));
    }),
    ("v_maximum3_f16", Class::Float, |c, i| {
        op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, |a, b, d| maximum_f64(maximum_f64(a, b), d));
    }),
    ("v_maxmin_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, |a, b, d| min_f64(max_f64(a, b), d))),
    ("v_minmax_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, |a, b, d| max_f64(min_f64(a, b), d))),
    ("v_maximumminimum_f16", Class::Float, |c, i| {
        op3::<F16, F16, F16, F16>(c, i, |a, b, d| minimum_f64(maximum_f64(a, b), d));
    }),
    ("v_minimummaximum_f16", Class::Float, |c, i| {
        op3::<F16, F16, F16, F16>(c, i, |a, b, d| maximum_f64(minimum_f64(a, b), d));
    }),
    ("v_ldexp_f16", Class::Float, |c, i| {
        op2::<F16, I16, F16>(c, i, |a, b| super::float64::ldexp(a, i32::from(b)));
    }),
    ("v_floor_f16", Class::Float, |c, i| op1::<F16, F16>(c, i, f64::floor)),
    ("v_ceil_f16", Class::Float, |c, i| op1::<F16, F16>(c, i, f64::ceil)),
    ("v_trunc_f16", Class::Float, |c, i| op1::<F16, F16>(c, i, f64::trunc)),
    ("v_rndne_f16", Class::Float, |c, i| op1::<F16, F16>(c, i, f64::round_ties_even)),
    ("v_fract_f16", Class::Float, |c, i| {
        // The largest half below one.
        op1::<F16, F16>(c, i, |a| (a - a.floor()).min(2047.0 / 2048.0));
    }),
    ("v_frexp_mant_f16", Class::Float, |c, i| op1::<F16, F16>(c, i, |a| super::float64::frexp(a).0)),
    ("v_frexp_exp_i16_f16", Class::Float, |c, i| op1::<F16, I16>(c, i, |a| super::float64::frexp(a).1 as i16)),
    ("v_div_fixup_f16", Class::Float, |c, i| op3::<F16Keep, F16Keep, F16Keep, F16Keep>(c, i, div_fixup)),
    ("v_div_fixup_legacy_f16", Class::Float, |c, i| op3::<F16, F16, F16, F16>(c, i, div_fixup)),
    // Dot products of pairs.
    ("v_dot2_f16_f16", Class::Float, |c, i| {
        op3::<U32, U32, F16, F16>(c, i, |a, b, d| f64::from(super::packed::dot2_f16(a, b, d as f32)));
    }),
    ("v_dot2_bf16_bf16", Class::Float, |c, i| {
        op3::<U32, U32, U16, U16>(c, i, |a, b, d| {
            let half = |bits: u32| f64::from(bf16_to_f32(bits as u16));
            let sum = half(a) * half(b) + half(a >> 16) * half(b >> 16) + half(u32::from(d));
            f32_to_bf16(round_f64_to_f32(sum, Rounding::NearestEven))
        });
    }),
];

/// Rounded to a half and back.
fn round(value: f64) -> f64 {
    use crate::numeric::{Format, Overflow, Rounding};
    Format::F16.decode(Format::F16.encode(value, Rounding::NearestEven, Overflow::Infinite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fused_multiply_add_rounds_once() {
        // 2048 + 1 is a tie that the tiny product breaks.
        let tiny = 2.0_f64.powi(-24);
        let sum = fma_f16(tiny, 1.0, 2049.0);
        assert!(sum > 2049.0);
        assert_eq!(round(sum), 2050.0);
        assert_eq!(round(fma_f16(0.0, 1.0, 2049.0)), 2048.0);
    }
}
