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

/// A two-operand op on tiles whose shapes broadcast.
#[track_caller]
fn broadcast_binary<T: Element, S, R>(op: BinaryOp, a: Tile<T, S>, b: Handle) -> Tile<T, <S as Broadcast<R>>::Output>
where
    S: Shape + Broadcast<R>,
    R: Shape,
{
    let shape = <S as Broadcast<R>>::Output::extents();
    let a = broadcast(a.handle(), S::extents(), shape.clone());
    let b = broadcast(b, R::extents(), shape);
    Tile::new(binary(op, a, b))
}

macro_rules! operator {
    ($($tr:ident $method:ident, $assign:ident $assign_method:ident, $op:ident, $bound:ident;)*) => {$(
        impl<T, U, S, R> $tr<Tile<U, R>> for Tile<T, S>
        where
            T: $bound + SameElement<U>,
            U: Element,
            S: Shape + Broadcast<R>,
            R: Shape,
        {
            type Output = Tile<T, <S as Broadcast<R>>::Output>;

            #[track_caller]
            fn $method(self, other: Tile<U, R>) -> Self::Output {
                broadcast_binary::<T, S, R>(BinaryOp::$op, self, other.handle())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $bound, S: Shape> $tr<T> for Tile<T, S> {
            type Output = Tile<T, S>;

            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                Tile::new(binary(BinaryOp::$op, self.handle(), crate::literal::typed::<T, S>(other).handle()))
            }
        }

        impl<T, U, S, R> $assign<Tile<U, R>> for Tile<T, S>
        where
            T: $bound + SameElement<U>,
            U: Element,
            S: Shape,
            R: Shape + BroadcastTo<S>,
        {
            #[track_caller]
            fn $assign_method(&mut self, other: Tile<U, R>) {
                let b = broadcast(other.handle(), R::extents(), S::extents());
                *self = Tile::new(binary(BinaryOp::$op, self.handle(), b));
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $bound, S: Shape> $assign<T> for Tile<T, S> {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                let other = crate::literal::typed::<T, S>(other).handle();
                *self = Tile::new(binary(BinaryOp::$op, self.handle(), other));
            }
        }
    )*};
}

operator! {
    Add add, AddAssign add_assign, Add, Num;
    Sub sub, SubAssign sub_assign, Sub, Num;
    Mul mul, MulAssign mul_assign, Mul, Num;
    Div div, DivAssign div_assign, Div, Num;
    Rem rem, RemAssign rem_assign, Rem, Num;
    BitAnd bitand, BitAndAssign bitand_assign, And, Bits;
    BitOr bitor, BitOrAssign bitor_assign, Or, Bits;
    BitXor bitxor, BitXorAssign bitxor_assign, Xor, Bits;
    Shl shl, ShlAssign shl_assign, Shl, Int;
    Shr shr, ShrAssign shr_assign, Shr, Int;
}

/// Operators between tiles and literals, in both orders.
macro_rules! literal_operator {
    ($($lit:ident, $bound:ident: $($tr:ident $method:ident $assign:ident $assign_method:ident $op:ident),*;)*) => {$($(
        impl<T: $bound, S: Shape> $tr<$lit> for Tile<T, S> {
            type Output = Tile<T, S>;

            #[track_caller]
            fn $method(self, other: $lit) -> Self::Output {
                Tile::new(binary(BinaryOp::$op, self.handle(), Operand::<T, S>::operand(other)))
            }
        }

        impl<T: $bound, S: Shape> $tr<Tile<T, S>> for $lit {
            type Output = Tile<T, S>;

            #[track_caller]
            fn $method(self, other: Tile<T, S>) -> Self::Output {
                Tile::new(binary(BinaryOp::$op, Operand::<T, S>::operand(self), other.handle()))
            }
        }

        impl<T: $bound, S: Shape> $assign<$lit> for Tile<T, S> {
            #[track_caller]
            fn $assign_method(&mut self, other: $lit) {
                *self = Tile::new(binary(BinaryOp::$op, self.handle(), Operand::<T, S>::operand(other)));
            }
        }
    )*)*};
}

literal_operator! {
    IntLit, Num: Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub, Mul mul MulAssign mul_assign Mul,
        Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem;
    IntLit, Int: BitAnd bitand BitAndAssign bitand_assign And, BitOr bitor BitOrAssign bitor_assign Or,
        BitXor bitxor BitXorAssign bitxor_assign Xor, Shl shl ShlAssign shl_assign Shl,
        Shr shr ShrAssign shr_assign Shr;
    FloatLit, Float: Add add AddAssign add_assign Add, Sub sub SubAssign sub_assign Sub,
        Mul mul MulAssign mul_assign Mul, Div div DivAssign div_assign Div, Rem rem RemAssign rem_assign Rem;
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
