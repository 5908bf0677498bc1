//! Float arithmetic on `f64`, before rounding to the element type's format.
//!
//! Transcendental functions come from the `libm` crate, not from the platform, so that results are the same
//! on every host. At the ends of the range they follow the formula of their definition: `silu` and `gelu` of
//! negative infinity are NaN (infinity times zero).

use crate::numeric::FloatFormat;
use crate::ops::{BinaryOp, CmpOp, UnaryOp};

/// A one-operand function. `fast` only matters where it chooses another formula.
///
/// # Panics
/// If the function is not a float-to-float function: the typing rules exclude it.
pub fn unary(op: UnaryOp, fast: bool) -> fn(f64) -> f64 {
    match op {
        UnaryOp::Neg => |x| -x,
        UnaryOp::Abs => f64::abs,
        UnaryOp::Exp => libm::exp,
        UnaryOp::Exp2 => libm::exp2,
        UnaryOp::Expm1 => libm::expm1,
        UnaryOp::Log => libm::log,
        UnaryOp::Log2 => libm::log2,
        UnaryOp::Log10 => libm::log10,
        UnaryOp::Log1p => libm::log1p,
        UnaryOp::Sqrt => f64::sqrt,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Cbrt => libm::cbrt,
        UnaryOp::Recip => |x| 1.0 / x,
        UnaryOp::Sin => libm::sin,
        UnaryOp::Cos => libm::cos,
        UnaryOp::Tan => libm::tan,
        UnaryOp::Asin => libm::asin,
        UnaryOp::Acos => libm::acos,
        UnaryOp::Atan => libm::atan,
        UnaryOp::Sinh => libm::sinh,
        UnaryOp::Cosh => libm::cosh,
        UnaryOp::Tanh => libm::tanh,
        UnaryOp::Erf => libm::erf,
        UnaryOp::Sigmoid => sigmoid,
        UnaryOp::Silu => silu,
        UnaryOp::Gelu if fast => gelu_tanh,
        UnaryOp::Gelu => gelu,
        UnaryOp::Floor => f64::floor,
        UnaryOp::Ceil => f64::ceil,
        UnaryOp::RoundEven => f64::round_ties_even,
        UnaryOp::Round => f64::round,
        UnaryOp::Trunc => f64::trunc,
        UnaryOp::Not
        | UnaryOp::Popcount
        | UnaryOp::Clz
        | UnaryOp::Ctz
        | UnaryOp::BitReverse
        | UnaryOp::IsNan
        | UnaryOp::IsInf
        | UnaryOp::IsFinite => unreachable!("{op} of floats"),
    }
}

/// With e^x for negative x, so that nothing overflows.
fn sigmoid(x: f64) -> f64 {
    let t = libm::exp(-x.abs());
    if x < 0.0 { t / (1.0 + t) } else { 1.0 / (1.0 + t) }
}

/// `x * sigmoid(x)`. The factor e^x of negative x is applied in two halves, which are not subnormal where the
/// result is not.
fn silu(x: f64) -> f64 {
    if x < 0.0 {
        let half = libm::exp(x / 2.0);
        x * half / (1.0 + half * half) * half
    } else {
        x * sigmoid(x)
    }
}

/// `x/2 * erfc(-x / sqrt 2)`: unlike `1 + erf` it does not cancel for negative x. The rounding of the argument, which
/// the function would magnify, is made good with its derivative.
fn gelu(x: f64) -> f64 {
    /// What the constant 1/√2 lacks.
    const LOW: f64 = -4.833646656726457e-17;
    let z = -x * std::f64::consts::FRAC_1_SQRT_2;
    let lost = libm::fma(-x, std::f64::consts::FRAC_1_SQRT_2, -z) - x * LOW;
    let slope = std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-z * z);
    let correction = if lost.is_finite() { lost * slope } else { 0.0 };
    0.5 * x * (libm::erfc(z) - correction)
}

/// `x/2 * (1 + tanh(sqrt(2/π) * (x + 0.044715 x³)))`, by `1 + tanh(u) = 2 sigmoid(2u)`, which does not cancel.
fn gelu_tanh(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    x * sigmoid(2.0 * inner)
}

/// The predicates `is_nan`, `is_inf` and `is_finite`.
///
/// # Panics
/// If the function is another.
pub fn predicate(op: UnaryOp) -> fn(f64) -> bool {
    match op {
        UnaryOp::IsNan => f64::is_nan,
        UnaryOp::IsInf => f64::is_infinite,
        UnaryOp::IsFinite => f64::is_finite,
        _ => unreachable!("{op} is not a predicate"),
    }
}

/// A two-operand function.
///
/// `floor_div` is the exact quotient, rounded down; `floor_rem` is C's `fmod` moved by one divisor where its
/// sign differs from the divisor's, and a zero result has the divisor's sign.
///
/// # Panics
/// If the function is not defined on floats: the typing rules exclude it.
pub fn binary(op: BinaryOp) -> fn(f64, f64) -> f64 {
    match op {
        BinaryOp::Add => |a, b| a + b,
        BinaryOp::Sub => |a, b| a - b,
        BinaryOp::Mul => |a, b| a * b,
        BinaryOp::Div => |a, b| a / b,
        BinaryOp::Rem => |a, b| a % b,
        BinaryOp::FloorDiv => floor_div,
        BinaryOp::FloorRem => floor_rem,
        BinaryOp::Min => min,
        BinaryOp::Max => max,
        BinaryOp::MinNan => |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { min(a, b) },
        BinaryOp::MaxNan => |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { max(a, b) },
        BinaryOp::Pow => libm::pow,
        BinaryOp::Atan2 => libm::atan2,
        BinaryOp::CopySign => f64::copysign,
        BinaryOp::MulHi | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
            unreachable!("{op} of floats")
        }
    }
}

/// IEEE 754-2019 `minimumNumber`.
pub fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || b < a || (a == b && b.is_sign_negative()) { b } else { a }
}

/// IEEE 754-2019 `maximumNumber`.
pub fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a || (a == b && b.is_sign_positive()) { b } else { a }
}

/// Where the rounding of the quotient reaches an integer above the exact one, or a zero, the exact remainder gives it away
/// by its sign.
fn floor_div(a: f64, b: f64) -> f64 {
    let floor = (a / b).floor();
    let remainder = libm::fma(-floor, b, a);
    if remainder.abs() > 0.0 && (remainder < 0.0) != (b < 0.0) { floor - 1.0 } else { floor }
}

fn floor_rem(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r == 0.0 {
        0f64.copysign(b)
    } else if (r < 0.0) != (b < 0.0) {
        r + b
    } else {
        r
    }
}

/// `a * b + c` rounded once to the format.
///
/// For the formats up to `f32` the product is exact in `f64`. The sum is rounded to odd: its last bit then
/// remembers that something was cut off, and the second rounding to the narrower format is as good as one.
pub fn fma(format: FloatFormat, a: f64, b: f64, c: f64) -> f64 {
    if format.bits == 64 {
        return libm::fma(a, b, c);
    }
    let product = a * b;
    let sum = product + c;
    // Knuth's two-sum: the exact error of the addition.
    let bb = sum - product;
    let error = (product - (sum - bb)) + (c - bb);
    let bits = sum.to_bits();
    if error == 0.0 || !error.is_finite() || bits & 1 == 1 {
        return format.round(sum);
    }
    // Away from zero where the error has the sum's sign, else towards zero; both neighbours are odd.
    let odd = if (error > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 };
    format.round(f64::from_bits(odd))
}

/// Comparison.
#[inline]
pub fn compare(op: CmpOp, a: f64, b: f64) -> bool {
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Lt => a < b,
        CmpOp::Le => a <= b,
        CmpOp::Gt => a > b,
        CmpOp::Ge => a >= b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ScalarType;

    #[test]
    fn min_and_max_order_zeros_and_pass_over_nan() {
        assert_eq!(min(0.0, -0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(min(-0.0, 0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(max(-0.0, 0.0).to_bits(), 0);
        assert_eq!(max(0.0, -0.0).to_bits(), 0);
        for f in [min, max] {
            assert_eq!((f(f64::NAN, 1.0), f(1.0, f64::NAN)), (1.0, 1.0));
            assert!(f(f64::NAN, f64::NAN).is_nan());
        }
        assert!(binary(BinaryOp::MinNan)(f64::NAN, 1.0).is_nan());
        assert_eq!(binary(BinaryOp::MaxNan)(f64::INFINITY, 1.0), f64::INFINITY);
    }

    #[test]
    fn fma_rounds_once() {
        // Against the host's own fma in f32, on products that nearly cancel the addend.
        let mut x = 1u64;
        for _ in 0..100_000 {
            x = x.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(7);
            let f = |s: u32| {
                f32::from_bits((x.rotate_left(s) as u32) & 0x807f_ffff | (0x3f00_0000 + ((x >> s) as u32 & 0xff_0000)))
            };
            let (a, b) = (f(3), f(21));
            let c = -(a * b) * f(40).abs().min(1.0);
            let got = fma(FloatFormat::F32, a.into(), b.into(), c.into());
            assert_eq!(got as f32, a.mul_add(b, c), "{a:e} {b:e} {c:e}");
        }
        // f16: 1025 * 1025 + tiny needs more than f32's bits to see the tie broken.
        let h = FloatFormat::of(ScalarType::F16);
        let (a, c) = (1.0 + 1.0 / 1024.0, f64::from_bits(0x3e70_0000_0000_0000));
        assert_eq!(fma(h, a, 1.0 + 0.5, c), h.round(a * 1.5 + 1e-5));
        assert!(fma(h, f64::INFINITY, 0.0, 1.0).is_nan());
        assert_eq!(fma(h, f64::INFINITY, 1.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn floor_rem_has_the_sign_of_the_divisor() {
        let f = binary(BinaryOp::FloorRem);
        assert_eq!((f(-5.0, 3.0), f(5.0, -3.0), f(-6.0, 3.0)), (1.0, -1.0, 0.0));
        assert!(f(-6.0, 3.0).is_sign_positive() && f(6.0, -3.0).is_sign_negative());
        assert_eq!(binary(BinaryOp::FloorDiv)(-5.0, 3.0), -2.0);
    }
}
