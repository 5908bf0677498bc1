//! Rounding modes, and what needs them outside the encodings: `f32` results and conversion to integers.

use serde::{Deserialize, Serialize};

/// How a value between two representable ones is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rounding {
    /// To the nearest, ties to even.
    #[default]
    NearestEven,
    /// To the nearest, ties away from zero.
    NearestAway,
    /// Towards zero.
    TowardZero,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
    /// Up in magnitude when these random bits, taken as a fraction of 32 bits, exceed what has to be rounded away from one.
    Stochastic(u32),
}

/// What becomes of a value that is too large in magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Overflow {
    /// An infinity, or the format's NaN where it has none; directed rounding away from infinity gives the largest finite value.
    Infinite,
    /// The largest finite value, for infinities too.
    Saturate,
    /// The largest finite value, but infinities stay what they are.
    SaturateFinite,
}

/// Whether to go up in magnitude: the kept part is odd, the remainder is `rest` of `unit` (0 ≤ rest < unit), and the sign.
pub(super) fn rounds_up(mode: Rounding, odd: bool, rest: u128, unit: u128, negative: bool) -> bool {
    if rest == 0 {
        return false;
    }
    match mode {
        Rounding::NearestEven => rest * 2 > unit || (rest * 2 == unit && odd),
        Rounding::NearestAway => rest * 2 >= unit,
        Rounding::TowardZero => false,
        Rounding::Up => !negative,
        Rounding::Down => negative,
        // unit is a power of two of at most 2^64 here, rest < unit.
        Rounding::Stochastic(random) => (rest << 32) / unit + u128::from(random) >= 1 << 32,
    }
}

/// An exact `f64` value rounded to `f32`.
pub fn round_f64_to_f32(value: f64, mode: Rounding) -> f32 {
    let nearest = value as f32;
    if mode == Rounding::NearestEven || f64::from(nearest) == value || value.is_nan() {
        return nearest;
    }
    if nearest.is_infinite() && value.is_infinite() {
        return nearest;
    }
    // The nearest is off by less than one place: either it is on the wanted side, or its neighbour is.
    let wants_up = match mode {
        Rounding::Up => true,
        Rounding::Down => false,
        Rounding::TowardZero => value < 0.0,
        // Ties to even is also ties away, but for the tie itself.
        Rounding::NearestAway | Rounding::NearestEven | Rounding::Stochastic(_) => {
            return f32::from_bits(super::Format::F32.encode(value, mode, Overflow::Infinite) as u32);
        }
    };
    match (wants_up, f64::from(nearest) > value) {
        (true, false) => nearest.next_up(),
        (false, true) => nearest.next_down(),
        _ => nearest,
    }
}

/// `a * b + c` in `f32`, rounded once in the given direction.
pub fn fma_f32(a: f32, b: f32, c: f32, mode: Rounding) -> f32 {
    let nearest = a.mul_add(b, c);
    if mode == Rounding::NearestEven || !(nearest.is_finite() || a.is_finite() && b.is_finite() && c.is_finite()) {
        return nearest;
    }
    // The product is exact in f64. The sum is made exact as high + low (two-sum), and the direction follows from where the exact sum lies
    // relative to the nearest f32.
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let high = product + c;
    let part = high - product;
    let low = (product - (high - part)) + (c - part);
    let off = high - f64::from(nearest);
    let exact_above = if off != 0.0 { off + low } else { low };
    if exact_above == 0.0 {
        // A sum of opposite values is -0 only when rounding down.
        if nearest == 0.0 && product == -c && product != 0.0 {
            return if mode == Rounding::Down { -0.0 } else { 0.0 };
        }
        return nearest;
    }
    if nearest.is_infinite() {
        return round_f64_to_f32(high, mode);
    }
    let wants_up = match mode {
        Rounding::Up => true,
        Rounding::Down => false,
        _ => high < 0.0,
    };
    match (wants_up, exact_above > 0.0) {
        (true, true) => nearest.next_up(),
        (false, false) => nearest.next_down(),
        _ => nearest,
    }
}

/// A float rounded to an integral value.
pub fn round_integer(value: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::NearestEven | Rounding::Stochastic(_) => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::TowardZero => value.trunc(),
        Rounding::Up => value.ceil(),
        Rounding::Down => value.floor(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_rounding_of_f32() {
        let third = 1.0_f64 / 3.0;
        let up = round_f64_to_f32(third, Rounding::Up);
        let down = round_f64_to_f32(third, Rounding::Down);
        assert!(f64::from(down) < third && third < f64::from(up));
        assert_eq!(down.next_up(), up);
        assert_eq!(round_f64_to_f32(-third, Rounding::TowardZero), -down);
        assert_eq!(round_f64_to_f32(1e300, Rounding::TowardZero), f32::MAX);
        assert_eq!(round_f64_to_f32(1e300, Rounding::Up), f32::INFINITY);
        assert_eq!(round_f64_to_f32(1e-300, Rounding::Up), f32::from_bits(1));
        let tie = f64::from(1.0_f32) + f64::from(f32::EPSILON) / 2.0;
        assert_eq!(round_f64_to_f32(tie, Rounding::NearestAway), 1.0 + f32::EPSILON);
        assert_eq!(round_f64_to_f32(tie, Rounding::NearestEven), 1.0);
    }

    #[test]
    fn directed_fma() {
        // 1 + 2^-60: lost in the nearest, seen by the direction.
        let tiny = 2.0_f32.powi(-30);
        assert_eq!(fma_f32(tiny, tiny, 1.0, Rounding::NearestEven), 1.0);
        assert_eq!(fma_f32(tiny, tiny, 1.0, Rounding::Up), 1.0 + f32::EPSILON);
        assert_eq!(fma_f32(tiny, -tiny, 1.0, Rounding::Down), 1.0 - f32::EPSILON / 2.0);
        assert_eq!(fma_f32(tiny, -tiny, 1.0, Rounding::TowardZero), 1.0 - f32::EPSILON / 2.0);
        assert_eq!(fma_f32(1.0, 1.0, -1.0, Rounding::Down).to_bits(), (-0.0_f32).to_bits());
    }
}
