//! The float formats as numbers, and exact conversion into and out of them by integer arithmetic.
//!
//! This is what runs where a target has no instruction for a conversion, and it defines what an instruction must give.

use inkwell::IntPredicate::{EQ, NE, UGE, UGT, ULT};
use inkwell::values::InstructionOpcode;
use tegula_ir::ops::Rounding;
use tegula_ir::types::ScalarType;

use crate::emit::{Emitter, Val};

/// A binary floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatFormat {
    /// Width in bits.
    pub bits: u32,
    /// Explicit mantissa bits.
    pub mantissa: u32,
    /// Exponent bias.
    pub bias: i32,
    /// What the topmost codes mean.
    pub specials: Specials,
}

/// How a format spends its special codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// The largest exponent holds infinity and NaN.
    Ieee,
    /// No infinity; NaN is the all-ones code of each sign.
    NanOnly,
    /// No infinity and no negative zero; the code of negative zero is the only NaN.
    Fnuz,
}

impl FloatFormat {
    /// The format of a scalar type, if that is a float.
    pub fn of(ty: ScalarType) -> Option<FloatFormat> {
        let ieee = |bits, mantissa, bias| FloatFormat { bits, mantissa, bias, specials: Specials::Ieee };
        Some(match ty {
            ScalarType::F64 => ieee(64, 52, 1023),
            ScalarType::F32 => ieee(32, 23, 127),
            ScalarType::F16 => ieee(16, 10, 15),
            ScalarType::BF16 => ieee(16, 7, 127),
            ScalarType::F8E5M2 => ieee(8, 2, 15),
            ScalarType::F8E4M3 => FloatFormat { bits: 8, mantissa: 3, bias: 7, specials: Specials::NanOnly },
            ScalarType::F8E4M3Fnuz => FloatFormat { bits: 8, mantissa: 3, bias: 8, specials: Specials::Fnuz },
            ScalarType::F8E5M2Fnuz => FloatFormat { bits: 8, mantissa: 2, bias: 16, specials: Specials::Fnuz },
            _ => return None,
        })
    }

    /// All bits but the sign.
    fn magnitude_mask(&self) -> u64 {
        (1 << (self.bits - 1)) - 1
    }

    /// The code of positive infinity, in formats that have it.
    pub fn infinity(&self) -> Option<u64> {
        (self.specials == Specials::Ieee).then(|| self.magnitude_mask() & !((1 << self.mantissa) - 1))
    }

    /// The code of the largest finite value.
    pub fn max_finite(&self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity().expect("the format has infinity") - 1,
            Specials::NanOnly => self.magnitude_mask() - 1,
            Specials::Fnuz => self.magnitude_mask(),
        }
    }

    /// The code of a quiet NaN.
    pub fn nan(&self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity().expect("the format has infinity") | 1 << (self.mantissa - 1),
            Specials::NanOnly => self.magnitude_mask(),
            Specials::Fnuz => 1 << (self.bits - 1),
        }
    }

    /// The largest finite value.
    pub fn max_value(&self) -> f64 {
        let code = self.max_finite();
        let exponent = (code >> self.mantissa) as i32 - self.bias;
        let fraction = (code & ((1 << self.mantissa) - 1)) as f64 / (1u64 << self.mantissa) as f64;
        (1.0 + fraction) * 2f64.powi(exponent)
    }
}

/// Rounds the bits of a wide float (`f32` or `f64`) to a narrower format; gives the code as an integer of the narrow
/// width. Exact for every input and rounding.
pub fn round_to<'c>(
    e: &Emitter<'c, '_>,
    bits: Val<'c>,
    wide: FloatFormat,
    narrow: FloatFormat,
    rounding: Rounding,
    saturate: bool,
) -> Val<'c> {
    let c = |v: i64| e.int_like(bits, v);
    let sign_bit = e.lshr_const(bits, wide.bits - 1);
    let magnitude = e.and(bits, c(wide.magnitude_mask() as i64));
    let infinity = c(wide.infinity().expect("wide formats are IEEE") as i64);

    // The value is mantissa · 2^(exponent - wide.mantissa), with the leading one explicit for normal numbers.
    let field = e.lshr_const(magnitude, wide.mantissa);
    let subnormal = e.icmp(EQ, field, c(0));
    let fraction = e.and(magnitude, c((1 << wide.mantissa) - 1));
    let mantissa = e.or(fraction, e.select(subnormal, c(0), c(1 << wide.mantissa)));
    let exponent = e.sub(e.select(subnormal, c(1), field), c(wide.bias.into()));

    // Bits to drop: more of them below the smallest normal number of the narrow format. Beyond the mantissa's width the
    // quotient is zero and only "something was dropped" matters.
    let least = i64::from(1 - narrow.bias);
    let below = e.icmp(inkwell::IntPredicate::SLT, exponent, c(least));
    let deficit = e.select(below, e.sub(c(least), exponent), c(0));
    let most = i64::from(narrow.mantissa) + 2;
    let deficit = e.select(e.icmp(UGT, deficit, c(most)), c(most), deficit);
    let shift = e.add(c((wide.mantissa - narrow.mantissa).into()), deficit);

    let quotient = e.lshr(mantissa, shift);
    let unit = e.shl(c(1), shift);
    let dropped = e.and(mantissa, e.sub(unit, c(1)));
    let up = match rounding {
        Rounding::NearestEven => {
            // Above half, or at half with an odd quotient.
            let half = e.lshr_const(unit, 1);
            let odd = e.and(quotient, c(1));
            e.icmp(UGT, e.add(dropped, odd), half)
        }
        Rounding::TowardZero => e.icmp(NE, c(0), c(0)),
        Rounding::Up | Rounding::Down => {
            let toward = i64::from(rounding == Rounding::Down);
            e.and(e.icmp(NE, dropped, c(0)), e.icmp(EQ, sign_bit, c(toward)))
        }
    };
    let rounded = e.add(quotient, e.select(up, c(1), c(0)));
    // A carry out of the mantissa raises the exponent by itself.
    let base = e.add(e.select(below, c(least), exponent), c(i64::from(narrow.bias) - 1));
    let code = e.add(e.shl_const(base, narrow.mantissa), rounded);

    let max_finite = c(narrow.max_finite() as i64);
    let beyond = c(narrow.infinity().unwrap_or_else(|| narrow.nan()) as i64);
    let overflow = e.icmp(UGT, code, max_finite);
    let limit = match rounding {
        _ if saturate => max_finite,
        Rounding::NearestEven => beyond,
        Rounding::TowardZero => max_finite,
        Rounding::Up => e.select(e.icmp(EQ, sign_bit, c(0)), beyond, max_finite),
        Rounding::Down => e.select(e.icmp(EQ, sign_bit, c(1)), beyond, max_finite),
    };
    let code = e.select(overflow, limit, code);
    let code = e.select(e.icmp(EQ, magnitude, infinity), if saturate { max_finite } else { beyond }, code);
    let is_nan = e.icmp(UGT, magnitude, infinity);
    let code = e.select(is_nan, c(narrow.nan() as i64), code);

    let sign = e.shl_const(sign_bit, narrow.bits - 1);
    let sign = match narrow.specials {
        // Neither zero nor NaN has a sign.
        Specials::Fnuz => {
            let unsigned = e.or(e.icmp(EQ, code, c(0)), e.icmp(EQ, code, c(narrow.nan() as i64)));
            e.select(unsigned, c(0), sign)
        }
        _ => sign,
    };
    e.zext_or_trunc(e.or(code, sign), narrow.bits)
}

/// Widens the code of an 8-bit format to `f32`, exactly.
pub fn widen_to_f32<'c>(e: &Emitter<'c, '_>, code: Val<'c>, narrow: FloatFormat) -> Val<'c> {
    let f32_format = FloatFormat::of(ScalarType::F32).expect("f32 is a float");
    let code = e.zext_or_trunc(code, 32);
    let c = |v: i64| e.int_like(code, v);
    let magnitude = e.and(code, c(narrow.magnitude_mask() as i64));
    let sign = e.shl_const(e.and(code, c(1 << (narrow.bits - 1))), 32 - narrow.bits);

    // Normal numbers: move exponent and mantissa into place and correct the bias.
    let rebias = i64::from(f32_format.bias - narrow.bias) << f32_format.mantissa;
    let normal = e.add(e.shl_const(magnitude, f32_format.mantissa - narrow.mantissa), c(rebias));
    // Subnormal numbers are small integers times a power of two.
    let scale = 2f64.powi(1 - narrow.bias - narrow.mantissa as i32);
    let f32_like = e.type_like(code, e.f32_type());
    let count = e.cast(InstructionOpcode::UIToFP, magnitude, f32_like);
    let subnormal = e.to_bits(e.fmul(count, e.float_like(count, scale)));
    let bits = e.select(e.icmp(ULT, magnitude, c(1 << narrow.mantissa)), subnormal, normal);

    let quiet_nan = c(f32_format.nan() as i64);
    let bits = match narrow.specials {
        Specials::Ieee => {
            let infinity = narrow.infinity().expect("the format has infinity") as i64;
            let infinite = c(f32_format.infinity().expect("f32 has infinity") as i64);
            let special = e.select(e.icmp(EQ, magnitude, c(infinity)), infinite, quiet_nan);
            e.select(e.icmp(UGE, magnitude, c(infinity)), special, bits)
        }
        Specials::NanOnly => e.select(e.icmp(EQ, magnitude, c(narrow.nan() as i64)), quiet_nan, bits),
        Specials::Fnuz => bits,
    };
    let bits = e.or(bits, sign);
    let bits = match narrow.specials {
        Specials::Fnuz => e.select(e.icmp(EQ, code, c(narrow.nan() as i64)), quiet_nan, bits),
        _ => bits,
    };
    e.bitcast(bits, f32_like)
}
