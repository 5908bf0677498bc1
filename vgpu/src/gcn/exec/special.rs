//! Transcendental functions and reciprocals, and the scaling that division needs.
//!
//! The hardware's functions are specified by error bounds of about one unit in the last place. Here they are computed in double
//! precision and rounded once, which is within every bound. The 32-bit ones flush denormals on both sides, whatever the mode, as the
//! hardware does: code that wants them scales its operands, and code that forgets to is to be seen failing.

use super::operand::{F16, F32, F64, Ty, op1};
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::Inst;
use crate::numeric::flush_f32;

/// A 32-bit function.
#[inline(always)]
fn function(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(f64) -> f64) {
    op1::<F32, F32>(cx, i, |a| flush_f32(f(f64::from(flush_f32(a))) as f32));
}

/// Sine and cosine take revolutions; beyond a range they give those of zero.
fn revolutions(turns: f64, range: f64, f: impl Fn(f64) -> f64) -> f64 {
    if !turns.is_finite() {
        return f64::NAN;
    }
    let fraction = if turns.abs() > range { 0.0 } else { turns - turns.floor() };
    // The quarter turns are exact.
    match fraction {
        0.0 => f(0.0),
        0.25 => f(std::f64::consts::FRAC_PI_2).round(),
        0.5 => f(std::f64::consts::PI).round(),
        0.75 => f(1.5 * std::f64::consts::PI).round(),
        _ => f(fraction * std::f64::consts::TAU),
    }
}

/// What `v_div_scale` needs to know of a float type.
pub(super) trait Scaled: Ty {
    /// Exponent difference from which the quotient comes near the largest value.
    const NEAR_MAX: i32;
    /// The power of two that operands are scaled by.
    const SCALE: i32;
    /// Numerators with this biased exponent or less are tiny.
    const TINY: i32;
    fn value(v: Self::T) -> f64;
    fn exponent(v: Self::T) -> i32;
    fn scaled(v: Self::T, by: i32) -> Self::T;
    fn nan() -> Self::T;
    fn same(a: Self::T, b: Self::T) -> bool;
    fn is_denormal(v: Self::T) -> bool;
    /// Whether the quotient would be denormal.
    fn quotient_is_denormal(a: Self::T, b: Self::T) -> bool;
    fn one() -> Self::T;
}

impl Scaled for F32 {
    const NEAR_MAX: i32 = 96;
    const SCALE: i32 = 64;
    const TINY: i32 = 23;
    fn value(v: f32) -> f64 {
        f64::from(v)
    }
    fn exponent(v: f32) -> i32 {
        (v.to_bits() >> 23 & 0xff) as i32
    }
    fn scaled(v: f32, by: i32) -> f32 {
        super::float32::ldexp(v, by, crate::numeric::Rounding::NearestEven)
    }
    fn nan() -> f32 {
        f32::NAN
    }
    fn same(a: f32, b: f32) -> bool {
        a.to_bits() == b.to_bits()
    }
    fn is_denormal(v: f32) -> bool {
        v.is_subnormal()
    }
    fn quotient_is_denormal(a: f32, b: f32) -> bool {
        let quotient = (f64::from(a) / f64::from(b)).abs();
        quotient != 0.0 && quotient < f64::from(f32::MIN_POSITIVE)
    }
    fn one() -> f32 {
        1.0
    }
}

impl Scaled for F64 {
    const NEAR_MAX: i32 = 768;
    const SCALE: i32 = 128;
    const TINY: i32 = 53;
    fn value(v: f64) -> f64 {
        v
    }
    fn exponent(v: f64) -> i32 {
        (v.to_bits() >> 52 & 0x7ff) as i32
    }
    fn scaled(v: f64, by: i32) -> f64 {
        super::float64::ldexp(v, by)
    }
    fn nan() -> f64 {
        f64::NAN
    }
    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits()
    }
    fn is_denormal(v: f64) -> bool {
        v.is_subnormal()
    }
    fn quotient_is_denormal(a: f64, b: f64) -> bool {
        let (ma, ea) = super::float64::frexp(a);
        let (mb, eb) = super::float64::frexp(b);
        let quotient = ma / mb;
        quotient != 0.0 && quotient.is_finite() && ea - eb + super::float64::frexp(quotient).1 < -1021
    }
    fn one() -> f64 {
        1.0
    }
}

/// One operand of a division scaled so that no intermediate result overflows or becomes denormal. Source 0 is the operand to scale (the
/// denominator or the numerator), source 1 the denominator, source 2 the numerator. The mask tells `v_div_fmas` to undo it.
pub(super) fn div_scale<F: Scaled>(cx: &mut Cx<'_>, i: &Inst) {
    let operand = F::load(cx, i, 0);
    let denominator = F::load(cx, i, 1);
    let numerator = F::load(cx, i, 2);
    let mut mask = 0_u64;
    let mut out = operand;
    for lane in 0..64 {
        let (s, d, n) = (operand[lane], denominator[lane], numerator[lane]);
        let (value, undo) = if F::value(n) == 0.0 || F::value(d) == 0.0 {
            (F::nan(), false)
        } else if F::exponent(n) - F::exponent(d) >= F::NEAR_MAX {
            (if F::same(s, d) { F::scaled(s, F::SCALE) } else { s }, true)
        } else if F::is_denormal(d) {
            (F::scaled(s, F::SCALE), false)
        } else {
            let reciprocal = F::quotient_is_denormal(F::one(), d);
            let quotient = F::quotient_is_denormal(n, d);
            match (reciprocal, quotient) {
                // The documents have the denominator scaled up here too, where it would overflow.
                (true, true) => (if F::same(s, d) { F::scaled(s, -F::SCALE) } else { s }, true),
                (true, false) => (F::scaled(s, -F::SCALE), false),
                (false, true) => (if F::same(s, n) { F::scaled(s, F::SCALE) } else { s }, true),
                _ if F::exponent(n) <= F::TINY => (F::scaled(s, F::SCALE), false),
                _ => (s, false),
            }
        };
        out[lane] = value;
        mask |= u64::from(undo) << lane;
    }
    F::store(cx, i, &out);
    let active = cx.exec();
    cx.defined = if cx.defined & active == active { u64::MAX } else { 0 };
    cx.set_mask(i, i.sdst, mask & active);
}

/// 1201 bits of 2/pi after the binary point, for `v_trig_preop_f64`, most significant first.
fn two_over_pi_bit(index: u32) -> bool {
    const WORDS: [u64; 19] = [
        0xa2f9_836e_4e44_1529,
        0xfc27_57d1_f534_ddc0,
        0xdb62_9599_3c43_9041,
        0xfe51_63ab_debb_c561,
        0xb724_6e3a_424d_d2e0,
        0x0649_2eea_09d1_921c,
        0xfe1d_eb1c_b129_a73e,
        0xe882_35f5_2ebb_4484,
        0xe99c_7026_b45f_7e41,
        0x3991_d639_8353_39f4,
        0x9c84_5f8b_bdf9_283b,
        0x1ff8_97ff_de05_980f,
        0xef2f_118b_5a0a_6d1f,
        0x6d36_7ecf_27cb_09b7,
        0x4f46_3f66_9e5f_ea2d,
        0x7527_bac7_ebe5_f17b,
        0x3d07_39f7_8a52_92ea,
        0x6bfb_5fb1_1f8d_5d08,
        0x5603_3046_fc7b_6bab,
    ];
    let word = (index / 64) as usize;
    WORDS.get(word).is_some_and(|w| w >> (63 - index % 64) & 1 != 0)
}

/// The part of 2/pi that matters for an argument of this size, for exact range reduction: segments of 53 bits.
fn trig_preop(value: f64, segment: u32) -> f64 {
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32;
    let mut shift = (segment & 0x1f) as i32 * 53;
    if exponent > 1077 {
        shift += exponent - 1077;
    }
    let digits = (0..53).fold(0_u64, |out, bit| out << 1 | u64::from(two_over_pi_bit((shift + bit) as u32)));
    let mut scale = -53 - shift;
    if exponent >= 1968 {
        scale += 128;
    }
    super::float64::ldexp(digits as f64, scale)
}

pub(super) const TABLE: &[Entry] = &[
    ("v_exp_f32", Class::Special, |c, i| function(c, i, f64::exp2)),
    ("v_exp_legacy_f32", Class::Special, |c, i| function(c, i, f64::exp2)),
    ("v_log_f32", Class::Special, |c, i| function(c, i, f64::log2)),
    ("v_log_legacy_f32", Class::Special, |c, i| function(c, i, f64::log2)),
    ("v_rcp_f32", Class::Special, |c, i| function(c, i, |a| 1.0 / a)),
    ("v_rcp_iflag_f32", Class::Special, |c, i| function(c, i, |a| 1.0 / a)),
    ("v_rsq_f32", Class::Special, |c, i| function(c, i, |a| 1.0 / a.sqrt())),
    ("v_sqrt_f32", Class::Special, |c, i| function(c, i, f64::sqrt)),
    ("v_sin_f32", Class::Special, |c, i| function(c, i, |a| revolutions(a, 256.0, f64::sin))),
    ("v_cos_f32", Class::Special, |c, i| function(c, i, |a| revolutions(a, 256.0, f64::cos))),
    ("v_rcp_f64", Class::Special, |c, i| op1::<F64, F64>(c, i, |a| 1.0 / a)),
    ("v_rsq_f64", Class::Special, |c, i| op1::<F64, F64>(c, i, |a| 1.0 / a.sqrt())),
    ("v_sqrt_f64", Class::Special, |c, i| op1::<F64, F64>(c, i, f64::sqrt)),
    ("v_trig_preop_f64", Class::Special, |c, i| super::operand::op2::<F64, super::operand::U32, F64>(c, i, trig_preop)),
    ("v_rcp_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, |a| 1.0 / a)),
    ("v_rsq_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, |a| 1.0 / a.sqrt())),
    ("v_sqrt_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, f64::sqrt)),
    ("v_exp_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, f64::exp2)),
    ("v_log_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, f64::log2)),
    ("v_sin_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, |a| revolutions(a, 256.0, f64::sin))),
    ("v_cos_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, |a| revolutions(a, 256.0, f64::cos))),
    // On scalars (GFX12).
    ("v_s_exp_f32", Class::Special, |c, i| function(c, i, f64::exp2)),
    ("v_s_log_f32", Class::Special, |c, i| function(c, i, f64::log2)),
    ("v_s_rcp_f32", Class::Special, |c, i| function(c, i, |a| 1.0 / a)),
    ("v_s_rsq_f32", Class::Special, |c, i| function(c, i, |a| 1.0 / a.sqrt())),
    ("v_s_sqrt_f32", Class::Special, |c, i| function(c, i, f64::sqrt)),
    ("v_s_exp_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, f64::exp2)),
    ("v_s_log_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, f64::log2)),
    ("v_s_rcp_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, |a| 1.0 / a)),
    ("v_s_rsq_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, |a| 1.0 / a.sqrt())),
    ("v_s_sqrt_f16", Class::Special, |c, i| op1::<F16, F16>(c, i, f64::sqrt)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_reduction_digits() {
        // The first segment of 2/pi.
        let first = trig_preop(1.0, 0);
        assert!((first - std::f64::consts::FRAC_2_PI).abs() <= 2.0_f64.powi(-53));
        let both = first + trig_preop(1.0, 1);
        assert!((both - std::f64::consts::FRAC_2_PI).abs() < 2.0_f64.powi(-52));
        assert_eq!(revolutions(0.5, 256.0, f64::sin), 0.0);
        assert_eq!(revolutions(0.25, 256.0, f64::sin), 1.0);
    }
}
