//! Shapes of tiles: broadcasting, reshaping, reordering, joining and slicing. None of these computes; they say
//! where elements go.

use smallvec::SmallVec;
use tegula_ir::ops::OpKind;
use tegula_ir::types::Shape as Extents;

use crate::context::{self, Handle};
use crate::elem::AnyElem;
use crate::shape::Shape;
use crate::shape::axes::{
    CatAxis, DoubleLast, HasAxis, InsertAxis, Order, PicksAlong, PushAxis, SplitLast, SqueezeAxis, SwapLast,
};
use crate::shape::broadcast::BroadcastTo;
use crate::shape::dim::Const;
use crate::tile::{Scalar, Tile};
use crate::view::tensor::IndexTile;

/// Repeats a value to larger extents; a scalar to any.
#[track_caller]
pub(crate) fn broadcast(handle: Handle, from: Extents, to: Extents) -> Handle {
    if from == to {
        handle
    } else if from.is_empty() {
        context::emit([handle], |[x]| OpKind::Splat { x, shape: to })
    } else {
        context::emit([handle], |[x]| OpKind::Broadcast { x, shape: to })
    }
}

/// The same elements under other extents.
#[track_caller]
pub(crate) fn reshape(handle: Handle, from: &Extents, to: Extents) -> Handle {
    if *from == to { handle } else { context::emit([handle], |[x]| OpKind::Reshape { x, shape: to }) }
}

impl<T: AnyElem, S: Shape> Tile<T, S> {
    /// Repeats the tile to shape `R`: along axes that are [`New`](crate::shape::dim::New), or everywhere if it
    /// is a scalar.
    #[track_caller]
    pub fn broadcast<R: Shape>(self) -> Tile<T, R>
    where
        S: BroadcastTo<R>,
    {
        Tile::new(broadcast(self.handle(), S::extents(), R::extents()))
    }

    /// Inserts an axis [`New`](crate::shape::dim::New) of extent 1 before axis `AXIS`: `expand::<1>()` turns
    /// `(M,)` into `(M, New)`, `expand::<0>()` into `(New, M)`.
    #[track_caller]
    pub fn expand<const AXIS: usize>(self) -> Tile<T, S::Inserted>
    where
        S: InsertAxis<AXIS>,
    {
        Tile::new(reshape(self.handle(), &S::extents(), S::Inserted::extents()))
    }

    /// Removes the axis `AXIS`, which must be [`New`](crate::shape::dim::New).
    #[track_caller]
    pub fn squeeze<const AXIS: usize>(self) -> Tile<T, S::Squeezed>
    where
        S: SqueezeAxis<AXIS>,
    {
        Tile::new(reshape(self.handle(), &S::extents(), S::Squeezed::extents()))
    }

    /// The same elements in row-major order under shape `R`. That both have the same number of elements is
    /// checked when the kernel is built.
    #[track_caller]
    pub fn reshape<R: Shape>(self) -> Tile<T, R> {
        Tile::new(reshape(self.handle(), &S::extents(), R::extents()))
    }

    /// The same tile under shape `R`, whose extents must be the same: for dims that are equal in size but
    /// differ as types, such as `Plus<N, N>` and `Twice<N>`. Checked when the kernel is built.
    #[track_caller]
    pub fn with_shape<R: Shape>(self) -> Tile<T, R> {
        if S::extents() != R::extents() {
            context::report(
                format!("the extents {:?} and {:?} differ", S::extents(), R::extents()),
                "use `.reshape::<S>()` where only the number of elements is the same",
            );
            return Tile::new(Handle::POISON);
        }
        Tile::new(self.handle())
    }

    /// The only element of a tile of one element.
    #[track_caller]
    pub fn to_scalar(self) -> Scalar<T> {
        self.reshape()
    }

    /// Reorders the axes: axis `i` of the result is axis `O[i]` of the tile, as in
    /// `permute::<(Axis<1>, Axis<0>)>()`.
    #[track_caller]
    pub fn permute<O: Order<S>>(self) -> Tile<T, O::Output> {
        let perm = O::order();
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Permute { x, perm }))
    }

    /// Exchanges the last two axes.
    #[track_caller]
    pub fn transpose(self) -> Tile<T, S::Swapped>
    where
        S: SwapLast,
    {
        let mut perm: SmallVec<[u8; 5]> = (0..S::RANK as u8).collect();
        perm.swap(S::RANK - 2, S::RANK - 1);
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Permute { x, perm }))
    }

    /// Reverses the order along axis `AXIS`.
    #[track_caller]
    pub fn flip<const AXIS: usize>(self) -> Self
    where
        S: HasAxis<AXIS>,
    {
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Flip { x, axis: AXIS as u8 }))
    }

    /// The tile followed by `other` along axis `AXIS`. The other axes agree.
    #[track_caller]
    pub fn cat<const AXIS: usize, R: Shape>(self, other: Tile<T, R>) -> Tile<T, S::Joined>
    where
        S: CatAxis<AXIS, R>,
    {
        Tile::new(context::emit([self.handle(), other.handle()], |parts| OpKind::Cat {
            parts: parts.into_iter().collect(),
            axis: AXIS as u8,
        }))
    }

    /// Pairs the elements of two tiles along a new last axis of extent 2: the tile's at index 0, `other`'s at 1.
    #[track_caller]
    pub fn join(self, other: Self) -> Tile<T, S::Pushed>
    where
        S: PushAxis<Const<2>>,
    {
        Tile::new(context::emit([self.handle(), other.handle()], |[a, b]| OpKind::Join { a, b }))
    }

    /// The two tiles that [`join`](Self::join) made this one of.
    #[track_caller]
    pub fn split(self) -> (Tile<T, S::Part>, Tile<T, S::Part>)
    where
        S: SplitLast,
    {
        match context::emit_all(&[self.handle()], |v| OpKind::Split { x: v[0] }).as_deref() {
            Some(&[a, b]) => (Tile::new(a), Tile::new(b)),
            _ => (Tile::new(Handle::POISON), Tile::new(Handle::POISON)),
        }
    }

    /// The elements of two tiles in turn along the last axis: `a[0], b[0], a[1], b[1], …`.
    #[track_caller]
    pub fn interleave(self, other: Self) -> Tile<T, S::Doubled>
    where
        S: DoubleLast,
    {
        let joined = context::emit([self.handle(), other.handle()], |[a, b]| OpKind::Join { a, b });
        let shape = S::Doubled::extents();
        Tile::new(context::emit([joined], |[x]| OpKind::Reshape { x, shape }))
    }

    /// The sub-tile of shape `R` that starts at these indices, known at build time. That it lies within the
    /// tile is checked when the kernel is built.
    #[track_caller]
    pub fn slice<R: Shape>(self, offsets: impl AsRef<[usize]>) -> Tile<T, R> {
        let offsets = static_offsets(offsets.as_ref());
        let shape = R::extents();
        Tile::new(context::emit([self.handle()], |[x]| OpKind::ExtractSlice { x, offsets, shape }))
    }

    /// The tile with the elements from these indices on replaced by those of `part`. That it lies within the
    /// tile is checked when the kernel is built.
    #[track_caller]
    pub fn insert<R: Shape>(self, part: Tile<T, R>, offsets: impl AsRef<[usize]>) -> Self {
        let offsets = static_offsets(offsets.as_ref());
        Tile::new(context::emit([part.handle(), self.handle()], |[x, into]| OpKind::InsertSlice { x, into, offsets }))
    }

    /// Picks along axis `AXIS`: element `[.., i, ..]` of the result is element `[.., index[.., i, ..], ..]` of
    /// the tile. `index` agrees with the tile on the other axes. Indices are clamped into the axis, so that no
    /// index reads elsewhere.
    #[track_caller]
    pub fn gather<const AXIS: usize, I: IndexTile>(self, index: I) -> Tile<T, I::Shape>
    where
        I::Shape: PicksAlong<AXIS, S>,
    {
        Tile::new(context::emit([self.handle(), index.index_tile()], |[x, index]| OpKind::GatherAxis {
            x,
            index,
            axis: AXIS as u8,
        }))
    }
}

fn static_offsets(offsets: &[usize]) -> Extents {
    offsets.iter().map(|&o| u32::try_from(o).unwrap_or(u32::MAX)).collect()
}
