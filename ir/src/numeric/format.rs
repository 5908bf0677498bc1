//! Float formats: exact conversion between their bits and `f64`, with rounding modes and saturation.

use crate::ops::Rounding;
use crate::types::ScalarType;

/// What the encodings with the largest exponent field mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// As IEEE 754: infinities and NaNs.
    Ieee,
    /// OCP `fn`: no infinities; only the all-ones encodings are NaN.
    FiniteNan,
    /// `fnuz`: no infinities, no negative zero; the encoding of negative zero is the one NaN.
    UnsignedZero,
}

/// A binary float format of at most 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatFormat {
    /// Width of the encoding.
    pub bits: u32,
    /// Stored mantissa bits.
    pub mantissa_bits: u32,
    /// Exponent bias.
    pub bias: i32,
    /// Infinities and NaNs.
    pub special: Special,
}

const fn format(bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> FloatFormat {
    FloatFormat { bits, mantissa_bits, bias, special }
}

impl FloatFormat {
    /// IEEE binary32.
    pub const F32: FloatFormat = format(32, 23, 127, Special::Ieee);
    /// IEEE binary64.
    pub const F64: FloatFormat = format(64, 52, 1023, Special::Ieee);
    /// NVIDIA's tf32: the range of `f32` with 10 mantissa bits. Not an element type; `dot` rounds to it.
    pub const TF32: FloatFormat = format(19, 10, 127, Special::Ieee);
    /// bfloat16.
    pub const BF16: FloatFormat = format(16, 7, 127, Special::Ieee);

    /// The format of a float type.
    ///
    /// # Panics
    /// If the type is not a float.
    pub const fn of(t: ScalarType) -> Self {
        match t {
            ScalarType::F8E4M3 => format(8, 3, 7, Special::FiniteNan),
            ScalarType::F8E5M2 => format(8, 2, 15, Special::Ieee),
            ScalarType::F8E4M3Fnuz => format(8, 3, 8, Special::UnsignedZero),
            ScalarType::F8E5M2Fnuz => format(8, 2, 16, Special::UnsignedZero),
            ScalarType::F16 => format(16, 10, 15, Special::Ieee),
            ScalarType::BF16 => Self::BF16,
            ScalarType::F32 => Self::F32,
            ScalarType::F64 => Self::F64,
            _ => panic!("not a float type"),
        }
    }

    /// Exponent of the least normal number.
    pub const fn min_exponent(self) -> i32 {
        1 - self.bias
    }

    const fn sign_bit(self) -> u64 {
        1 << (self.bits - 1)
    }

    /// Bits of the largest finite number.
    pub const fn max_finite_bits(self) -> u64 {
        let magnitude = self.sign_bit() - 1;
        match self.special {
            Special::Ieee => magnitude - (1 << self.mantissa_bits),
            Special::FiniteNan => magnitude - 1,
            Special::UnsignedZero => magnitude,
        }
    }

    /// The largest finite number.
    pub fn max_finite(self) -> f64 {
        self.decode(self.max_finite_bits())
    }

    /// The least positive normal number.
    pub fn min_normal(self) -> f64 {
        self.decode(1 << self.mantissa_bits)
    }

    /// The value with these bits. NaN payloads move to the upper mantissa bits.
    pub fn decode(self, bits: u64) -> f64 {
        if self.bits == 64 {
            return f64::from_bits(bits);
        }
        let sign = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let sign_f64 = u64::from(sign) << 63;
        let nan = match self.special {
            Special::Ieee => magnitude > self.max_finite_bits() && mantissa != 0,
            Special::FiniteNan => magnitude > self.max_finite_bits(),
            Special::UnsignedZero => bits == self.sign_bit(),
        };
        if nan {
            let payload = match self.special {
                Special::Ieee => mantissa << (52 - self.mantissa_bits),
                _ => 1 << 51,
            };
            return f64::from_bits(sign_f64 | 0x7ff << 52 | payload);
        }
        if magnitude > self.max_finite_bits() {
            return if sign { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        if exponent == 0 {
            let v = mantissa as f64 * exp2i(self.min_exponent() - self.mantissa_bits as i32);
            return if sign { -v } else { v };
        }
        let exponent = (exponent - self.bias + 1023) as u64;
        f64::from_bits(sign_f64 | exponent << 52 | mantissa << (52 - self.mantissa_bits))
    }

    /// The bits of the value rounded to the format. Overflow gives infinity (NaN in formats without one), or
    /// the largest finite value where the rounding mode or `saturate` says so; `saturate` also turns infinity
    /// into the largest finite value. NaN stays NaN.
    pub fn encode(self, v: f64, rounding: Rounding, saturate: bool) -> u64 {
        let bits = v.to_bits();
        let negative = bits >> 63 != 0;
        if v.is_nan() {
            return self.nan(negative, bits & ((1 << 52) - 1));
        }
        if v.is_infinite() {
            return if saturate { self.signed(negative, self.max_finite_bits()) } else { self.infinity(negative) };
        }
        if self.bits == 64 {
            return bits;
        }
        let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
        if exponent == 0 {
            self.encode_scaled(negative, fraction, -1074, rounding, saturate)
        } else {
            self.encode_scaled(negative, fraction | 1 << 52, exponent - 1075, rounding, saturate)
        }
    }

    /// As [`FloatFormat::encode`], of an integer: exact also where the integer has more than 53 bits.
    pub fn encode_int(self, negative: bool, magnitude: u64, rounding: Rounding, saturate: bool) -> u64 {
        self.encode_scaled(negative, magnitude, 0, rounding, saturate)
    }

    /// The bits of `mantissa × 2^exponent` rounded to the format.
    fn encode_scaled(self, negative: bool, mantissa: u64, exponent: i32, rounding: Rounding, saturate: bool) -> u64 {
        if mantissa == 0 {
            return self.signed(negative, 0);
        }
        let top = exponent + 63 - mantissa.leading_zeros() as i32;
        let normal = top >= self.min_exponent();
        // Exponent of the last place kept.
        let quantum = top.max(self.min_exponent()) - self.mantissa_bits as i32;
        let shift = quantum - exponent;
        let kept = if shift <= 0 {
            mantissa << -shift
        } else {
            // Below a quarter of the last place only "not zero" matters.
            let shift = shift.min(66) as u32;
            let wide = u128::from(mantissa);
            let (kept, rest, half) = ((wide >> shift) as u64, wide & ((1 << shift) - 1), 1u128 << (shift - 1));
            let up = match rounding {
                Rounding::NearestEven => rest > half || (rest == half && kept & 1 == 1),
                Rounding::TowardZero => false,
                Rounding::Down => negative && rest != 0,
                Rounding::Up => !negative && rest != 0,
            };
            kept + u64::from(up)
        };
        // A carry out of the mantissa moves into the exponent field, which is right. An exponent beyond the
        // field is above every finite encoding, which is all that is asked of it.
        let magnitude =
            if normal { (((top + self.bias - 1) as u64) << self.mantissa_bits).saturating_add(kept) } else { kept };
        if magnitude <= self.max_finite_bits() {
            return self.signed(negative, magnitude);
        }
        let toward_zero = match rounding {
            Rounding::NearestEven => false,
            Rounding::TowardZero => true,
            Rounding::Down => !negative,
            Rounding::Up => negative,
        };
        if saturate || toward_zero { self.signed(negative, self.max_finite_bits()) } else { self.infinity(negative) }
    }

    /// The value rounded to nearest even, still as `f64`.
    #[inline]
    pub fn round(self, v: f64) -> f64 {
        if self.bits == 64 {
            return v;
        }
        let bits = v.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
        if exponent >= self.min_exponent() && exponent < 1024 {
            let shift = 52 - self.mantissa_bits;
            let odd = bits >> shift & 1;
            let rounded = (bits + (1 << (shift - 1)) - 1 + odd) & !((1 << shift) - 1);
            let r = f64::from_bits(rounded);
            if (exponent as i64) < i64::from(self.bias) - 1 || r.abs() <= self.max_finite() {
                return r;
            }
        } else if v.is_nan() {
            return v;
        }
        self.decode(self.encode(v, Rounding::NearestEven, false))
    }

    fn signed(self, negative: bool, magnitude: u64) -> u64 {
        if negative && !(magnitude == 0 && self.special == Special::UnsignedZero) {
            magnitude | self.sign_bit()
        } else {
            magnitude
        }
    }

    /// Infinity, or NaN where the format has none.
    fn infinity(self, negative: bool) -> u64 {
        match self.special {
            Special::Ieee => self.signed(negative, self.max_finite_bits() + 1),
            _ => self.nan(negative, 1 << 51),
        }
    }

    /// NaN with the upper bits of this `f64` payload where the format keeps one.
    fn nan(self, negative: bool, payload: u64) -> u64 {
        match self.special {
            Special::Ieee => {
                let payload = payload >> (52 - self.mantissa_bits);
                // A payload that was all in the lower bits must not become an infinity.
                let payload = if payload == 0 { 1 << (self.mantissa_bits - 1) } else { payload };
                self.signed(negative, (self.max_finite_bits() + 1) | payload)
            }
            Special::FiniteNan => self.signed(negative, self.max_finite_bits() + 1),
            Special::UnsignedZero => self.sign_bit(),
        }
    }
}

/// 2^e for normal exponents.
const fn exp2i(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [ScalarType; 6] = [
        ScalarType::F8E4M3,
        ScalarType::F8E5M2,
        ScalarType::F8E4M3Fnuz,
        ScalarType::F8E5M2Fnuz,
        ScalarType::F16,
        ScalarType::BF16,
    ];

    fn rne(f: FloatFormat, v: f64) -> u64 {
        f.encode(v, Rounding::NearestEven, false)
    }

    #[test]
    fn every_encoding_survives_a_round_trip() {
        for t in SMALL {
            let f = FloatFormat::of(t);
            for bits in 0..1u64 << f.bits {
                let v = f.decode(bits);
                let back = rne(f, v);
                // The OCP formats have two NaNs and keep their sign.
                assert_eq!(back, bits, "{t} {bits:#x} = {v}");
                assert!(v.is_nan() || f.round(v) == v, "{t} {bits:#x}");
            }
        }
    }

    #[test]
    fn small_formats_agree_with_the_crates_that_define_them() {
        for bits in 0..=u16::MAX {
            let (h, b) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            let (vh, vb) =
                (FloatFormat::of(ScalarType::F16).decode(bits.into()), FloatFormat::BF16.decode(bits.into()));
            assert!(vh == h.to_f64() || (vh.is_nan() && h.is_nan()), "f16 {bits:#x}");
            assert!(vb == b.to_f64() || (vb.is_nan() && b.is_nan()), "bf16 {bits:#x}");
        }
        for bits in 0..=u8::MAX {
            let (e4, e5) = (float8::F8E4M3::from_bits(bits), float8::F8E5M2::from_bits(bits));
            let (v4, v5) = (
                FloatFormat::of(ScalarType::F8E4M3).decode(bits.into()),
                FloatFormat::of(ScalarType::F8E5M2).decode(bits.into()),
            );
            assert!(v4 == e4.to_f64() || (v4.is_nan() && e4.to_f64().is_nan()), "e4m3 {bits:#x}");
            assert!(v5 == e5.to_f64() || (v5.is_nan() && e5.to_f64().is_nan()), "e5m2 {bits:#x}");
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_neighbour_and_ties_are_even() {
        for t in SMALL {
            let f = FloatFormat::of(t);
            for bits in 0..f.max_finite_bits() {
                let (lo, hi) = (f.decode(bits), f.decode(bits + 1));
                let mid = (lo + hi) / 2.0;
                let even = if bits & 1 == 0 { bits } else { bits + 1 };
                assert_eq!(rne(f, mid), even, "{t} between {lo} and {hi}");
                assert_eq!(f.round(mid), f.decode(even), "{t} between {lo} and {hi}");
                assert_eq!(rne(f, mid.next_down()), bits);
                assert_eq!(f.round(mid.next_up()), hi);
                assert_eq!(f.encode(mid, Rounding::TowardZero, false), bits);
                assert_eq!(f.encode(mid, Rounding::Up, false), bits + 1);
                assert_eq!(f.encode(mid, Rounding::Down, false), bits);
                assert_eq!(f.decode(f.encode(-mid, Rounding::Down, false)), -hi);
            }
        }
    }

    #[test]
    fn the_fast_rounding_agrees_with_the_encoder_and_with_hardware() {
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200_000 {
            x = x.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            // Exponents spread over the range of f32 and a little beyond.
            let exponent = 1023 - 155 + (x >> 33) % 290;
            let v = f64::from_bits(x & (1 << 63) | exponent << 52 | x.rotate_left(29) & ((1 << 52) - 1));
            let hw = v as f32;
            assert_eq!(FloatFormat::F32.encode(v, Rounding::NearestEven, false), u64::from(hw.to_bits()), "{v:e}");
            for t in SMALL.into_iter().chain([ScalarType::F32]) {
                let f = FloatFormat::of(t);
                let (fast, slow) = (f.round(v), f.decode(rne(f, v)));
                assert!(fast.to_bits() == slow.to_bits() || (fast.is_nan() && slow.is_nan()), "{t} {v:e}");
            }
        }
    }

    #[test]
    fn overflow_saturation_and_specials() {
        let (e4, e5) = (FloatFormat::of(ScalarType::F8E4M3), FloatFormat::of(ScalarType::F8E5M2));
        let (z4, z5) = (FloatFormat::of(ScalarType::F8E4M3Fnuz), FloatFormat::of(ScalarType::F8E5M2Fnuz));
        assert_eq!([e4, e5, z4, z5].map(FloatFormat::max_finite), [448.0, 57344.0, 240.0, 57344.0]);
        assert_eq!(e4.decode(rne(e4, 464.0)), 448.0);
        assert!(e4.decode(rne(e4, 465.0)).is_nan());
        assert_eq!(e4.decode(e4.encode(1e9, Rounding::NearestEven, true)), 448.0);
        assert_eq!(e5.decode(rne(e5, -1e9)), f64::NEG_INFINITY);
        assert_eq!(e5.decode(e5.encode(f64::NEG_INFINITY, Rounding::NearestEven, true)), -57344.0);
        assert_eq!(e5.decode(e5.encode(1e9, Rounding::Down, false)), 57344.0);
        assert_eq!((rne(z4, -0.0), rne(z4, -1e-9), rne(z5, f64::NAN)), (0, 0, 0x80));
        assert!(z4.decode(0x80).is_nan() && z5.decode(0x80).is_nan());
        assert_eq!(rne(e4, f64::NAN) & 0x7f, 0x7f);
        let signalling = f32::from_bits(0x7f80_0001);
        let f = FloatFormat::F32;
        assert_eq!(rne(f, f.decode(signalling.to_bits().into())), 0x7f80_0001);
    }

    #[test]
    fn integers_round_once() {
        let f = FloatFormat::F32;
        // 2^24 + 1 is a tie; a bit far below breaks it upwards, which going through f64 would lose.
        let v = (1u64 << 62) + (1 << 38) + 1;
        assert_eq!(f.decode(f.encode_int(false, v, Rounding::NearestEven, false)), (v as f32).into());
        assert_ne!((v as f64) as f32, v as f32);
        let h = FloatFormat::of(ScalarType::F16);
        assert_eq!(h.decode(h.encode_int(true, 70000, Rounding::NearestEven, false)), f64::NEG_INFINITY);
        assert_eq!(h.decode(h.encode_int(true, 70000, Rounding::NearestEven, true)), -65504.0);
    }
}
