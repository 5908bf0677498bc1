//! Comparisons, logic and selection.
//!
//! Inside a kernel the macro turns `< <= > >= == !=` and `&& ||` into calls of the functions here: on tiles
//! they give tiles of `bool`, on host values they are Rust's own. Float comparisons with a NaN are false, but
//! for `!=`, which is true.

use tegula_ir::ops::{BinaryOp, CmpOp, OpKind};

use super::operators::{FromLit, SameElement, binary};
use super::shape::broadcast;
use crate::context::{self, Handle};
use crate::elem::{AnyElem, Element, Float, Num};
use crate::literal::{FloatLit, IntLit, Operand, typed};
use crate::shape::Shape;
use crate::shape::broadcast::{Broadcast, BroadcastTo};
use crate::tile::Tile;

#[track_caller]
fn compare(op: CmpOp, a: Handle, b: Handle) -> Handle {
    context::emit([a, b], |[a, b]| OpKind::Compare { op, a, b })
}

/// Element types that compare: numbers and `bool`; 8-bit floats are converted first.
#[diagnostic::on_unimplemented(
    message = "elements of `{Self}` cannot be compared",
    label = "no comparison on `{Self}`",
    note = "convert 8-bit floats first, `.cast::<f32>()`"
)]
pub trait Comparable: Element {}

impl<T: Num> Comparable for T {}
impl Comparable for bool {}

/// Defines the trait of one comparison operator with its impls.
macro_rules! comparison_operator {
    ($tr:ident $method:ident, $op:ident, $host:ident::$host_method:ident, $message:literal) => {
        #[doc = concat!("`", stringify!($method), "` inside kernels: ", $message, ".")]
        #[diagnostic::on_unimplemented(
            message = "cannot compare `{Self}` with `{R}`",
            label = "these cannot be compared",
            note = "tiles compare with tiles, scalars and numbers of the same element type; convert one operand, as in `.cast::<f32>()`"
        )]
        pub trait $tr<R: ?Sized> {
            /// `bool` for host values, a tile of `bool` for tiles.
            type Output;

            /// Compares.
            #[track_caller]
            fn $method(&self, other: &R) -> Self::Output;
        }

        #[diagnostic::do_not_recommend]
        impl<A: $host<B> + ?Sized, B: ?Sized> $tr<B> for A {
            type Output = bool;

            fn $method(&self, other: &B) -> bool {
                $host::$host_method(self, other)
            }
        }

        impl<T, U, S, R> $tr<Tile<U, R>> for Tile<T, S>
        where
            T: Comparable + SameElement<U>,
            U: Element,
            S: Shape + Broadcast<R>,
            R: Shape,
        {
            type Output = Tile<bool, <S as Broadcast<R>>::Output>;

            #[track_caller]
            fn $method(&self, other: &Tile<U, R>) -> Self::Output {
                let shape = <S as Broadcast<R>>::Output::extents();
                let a = broadcast(self.handle(), S::extents(), shape.clone());
                let b = broadcast(other.handle(), R::extents(), shape);
                Tile::new(compare(CmpOp::$op, a, b))
            }
        }

        comparison_operator!(@literal $tr $method, $op, $host::$host_method, IntLit, Num,
            [i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize]);
        comparison_operator!(@literal $tr $method, $op, $host::$host_method, FloatLit, Float, [f32, f64]);
        comparison_operator!(@typed $tr $method, $op, [
            bool, i8, i16, i32, i64, u8, u16, u32, u64, crate::elem::f16, crate::elem::bf16, f32, f64
        ]);
    };
    (@literal $tr:ident $method:ident, $op:ident, $host:ident::$host_method:ident, $lit:ident, $bound:ident,
     [$($ty:ty),*]) => {
        impl<T: $bound, S: Shape> $tr<$lit> for Tile<T, S> {
            type Output = Tile<bool, S>;

            #[track_caller]
            fn $method(&self, other: &$lit) -> Self::Output {
                Tile::new(compare(CmpOp::$op, self.handle(), Operand::<T, S>::operand(*other)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $bound, S: Shape> $tr<Tile<T, S>> for $lit {
            type Output = Tile<bool, S>;

            #[track_caller]
            fn $method(&self, other: &Tile<T, S>) -> Self::Output {
                Tile::new(compare(CmpOp::$op, Operand::<T, S>::operand(*self), other.handle()))
            }
        }

        $(
            #[diagnostic::do_not_recommend]
            impl $tr<$lit> for $ty {
                type Output = bool;

                fn $method(&self, other: &$lit) -> bool {
                    $host::$host_method(self, &<$ty as FromLit<$lit>>::from_lit(*other))
                }
            }

            #[diagnostic::do_not_recommend]
            impl $tr<$ty> for $lit {
                type Output = bool;

                fn $method(&self, other: &$ty) -> bool {
                    $host::$host_method(&<$ty as FromLit<$lit>>::from_lit(*self), other)
                }
            }
        )*
    };
    (@typed $tr:ident $method:ident, $op:ident, [$($ty:ty),*]) => {$(
        #[diagnostic::do_not_recommend]
        impl<S: Shape> $tr<$ty> for Tile<$ty, S> {
            type Output = Tile<bool, S>;

            #[track_caller]
            fn $method(&self, other: &$ty) -> Self::Output {
                Tile::new(compare(CmpOp::$op, self.handle(), typed::<$ty, S>(*other).handle()))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<S: Shape> $tr<Tile<$ty, S>> for $ty {
            type Output = Tile<bool, S>;

            #[track_caller]
            fn $method(&self, other: &Tile<$ty, S>) -> Self::Output {
                Tile::new(compare(CmpOp::$op, typed::<$ty, S>(*self).handle(), other.handle()))
            }
        }
    )*};
}

comparison_operator!(StagedEq eq, Eq, PartialEq::eq, "equal");
comparison_operator!(StagedNe ne, Ne, PartialEq::ne, "not equal");
comparison_operator!(StagedLt lt, Lt, PartialOrd::lt, "less");
comparison_operator!(StagedLe le, Le, PartialOrd::le, "less or equal");
comparison_operator!(StagedGt gt, Gt, PartialOrd::gt, "greater");
comparison_operator!(StagedGe ge, Ge, PartialOrd::ge, "greater or equal");

/// The operators `&&` and `||` inside kernels. The right operand is given as a closure: for a host `bool` on
/// the left it is only evaluated where it counts, as in Rust; on tiles both sides are evaluated.
#[diagnostic::on_unimplemented(
    message = "`&&` and `||` take truth values, found `{Self}` and `{R}`",
    label = "not a truth value",
    note = "compare numbers first, as in `x != 0`"
)]
pub trait Logic<R> {
    /// `bool` if both sides are, else a tile of `bool`.
    type Output;

    /// `self && other()`.
    #[track_caller]
    fn and(self, other: impl FnOnce() -> R) -> Self::Output;

    /// `self || other()`.
    #[track_caller]
    fn or(self, other: impl FnOnce() -> R) -> Self::Output;
}

impl Logic<bool> for bool {
    type Output = bool;

    fn and(self, other: impl FnOnce() -> bool) -> bool {
        self && other()
    }

    fn or(self, other: impl FnOnce() -> bool) -> bool {
        self || other()
    }
}

#[diagnostic::do_not_recommend]
impl<S: Shape> Logic<Tile<bool, S>> for bool {
    type Output = Tile<bool, S>;

    #[track_caller]
    fn and(self, other: impl FnOnce() -> Tile<bool, S>) -> Tile<bool, S> {
        if self { other() } else { typed(false) }
    }

    #[track_caller]
    fn or(self, other: impl FnOnce() -> Tile<bool, S>) -> Tile<bool, S> {
        if self { typed(true) } else { other() }
    }
}

#[diagnostic::do_not_recommend]
impl<S: Shape> Logic<bool> for Tile<bool, S> {
    type Output = Tile<bool, S>;

    #[track_caller]
    fn and(self, other: impl FnOnce() -> bool) -> Tile<bool, S> {
        if other() { self } else { typed(false) }
    }

    #[track_caller]
    fn or(self, other: impl FnOnce() -> bool) -> Tile<bool, S> {
        if other() { typed(true) } else { self }
    }
}

#[diagnostic::do_not_recommend]
impl<S, R> Logic<Tile<bool, R>> for Tile<bool, S>
where
    S: Shape + Broadcast<R>,
    R: Shape,
{
    type Output = Tile<bool, <S as Broadcast<R>>::Output>;

    #[track_caller]
    fn and(self, other: impl FnOnce() -> Tile<bool, R>) -> Self::Output {
        self & other()
    }

    #[track_caller]
    fn or(self, other: impl FnOnce() -> Tile<bool, R>) -> Self::Output {
        self | other()
    }
}

/// `if cond { a } else { b }` element by element: a tile of the shape of `a`, to which `cond` and `b` are
/// repeated. Both sides are computed.
#[track_caller]
pub fn select<T: AnyElem, S: Shape, C: Shape + BroadcastTo<S>>(
    cond: Tile<bool, C>,
    a: Tile<T, S>,
    b: impl Operand<T, S>,
) -> Tile<T, S> {
    let b = b.operand();
    // A scalar condition is taken as it is.
    let cond = if C::RANK == 0 { cond.handle() } else { broadcast(cond.handle(), C::extents(), S::extents()) };
    Tile::new(context::emit([cond, a.handle(), b], |[cond, a, b]| OpKind::Select { cond, a, b }))
}

impl<T: Comparable, S: Shape> Tile<T, S> {
    /// Whether the elements are equal; a method for helpers outside of kernels, where `==` is Rust's.
    #[track_caller]
    pub fn equal(self, other: impl Operand<T, S>) -> Tile<bool, S> {
        Tile::new(compare(CmpOp::Eq, self.handle(), other.operand()))
    }

    /// Whether the elements differ.
    #[track_caller]
    pub fn not_equal(self, other: impl Operand<T, S>) -> Tile<bool, S> {
        Tile::new(compare(CmpOp::Ne, self.handle(), other.operand()))
    }

    /// Whether the tile's elements are less.
    #[track_caller]
    pub fn less(self, other: impl Operand<T, S>) -> Tile<bool, S> {
        Tile::new(compare(CmpOp::Lt, self.handle(), other.operand()))
    }

    /// Whether the tile's elements are less or equal.
    #[track_caller]
    pub fn less_equal(self, other: impl Operand<T, S>) -> Tile<bool, S> {
        Tile::new(compare(CmpOp::Le, self.handle(), other.operand()))
    }

    /// Whether the tile's elements are greater.
    #[track_caller]
    pub fn greater(self, other: impl Operand<T, S>) -> Tile<bool, S> {
        Tile::new(compare(CmpOp::Gt, self.handle(), other.operand()))
    }

    /// Whether the tile's elements are greater or equal.
    #[track_caller]
    pub fn greater_equal(self, other: impl Operand<T, S>) -> Tile<bool, S> {
        Tile::new(compare(CmpOp::Ge, self.handle(), other.operand()))
    }
}

impl<S: Shape> Tile<bool, S> {
    /// `true` where exactly one is.
    #[track_caller]
    pub fn xor(self, other: impl Operand<bool, S>) -> Self {
        Tile::new(binary(BinaryOp::Xor, self.handle(), other.operand()))
    }
}
