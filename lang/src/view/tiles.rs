//! Outputs partitioned into tiles: each program owns one, and the launch grid has one program for each.

use std::marker::PhantomData;

use smallvec::SmallVec;
use tegula_ir::ops::{BinaryOp, CacheHint, OpKind};

use super::access::{Place, ReadWrite};
use super::tensor::{ViewParts, ceil_div, scale};
use crate::context::{self, Handle};
use crate::elem::Element;
use crate::ops::operators::binary;
use crate::shape::Shape;
use crate::shape::broadcast::BroadcastTo;
use crate::tile::{Scalar, Tile};

/// An output tensor cut into tiles of shape `S`, of which each program owns one: the kernel's grid follows from
/// it. Its rank is that of `S`.
///
/// The programs are counted row-major over the tiles. If a kernel has several such outputs, they must have the
/// same number of tiles.
#[derive(Debug)]
pub struct Tiles<T, S> {
    view: ViewParts,
    own: SmallVec<[Handle; 5]>,
    _type: PhantomData<fn() -> (T, S)>,
}

impl<T: Element, S: Shape> Tiles<T, S> {
    /// Made for a parameter of the kernel, at its start.
    #[track_caller]
    pub(crate) fn new(view: Handle) -> Self {
        let own = own_index(view, &S::extents());
        Self { view: ViewParts::new(view, S::RANK), own, _type: PhantomData }
    }

    #[track_caller]
    fn place(&self) -> Place<'_, T, S, ReadWrite> {
        Place::new(&self.view, scale(self.own.clone(), &S::extents()))
    }

    #[track_caller]
    fn check(&self, axis: usize) -> bool {
        if axis >= S::RANK {
            context::report(
                format!("there is no axis {axis} in an output of rank {}", S::RANK),
                "axes are counted from 0, outermost first",
            );
        }
        axis < S::RANK
    }

    /// Number of elements of the whole output along an axis.
    #[track_caller]
    pub fn extent(&self, axis: usize) -> Scalar<i64> {
        if !self.check(axis) {
            return Tile::new(Handle::POISON);
        }
        Tile::new(context::emit([self.view.view], |[view]| OpKind::ViewExtent { view, axis: axis as u8 }))
    }

    /// Number of tiles along an axis.
    #[track_caller]
    pub fn tiles(&self, axis: usize) -> Scalar<i64> {
        let extent = self.extent(axis).handle();
        Tile::new(ceil_div(extent, S::extents().get(axis).copied().map_or(1, i64::from)))
    }

    /// Writes this program's tile; what lies outside of the output is not written.
    #[track_caller]
    pub fn store(&mut self, value: Tile<T, S>) {
        self.place().store(value);
    }

    /// Writes this program's tile where `mask` is true.
    #[track_caller]
    pub fn store_masked<M: Shape + BroadcastTo<S>>(&mut self, value: Tile<T, S>, mask: Tile<bool, M>) {
        self.place().store_masked(value, mask);
    }

    /// As [`store`](Self::store), under this cache policy.
    #[track_caller]
    pub fn store_cached(&mut self, value: Tile<T, S>, hint: CacheHint) {
        self.place().cache(hint).store(value);
    }

    /// What this program's tile holds; zero outside of the output.
    #[track_caller]
    pub fn load(&self) -> Tile<T, S> {
        self.place().load()
    }
}

/// The coordinates of the tile that this program owns.
#[track_caller]
fn own_index(view: Handle, tile: &[u32]) -> SmallVec<[Handle; 5]> {
    let rank = tile.len();
    let mut rest = context::emit([], |[]| OpKind::ProgramId { axis: 0 });
    let mut coords: SmallVec<[Handle; 5]> = SmallVec::new();
    for axis in (0..rank).rev() {
        if axis == 0 {
            coords.push(rest);
            break;
        }
        let extent = context::emit([view], |[view]| OpKind::ViewExtent { view, axis: axis as u8 });
        let count = ceil_div(extent, i64::from(tile[axis]));
        coords.push(binary(BinaryOp::Rem, rest, count));
        rest = binary(BinaryOp::Div, rest, count);
    }
    coords.reverse();
    coords
}

macro_rules! index {
    ($rank:literal; $($name:ident)+) => {
        impl<T: Element, $($name: crate::shape::dim::Dim),+> Tiles<T, ($($name,)+)> {
            /// The coordinates of the tile that this program owns, in units of the tile's extents.
            pub fn index(&self) -> [Scalar<i64>; $rank] {
                std::array::from_fn(|i| Tile::new(self.own[i]))
            }

            /// The place of the first element of the tile that this program owns, in elements.
            #[track_caller]
            pub fn offset(&self) -> [Scalar<i64>; $rank] {
                let offsets = scale(self.own.clone(), &<($($name,)+)>::extents());
                std::array::from_fn(|i| Tile::new(offsets[i]))
            }
        }
    };
}

index!(1; A);
index!(2; A B);
index!(3; A B C);
index!(4; A B C D);
index!(5; A B C D E);

/// An output does not change in a loop; it may be borrowed mutably there.
#[diagnostic::do_not_recommend]
impl<T, S> crate::control::carry::Staged for Tiles<T, S> {
    fn visit(&mut self, _: &mut dyn FnMut(&mut Handle)) {}
}
