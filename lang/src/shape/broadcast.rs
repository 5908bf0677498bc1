//! Broadcasting as in NumPy, over types: two shapes of one rank go together where on each axis their dims are
//! the same or one is [`New`]; a scalar goes with every shape. Axes are never inserted silently.

use super::Shape;
use super::dim::{Dim, Extent, New};

/// The extent that axes of `Self` and `R` have together.
#[diagnostic::on_unimplemented(
    message = "an axis of extent `{Self}` does not go with one of extent `{R}`",
    label = "axes `{Self}` and `{R}` differ",
    note = "both tiles need the same dims on each axis, or `New` where one is repeated: check the order of the dims, `.transpose()` a tile, or insert the axis elsewhere with `.expand::<AXIS>()`"
)]
pub trait BroadcastExtent<R> {
    /// The common extent.
    type Output: Extent;
}

impl<D: Dim> BroadcastExtent<D> for D {
    type Output = D;
}

impl<D: Dim> BroadcastExtent<New> for D {
    type Output = D;
}

impl<D: Dim> BroadcastExtent<D> for New {
    type Output = D;
}

impl BroadcastExtent<New> for New {
    type Output = New;
}

/// The shape that tiles of shape `Self` and `R` have together.
#[diagnostic::on_unimplemented(
    message = "tiles of shape `{Self}` and `{R}` do not broadcast",
    label = "shapes `{Self}` and `{R}` differ in rank",
    note = "insert the missing axis with `.expand::<AXIS>()`, which turns `(M,)` into `(M, New)` for AXIS 1 and into `(New, M)` for AXIS 0"
)]
pub trait Broadcast<R>: Sized {
    /// The common shape.
    type Output: Shape;
}

/// Shapes that repeat to the shape `S`: of the same rank, with `New` where axes are repeated, or `()`.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` does not repeat to shape `{S}`",
    label = "shape `{Self}` given where `{S}`, `()` or `{S}` with some `New` axes is needed",
    note = "insert missing axes with `.expand::<AXIS>()`"
)]
pub trait BroadcastTo<S> {}

impl<S: Shape> BroadcastTo<S> for () {}

impl<S: Shape> Broadcast<S> for () {
    type Output = S;
}

macro_rules! broadcast {
    ($($a:ident $b:ident),+) => {
        impl<$($a: BroadcastExtent<$b>, $b),+> Broadcast<($($b,)+)> for ($($a,)+) {
            type Output = ($($a::Output,)+);
        }

        impl<$($a: Extent),+> Broadcast<()> for ($($a,)+) {
            type Output = ($($a,)+);
        }

        #[diagnostic::do_not_recommend]
        impl<$($a: BroadcastExtent<$b, Output = $b>, $b),+> BroadcastTo<($($b,)+)> for ($($a,)+) {}
    };
}

broadcast!(A1 B1);
broadcast!(A1 B1, A2 B2);
broadcast!(A1 B1, A2 B2, A3 B3);
broadcast!(A1 B1, A2 B2, A3 B3, A4 B4);
broadcast!(A1 B1, A2 B2, A3 B3, A4 B4, A5 B5);
