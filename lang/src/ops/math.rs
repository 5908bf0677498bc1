//! Float functions. f16 and bf16 are computed in f32 and rounded once.
//!
//! [`Tile::fast`] gives the variants with a looser error bound.

use tegula_ir::ops::{BinaryOp, OpKind, UnaryOp};

use super::operators::binary;
use crate::context::{self, Handle};
use crate::elem::{Element, Float, Signed};
use crate::literal::Operand;
use crate::shape::Shape;
use crate::tile::Tile;

#[track_caller]
pub(crate) fn unary(op: UnaryOp, x: Handle, fast: bool) -> Handle {
    context::emit([x], |[x]| OpKind::Unary { op, x, fast })
}

macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident = $op:ident;)*) => {
        impl<T: Element, S: Shape> Tile<T, S> {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(self) -> Self
                where
                    T: Float,
                {
                    Tile::new(unary(UnaryOp::$op, self.handle(), false))
                }
            )*
        }

        impl<T: Float, S: Shape> Fast<T, S> {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(self) -> Tile<T, S> {
                    Tile::new(unary(UnaryOp::$op, self.0.handle(), true))
                }
            )*
        }
    };
}

/// A tile whose next function may be computed with a looser error bound: `x.fast().exp()`. Made by
/// [`Tile::fast`].
#[derive(Clone, Copy, Debug)]
#[must_use = "call the function on it"]
pub struct Fast<T: Float, S: Shape>(Tile<T, S>);

functions! {
    /// e^x. NaN of NaN, 0 of -∞, ∞ where the result overflows.
    exp = Exp;
    /// 2^x.
    exp2 = Exp2;
    /// e^x - 1, without loss near 0.
    expm1 = Expm1;
    /// Natural logarithm: -∞ of 0, NaN of negative values.
    log = Log;
    /// Logarithm to base 2.
    log2 = Log2;
    /// Logarithm to base 10.
    log10 = Log10;
    /// ln(1 + x), without loss near 0.
    log1p = Log1p;
    /// Square root, correctly rounded: NaN of negative values, -0 of -0.
    sqrt = Sqrt;
    /// 1 / √x: ∞ of 0.
    rsqrt = Rsqrt;
    /// Cube root.
    cbrt = Cbrt;
    /// 1 / x, correctly rounded.
    recip = Recip;
    /// Sine of an angle in radians; NaN of infinities.
    sin = Sin;
    /// Cosine of an angle in radians; NaN of infinities.
    cos = Cos;
    /// Tangent of an angle in radians.
    tan = Tan;
    /// Arc sine; NaN outside of -1 to 1.
    asin = Asin;
    /// Arc cosine; NaN outside of -1 to 1.
    acos = Acos;
    /// Arc tangent.
    atan = Atan;
    /// Hyperbolic sine.
    sinh = Sinh;
    /// Hyperbolic cosine.
    cosh = Cosh;
    /// Hyperbolic tangent.
    tanh = Tanh;
    /// The error function.
    erf = Erf;
    /// 1 / (1 + e^-x).
    sigmoid = Sigmoid;
    /// x · sigmoid(x).
    silu = Silu;
    /// x/2 · (1 + erf(x / √2)); the fast variant is the tanh form.
    gelu = Gelu;
}

macro_rules! exact {
    ($bound:ident, $($(#[$meta:meta])* $name:ident = $op:ident -> $out:ty;)*) => {
        impl<T: Element, S: Shape> Tile<T, S> {
            $(
                $(#[$meta])*
                #[track_caller]
                pub fn $name(self) -> Tile<$out, S>
                where
                    T: $bound,
                {
                    Tile::new(unary(UnaryOp::$op, self.handle(), false))
                }
            )*
        }
    };
}

exact! { Float,
    /// The largest integer not above x.
    floor = Floor -> T;
    /// The least integer not below x.
    ceil = Ceil -> T;
    /// The nearest integer, halfway cases away from zero (Rust's `round`).
    round = Round -> T;
    /// The nearest integer, halfway cases to even.
    round_even = RoundEven -> T;
    /// The integer part, towards zero.
    trunc = Trunc -> T;
    /// Whether x is NaN.
    is_nan = IsNan -> bool;
    /// Whether x is infinite.
    is_infinite = IsInf -> bool;
    /// Whether x is neither NaN nor infinite.
    is_finite = IsFinite -> bool;
}

exact! { Signed,
    /// The absolute value; wrapping for signed integers.
    abs = Abs -> T;
}

impl<T: Float, S: Shape> Tile<T, S> {
    /// The next function may be computed with a looser error bound (stated in the language reference):
    /// `x.fast().exp()`.
    pub fn fast(self) -> Fast<T, S> {
        Fast(self)
    }

    /// x^y, as C's `pow` on special values.
    #[track_caller]
    pub fn pow(self, exponent: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::Pow, self.handle(), exponent.operand()))
    }

    /// x^n for an exponent known at build time, by multiplications: exact for small n up to the roundings of
    /// the products.
    #[track_caller]
    pub fn powi(self, exponent: i32) -> Self {
        let mut result: Option<Handle> = None;
        let mut square = self.handle();
        let mut n = exponent.unsigned_abs();
        while n > 0 {
            if n & 1 == 1 {
                result = Some(match result {
                    Some(r) => binary(BinaryOp::Mul, r, square),
                    None => square,
                });
            }
            n >>= 1;
            if n > 0 {
                square = binary(BinaryOp::Mul, square, square);
            }
        }
        match result {
            None => super::create::ones(),
            Some(r) if exponent < 0 => Tile::new(unary(UnaryOp::Recip, r, false)),
            Some(r) => Tile::new(r),
        }
    }

    /// The angle of the point (`x`, self) in radians.
    #[track_caller]
    pub fn atan2(self, x: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::Atan2, self.handle(), x.operand()))
    }

    /// The magnitude of the tile with the sign of `sign`.
    #[track_caller]
    pub fn copysign(self, sign: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::CopySign, self.handle(), sign.operand()))
    }
}

impl<T: Float, S: Shape> Fast<T, S> {
    /// x^y for x above zero, as `(x.fast().log2() * y).fast().exp2()` by definition: NaN for negative x, and with an error
    /// that grows with the magnitude of the logarithm.
    #[track_caller]
    pub fn pow(self, exponent: impl Operand<T, S>) -> Tile<T, S> {
        let log = unary(UnaryOp::Log2, self.0.handle(), true);
        Tile::new(unary(UnaryOp::Exp2, binary(BinaryOp::Mul, log, exponent.operand()), true))
    }

    /// As [`Tile::atan2`]; no target has a faster form.
    #[track_caller]
    pub fn atan2(self, x: impl Operand<T, S>) -> Tile<T, S> {
        self.0.atan2(x)
    }
}
