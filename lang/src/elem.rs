//! Element types: which Rust type stands for which number format, and the traits that group them.
//!
//! A host value of an element type (`2.0f32`, `f16::ONE`) is a constant in a kernel.

use std::fmt::Debug;

pub use float8::{F8E4M3, F8E5M2};
pub use half::{bf16, f16};
use tegula_ir::Elem;
pub use tegula_ir::ScalarType;
use tegula_ir::literal::Literal;

/// What a tile can hold: a number format or a [`Ptr`].
pub trait AnyElem: 'static {
    /// The element in Tile IR.
    fn elem() -> Elem;
}

/// A number format or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tiles and tensors",
    label = "not an element type",
    note = "element types are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, F8E4M3, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz, I4 and U4; in a generic kernel bound the parameter, as in `T: Float`"
)]
pub trait Element: AnyElem + Copy + Debug + Send + Sync {
    /// The number format in Tile IR.
    const TYPE: ScalarType;

    /// The host value as a literal of [`Element::TYPE`].
    fn literal(self) -> Literal;
}

impl<T: Element> AnyElem for T {
    fn elem() -> Elem {
        Elem::Scalar(T::TYPE)
    }
}

/// What `sum` gives for an element type: the type itself, but `i32` for `bool`, whose sum is a count.
pub trait Summable: Element {
    /// Element type of the sum.
    type Sum: Num;
}

/// A format with arithmetic: integers, f16, bf16, f32, f64. Not `bool`, and not the 8-bit floats, which are
/// converted before arithmetic.
#[diagnostic::on_unimplemented(
    message = "there is no arithmetic on `{Self}`",
    label = "`{Self}` is not a number format with arithmetic",
    note = "8-bit floats are converted first, `.cast::<f32>()`; in a generic kernel bound the parameter, as in `T: Float` or `T: Num`"
)]
pub trait Num: Summable<Sum = Self> {}

/// Integers and `bool`: formats with `& | ^ !`.
#[diagnostic::on_unimplemented(
    message = "there are no bit operations on `{Self}`",
    label = "`{Self}` is neither an integer nor `bool`"
)]
pub trait Bits: Element {}

/// Integers.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an integer type", label = "an integer type is needed here")]
pub trait Int: Num + Bits {}

/// Formats with a sign: signed integers and the floats with arithmetic.
#[diagnostic::on_unimplemented(message = "`{Self}` has no sign", label = "a signed integer or a float is needed here")]
pub trait Signed: Num {}

/// Float formats, the 8-bit ones included: what can be stored, converted and multiplied by `dot`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a float type", label = "a float type is needed here")]
pub trait AnyFloat: Element + DotInto<f32> {}

/// Float formats with arithmetic: f16, bf16, f32, f64.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a float type with arithmetic",
    label = "one of f16, bf16, f32, f64 is needed here",
    note = "convert integers and 8-bit floats first, `.cast::<f32>()`"
)]
pub trait Float: Signed + AnyFloat + DotInto<Self::Acc> {
    /// The format sums and products are accumulated in: f32 for f16 and bf16, the type itself otherwise.
    type Acc: Float;
}

/// Whether [`dot`](crate::ops::dot::dot) multiplies matrices of `Self` into an accumulator of `C`.
#[diagnostic::on_unimplemented(
    message = "`dot` of `{Self}` matrices cannot accumulate in `{C}`",
    label = "accumulator `{C}` does not go with `{Self}`",
    note = "f16, bf16 and 8-bit floats accumulate in f32 (f16 and bf16 also in themselves), f32 in f32, f64 in f64 or f32, 8- and 4-bit integers in i32"
)]
pub trait DotInto<C>: Element {}

/// A pointer to elements of `T` in global memory, as an element of a tile or scalar.
#[derive(Clone, Copy, Debug)]
pub struct Ptr<T>(std::marker::PhantomData<fn() -> T>);

impl<T: Element> AnyElem for Ptr<T> {
    fn elem() -> Elem {
        Elem::Ptr(T::TYPE)
    }
}

macro_rules! newtype {
    ($(#[$meta:meta])* $name:ident($repr:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub $repr);
    };
}

newtype! {
    /// AMD's 8-bit float with 4 exponent bits (`e4m3fnuz`, CDNA3), given by its bits: bias 8, 0x80 is NaN.
    F8E4M3Fnuz(u8)
}
newtype! {
    /// AMD's 8-bit float with 5 exponent bits (`e5m2fnuz`, CDNA3), given by its bits: bias 16, 0x80 is NaN.
    F8E5M2Fnuz(u8)
}
newtype! {
    /// A 4-bit signed integer, -8 to 7. In registers only: load packed values as `u8` and unpack them.
    I4(i8)
}
newtype! {
    /// A 4-bit unsigned integer, 0 to 15. In registers only: load packed values as `u8` and unpack them.
    U4(u8)
}

/// Value of a `fnuz` format with `mantissa` bits of mantissa.
fn fnuz_to_f64(bits: u8, mantissa: u32, bias: i32) -> f64 {
    if bits == 0x80 {
        return f64::NAN;
    }
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from((bits & 0x7f) >> mantissa);
    let fraction = f64::from(bits & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    if exponent == 0 {
        sign * fraction * 2f64.powi(1 - bias)
    } else {
        sign * (1.0 + fraction) * 2f64.powi(exponent - bias)
    }
}

impl F8E4M3Fnuz {
    /// The value.
    pub fn to_f64(self) -> f64 {
        fnuz_to_f64(self.0, 3, 8)
    }
}

impl F8E5M2Fnuz {
    /// The value.
    pub fn to_f64(self) -> f64 {
        fnuz_to_f64(self.0, 2, 16)
    }
}

macro_rules! element {
    ($($ty:ty, $scalar:ident, |$v:ident| $literal:expr;)*) => {$(
        impl Element for $ty {
            const TYPE: ScalarType = ScalarType::$scalar;

            fn literal(self) -> Literal {
                let $v = self;
                $literal
            }
        }
    )*};
}

element! {
    bool, Bool, |v| Literal::Bool(v);
    I4, I4, |v| Literal::Int(i64::from(v.0));
    i8, I8, |v| Literal::Int(i64::from(v));
    i16, I16, |v| Literal::Int(i64::from(v));
    i32, I32, |v| Literal::Int(i64::from(v));
    i64, I64, |v| Literal::Int(v);
    U4, U4, |v| Literal::Int(i64::from(v.0));
    u8, U8, |v| Literal::Int(i64::from(v));
    u16, U16, |v| Literal::Int(i64::from(v));
    u32, U32, |v| Literal::Int(i64::from(v));
    u64, U64, |v| Literal::Int(v as i64);
    F8E4M3, F8E4M3, |v| Literal::Float(v.to_f64());
    F8E5M2, F8E5M2, |v| Literal::Float(v.to_f64());
    F8E4M3Fnuz, F8E4M3Fnuz, |v| Literal::Float(v.to_f64());
    F8E5M2Fnuz, F8E5M2Fnuz, |v| Literal::Float(v.to_f64());
    f16, F16, |v| Literal::Float(v.to_f64());
    bf16, BF16, |v| Literal::Float(v.to_f64());
    f32, F32, |v| Literal::Float(f64::from(v));
    f64, F64, |v| Literal::Float(v);
}

macro_rules! marks {
    ($($tr:ident: $($ty:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl $tr for $ty {}
    )*)*};
}

marks! {
    Num: I4, i8, i16, i32, i64, U4, u8, u16, u32, u64, f16, bf16, f32, f64;
    Bits: bool, I4, i8, i16, i32, i64, U4, u8, u16, u32, u64;
    Int: I4, i8, i16, i32, i64, U4, u8, u16, u32, u64;
    Signed: I4, i8, i16, i32, i64, f16, bf16, f32, f64;
    AnyFloat: F8E4M3, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz, f16, bf16, f32, f64;
}

macro_rules! sums {
    ($($ty:ty => $sum:ty),* $(,)?) => {$(
        impl Summable for $ty {
            type Sum = $sum;
        }
    )*};
}

sums! {
    bool => i32, I4 => I4, i8 => i8, i16 => i16, i32 => i32, i64 => i64, U4 => U4, u8 => u8, u16 => u16,
    u32 => u32, u64 => u64, f16 => f16, bf16 => bf16, f32 => f32, f64 => f64,
}

macro_rules! dots {
    ($($ty:ty => $($acc:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl DotInto<$acc> for $ty {}
    )*)*};
}

dots! {
    F8E4M3 => f32; F8E5M2 => f32; F8E4M3Fnuz => f32; F8E5M2Fnuz => f32;
    f16 => f32, f16; bf16 => f32, bf16; f32 => f32; f64 => f64, f32;
    i8 => i32; u8 => i32; I4 => i32; U4 => i32;
}

macro_rules! floats {
    ($($ty:ty => $acc:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl Float for $ty {
            type Acc = $acc;
        }
    )*};
}

floats!(f16 => f32, bf16 => f32, f32 => f32, f64 => f64);
