//! Extents of axes: symbolic dims, literal dims, and dims derived from others.

use std::marker::PhantomData;

use super::broadcast::BroadcastExtent;
use crate::context;
use crate::tile::Scalar;

/// The extent of an axis as a type: a parameter `BM: Dim` of a kernel, whose size stays free until the kernel
/// is built, a literal [`Const`], or derived from others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a dim",
    label = "a dim is needed here",
    note = "declare it as a generic parameter of the kernel, `{Self}: Dim`, or write `Const<16>` for a fixed extent"
)]
pub trait Dim: Copy + 'static {
    /// The size in the kernel that is being built, as a number known at build time.
    fn size() -> i64;

    /// The size as a scalar, to compute with positions.
    #[track_caller]
    fn scalar() -> Scalar<i64> {
        crate::ops::create::scalar(Self::size())
    }
}

/// What may stand in a shape: a [`Dim`], or [`New`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a shape",
    label = "neither a dim nor `New`",
    note = "declare it as a generic parameter of the kernel, `{Self}: Dim`, or write `Const<16>` for a fixed extent"
)]
pub trait Extent: BroadcastExtent<Self, Output = Self> + Copy + 'static {
    /// The extent in the kernel that is being built.
    fn extent() -> u32;
}

#[diagnostic::do_not_recommend]
impl<D: Dim> Extent for D {
    fn extent() -> u32 {
        match u32::try_from(D::size()) {
            Ok(n) if n > 0 => n,
            // Too large or not positive: reported where dims are set and where they are derived.
            _ => context::bad_extent(std::any::type_name::<D>(), D::size()),
        }
    }
}

/// An axis of extent 1 that `expand` inserted, and that broadcasts against any dim.
///
/// It is deliberately not a [`Dim`]: this keeps the broadcasting rules apart.
#[derive(Clone, Copy, Debug)]
pub struct New;

impl Extent for New {
    fn extent() -> u32 {
        1
    }
}

/// A literal dim: `Const<16>`.
#[derive(Clone, Copy, Debug)]
pub struct Const<const N: u32>;

impl<const N: u32> Dim for Const<N> {
    fn size() -> i64 {
        i64::from(N)
    }
}

macro_rules! derived {
    ($($(#[$meta:meta])* $name:ident<$($arg:ident),+> = $size:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<$($arg),+>(PhantomData<fn() -> ($($arg,)+)>);

        impl<$($arg: Dim),+> Dim for $name<$($arg),+> {
            fn size() -> i64 {
                $size
            }
        }
    )*};
}

derived! {
    /// Half of a dim, which must be even: `I4` values packed in bytes.
    Half<D> = exact_div(D::size(), 2, "Half");
    /// Twice a dim.
    Twice<D> = D::size().saturating_mul(2);
    /// The product of two dims: two axes joined by a reshape.
    Mul<A, B> = A::size().saturating_mul(B::size());
    /// The sum of two dims: tiles concatenated by `cat`.
    Plus<A, B> = A::size().saturating_add(B::size());
    /// The exact quotient of two dims: an axis split by a reshape.
    Div<A, B> = exact_div(A::size(), B::size(), "Div");
}

fn exact_div(a: i64, b: i64, what: &str) -> i64 {
    if b > 0 && a % b == 0 { a / b } else { context::inexact_dim(what, a, b) }
}
