//! Vector arithmetic by type: halves, doubles, 16-bit integers, packed pairs, dot products, conversions.

use crate::asm::Result;
use crate::vector::{Expect, Lanes, One, Two, check, check_values};
use half::{bf16, f16};

fn bits(value: f64) -> u32 {
    u32::from(f16::from_f64(value).to_bits())
}

fn pair(low: u32, high: u32) -> u32 {
    low & 0xffff | high << 16
}

/// The two halves of a packed result.
fn both(l: &Lanes<'_>, f: fn(f64, f64, f64) -> f64) -> u32 {
    pair(bits(f(l.h(1), l.h(2), l.h(3))), bits(f(l.hh(1), l.hh(2), l.hh(3))))
}

fn shorts(l: &Lanes<'_>, f: fn(i32, i32, i32) -> i32) -> u32 {
    let at = |shift: u32| {
        let value = |n: usize| i32::from((l.v(n) >> shift) as i16);
        f(value(1), value(2), value(3)) as u32
    };
    pair(at(0), at(16))
}

fn words(l: &Lanes<'_>, f: fn(u32, u32, u32) -> u32) -> u32 {
    let at = |shift: u32| {
        let value = |n: usize| l.v(n) >> shift & 0xffff;
        f(value(1), value(2), value(3))
    };
    pair(at(0), at(16))
}

fn median<T: PartialOrd + Copy>(a: T, b: T, c: T) -> T {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if c < low {
        low
    } else if c > high {
        high
    } else {
        c
    }
}

/// A fraction from one half to one, and the exponent that goes with it.
fn split(value: f64) -> (f64, i32) {
    if value == 0.0 {
        return (value, 0);
    }
    let mut exponent = value.abs().log2().floor() as i32 + 1;
    let mut mantissa = value / 2.0_f64.powi(exponent / 2) / 2.0_f64.powi(exponent - exponent / 2);
    if mantissa.abs() >= 1.0 {
        (mantissa, exponent) = (mantissa / 2.0, exponent + 1);
    } else if mantissa.abs() < 0.5 {
        (mantissa, exponent) = (mantissa * 2.0, exponent - 1);
    }
    (mantissa, exponent)
}

#[test]
fn halves() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_add_f16 v10, v20, v21", One(|l| bits(l.h(1) + l.h(2)))),
        ("v_sub_f16 v10, v20, v21", One(|l| bits(l.h(1) - l.h(2)))),
        ("v_subrev_f16 v10, v20, v21", One(|l| bits(l.h(2) - l.h(1)))),
        ("v_mul_f16 v10, v20, v21", One(|l| bits(l.h(1) * l.h(2)))),
        ("v_min_f16 v10, v20, v21", One(|l| bits(l.h(1).min(l.h(2))))),
        ("v_max_f16 v10, v20, v21", One(|l| bits(l.h(1).max(l.h(2))))),
        ("v_fma_f16 v10, v20, v21, v22", One(|l| bits(l.h(1).mul_add(l.h(2), l.h(3))))),
        ("v_fma_f16 v10, -v20, |v21|, v22", One(|l| bits((-l.h(1)).mul_add(l.h(2).abs(), l.h(3))))),
        ("v_fma_f16 v10, v20, v21, v22 op_sel:[1,0,1,0]", One(|l| bits(l.hh(1).mul_add(l.h(2), l.hh(3))))),
        ("v_mov_b32 v10, v6; v_fma_f16 v10, v20, v21, v22 op_sel:[0,0,0,1]", One(|l| {
            pair(l.v(6), bits(l.h(1).mul_add(l.h(2), l.h(3))))
        })),
        ("v_min3_f16 v10, v20, v21, v22", One(|l| bits(l.h(1).min(l.h(2)).min(l.h(3))))),
        ("v_max3_f16 v10, v20, v21, v22", One(|l| bits(l.h(1).max(l.h(2)).max(l.h(3))))),
        ("v_med3_f16 v10, v20, v21, v22", One(|l| bits(median(l.h(1), l.h(2), l.h(3))))),
        ("v_floor_f16 v10, v20", One(|l| bits(l.h(1).floor()))),
        ("v_ceil_f16 v10, v20", One(|l| bits(l.h(1).ceil()))),
        ("v_trunc_f16 v10, v20", One(|l| bits(l.h(1).trunc()))),
        ("v_rndne_f16 v10, v20", One(|l| bits(l.h(1).round_ties_even()))),
        ("v_fract_f16 v10, v20", One(|l| bits((l.h(1) - l.h(1).floor()).min(0.999_511_718_75)))),
        ("v_rcp_f16 v10, v20", One(|l| bits(1.0 / l.h(1)))),
        ("v_sqrt_f16 v10, |v20|", One(|l| bits(l.h(1).abs().sqrt()))),
        ("v_rsq_f16 v10, |v20|", One(|l| bits(1.0 / l.h(1).abs().sqrt()))),
        ("v_exp_f16 v10, v20", One(|l| bits(l.h(1).exp2()))),
        ("v_log_f16 v10, |v20|", One(|l| bits(l.h(1).abs().log2()))),
        ("v_sin_f16 v10, v20", One(|l| bits(turn(l.h(1), f64::sin)))),
        ("v_cos_f16 v10, v20", One(|l| bits(turn(l.h(1), f64::cos)))),
        ("v_frexp_mant_f16 v10, v20", One(|l| bits(split(l.h(1)).0))),
        ("v_frexp_exp_i16_f16 v10, v20", One(|l| split(l.h(1)).1 as u32 & 0xffff)),
        ("v_ldexp_f16 v10, v20, 3", One(|l| bits(l.h(1) * 8.0))),
        ("v_mul_f16 v10, v20, v21 clamp", One(|l| bits((l.h(1) * l.h(2)).clamp(0.0, 1.0)))),
        ("v_pack_b32_f16 v10, v20, v21 op_sel:[1,0,0]", One(|l| pair(bits(l.hh(1)), bits(l.h(2))))),
        ("v_cvt_f32_f16 v10, v20", One(|l| (l.h(1) as f32).to_bits())),
        ("v_cvt_f16_u16 v10, v1", One(|l| bits(f64::from(l.v(1) & 0xffff)))),
        ("v_cvt_f16_i16 v10, v1", One(|l| bits(f64::from(l.v(1) as i16)))),
        ("v_cvt_u16_f16 v10, v20", One(|l| u32::from(l.h(1) as u16))),
        ("v_cvt_i16_f16 v10, v20", One(|l| l.h(1) as i16 as u32 & 0xffff)),
        ("v_fma_mix_f32 v10, v20, v21, v22 op_sel:[0,1,0] op_sel_hi:[1,1,1]", One(|l| {
            (l.h(1) as f32).mul_add(l.hh(2) as f32, l.h(3) as f32).to_bits()
        })),
        ("v_mov_b32 v10, v6; v_fma_mixlo_f16 v10, v20, v21, v22 op_sel_hi:[1,1,1]", One(|l| {
            pair(bits(l.h(1).mul_add(l.h(2), l.h(3))), l.v(6) >> 16)
        })),
        ("v_mov_b32 v10, v6; v_fma_mixhi_f16 v10, v20, v21, v22 op_sel_hi:[1,1,1]", One(|l| {
            pair(l.v(6), bits(l.h(1).mul_add(l.h(2), l.h(3))))
        })),
    ];
    check("gfx942", cases)
}

fn turn(value: f64, f: fn(f64) -> f64) -> f64 {
    match value - value.floor() {
        0.0 => f(0.0),
        x if x % 0.25 == 0.0 => f(x * std::f64::consts::TAU).round(),
        x => f(x * std::f64::consts::TAU),
    }
}

#[test]
fn doubles() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_add_f64 v[10:11], v[26:27], v[28:29]", Two(|l| (l.d(1) + l.d(2)).to_bits())),
        ("v_mul_f64 v[10:11], v[26:27], v[28:29]", Two(|l| (l.d(1) * l.d(2)).to_bits())),
        ("v_mul_f64 v[10:11], -|v[26:27]|, v[28:29]", Two(|l| (-l.d(1).abs() * l.d(2)).to_bits())),
        ("v_fma_f64 v[10:11], v[26:27], v[28:29], v[30:31]", Two(|l| l.d(1).mul_add(l.d(2), l.d(3)).to_bits())),
        ("v_mov_b32 v10, v30; v_mov_b32 v11, v31; v_fmac_f64 v[10:11], v[26:27], v[28:29]", Two(|l| {
            l.d(1).mul_add(l.d(2), l.d(3)).to_bits()
        })),
        ("v_min_f64 v[10:11], v[26:27], v[28:29]", Two(|l| l.d(1).min(l.d(2)).to_bits())),
        ("v_max_f64 v[10:11], v[26:27], v[28:29]", Two(|l| l.d(1).max(l.d(2)).to_bits())),
        ("v_floor_f64 v[10:11], v[26:27]", Two(|l| l.d(1).floor().to_bits())),
        ("v_ceil_f64 v[10:11], v[26:27]", Two(|l| l.d(1).ceil().to_bits())),
        ("v_trunc_f64 v[10:11], v[26:27]", Two(|l| l.d(1).trunc().to_bits())),
        ("v_rndne_f64 v[10:11], v[26:27]", Two(|l| l.d(1).round_ties_even().to_bits())),
        ("v_fract_f64 v[10:11], v[26:27]", Two(|l| (l.d(1) - l.d(1).floor()).min(1.0_f64.next_down()).to_bits())),
        ("v_sqrt_f64 v[10:11], |v[26:27]|", Two(|l| l.d(1).abs().sqrt().to_bits())),
        ("v_frexp_mant_f64 v[10:11], v[26:27]", Two(|l| {
            // A double's exponent may be below what the quotient of two powers holds.
            let bits = l.d(1).to_bits();
            match bits >> 52 & 0x7ff {
                0 => split(l.d(1) * 2.0_f64.powi(200)).0.to_bits(),
                _ => bits & !(0x7ff << 52) | 0x3fe << 52,
            }
        })),
        ("v_frexp_exp_i32_f64 v10, v[26:27]", One(|l| {
            match l.d(1).to_bits() >> 52 & 0x7ff {
                0 if l.d(1) == 0.0 => 0,
                0 => (split(l.d(1) * 2.0_f64.powi(200)).1 - 200) as u32,
                field => (field as i32 - 1022) as u32,
            }
        })),
        ("v_ldexp_f64 v[10:11], v[26:27], 5", Two(|l| (l.d(1) * 32.0).to_bits())),
        ("v_mul_f64 v[10:11], v[26:27], v[28:29] clamp", Two(|l| {
            let product = l.d(1) * l.d(2);
            if product > 0.0 { product.min(1.0).to_bits() } else { 0 }
        })),
        ("v_cvt_f32_f64 v10, v[26:27]", One(|l| (l.d(1) as f32).to_bits())),
        ("v_cvt_f64_f32 v[10:11], v3", Two(|l| f64::from(f32::from_bits(l.v(3))).to_bits())),
        ("v_cvt_f64_i32 v[10:11], v1", Two(|l| f64::from(l.i(1)).to_bits())),
        ("v_cvt_f64_u32 v[10:11], v1", Two(|l| f64::from(l.v(1)).to_bits())),
        ("v_cvt_f64_i32 v[12:13], v1; v_mul_f64 v[12:13], v[12:13], 0.5; v_cvt_i32_f64 v10, v[12:13]", One(|l| {
            (f64::from(l.i(1)) * 0.5) as i32 as u32
        })),
        ("v_cvt_f64_u32 v[12:13], v1; v_mul_f64 v[12:13], v[12:13], 2.0; v_cvt_u32_f64 v10, v[12:13]", One(|l| {
            (f64::from(l.v(1)) * 2.0) as u32
        })),
        ("v_mov_b64 v[10:11], v[26:27]", Two(|l| l.d(1).to_bits())),
        ("v_lshlrev_b64 v[10:11], v1, v[2:3]", Two(|l| l.w(2) << (l.v(1) & 63))),
        ("v_lshrrev_b64 v[10:11], v1, v[2:3]", Two(|l| l.w(2) >> (l.v(1) & 63))),
        ("v_ashrrev_i64 v[10:11], v1, v[2:3]", Two(|l| (l.w(2) as i64 >> (l.v(1) & 63)) as u64)),
        // A division, as compilers write it.
        ("v_div_scale_f64 v[32:33], s[10:11], v[28:29], v[28:29], v[26:27]; v_div_scale_f64 v[34:35], vcc, v[26:27], v[28:29], v[26:27];
          v_rcp_f64 v[36:37], v[32:33]; v_fma_f64 v[38:39], -v[32:33], v[36:37], 1.0; v_fma_f64 v[36:37], v[36:37], v[38:39], v[36:37];
          v_fma_f64 v[38:39], -v[32:33], v[36:37], 1.0; v_fma_f64 v[36:37], v[36:37], v[38:39], v[36:37];
          v_mul_f64 v[40:41], v[34:35], v[36:37]; v_fma_f64 v[42:43], -v[32:33], v[40:41], v[34:35];
          v_div_fmas_f64 v[44:45], v[42:43], v[36:37], v[40:41]; v_div_fixup_f64 v[10:11], v[44:45], v[28:29], v[26:27]",
         Two(|l| (l.d(1) / l.d(2)).to_bits())),
    ];
    // Which NaN it is does not matter: a NaN's upper word is one as a float too.
    check_values("gfx942", cases, true)
}

#[test]
fn short_integers() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_add_u16 v10, v1, v2", One(|l| (l.v(1) as u16).wrapping_add(l.v(2) as u16).into())),
        ("v_add_u16 v10, v1, v2 clamp", One(|l| (l.v(1) as u16).saturating_add(l.v(2) as u16).into())),
        ("v_sub_u16 v10, v1, v2", One(|l| (l.v(1) as u16).wrapping_sub(l.v(2) as u16).into())),
        ("v_subrev_u16 v10, v1, v2", One(|l| (l.v(2) as u16).wrapping_sub(l.v(1) as u16).into())),
        ("v_mul_lo_u16 v10, v1, v2", One(|l| (l.v(1) as u16).wrapping_mul(l.v(2) as u16).into())),
        ("v_sub_i16 v10, v1, v2 clamp", One(|l| (l.v(1) as i16).saturating_sub(l.v(2) as i16) as u16 as u32)),
        ("v_min_u16 v10, v1, v2", One(|l| (l.v(1) as u16).min(l.v(2) as u16).into())),
        ("v_max_u16 v10, v1, v2", One(|l| (l.v(1) as u16).max(l.v(2) as u16).into())),
        ("v_min_i16 v10, v1, v2", One(|l| (l.v(1) as i16).min(l.v(2) as i16) as u16 as u32)),
        ("v_max_i16 v10, v1, v2", One(|l| (l.v(1) as i16).max(l.v(2) as i16) as u16 as u32)),
        ("v_min3_i16 v10, v1, v2, v3", One(|l| (l.v(1) as i16).min(l.v(2) as i16).min(l.v(3) as i16) as u16 as u32)),
        ("v_max3_i16 v10, v1, v2, v3", One(|l| (l.v(1) as i16).max(l.v(2) as i16).max(l.v(3) as i16) as u16 as u32)),
        ("v_min3_u16 v10, v1, v2, v3", One(|l| (l.v(1) as u16).min(l.v(2) as u16).min(l.v(3) as u16).into())),
        ("v_max3_u16 v10, v1, v2, v3", One(|l| (l.v(1) as u16).max(l.v(2) as u16).max(l.v(3) as u16).into())),
        ("v_med3_i16 v10, v1, v2, v3", One(|l| median(l.v(1) as i16, l.v(2) as i16, l.v(3) as i16) as u16 as u32)),
        ("v_med3_u16 v10, v1, v2, v3", One(|l| median(l.v(1) as u16, l.v(2) as u16, l.v(3) as u16).into())),
        ("v_med3_u32 v10, v1, v2, v3", One(|l| median(l.v(1), l.v(2), l.v(3)))),
        ("v_lshlrev_b16 v10, v1, v2", One(|l| u32::from((l.v(2) as u16) << (l.v(1) & 15)))),
        ("v_lshrrev_b16 v10, v1, v2", One(|l| u32::from((l.v(2) as u16) >> (l.v(1) & 15)))),
        ("v_ashrrev_i16 v10, v1, v2", One(|l| ((l.v(2) as i16) >> (l.v(1) & 15)) as u16 as u32)),
        ("v_mad_u16 v10, v1, v2, v3", One(|l| (l.v(1) as u16).wrapping_mul(l.v(2) as u16).wrapping_add(l.v(3) as u16).into())),
        ("v_mad_i16 v10, v1, v2, v3", One(|l| (l.v(1) as u16).wrapping_mul(l.v(2) as u16).wrapping_add(l.v(3) as u16).into())),
        ("v_mad_legacy_u16 v10, v1, v2, v3", One(|l| (l.v(1) as u16).wrapping_mul(l.v(2) as u16).wrapping_add(l.v(3) as u16).into())),
        ("v_mad_u32_u16 v10, v1, v2, v3", One(|l| ((l.v(1) & 0xffff) * (l.v(2) & 0xffff)).wrapping_add(l.v(3)))),
        ("v_mad_i32_i16 v10, v1, v2, v3", One(|l| (i32::from(l.v(1) as i16) * i32::from(l.v(2) as i16)).wrapping_add(l.i(3)) as u32)),
        ("v_mad_i32_i24 v10, v1, v2, v3", One(|l| ((l.i(1) << 8 >> 8).wrapping_mul(l.i(2) << 8 >> 8)).wrapping_add(l.i(3)) as u32)),
        ("v_mul_hi_i32_i24 v10, v1, v2", One(|l| ((i64::from(l.i(1) << 8 >> 8) * i64::from(l.i(2) << 8 >> 8)) >> 32) as u32)),
        ("v_mul_hi_u32_u24 v10, v1, v2", One(|l| ((u64::from(l.v(1) & 0xff_ffff) * u64::from(l.v(2) & 0xff_ffff)) >> 32) as u32)),
        ("v_add3_u32 v10, v1, v2, v3", One(|l| l.v(1).wrapping_add(l.v(2)).wrapping_add(l.v(3)))),
        ("v_add_i32 v10, v1, v2 clamp", One(|l| l.i(1).saturating_add(l.i(2)) as u32)),
        ("v_sub_u32 v10, v1, v2 clamp", One(|l| l.v(1).saturating_sub(l.v(2)))),
        ("v_or3_b32 v10, v1, v2, v3", One(|l| l.v(1) | l.v(2) | l.v(3))),
        ("v_and_or_b32 v10, v1, v2, v3", One(|l| l.v(1) & l.v(2) | l.v(3))),
        ("v_xnor_b32 v10, v1, v2", One(|l| !(l.v(1) ^ l.v(2)))),
        ("v_max3_i32 v10, v1, v2, v3", One(|l| l.i(1).max(l.i(2)).max(l.i(3)) as u32)),
        ("v_min3_i32 v10, v1, v2, v3", One(|l| l.i(1).min(l.i(2)).min(l.i(3)) as u32)),
        ("v_max3_u32 v10, v1, v2, v3", One(|l| l.v(1).max(l.v(2)).max(l.v(3)))),
        ("v_bfrev_b32 v10, v1", One(|l| l.v(1).reverse_bits())),
        ("v_ffbl_b32 v10, v1", One(|l| if l.v(1) == 0 { u32::MAX } else { l.v(1).trailing_zeros() })),
        ("v_ffbh_i32 v10, v1", One(|l| {
            let run = if l.i(1) < 0 { l.v(1).leading_ones() } else { l.v(1).leading_zeros() };
            if run == 32 { u32::MAX } else { run }
        })),
        ("v_bfm_b32 v10, v1, v2", One(|l| (((1_u64 << (l.v(1) & 31)) - 1) << (l.v(2) & 31)) as u32)),
        ("v_bfe_i32 v10, v1, 3, 7", One(|l| (l.i(1) << 22 >> 25) as u32)),
        ("v_alignbyte_b32 v10, v1, v2, v3", One(|l| ((u64::from(l.v(1)) << 32 | u64::from(l.v(2))) >> ((l.v(3) & 3) * 8)) as u32)),
        ("v_lerp_u8 v10, v1, v2, v3", One(|l| (0..4).fold(0, |all, n| {
            let byte = |of: usize| l.v(of) >> (n * 8) & 0xff;
            all | ((byte(1) + byte(2) + (byte(3) & 1)) >> 1 & 0xff) << (n * 8)
        }))),
        ("v_sad_u16 v10, v1, v2, v3", One(|l| (0..2).fold(l.v(3), |sum, n| {
            sum.wrapping_add((l.v(1) >> (n * 16) & 0xffff).abs_diff(l.v(2) >> (n * 16) & 0xffff))
        }))),
        ("v_sad_u32 v10, v1, v2, v3", One(|l| l.v(1).abs_diff(l.v(2)).wrapping_add(l.v(3)))),
        ("v_sad_hi_u8 v10, v1, v2, v3", One(|l| (sad(l.v(1), l.v(2), false) << 16).wrapping_add(l.v(3)))),
        ("v_msad_u8 v10, v1, v2, v3", One(|l| sad(l.v(1), l.v(2), true).wrapping_add(l.v(3)))),
        ("v_qsad_pk_u16_u8 v[10:11], v[2:3], v1, v[4:5]", Two(|l| four_sads(l.w(2), l.v(1), l.w(4), false))),
        ("v_mqsad_pk_u16_u8 v[10:11], v[2:3], v1, v[4:5]", Two(|l| four_sads(l.w(2), l.v(1), l.w(4), true))),
        ("v_mqsad_u32_u8 v[32:35], v[2:3], v4, v[14:17]; v_mov_b32 v10, v32; v_mov_b32 v11, v35", Two(|l| {
            let sum = |n: u32, addend: u32| sad((l.w(2) >> (n * 8)) as u32, l.v(4), true).wrapping_add(addend);
            u64::from(sum(0, l.v(1))) | u64::from(sum(3, l.v(4))) << 32
        })),
        ("v_sat_pk_u8_i16 v10, v1", One(|l| {
            let byte = |v: u32| u32::from((v as i16).clamp(0, 255) as u8);
            byte(l.v(1)) | byte(l.v(1) >> 16) << 8
        })),
        ("v_subrev_co_u32 v10, vcc, v1, v2; v_cndmask_b32 v11, 0, 1, vcc", Two(|l| {
            u64::from(l.v(2).wrapping_sub(l.v(1))) | u64::from(l.v(1) > l.v(2)) << 32
        })),
        ("v_cmp_gt_u32 vcc, 0, v0; v_subbrev_co_u32 v10, vcc, v1, v2, vcc; v_cndmask_b32 v11, 0, 1, vcc", Two(|l| {
            u64::from(l.v(2).wrapping_sub(l.v(1))) | u64::from(l.v(1) > l.v(2)) << 32
        })),
    ];
    check("gfx942", cases)
}

fn sad(a: u32, b: u32, masked: bool) -> u32 {
    (0..4)
        .map(|n| (a >> (n * 8) & 0xff, b >> (n * 8) & 0xff))
        .filter(|&(_, b)| !masked || b != 0)
        .map(|(a, b)| a.abs_diff(b))
        .sum()
}

fn four_sads(a: u64, b: u32, addend: u64, masked: bool) -> u64 {
    (0..4).fold(0, |all, n| {
        let sum = sad((a >> (n * 8)) as u32, b, masked) + (addend >> (n * 16) & 0xffff) as u32;
        all | u64::from(sum.min(0xffff)) << (n * 16)
    })
}

#[test]
fn pairs() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_pk_add_f16 v10, v20, v21", One(|l| both(l, |a, b, _| a + b))),
        ("v_pk_mul_f16 v10, v20, v21", One(|l| both(l, |a, b, _| a * b))),
        ("v_pk_fma_f16 v10, v20, v21, v22", One(|l| both(l, f64::mul_add))),
        ("v_pk_min_f16 v10, v20, v21", One(|l| both(l, |a, b, _| a.min(b)))),
        ("v_pk_max_f16 v10, v20, v21", One(|l| both(l, |a, b, _| a.max(b)))),
        ("v_pk_add_f16 v10, v20, v21 neg_lo:[0,1] neg_hi:[1,0]", One(|l| {
            pair(bits(l.h(1) - l.h(2)), bits(l.hh(2) - l.hh(1)))
        })),
        ("v_pk_mul_f16 v10, v20, v21 op_sel:[1,0] op_sel_hi:[0,0]", One(|l| {
            pair(bits(l.hh(1) * l.h(2)), bits(l.h(1) * l.h(2)))
        })),
        ("v_mov_b32 v10, v22; v_pk_fmac_f16 v10, v20, v21", One(|l| both(l, f64::mul_add))),
        ("v_pk_add_i16 v10, v1, v2", One(|l| shorts(l, |a, b, _| a + b))),
        ("v_pk_add_i16 v10, v1, v2 clamp", One(|l| shorts(l, |a, b, _| (a + b).clamp(-0x8000, 0x7fff)))),
        ("v_pk_sub_i16 v10, v1, v2", One(|l| shorts(l, |a, b, _| a - b))),
        ("v_pk_min_i16 v10, v1, v2", One(|l| shorts(l, |a, b, _| a.min(b)))),
        ("v_pk_max_i16 v10, v1, v2", One(|l| shorts(l, |a, b, _| a.max(b)))),
        ("v_pk_mad_i16 v10, v1, v2, v3", One(|l| shorts(l, |a, b, c| a.wrapping_mul(b).wrapping_add(c)))),
        ("v_pk_ashrrev_i16 v10, v1, v2", One(|l| shorts(l, |a, b, _| b >> (a & 15)))),
        ("v_pk_add_u16 v10, v1, v2 clamp", One(|l| words(l, |a, b, _| (a + b).min(0xffff)))),
        ("v_pk_sub_u16 v10, v1, v2 clamp", One(|l| words(l, |a, b, _| a.saturating_sub(b)))),
        ("v_pk_min_u16 v10, v1, v2", One(|l| words(l, |a, b, _| a.min(b)))),
        ("v_pk_max_u16 v10, v1, v2", One(|l| words(l, |a, b, _| a.max(b)))),
        ("v_pk_mad_u16 v10, v1, v2, v3", One(|l| words(l, |a, b, c| a.wrapping_mul(b).wrapping_add(c)))),
        ("v_pk_mul_lo_u16 v10, v1, v2", One(|l| words(l, |a, b, _| a.wrapping_mul(b)))),
        ("v_pk_lshlrev_b16 v10, v1, v2", One(|l| words(l, |a, b, _| b << (a & 15)))),
        ("v_pk_lshrrev_b16 v10, v1, v2", One(|l| words(l, |a, b, _| b >> (a & 15)))),
        ("v_pk_add_f32 v[10:11], v[20:21], v[22:23]", Two(|l| singles(l, |a, b, _| a + b))),
        ("v_pk_mul_f32 v[10:11], v[20:21], v[22:23]", Two(|l| singles(l, |a, b, _| a * b))),
        ("v_pk_fma_f32 v[10:11], v[20:21], v[22:23], v[24:25]", Two(|l| singles(l, f32::mul_add))),
        ("v_pk_mul_f32 v[10:11], v[20:21], v[22:23] op_sel:[1,0] op_sel_hi:[0,1]", Two(|l| {
            let product = |a: usize, b: usize| u64::from((single(l, a) * single(l, b)).to_bits());
            product(2, 3) | product(1, 4) << 32
        })),
        ("v_pk_mov_b32 v[10:11], v[20:21], v[22:23] op_sel:[1,0]", Two(|l| {
            u64::from(single(l, 2).to_bits()) | u64::from(single(l, 3).to_bits()) << 32
        })),
        // Nobody wrote v101, and nobody reads it.
        ("v_mov_b32 v100, v20; v_pk_mul_f32 v[10:11], v[100:101], v[22:23] op_sel_hi:[0,1]", Two(|l| {
            let product = |a: usize, b: usize| u64::from((single(l, a) * single(l, b)).to_bits());
            product(1, 3) | product(1, 4) << 32
        })),
        ("v_mov_b32 v100, v20; v_pk_mov_b32 v[10:11], v[22:23], v[100:101] op_sel:[1,0]", Two(|l| {
            u64::from(single(l, 4).to_bits()) | u64::from(single(l, 1).to_bits()) << 32
        })),
        // Without an addend, the sum of two products is rounded once.
        ("v_mov_b32 v12, 0; v_dot2_f32_f16 v10, v20, v21, v12", One(|l| {
            ((l.h(1) * l.h(2) + l.hh(1) * l.hh(2)) as f32).to_bits()
        })),
        ("v_mov_b32 v10, 0; v_dot2c_f32_f16 v10, v20, v21", One(|l| {
            ((l.h(1) * l.h(2) + l.hh(1) * l.hh(2)) as f32).to_bits()
        })),
        ("v_dot2_i32_i16 v10, v1, v2, v3", One(|l| dot(l, 16, true).wrapping_add(l.i(3)) as u32)),
        ("v_dot2_u32_u16 v10, v1, v2, v3", One(|l| dot(l, 16, false).wrapping_add(l.i(3)) as u32)),
        ("v_dot4_i32_i8 v10, v1, v2, v3", One(|l| dot(l, 8, true).wrapping_add(l.i(3)) as u32)),
        ("v_dot4_u32_u8 v10, v1, v2, v3", One(|l| dot(l, 8, false).wrapping_add(l.i(3)) as u32)),
        ("v_dot8_i32_i4 v10, v1, v2, v3", One(|l| dot(l, 4, true).wrapping_add(l.i(3)) as u32)),
        ("v_dot8_u32_u4 v10, v1, v2, v3", One(|l| dot(l, 4, false).wrapping_add(l.i(3)) as u32)),
        ("v_mov_b32 v10, v3; v_dot2c_i32_i16 v10, v1, v2", One(|l| dot(l, 16, true).wrapping_add(l.i(3)) as u32)),
        ("v_mov_b32 v10, v3; v_dot4c_i32_i8 v10, v1, v2", One(|l| dot(l, 8, true).wrapping_add(l.i(3)) as u32)),
        ("v_mov_b32 v10, v3; v_dot8c_i32_i4 v10, v1, v2", One(|l| dot(l, 4, true).wrapping_add(l.i(3)) as u32)),
    ];
    check_values("gfx942", cases, true)
}

/// A word of finite halves as a float: finite too.
fn single(l: &Lanes<'_>, n: usize) -> f32 {
    f32::from_bits(l.v(n) & 0xbbff_bbff)
}

fn singles(l: &Lanes<'_>, f: fn(f32, f32, f32) -> f32) -> u64 {
    let at = |n: usize| u64::from(f(single(l, n), single(l, n + 2), single(l, n + 4)).to_bits());
    at(1) | at(2) << 32
}

fn dot(l: &Lanes<'_>, width: u32, signed: bool) -> i32 {
    (0..32 / width).fold(0_i32, |sum, n| {
        let part = |of: usize| {
            let raw = l.v(of) >> (n * width) & (((1_u64 << width) - 1) as u32);
            if signed { (raw << (32 - width)) as i32 >> (32 - width) } else { raw as i32 }
        };
        sum.wrapping_add(part(1).wrapping_mul(part(2)))
    })
}

/// CDNA3's eight-bit floats, by definition: bias 8 or 16, no infinity, one NaN.
fn fnuz(byte: u32, mantissa: u32, bias: i32) -> f32 {
    let byte = byte & 0xff;
    if byte == 0x80 {
        return f32::NAN;
    }
    let sign = if byte >> 7 != 0 { -1.0 } else { 1.0 };
    let (field, fraction) = ((byte & 0x7f) >> mantissa, byte & ((1 << mantissa) - 1));
    let scale = 2.0_f32.powi(field.max(1) as i32 - bias - mantissa as i32);
    sign * scale * (fraction + (u32::from(field > 0) << mantissa)) as f32
}

/// The nearest of all patterns, ties to the even one; too large ones are NaN.
fn to_fnuz(value: f32, mantissa: u32, bias: i32) -> u32 {
    let largest = fnuz(0x7f, mantissa, bias);
    let step = largest - fnuz(0x7e, mantissa, bias);
    if value.is_nan() || value.abs() >= largest + step / 2.0 {
        return 0x80;
    }
    let distance = |byte: u32| (fnuz(byte, mantissa, bias) - value.abs()).abs();
    let nearest =
        (0..0x80).min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))).unwrap_or(0);
    // There is no negative zero.
    if value < 0.0 && nearest != 0 { nearest | 0x80 } else { nearest }
}

#[test]
fn conversions() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_cvt_f32_ubyte0 v10, v1", One(|l| ((l.v(1) & 0xff) as f32).to_bits())),
        ("v_cvt_f32_ubyte1 v10, v1", One(|l| ((l.v(1) >> 8 & 0xff) as f32).to_bits())),
        ("v_cvt_f32_ubyte3 v10, v1", One(|l| ((l.v(1) >> 24) as f32).to_bits())),
        ("v_cvt_off_f32_i4 v10, v1", One(|l| ((l.i(1) << 28 >> 28) as f32 / 16.0).to_bits())),
        ("v_cvt_flr_i32_f32 v10, v20", One(|l| single(l, 1).floor() as i32 as u32)),
        ("v_cvt_rpi_i32_f32 v10, v20", One(|l| (f64::from(single(l, 1)) + 0.5).floor() as i32 as u32)),
        ("v_cvt_pk_u16_u32 v10, v1, v2", One(|l| pair(l.v(1).min(0xffff), l.v(2).min(0xffff)))),
        ("v_cvt_pk_i16_i32 v10, v1, v2", One(|l| {
            pair(l.i(1).clamp(-0x8000, 0x7fff) as u32, l.i(2).clamp(-0x8000, 0x7fff) as u32)
        })),
        ("v_cvt_pknorm_i16_f32 v10, v20, v21", One(|l| {
            let norm = |n: usize| (f64::from(single(l, n)).clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i32 as u32;
            pair(norm(1), norm(2))
        })),
        ("v_cvt_pknorm_u16_f32 v10, v20, v21", One(|l| {
            let norm = |n: usize| (f64::from(single(l, n)).clamp(0.0, 1.0) * 65535.0).round_ties_even() as u32;
            pair(norm(1), norm(2))
        })),
        ("v_cvt_pknorm_i16_f16 v10, v20, v21", One(|l| {
            let norm = |v: f64| (v.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i32 as u32;
            pair(norm(l.h(1)), norm(l.h(2)))
        })),
        ("v_cvt_pknorm_u16_f16 v10, v20, v21", One(|l| {
            let norm = |v: f64| (v.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u32;
            pair(norm(l.h(1)), norm(l.h(2)))
        })),
        ("v_cvt_norm_i16_f16 v10, v20", One(|l| {
            (l.h(1).clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i32 as u32 & 0xffff
        })),
        ("v_cvt_norm_u16_f16 v10, v20", One(|l| (l.h(1).clamp(0.0, 1.0) * 65535.0).round_ties_even() as u32)),
        ("v_cvt_f32_ubyte0 v12, v1; v_cvt_pk_u8_f32 v10, v12, 2, v2", One(|l| {
            l.v(2) & !0xff_0000 | (l.v(1) & 0xff) << 16
        })),
        ("v_cvt_f32_ubyte0 v12, v1; v_mov_b32 v10, v2; v_cvt_pkaccum_u8_f32 v10, v12, 1", One(|l| {
            l.v(2) & !0xff00 | (l.v(1) & 0xff) << 8
        })),
        ("v_cvt_pkrtz_f16_f32 v10, v20, v21", One(|l| pair(toward_zero(single(l, 1)), toward_zero(single(l, 2))))),
        ("v_cvt_f32_fp8 v10, v1", One(|l| fnuz(l.v(1), 3, 8).to_bits())),
        ("v_cvt_f32_fp8_sdwa v10, v1 src0_sel:BYTE_2", One(|l| fnuz(l.v(1) >> 16, 3, 8).to_bits())),
        ("v_cvt_f32_bf8 v10, v1", One(|l| fnuz(l.v(1), 2, 16).to_bits())),
        ("v_cvt_pk_f32_fp8 v[10:11], v1", Two(|l| {
            u64::from(fnuz(l.v(1), 3, 8).to_bits()) | u64::from(fnuz(l.v(1) >> 8, 3, 8).to_bits()) << 32
        })),
        ("v_cvt_pk_f32_bf8_sdwa v[10:11], v1 src0_sel:WORD_1", Two(|l| {
            u64::from(fnuz(l.v(1) >> 16, 2, 16).to_bits()) | u64::from(fnuz(l.v(1) >> 24, 2, 16).to_bits()) << 32
        })),
        ("v_mov_b32 v10, v6; v_cvt_pk_fp8_f32 v10, v3, v4 op_sel:[0,0,1]", One(|l| {
            pair(l.v(6), to_fnuz(l.f(3), 3, 8) | to_fnuz(l.f(4), 3, 8) << 8)
        })),
        ("v_mov_b32 v10, v6; v_cvt_pk_bf8_f32 v10, v3, v4", One(|l| {
            pair(to_fnuz(l.f(3), 2, 16) | to_fnuz(l.f(4), 2, 16) << 8, l.v(6) >> 16)
        })),
        // Random bits of zero round toward zero.
        ("v_mov_b32 v10, v6; v_mov_b32 v12, 0; v_cvt_sr_fp8_f32 v10, v20, v12 op_sel:[0,0,1,0]", One(|l| {
            l.v(6) & !0xff00 | truncated(single(l, 1), 3, 8) << 8
        })),
        ("v_mov_b32 v10, v6; v_mov_b32 v12, 0; v_cvt_sr_bf8_f32 v10, v20, v12 op_sel:[0,0,1,1]", One(|l| {
            l.v(6) & 0xff_ffff | truncated(single(l, 1), 2, 16) << 24
        })),
        ("v_cvt_f32_i32 v10, v1", One(|l| (l.i(1) as f32).to_bits())),
    ];
    check_values("gfx942", cases, true)
}

fn toward_zero(value: f32) -> u32 {
    let nearest = f16::from_f32(value);
    let bits = u32::from(nearest.to_bits());
    if nearest.to_f32().abs() > value.abs() { bits - 1 } else { bits }
}

/// The largest pattern of no larger magnitude.
fn truncated(value: f32, mantissa: u32, bias: i32) -> u32 {
    let below = (0..0x80_u32).rev().find(|&byte| fnuz(byte, mantissa, bias) <= value.abs()).unwrap_or(0);
    if value < 0.0 && below != 0 { below | 0x80 } else { below }
}

/// Of many random words, the share that rounds up is how far the value lies between its neighbours.
#[test]
fn stochastic_rounding_is_fair() -> Result<()> {
    use crate::asm::{Source, run_clean};
    let body = "s_load_dwordx4 s[4:7], s[0:1], 0x0
         v_lshlrev_b32 v1, 2, v0
         v_mov_b32 v4, 0
         s_waitcnt lgkmcnt(0)
         global_load_dword v2, v1, s[4:5]
         v_mov_b32 v3, 0x3fa60000
         s_waitcnt vmcnt(0)
         v_cvt_sr_fp8_f32 v4, v3, v2
         global_store_dword v1, v4, s[6:7]";
    // 1.296875 lies three eighths between 1.25 and 1.375.
    let random: Vec<u32> = (0..1024_u32).map(|n| (n << 22).wrapping_add(n.wrapping_mul(0x9e37_79b9) >> 10)).collect();
    let Some(out) = run_clean(Source::new(body, 2), 1024, &[&random], 1024)? else { return Ok(()) };
    let (low, high) = (to_fnuz(1.25, 3, 8), to_fnuz(1.375, 3, 8));
    assert!(out.iter().all(|&byte| byte == low || byte == high));
    let up = out.iter().filter(|&&byte| byte == high).count();
    assert!((370..=398).contains(&up), "{up} of 1024");
    Ok(())
}

/// GFX950's own: conversions with a scale, and bf16 pairs.
#[test]
fn scaled_conversions_of_gfx950() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_cvt_pk_bf16_f32 v10, v20, v21", One(|l| {
            pair(bf16::from_f32(single(l, 1)).to_bits().into(), bf16::from_f32(single(l, 2)).to_bits().into())
        })),
        ("v_mov_b32 v12, 4.0; v_cvt_scalef32_f32_fp8 v10, v1, v12 op_sel:[0,1,0]", One(|l| {
            (ocp(l.v(1) >> 16, 3, 7) * 4.0).to_bits()
        })),
        ("v_mov_b32 v12, 0.5; v_cvt_scalef32_pk_f32_fp4 v[10:11], v1, v12 op_sel:[1,0,0]", Two(|l| {
            let of = |shift: u32| u64::from((fp4(l.v(1) >> shift) * 0.5).to_bits());
            of(8) | of(12) << 32
        })),
        ("v_mov_b32 v10, v6; v_mov_b32 v12, 0.5; v_cvt_scalef32_pk_f16_fp8 v10, v1, v12 op_sel:[1,0,0]", One(|l| {
            let of = |shift: u32| bits(f64::from(ocp(l.v(1) >> shift, 3, 7) * 0.5));
            pair(of(16), of(24))
        })),
        ("v_mov_b32 v10, v6; v_mov_b32 v12, 0.5; v_cvt_scalef32_pk_fp4_f32 v10, v20, v21, v12 op_sel:[0,0,1,0]", One(|l| {
            l.v(6) & !0xff00 | to_fp4(single(l, 1) * 2.0) << 8 | to_fp4(single(l, 2) * 2.0) << 12
        })),
        ("v_prng_b32 v10, v1", One(|l| l.v(1) << 1 ^ if l.v(1) >> 31 != 0 { 197 } else { 0 })),
        ("v_minimum3_f32 v10, v20, v21, v22", One(|l| single(l, 1).min(single(l, 2)).min(single(l, 3)).to_bits())),
        ("v_bitop3_b32 v10, v1, v2, v3 bitop3:0x96", One(|l| l.v(1) ^ l.v(2) ^ l.v(3))),
    ];
    check_values("gfx950", cases, true)
}

/// The open formats e4m3 and e5m2.
fn ocp(byte: u32, mantissa: u32, bias: i32) -> f32 {
    let byte = byte & 0xff;
    if byte & 0x7f == 0x7f {
        return f32::NAN;
    }
    let sign = if byte >> 7 != 0 { -1.0 } else { 1.0 };
    let (field, fraction) = ((byte & 0x7f) >> mantissa, byte & ((1 << mantissa) - 1));
    let scale = 2.0_f32.powi(field.max(1) as i32 - bias - mantissa as i32);
    sign * scale * (fraction + (u32::from(field > 0) << mantissa)) as f32
}

const FP4: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn fp4(nibble: u32) -> f32 {
    let magnitude = FP4[(nibble & 7) as usize];
    if nibble & 8 != 0 { -magnitude } else { magnitude }
}

fn to_fp4(value: f32) -> u32 {
    let distance = |n: usize| (FP4[n] - value.abs()).abs();
    let nearest = (0..8).min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))).unwrap_or(0);
    nearest as u32 | u32::from(value.is_sign_negative()) << 3
}
