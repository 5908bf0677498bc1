//! Attributes of elementwise arithmetic and of `dot`, with the meaning of each function.

/// Defines an attribute enum with a name in the text format for each variant.
macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$vmeta])* $variant),*
        }

        impl $name {
            /// Every variant, in order of declaration.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name in the text format.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text),*
                }
            }

            /// The variant with this name in the text format.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use named_enum;

named_enum! {
    /// One-operand functions. The float ones take any float type except fp8 (cast first); 16-bit floats are
    /// computed in `f32` and rounded once.
    UnaryOp {
        /// `-x`; wrapping for signed integers.
        Neg = "neg",
        /// Logical or bitwise complement (`Bool` and integers).
        Not = "not",
        /// Absolute value; wrapping for signed integers.
        Abs = "abs",
        /// Number of set bits (integers).
        Popcount = "popcount",
        /// Number of leading zero bits (integers); the width for 0.
        Clz = "clz",
        /// Number of trailing zero bits (integers); the width for 0.
        Ctz = "ctz",
        /// Bits in reverse order (integers).
        BitReverse = "bitreverse",
        /// e^x.
        Exp = "exp",
        /// 2^x.
        Exp2 = "exp2",
        /// e^x - 1, exact near 0.
        Expm1 = "expm1",
        /// Natural logarithm.
        Log = "log",
        /// Logarithm to base 2.
        Log2 = "log2",
        /// Logarithm to base 10.
        Log10 = "log10",
        /// ln(1 + x), exact near 0.
        Log1p = "log1p",
        /// Square root, correctly rounded.
        Sqrt = "sqrt",
        /// 1 / sqrt(x).
        Rsqrt = "rsqrt",
        /// Cube root.
        Cbrt = "cbrt",
        /// 1 / x, correctly rounded unless `fast`.
        Recip = "recip",
        /// Sine (radians).
        Sin = "sin",
        /// Cosine (radians).
        Cos = "cos",
        /// Tangent (radians).
        Tan = "tan",
        /// Arc sine.
        Asin = "asin",
        /// Arc cosine.
        Acos = "acos",
        /// Arc tangent.
        Atan = "atan",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Error function.
        Erf = "erf",
        /// 1 / (1 + e^-x).
        Sigmoid = "sigmoid",
        /// x * sigmoid(x).
        Silu = "silu",
        /// x/2 * (1 + erf(x / sqrt 2)); with `fast` the tanh form.
        Gelu = "gelu",
        /// Largest integer not above x.
        Floor = "floor",
        /// Least integer not below x.
        Ceil = "ceil",
        /// Nearest integer, halfway cases to even.
        RoundEven = "round_even",
        /// Nearest integer, halfway cases away from zero (Rust's `round`).
        Round = "round",
        /// Integer part, towards zero.
        Trunc = "trunc",
        /// `i1`: whether x is NaN.
        IsNan = "is_nan",
        /// `i1`: whether x is infinite.
        IsInf = "is_inf",
        /// `i1`: whether x is neither NaN nor infinite.
        IsFinite = "is_finite",
    }
}

impl UnaryOp {
    /// Whether the operand must be a float.
    pub const fn is_float_only(self) -> bool {
        !matches!(self, Self::Neg | Self::Not | Self::Abs | Self::Popcount | Self::Clz | Self::Ctz | Self::BitReverse)
    }

    /// Whether the result is `i1`.
    pub const fn is_predicate(self) -> bool {
        matches!(self, Self::IsNan | Self::IsInf | Self::IsFinite)
    }
}

named_enum! {
    /// Two-operand functions on integers, floats (fp8 excepted) or `Bool` as said.
    BinaryOp {
        /// Sum; wrapping for integers.
        Add = "add",
        /// Difference; wrapping for integers.
        Sub = "sub",
        /// Product; wrapping for integers.
        Mul = "mul",
        /// Quotient: IEEE for floats, truncated for integers as in Rust. Integer division by zero gives 0, and
        /// the one overflowing quotient (`MIN / -1`) wraps, on every target.
        Div = "div",
        /// Remainder of `Div` (the sign of the dividend; floats as C's `fmod`). Integer remainder by zero is 0.
        Rem = "rem",
        /// Quotient rounded down (integers and floats). Integer division by zero gives 0.
        FloorDiv = "floor_div",
        /// Remainder of `FloorDiv` (the sign of the divisor). Integer remainder by zero is 0.
        FloorRem = "floor_rem",
        /// Upper half of the double-width product (integers).
        MulHi = "mul_hi",
        /// Lesser value. A NaN operand is passed over (IEEE 754-2019 `minimumNumber`); -0.0 is less than 0.0.
        Min = "min",
        /// Greater value. A NaN operand is passed over (`maximumNumber`); -0.0 is less than 0.0.
        Max = "max",
        /// Lesser value; NaN if either is (IEEE 754-2019 `minimum`). Floats only.
        MinNan = "min_nan",
        /// Greater value; NaN if either is (`maximum`). Floats only.
        MaxNan = "max_nan",
        /// Bitwise or logical and.
        And = "and",
        /// Bitwise or logical or.
        Or = "or",
        /// Bitwise or logical exclusive or.
        Xor = "xor",
        /// Left shift; an amount of the width or more (taken as unsigned) gives 0.
        Shl = "shl",
        /// Right shift, arithmetic for signed types; an amount of the width or more gives 0 or -1.
        Shr = "shr",
        /// x^y for floats.
        Pow = "pow",
        /// Angle of the point (x = b, y = a), in radians.
        Atan2 = "atan2",
        /// Magnitude of `a` with the sign of `b`.
        CopySign = "copysign",
    }
}

named_enum! {
    /// Comparison predicates.
    CmpOp {
        /// Equal.
        Eq = "eq",
        /// Not equal (true where an operand is NaN).
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
    }
}

named_enum! {
    /// Rounding of conversions to floats.
    Rounding {
        /// To nearest, halfway cases to even.
        NearestEven = "rne",
        /// Towards zero.
        TowardZero = "rtz",
        /// Towards negative infinity.
        Down = "rdn",
        /// Towards positive infinity.
        Up = "rup",
    }
}

named_enum! {
    /// How a `dot` multiplies `f32` inputs. Other inputs are always multiplied exactly.
    ///
    /// Each form names the error that is allowed, not the instructions: a target without units for the parts multiplies
    /// in `f32` for `tf32x3` and `bf16x3`, which is nearer. `tf32` rounds its inputs on every target.
    DotPrecision {
        /// IEEE `f32` products.
        Ieee = "ieee",
        /// One product of inputs rounded to tf32 (10 mantissa bits).
        Tf32 = "tf32",
        /// Three tf32 products that recover nearly `f32` accuracy: a product is off by at most 2^-20 of itself.
        Tf32x3 = "tf32x3",
        /// Three bf16 products that recover about 16 mantissa bits: a product is off by at most 2^-14 of itself.
        Bf16x3 = "bf16x3",
    }
}
