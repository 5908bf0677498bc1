//! Rust's operators on tiles and scalars.
//!
//! An operator takes two tiles whose shapes broadcast, or a tile and a number. `+ - *` on integers wrap; `/`
//! and `%` on integers truncate as in Rust, and give 0 on division by zero; on floats all are IEEE, each
//! rounded by itself (no contraction). Shifts by the width or more give 0 (-1 for a negative signed value).

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use tegula_ir::ops::{BinaryOp, OpKind, UnaryOp};

use super::shape::broadcast;
use crate::context::{self, Handle};
use crate::elem::{Bits, Element, Float, Int, Num, Signed, bf16, f16};
use crate::literal::{FloatLit, IntLit, Operand};
use crate::shape::Shape;
use crate::shape::broadcast::{Broadcast, BroadcastTo};
use crate::tile::Tile;

/// Holds where both operands of an operator have one element type.
#[diagnostic::on_unimplemented(
    message = "the operands have different element types: `{Self}` and `{U}`",
    label = "element types `{Self}` and `{U}` differ",
    note = "nothing is converted silently: convert one operand, as in `.cast::<{Self}>()`"
)]
pub trait SameElement<U> {}

impl<T> SameElement<T> for T {}

/// A two-operand op on values of one shape.
#[track_caller]
pub(crate) fn binary(op: BinaryOp, a: Handle, b: Handle) -> Handle {
    context::emit([a, b], |[a, b]| OpKind::Binary { op, a, b })
}

/// Kind of the operators `+ - * / %`.
#[derive(Debug)]
pub enum Arithmetic {}

/// Kind of the operators `& | ^`.
#[derive(Debug)]
pub enum Bitwise {}

/// Kind of the operators `<< >>`.
#[derive(Debug)]
pub enum Shift {}

/// Holds for every right operand where elements of type `T` have the operators of kind `K`.
///
/// rustc looks for an operator before it knows the right operand: a bound on that one is reported in the words of the
/// element type's trait, and a bound on the tile itself would hide the operator.
pub trait On<T, K> {}

impl<X, T: Num> On<T, Arithmetic> for X {}
impl<X, T: Bits> On<T, Bitwise> for X {}
impl<X, T: Int> On<T, Shift> for X {}

/// What can stand on the right of an operator on a tile of element type `T` and shape `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not go with a tile of `{T}` in an operator",
    label = "neither a tile nor a number of `{T}`",
    note = "nothing is converted silently: convert a number with `as`, a tile with `.cast::<..>()`; read a place in a tensor first, with `.load()`",
    note = "a literal takes the element type in a `#[kernel]` or `#[device]` function; elsewhere mark the function, or write the type, as in `2.0f32`"
)]
pub trait RightOperand<T, S> {
    /// The shape of the result.
    type Shape: Shape;

    /// The operand, repeated to that shape.
    #[doc(hidden)]
    #[track_caller]
    fn right(self) -> Handle;
}

/// What can stand on the right of an assignment operator on a tile of element type `T` and shape `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not go with a tile of `{T}` in an operator",
    label = "neither a tile nor a number of `{T}`",
    note = "nothing is converted silently: convert a number with `as`, a tile with `.cast::<..>()`; read a place in a tensor first, with `.load()`",
    note = "a literal takes the element type in a `#[kernel]` or `#[device]` function; elsewhere mark the function, or write the type, as in `2.0f32`"
)]
pub trait AssignedOperand<T, S> {
    /// The operand, repeated to shape `S`.
    #[doc(hidden)]
    #[track_caller]
    fn assigned(self) -> Handle;
}

impl<T, U, S, R> RightOperand<T, S> for Tile<U, R>
where
    T: SameElement<U>,
    U: Element,
    S: Shape + Broadcast<R>,
    R: Shape,
{
    type Shape = <S as Broadcast<R>>::Output;

    #[track_caller]
    fn right(self) -> Handle {
        broadcast(self.handle(), R::extents(), Self::Shape::extents())
    }
}

impl<T, U, S, R> AssignedOperand<T, S> for Tile<U, R>
where
    T: SameElement<U>,
    U: Element,
    S: Shape,
    R: Shape + BroadcastTo<S>,
{
    #[track_caller]
    fn assigned(self) -> Handle {
        broadcast(self.handle(), R::extents(), S::extents())
    }
}

/// Numbers on the right: their value as a constant.
macro_rules! number {
    ($($(#[$meta:meta])? [$($generic:tt)*] $ty:ty => |$x:ident| $constant:expr;)*) => {$(
        $(#[$meta])?
        impl<$($generic)*, S: Shape> RightOperand<T, S> for $ty {
            type Shape = S;

            #[track_caller]
            fn right(self) -> Handle {
                let $x = self;
                $constant
            }
        }

        $(#[$meta])?
        impl<$($generic)*, S: Shape> AssignedOperand<T, S> for $ty {
            #[track_caller]
            fn assigned(self) -> Handle {
                let $x = self;
                $constant
            }
        }
    )*};
}

number! {
    #[diagnostic::do_not_recommend]
    [T: Element] T => |x| crate::literal::typed::<T, S>(x).handle();
    [T: Num] IntLit => |x| Operand::<T, S>::operand(x);
    [T: Float] FloatLit => |x| Operand::<T, S>::operand(x);
}

macro_rules! operator {
    ($($tr:ident $method:ident, $assign:ident $assign_method:ident, $op:ident, $kind:ident;)*) => {$(
        impl<T: Element, S: Shape, X: On<T, $kind> + RightOperand<T, S>> $tr<X> for Tile<T, S> {
            type Output = Tile<T, X::Shape>;

            #[track_caller]
            fn $method(self, other: X) -> Self::Output {
                let a = broadcast(self.handle(), S::extents(), X::Shape::extents());
                Tile::new(binary(BinaryOp::$op, a, other.right()))
            }
        }

        impl<T: Element, S: Shape, X: On<T, $kind> + AssignedOperand<T, S>> $assign<X> for Tile<T, S> {
            #[track_caller]
            fn $assign_method(&mut self, other: X) {
                *self = Tile::new(binary(BinaryOp::$op, self.handle(), other.assigned()));
            }
        }
    )*};
}

operator! {
    Add add, AddAssign add_assign, Add, Arithmetic;
    Sub sub, SubAssign sub_assign, Sub, Arithmetic;
    Mul mul, MulAssign mul_assign, Mul, Arithmetic;
    Div div, DivAssign div_assign, Div, Arithmetic;
    Rem rem, RemAssign rem_assign, Rem, Arithmetic;
    BitAnd bitand, BitAndAssign bitand_assign, And, Bitwise;
    BitOr bitor, BitOrAssign bitor_assign, Or, Bitwise;
    BitXor bitxor, BitXorAssign bitxor_assign, Xor, Bitwise;
    Shl shl, ShlAssign shl_assign, Shl, Shift;
    Shr shr, ShrAssign shr_assign, Shr, Shift;
}

/// Operators with a literal on the left of a tile.
macro_rules! literal_left {
    ($($lit:ident, $bound:ident: $($tr:ident $method:ident $op:ident),*;)*) => {$($(
        impl<T: $bound, S: Shape> $tr<Tile<T, S>> for $lit {
            type Output = Tile<T, S>;

            #[track_caller]
            fn $method(self, other: Tile<T, S>) -> Self::Output {
                Tile::new(binary(BinaryOp::$op, Operand::<T, S>::operand(self), other.handle()))
            }
        }
    )*)*};
}

literal_left! {
    IntLit, Num: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    IntLit, Int: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor, Shl shl Shl, Shr shr Shr;
    FloatLit, Float: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
}

/// Operators with a host number on the left, and host numbers with literals (which the macro cannot tell from
/// tiles with literals).
macro_rules! host_operator {
    ($lit:ident, [$($ty:ty),*] $ops:tt) => {
        $(host_operator!(@ty $lit, $ty, $ops);)*
    };
    (@ty $lit:ident, $ty:ty, {$($tr:ident $method:ident $assign:ident $assign_method:ident),*}) => {$(
        #[diagnostic::do_not_recommend]
        impl $tr<$lit> for $ty {
            type Output = $ty;

            fn $method(self, other: $lit) -> $ty {
                $tr::$method(self, <$ty as FromLit<$lit>>::from_lit(other))
            }
        }

        #[diagnostic::do_not_recommend]
        impl $tr<$ty> for $lit {
            type Output = $ty;

            fn $method(self, other: $ty) -> $ty {
                $tr::$method(<$ty as FromLit<$lit>>::from_lit(self), other)
            }
        }

        #[diagnostic::do_not_recommend]
        impl $assign<$lit> for $ty {
            fn $assign_method(&mut self, other: $lit) {
                $assign::$assign_method(self, <$ty as FromLit<$lit>>::from_lit(other));
            }
        }
    )*};
}

/// Host numbers that a literal can become.
pub(crate) trait FromLit<L> {
    /// The literal as this type, as the compiler would have taken it.
    fn from_lit(lit: L) -> Self;
}

macro_rules! from_lit {
    ($($ty:ty)*) => {$(
        impl FromLit<IntLit> for $ty {
            fn from_lit(lit: IntLit) -> Self {
                lit.0 as $ty
            }
        }
    )*};
}

from_lit!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl FromLit<FloatLit> for f32 {
    fn from_lit(lit: FloatLit) -> Self {
        lit.0 as f32
    }
}

impl FromLit<FloatLit> for f64 {
    fn from_lit(lit: FloatLit) -> Self {
        lit.0
    }
}

impl FromLit<FloatLit> for f16 {
    fn from_lit(lit: FloatLit) -> Self {
        f16::from_f64(lit.0)
    }
}

impl FromLit<FloatLit> for bf16 {
    fn from_lit(lit: FloatLit) -> Self {
        bf16::from_f64(lit.0)
    }
}

host_operator!(IntLit, [i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize] {
    Add add AddAssign add_assign, Sub sub SubAssign sub_assign, Mul mul MulAssign mul_assign,
    Div div DivAssign div_assign, Rem rem RemAssign rem_assign, BitAnd bitand BitAndAssign bitand_assign,
    BitOr bitor BitOrAssign bitor_assign, BitXor bitxor BitXorAssign bitxor_assign,
    Shl shl ShlAssign shl_assign, Shr shr ShrAssign shr_assign
});
host_operator!(FloatLit, [f16, bf16, f32, f64] {
    Add add AddAssign add_assign, Sub sub SubAssign sub_assign, Mul mul MulAssign mul_assign,
    Div div DivAssign div_assign, Rem rem RemAssign rem_assign
});

/// A typed host number on the left of a tile.
macro_rules! host_left {
    ([$($ty:ty),*] $ops:tt) => {
        $(host_left!(@ty $ty, $ops);)*
    };
    (@ty $ty:ty, {$($tr:ident $method:ident $op:ident),*}) => {$(
        #[diagnostic::do_not_recommend]
        impl<S: Shape> $tr<Tile<$ty, S>> for $ty {
            type Output = Tile<$ty, S>;

            #[track_caller]
            fn $method(self, other: Tile<$ty, S>) -> Tile<$ty, S> {
                Tile::new(binary(BinaryOp::$op, crate::literal::typed::<$ty, S>(self).handle(), other.handle()))
            }
        }
    )*};
}

host_left!([i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64] {
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem
});

#[diagnostic::do_not_recommend]
impl<T: Signed, S: Shape> Neg for Tile<T, S> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Unary { op: UnaryOp::Neg, x, fast: false }))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Bits, S: Shape> Not for Tile<T, S> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Unary { op: UnaryOp::Not, x, fast: false }))
    }
}
