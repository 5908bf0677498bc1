//! Floating-point encodings of up to 64 bits, described by data.

use super::round::{Overflow, Rounding, rounds_up};

/// Which bit patterns are not numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Specials {
    /// As in IEEE 754: the highest exponent holds infinities and NaNs.
    Ieee,
    /// No infinity; NaN is all ones under the sign (OCP e4m3).
    AllOnesNan,
    /// No infinity, no negative zero; NaN is the pattern of negative zero (the FNUZ formats).
    NegativeZeroNan,
    /// Every pattern is a number (OCP fp6 and fp4).
    None,
}

/// A floating-point encoding: sign, exponent, mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the mantissa, without the hidden one.
    pub mantissa: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// Which patterns are not numbers.
    pub specials: Specials,
}

impl Format {
    /// IEEE double precision.
    pub const F64: Self = Self::ieee(11, 52);
    /// IEEE single precision.
    pub const F32: Self = Self::ieee(8, 23);
    /// IEEE half precision.
    pub const F16: Self = Self::ieee(5, 10);
    /// The upper half of an `f32`.
    pub const BF16: Self = Self::ieee(8, 7);
    /// The 19 bits of an `f32` that tensor cores read. Encoded here in 19 bits; in a register they are its upper ones.
    pub const TF32: Self = Self::ieee(8, 10);
    /// OCP fp8 e4m3.
    pub const E4M3: Self = Self::new(4, 3, 7, Specials::AllOnesNan);
    /// OCP fp8 e5m2.
    pub const E5M2: Self = Self::ieee(5, 2);
    /// AMD's CDNA3 fp8, without infinity and negative zero.
    pub const E4M3_FNUZ: Self = Self::new(4, 3, 8, Specials::NegativeZeroNan);
    /// AMD's CDNA3 bf8, without infinity and negative zero.
    pub const E5M2_FNUZ: Self = Self::new(5, 2, 16, Specials::NegativeZeroNan);
    /// OCP fp6 e2m3.
    pub const E2M3: Self = Self::new(2, 3, 1, Specials::None);
    /// OCP fp6 e3m2.
    pub const E3M2: Self = Self::new(3, 2, 3, Specials::None);
    /// OCP fp4 e2m1.
    pub const E2M1: Self = Self::new(2, 1, 1, Specials::None);

    const fn new(exponent: u32, mantissa: u32, bias: i32, specials: Specials) -> Self {
        Self { exponent, mantissa, bias, specials }
    }

    const fn ieee(exponent: u32, mantissa: u32) -> Self {
        Self::new(exponent, mantissa, (1 << (exponent - 1)) - 1, Specials::Ieee)
    }

    /// Bits of the whole encoding.
    pub const fn bits(&self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    /// The pattern of the largest finite value.
    pub const fn largest(&self) -> u64 {
        let ones = (1 << (self.exponent + self.mantissa)) - 1;
        match self.specials {
            Specials::Ieee => ones - (1 << self.mantissa),
            Specials::AllOnesNan => ones - 1,
            Specials::NegativeZeroNan | Specials::None => ones,
        }
    }

    /// The pattern of the canonical (quiet, positive) NaN; the largest value where the format has no NaN.
    pub const fn nan(&self) -> u64 {
        let ones = (1 << (self.exponent + self.mantissa)) - 1;
        match self.specials {
            Specials::Ieee => ones - (1 << self.mantissa) + 1 + (1 << (self.mantissa - 1)),
            Specials::AllOnesNan | Specials::None => ones,
            Specials::NegativeZeroNan => 1 << (self.bits() - 1),
        }
    }

    /// The pattern of plus infinity.
    pub const fn infinity(&self) -> Option<u64> {
        match self.specials {
            Specials::Ieee => Some(((1 << self.exponent) - 1) << self.mantissa),
            _ => None,
        }
    }

    /// The value of a bit pattern.
    pub fn decode(&self, bits: u64) -> f64 {
        let bits = if self.bits() == 64 { bits } else { bits & ((1 << self.bits()) - 1) };
        let sign = if bits >> (self.bits() - 1) == 1 { -1.0 } else { 1.0 };
        let magnitude = bits & ((1 << (self.exponent + self.mantissa)) - 1);
        let field = (magnitude >> self.mantissa) as i32;
        let mantissa = magnitude & ((1 << self.mantissa) - 1);
        match self.specials {
            Specials::Ieee if field == (1 << self.exponent) - 1 => {
                return if mantissa == 0 { sign * f64::INFINITY } else { f64::NAN };
            }
            Specials::AllOnesNan if magnitude == self.nan() => return f64::NAN,
            Specials::NegativeZeroNan if bits == self.nan() => return f64::NAN,
            _ => {}
        }
        if self.bits() == 64 {
            return f64::from_bits(bits);
        }
        let (significand, exponent) = match field {
            0 => (mantissa, 1 - self.bias),
            _ => (mantissa | 1 << self.mantissa, field - self.bias),
        };
        sign * significand as f64 * exp2(exponent - self.mantissa as i32)
    }

    /// The bit pattern nearest to a value under a rounding mode. NaN becomes the canonical one; where the format has none, the largest value.
    pub fn encode(&self, value: f64, mode: Rounding, overflow: Overflow) -> u64 {
        let negative = value.is_sign_negative();
        let sign = u64::from(negative) << (self.bits() - 1);
        if value.is_nan() {
            return self.nan();
        }
        let too_large = |infinite: bool| -> u64 {
            let keeps_finite = match mode {
                Rounding::TowardZero => true,
                Rounding::Up => negative,
                Rounding::Down => !negative,
                _ => false,
            };
            let saturates = match overflow {
                Overflow::Saturate => true,
                Overflow::SaturateFinite => !infinite,
                Overflow::Infinite => keeps_finite && !infinite,
            };
            match (saturates || self.specials == Specials::None, self.infinity()) {
                (true, _) => sign | self.largest(),
                (false, Some(infinity)) => sign | infinity,
                (false, None) if self.specials == Specials::AllOnesNan => sign | self.nan(),
                (false, None) => self.nan(),
            }
        };
        if value.is_infinite() {
            return too_large(true);
        }
        // value = significand * 2^scale, significand an integer of at most 53 bits.
        let source = value.to_bits();
        let field = ((source >> 52) & 0x7FF) as i32;
        let fraction = source & ((1 << 52) - 1);
        let (significand, scale) = match field {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field - 1075),
        };
        if significand == 0 {
            return if self.specials == Specials::NegativeZeroNan { 0 } else { sign };
        }
        // The exponent of the last place kept: that of the value's binade, or of the subnormals.
        let top = 63 - significand.leading_zeros() as i32 + scale;
        let smallest = 1 - self.bias;
        let last = top.max(smallest) - self.mantissa as i32;
        let drop = last - scale;
        let kept = if drop <= 0 {
            significand << -drop
        } else {
            // Whatever lies beyond 64 places below is only "something": keep it sticky within a wide word.
            let wide = u128::from(significand) << 10;
            let drop = (drop + 10).min(100) as u32;
            let kept = (wide >> drop) as u64;
            let rest = wide & ((1 << drop) - 1);
            kept + u64::from(rounds_up(mode, kept & 1 == 1, rest, 1 << drop, negative))
        };
        // A carry out of the mantissa moves into the exponent by itself.
        let magnitude = if top >= smallest { ((top - smallest) as u64) * (1 << self.mantissa) + kept } else { kept };
        if magnitude > self.largest() {
            return too_large(false);
        }
        if magnitude == 0 && self.specials == Specials::NegativeZeroNan {
            return 0;
        }
        sign | magnitude
    }
}

/// `2^e` for any `e` whose result is a normal or subnormal `f64`.
fn exp2(e: i32) -> f64 {
    if e >= -1022 { f64::from_bits(((e + 1023) as u64) << 52) } else { f64::from_bits(1 << (e + 1074)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [Format; 10] = [
        Format::F16,
        Format::BF16,
        Format::TF32,
        Format::E4M3,
        Format::E5M2,
        Format::E4M3_FNUZ,
        Format::E5M2_FNUZ,
        Format::E2M3,
        Format::E3M2,
        Format::E2M1,
    ];

    #[test]
    fn every_pattern_survives() {
        for format in SMALL {
            for bits in 0..1_u64 << format.bits() {
                let value = format.decode(bits);
                for mode in
                    [Rounding::NearestEven, Rounding::TowardZero, Rounding::Up, Rounding::Down, Rounding::NearestAway]
                {
                    let back = format.encode(value, mode, Overflow::Infinite);
                    if value.is_nan() {
                        assert!(format.decode(back).is_nan(), "{format:?} {bits:#x}");
                    } else {
                        assert_eq!(back, bits, "{format:?} {value} {mode:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn halves_agree_with_the_half_crate() {
        for bits in (0..u32::MAX - 4999).step_by(4999) {
            let value = f32::from_bits(bits);
            if value.is_nan() {
                continue;
            }
            let f16 = Format::F16.encode(value.into(), Rounding::NearestEven, Overflow::Infinite);
            assert_eq!(f16 as u16, super::super::f32_to_f16(value), "{value}");
            let bf16 = Format::BF16.encode(value.into(), Rounding::NearestEven, Overflow::Infinite);
            assert_eq!(bf16 as u16, super::super::f32_to_bf16(value), "{value}");
        }
    }

    #[test]
    fn midpoints_round_as_the_mode_says() {
        // 1 + 1/16 lies between 1 (0x38) and 1.125 (0x39) in e4m3.
        let e = |x, m| Format::E4M3.encode(x, m, Overflow::Saturate);
        assert_eq!(e(1.0625, Rounding::NearestEven), 0x38);
        assert_eq!(e(1.0625, Rounding::NearestAway), 0x39);
        assert_eq!(e(1.1875, Rounding::NearestEven), 0x3A);
        assert_eq!(e(-1.0625, Rounding::Up), 0xB8);
        assert_eq!(e(-1.0625, Rounding::Down), 0xB9);
        assert_eq!(e(1.0625, Rounding::Stochastic(0x7FFF_FFFF)), 0x38);
        assert_eq!(e(1.0625, Rounding::Stochastic(0x8000_0000)), 0x39);
        assert_eq!(e(1e-30, Rounding::Up), 1);
        assert_eq!(e(1e-30, Rounding::NearestEven), 0);
    }

    #[test]
    fn overflow_follows_the_format() {
        let e = |f: Format, x, o| f.encode(x, Rounding::NearestEven, o);
        assert_eq!(Format::E4M3.decode(Format::E4M3.largest()), 448.0);
        assert_eq!(Format::E5M2.decode(Format::E5M2.largest()), 57344.0);
        assert_eq!(Format::E4M3_FNUZ.decode(Format::E4M3_FNUZ.largest()), 240.0);
        assert_eq!(Format::E5M2_FNUZ.decode(Format::E5M2_FNUZ.largest()), 57344.0);
        assert_eq!(Format::E2M1.decode(Format::E2M1.largest()), 6.0);
        assert_eq!(Format::E2M3.decode(Format::E2M3.largest()), 7.5);
        assert_eq!(Format::E3M2.decode(Format::E3M2.largest()), 28.0);
        assert_eq!(e(Format::E4M3, 464.0, Overflow::Infinite), 0x7E);
        assert_eq!(e(Format::E4M3, 465.0, Overflow::Infinite), 0x7F);
        assert_eq!(e(Format::E4M3, -465.0, Overflow::Saturate), 0xFE);
        assert_eq!(e(Format::E5M2, f64::INFINITY, Overflow::Infinite), 0x7C);
        assert_eq!(e(Format::E5M2, f64::INFINITY, Overflow::Saturate), 0x7B);
        assert_eq!(e(Format::E5M2, f64::INFINITY, Overflow::SaturateFinite), 0x7C);
        assert_eq!(e(Format::E4M3_FNUZ, -0.0, Overflow::Infinite), 0);
        assert_eq!(e(Format::E4M3_FNUZ, 1e9, Overflow::Infinite), 0x80);
        assert_eq!(e(Format::E2M1, 1e9, Overflow::Infinite), 0x7);
    }
}
