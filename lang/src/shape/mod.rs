//! Shapes as types: a shape is a tuple of extents, each a [`Dim`](dim::Dim) or
//! [`New`](dim::New).
//!
//! | module | subject |
//! |---|---|
//! | [`dim`] | extents: symbolic dims, literal and derived ones |
//! | [`broadcast`] | NumPy's broadcasting over types |
//! | [`axes`] | removing, inserting, picking and reordering axes |

pub mod axes;
pub mod broadcast;
pub mod dim;

use tegula_ir::types::Shape as Extents;

use self::broadcast::{Broadcast, BroadcastTo};
use self::dim::Extent;

/// The shape of a tile: a tuple of zero to five extents, outermost axis first. `()` is the shape of a scalar.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "not a shape",
    note = "a shape is a tuple of dims such as `(BM, BN)`; with one axis it needs the comma: `(B,)`"
)]
pub trait Shape:
    Broadcast<Self, Output = Self> + Broadcast<(), Output = Self> + BroadcastTo<Self> + Copy + 'static
{
    /// Number of axes.
    const RANK: usize;

    /// The extents, outermost axis first, in the kernel that is being built.
    fn extents() -> Extents;
}

/// A shape of `R` axes: the shapes of the tiles that a tensor of rank `R` is made of.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` does not fit a tensor of rank {R}",
    label = "{R} dims are needed here",
    note = "give one dim for each axis of the tensor, in a tuple: `(N,)` (with the comma) for rank 1, `(M, N)` for rank 2"
)]
pub trait Ranked<const R: usize>: Shape {}

macro_rules! shape {
    ($rank:literal; $($name:ident)*) => {
        impl<$($name: Extent),*> Shape for ($($name,)*) {
            const RANK: usize = $rank;

            fn extents() -> Extents {
                [$($name::extent()),*].into_iter().collect()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($name: Extent),*> Ranked<$rank> for ($($name,)*) {}
    };
}

impl Shape for () {
    const RANK: usize = 0;

    fn extents() -> Extents {
        Extents::new()
    }
}

#[diagnostic::do_not_recommend]
impl Ranked<0> for () {}

shape!(1; A);
shape!(2; A B);
shape!(3; A B C);
shape!(4; A B C D);
shape!(5; A B C D E);
