//! Tensors: a base pointer with extents and strides, as the launcher gives it, and views of parts of it.
//!
//! A sub-view that drops or reorders axes stays a view of the same memory: only the addressing of its tiles
//! changes, so that what is known of the tensor (alignment, bounds) is not lost.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use smallvec::{SmallVec, smallvec};
use tegula_ir::ops::{Access, Address, AxisSet, BinaryOp, OpKind};
use tegula_ir::types::Shape as Extents;

use super::access::{TileMut, TileRef};
use super::coords::{Coord, Coords, index};
use crate::context::{self, Handle};
use crate::elem::{Element, Int};
use crate::literal::Operand;
use crate::ops::operators::binary;
use crate::ops::shape::broadcast;
use crate::shape::broadcast::{Broadcast, BroadcastTo};
use crate::shape::dim::Dim;
use crate::shape::{Ranked, Shape};
use crate::tile::{Pointer, Scalar, Tile};

/// A tensor of `R` axes in memory: `&Tensor` is read, `&mut Tensor` is read and written at explicit places.
///
/// Every access is checked against the extents: what lies outside reads as padding and is not written.
#[derive(Debug)]
pub struct Tensor<T, const R: usize> {
    pub(crate) view: ViewParts,
    _type: PhantomData<fn() -> T>,
}

/// A view in the kernel, and how the axes of a [`Tensor`] lie in it.
#[derive(Clone, Debug)]
pub(crate) struct ViewParts {
    pub(crate) view: Handle,
    /// Axis of the view for each axis of the tensor.
    axes: SmallVec<[u8; 5]>,
    /// The position on each axis of the view that the tensor has dropped.
    dropped: SmallVec<[Option<Handle>; 5]>,
}

impl ViewParts {
    /// A whole view.
    pub(crate) fn new(view: Handle, rank: usize) -> Self {
        Self { view, axes: (0..rank as u8).collect(), dropped: smallvec![None; rank] }
    }

    /// Number of axes of the view.
    fn rank(&self) -> usize {
        self.dropped.len()
    }

    /// The operands of an address: the view, then offsets on all its axes.
    #[track_caller]
    fn operands(&self, at: &[Handle]) -> SmallVec<[Handle; 8]> {
        let mut operands: SmallVec<[Handle; 8]> = smallvec![self.view];
        for axis in 0..self.rank() {
            operands.push(match self.dropped[axis] {
                Some(position) => position,
                None => {
                    let logical = self.axes.iter().position(|&a| usize::from(a) == axis).unwrap_or(0);
                    at[logical]
                }
            });
        }
        operands
    }

    /// The order of axes in which the view stores a tile of the tensor, or `None` if it is the tensor's own.
    fn order(&self) -> Option<SmallVec<[u8; 5]>> {
        let mut order: SmallVec<[u8; 5]> = (0..self.axes.len() as u8).collect();
        order.sort_by_key(|&i| self.axes[usize::from(i)]);
        (!order.iter().copied().eq(0..self.axes.len() as u8)).then_some(order)
    }

    /// Extents of the box in the view that a tile of these extents covers.
    fn box_extents(&self, tile: &Extents) -> Extents {
        let mut extents: Extents = smallvec![1; self.rank()];
        for (&axis, &extent) in self.axes.iter().zip(tile) {
            extents[usize::from(axis)] = extent;
        }
        extents
    }

    /// Whether tiles of the tensor have the form of the view's boxes.
    fn is_whole(&self) -> bool {
        self.axes.len() == self.rank() && self.order().is_none()
    }

    /// A value in the form of the view's boxes, made from one in the tensor's form.
    #[track_caller]
    pub(crate) fn to_box(&self, value: Handle, tile: &Extents) -> Handle {
        if self.is_whole() || tile.is_empty() && self.rank() == 0 {
            return value;
        }
        let value = match self.order() {
            Some(perm) => context::emit([value], |[x]| OpKind::Permute { x, perm }),
            None => value,
        };
        let shape = self.box_extents(tile);
        if self.axes.len() == self.rank() { value } else { context::emit([value], |[x]| OpKind::Reshape { x, shape }) }
    }

    /// A value in the tensor's form, made from one in the form of the view's boxes.
    #[track_caller]
    pub(crate) fn to_tile(&self, value: Handle, tile: &Extents) -> Handle {
        if self.is_whole() {
            return value;
        }
        let order = self.order();
        let mut value = value;
        if self.axes.len() != self.rank() {
            let shape: Extents = match &order {
                Some(order) => order.iter().map(|&i| tile[usize::from(i)]).collect(),
                None => tile.clone(),
            };
            value = context::emit([value], |[x]| OpKind::Reshape { x, shape });
        }
        match order {
            Some(order) => {
                let mut perm: SmallVec<[u8; 5]> = smallvec![0; order.len()];
                for (i, &o) in order.iter().enumerate() {
                    perm[usize::from(o)] = i as u8;
                }
                context::emit([value], |[x]| OpKind::Permute { x, perm })
            }
            None => value,
        }
    }

    /// The operands of a box address, and what makes the address of the values behind them.
    #[track_caller]
    pub(crate) fn tile_address(
        &self,
        offsets: &[Handle],
        tile: &Extents,
    ) -> (SmallVec<[Handle; 8]>, impl FnOnce(&[tegula_ir::Value]) -> Address + use<>) {
        let shape = self.box_extents(tile);
        let operands = self.operands(offsets);
        (operands, move |v: &[tegula_ir::Value]| Address::Tile {
            view: v[0],
            offsets: v[1..].iter().copied().collect(),
            shape,
            in_bounds: AxisSet::NONE,
        })
    }

    /// The operands of a gather address: indices are repeated to the tile's extents.
    #[track_caller]
    pub(crate) fn gather_address(
        &self,
        indices: &[Handle],
        tile: &Extents,
    ) -> (SmallVec<[Handle; 8]>, impl FnOnce(&[tegula_ir::Value]) -> Address + use<>) {
        let mut operands = self.operands(indices);
        for (axis, position) in self.dropped.iter().enumerate() {
            if let Some(position) = position {
                operands[axis + 1] = broadcast(*position, Extents::new(), tile.clone());
            }
        }
        (operands, |v: &[tegula_ir::Value]| Address::Gather {
            view: v[0],
            indices: v[1..].iter().copied().collect(),
            in_bounds: AxisSet::NONE,
        })
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    pub(crate) fn new(view: ViewParts) -> Self {
        Self { view, _type: PhantomData }
    }

    /// The axis of the view behind axis `axis`, or a report that there is none.
    #[track_caller]
    fn axis(&self, axis: usize) -> Option<u8> {
        let found = self.view.axes.get(axis).copied();
        if found.is_none() {
            context::report(
                format!("there is no axis {axis} in a tensor of rank {R}"),
                "axes are counted from 0, outermost first",
            );
        }
        found
    }

    /// Number of elements along an axis.
    #[track_caller]
    pub fn extent(&self, axis: usize) -> Scalar<i64> {
        let Some(axis) = self.axis(axis) else { return Scalar::new(Handle::POISON) };
        Tile::new(context::emit([self.view.view], |[view]| OpKind::ViewExtent { view, axis }))
    }

    /// Distance between neighbours along an axis, in elements.
    #[track_caller]
    pub fn stride(&self, axis: usize) -> Scalar<i64> {
        let Some(axis) = self.axis(axis) else { return Scalar::new(Handle::POISON) };
        Tile::new(context::emit([self.view.view], |[view]| OpKind::ViewStride { view, axis }))
    }

    /// Number of tiles of extent `D` along an axis, the last one counted also if it is not whole.
    #[track_caller]
    pub fn tiles<D: Dim>(&self, axis: usize) -> Scalar<i64> {
        let extent = self.extent(axis).handle();
        Tile::new(ceil_div(extent, D::size()))
    }

    /// The tile at these coordinates, in units of the tile's extents.
    #[track_caller]
    pub fn tile<S: Ranked<R>>(&self, coords: impl Coords<R>) -> TileRef<'_, T, S> {
        TileRef::new(&self.view, scale(coords.coords(), &S::extents()))
    }

    /// The tile whose first element is at this place, in elements. Places may be negative: what lies before
    /// the tensor is padding.
    #[track_caller]
    pub fn tile_at<S: Ranked<R>>(&self, place: impl Coords<R>) -> TileRef<'_, T, S> {
        TileRef::new(&self.view, place.coords())
    }

    /// As [`tile`](Self::tile), to write.
    #[track_caller]
    pub fn tile_mut<S: Ranked<R>>(&mut self, coords: impl Coords<R>) -> TileMut<'_, T, S> {
        TileMut::new(&self.view, scale(coords.coords(), &S::extents()))
    }

    /// As [`tile_at`](Self::tile_at), to write.
    #[track_caller]
    pub fn tile_at_mut<S: Ranked<R>>(&mut self, place: impl Coords<R>) -> TileMut<'_, T, S> {
        TileMut::new(&self.view, place.coords())
    }

    /// Writes a tile at these coordinates, in units of its extents: `tile_mut` and `store` in one.
    #[track_caller]
    pub fn store_tile<S: Ranked<R>>(&mut self, coords: impl Coords<R>, value: Tile<T, S>) {
        self.tile_mut::<S>(coords).store(value);
    }

    /// Writes a tile whose first element goes to this place, in elements: `tile_at_mut` and `store` in one.
    #[track_caller]
    pub fn store_tile_at<S: Ranked<R>>(&mut self, place: impl Coords<R>, value: Tile<T, S>) {
        self.tile_at_mut::<S>(place).store(value);
    }

    /// One element; zero outside of the tensor.
    #[track_caller]
    pub fn get(&self, place: impl Coords<R>) -> Scalar<T> {
        self.element(place.coords(), None)
    }

    /// One element; `default` outside of the tensor.
    #[track_caller]
    pub fn get_or(&self, place: impl Coords<R>, default: impl Operand<T, ()>) -> Scalar<T> {
        let default = default.operand();
        self.element(place.coords(), Some(default))
    }

    #[track_caller]
    fn element(&self, place: SmallVec<[Handle; 5]>, pad: Option<Handle>) -> Scalar<T> {
        let (mut operands, address) = self.view.gather_address(&place, &Extents::new());
        let n = operands.len();
        operands.extend(pad);
        let loaded = context::emit_all(&operands, |v| OpKind::Load {
            addr: address(&v[..n]),
            mask: None,
            pad: v.get(n).copied(),
            access: Access::default(),
        });
        Tile::new(loaded.map_or(Handle::POISON, |r| r[0]))
    }

    /// Writes one element; nothing outside of the tensor.
    #[track_caller]
    pub fn set(&mut self, place: impl Coords<R>, value: impl Operand<T, ()>) {
        let value = value.operand();
        let (mut operands, address) = self.view.gather_address(&place.coords(), &Extents::new());
        let n = operands.len();
        operands.push(value);
        context::emit_all(&operands, |v| OpKind::Store {
            addr: address(&v[..n]),
            value: v[n],
            mask: None,
            access: Access::default(),
        });
    }

    /// Reads the elements at these indices, one tile or scalar of indices for each axis: `[i]`, `(i, j)`.
    /// Indices outside of the tensor read as zero.
    #[track_caller]
    pub fn gather<I: Indices<R>>(&self, indices: I) -> Tile<T, I::Shape> {
        self.gather_impl(indices.indices(), None, None)
    }

    /// As [`gather`](Self::gather), only where `mask` is true; `other` elsewhere and outside of the tensor.
    #[track_caller]
    pub fn gather_masked<I: Indices<R>, M: Shape + BroadcastTo<I::Shape>>(
        &self,
        indices: I,
        mask: Tile<bool, M>,
        other: impl Operand<T, ()>,
    ) -> Tile<T, I::Shape> {
        let mask = broadcast(mask.handle(), M::extents(), I::Shape::extents());
        self.gather_impl(indices.indices(), Some(mask), Some(other.operand()))
    }

    #[track_caller]
    fn gather_impl<S: Shape>(
        &self,
        indices: SmallVec<[Handle; 5]>,
        mask: Option<Handle>,
        pad: Option<Handle>,
    ) -> Tile<T, S> {
        let (mut operands, address) = self.view.gather_address(&indices, &S::extents());
        let n = operands.len();
        let masked = mask.is_some();
        operands.extend(mask);
        operands.extend(pad);
        let loaded = context::emit_all(&operands, |v| OpKind::Load {
            addr: address(&v[..n]),
            mask: masked.then(|| v[n]),
            pad: v.get(n + usize::from(masked)).copied(),
            access: Access::default(),
        });
        Tile::new(loaded.map_or(Handle::POISON, |r| r[0]))
    }

    /// Writes elements to these indices; nothing outside of the tensor. Which of two elements with equal
    /// indices stays is not specified.
    #[track_caller]
    pub fn scatter<I: Indices<R>>(&mut self, indices: I, value: Tile<T, I::Shape>) {
        self.scatter_impl::<I::Shape>(indices.indices(), value.handle(), None);
    }

    /// As [`scatter`](Self::scatter), only where `mask` is true.
    #[track_caller]
    pub fn scatter_masked<I: Indices<R>, M: Shape + BroadcastTo<I::Shape>>(
        &mut self,
        indices: I,
        value: Tile<T, I::Shape>,
        mask: Tile<bool, M>,
    ) {
        let mask = broadcast(mask.handle(), M::extents(), I::Shape::extents());
        self.scatter_impl::<I::Shape>(indices.indices(), value.handle(), Some(mask));
    }

    #[track_caller]
    fn scatter_impl<S: Shape>(&mut self, indices: SmallVec<[Handle; 5]>, value: Handle, mask: Option<Handle>) {
        let (mut operands, address) = self.view.gather_address(&indices, &S::extents());
        let n = operands.len();
        operands.push(value);
        operands.extend(mask);
        context::emit_all(&operands, |v| OpKind::Store {
            addr: address(&v[..n]),
            value: v[n],
            mask: v.get(n + 1).copied(),
            access: Access::default(),
        });
    }

    /// A pointer to element zero.
    ///
    /// Reading and writing through it is unchecked, and `unsafe`.
    #[track_caller]
    pub fn as_ptr(&self) -> Pointer<T> {
        if !self.view.is_whole() {
            context::report(
                "a view with dropped or reordered axes has no pointer to element zero",
                "take the pointer of the whole tensor and add offsets",
            );
            return Tile::new(Handle::POISON);
        }
        Tile::new(context::emit([self.view.view], |[view]| OpKind::ViewBase { view }))
    }

    #[track_caller]
    fn drop_axis<const Q: usize>(&self, axis: usize, position: Handle) -> Tensor<T, Q> {
        let mut view = self.view.clone();
        let axis = match self.axis(axis) {
            Some(_) => axis,
            // Reported: some axis is dropped all the same, so that the rank is right.
            None => {
                view.view = Handle::POISON;
                0
            }
        };
        let view_axis = view.axes.remove(axis);
        view.dropped[usize::from(view_axis)] = Some(position);
        Tensor::new(view)
    }

    #[track_caller]
    fn reorder(&self, order: [usize; R]) -> Tensor<T, R> {
        let mut view = self.view.clone();
        let mut sorted = order;
        sorted.sort_unstable();
        if sorted.iter().enumerate().any(|(i, &o)| i != o) {
            context::report(
                format!("{order:?} is not an order of the axes of a tensor of rank {R}"),
                "name each axis once",
            );
            return Tensor::new(view);
        }
        view.axes = order.iter().map(|&o| self.view.axes[o]).collect();
        Tensor::new(view)
    }

    /// The same tensor with its axes in another order: axis `i` of the view is axis `order[i]`.
    #[track_caller]
    pub fn permute(&self, order: [usize; R]) -> SubTensor<T, R> {
        SubTensor(self.reorder(order))
    }

    /// As [`permute`](Self::permute), to write.
    #[track_caller]
    pub fn permute_mut(&mut self, order: [usize; R]) -> SubTensorMut<'_, T, R> {
        SubTensorMut(self.reorder(order), PhantomData)
    }

    /// The part of the tensor that starts at `start` along `axis` and has `len` elements there, as far as the
    /// tensor goes.
    #[track_caller]
    pub fn narrow(&self, axis: usize, start: impl Coord, len: impl Coord) -> SubTensor<T, R> {
        SubTensor(self.narrowed(axis, start.coord(), len.coord()))
    }

    /// As [`narrow`](Self::narrow), to write.
    #[track_caller]
    pub fn narrow_mut(&mut self, axis: usize, start: impl Coord, len: impl Coord) -> SubTensorMut<'_, T, R> {
        SubTensorMut(self.narrowed(axis, start.coord(), len.coord()), PhantomData)
    }

    #[track_caller]
    fn narrowed(&self, axis: usize, start: Handle, len: Handle) -> Tensor<T, R> {
        let mut view = self.view.clone();
        let Some(narrow_axis) = self.axis(axis) else { return Tensor::new(view) };
        let zero = index(0);
        let whole = view.view;
        let rank = view.rank();
        let mut operands: SmallVec<[Handle; 16]> = SmallVec::new();
        let mut base = context::emit([whole], |[view]| OpKind::ViewBase { view });
        let (mut extents, mut strides) = (SmallVec::<[Handle; 5]>::new(), SmallVec::<[Handle; 5]>::new());
        for axis in 0..rank as u8 {
            let mut extent = context::emit([whole], |[view]| OpKind::ViewExtent { view, axis });
            let stride = context::emit([whole], |[view]| OpKind::ViewStride { view, axis });
            if axis == narrow_axis {
                // A start outside of the tensor leaves nothing, not something else.
                let first = binary(BinaryOp::Min, binary(BinaryOp::Max, start, zero), extent);
                let offset = binary(BinaryOp::Mul, first, stride);
                base = context::emit([base, offset], |[ptr, offset]| OpKind::PtrAdd { ptr, offset });
                let rest = binary(BinaryOp::Sub, extent, first);
                extent = binary(BinaryOp::Min, binary(BinaryOp::Max, len, zero), rest);
            }
            extents.push(extent);
            strides.push(stride);
        }
        operands.push(base);
        operands.extend(extents);
        operands.extend(strides);
        let made = context::emit_all(&operands, |v| OpKind::MakeView {
            base: v[0],
            extents: v[1..=rank].iter().copied().collect(),
            strides: v[rank + 1..].iter().copied().collect(),
        });
        view.view = made.map_or(Handle::POISON, |r| r[0]);
        Tensor::new(view)
    }
}

macro_rules! drop_axis {
    ($($rank:literal => $less:literal),*) => {$(
        impl<T: Element> Tensor<T, $rank> {
            /// The part of the tensor at this position of `axis`, without that axis. A position outside of the
            /// tensor leaves nothing: reads give padding, writes are dropped.
            #[track_caller]
            pub fn at_axis(&self, axis: usize, position: impl Coord) -> SubTensor<T, $less> {
                SubTensor(self.drop_axis(axis, position.coord()))
            }

            /// As [`at_axis`](Self::at_axis), to write.
            #[track_caller]
            pub fn at_axis_mut(&mut self, axis: usize, position: impl Coord) -> SubTensorMut<'_, T, $less> {
                SubTensorMut(self.drop_axis(axis, position.coord()), PhantomData)
            }
        }
    )*};
}

drop_axis!(1 => 0, 2 => 1, 3 => 2, 4 => 3, 5 => 4);

impl<T: Element> Tensor<T, 2> {
    /// The same tensor with its axes exchanged.
    #[track_caller]
    pub fn transpose(&self) -> SubTensor<T, 2> {
        self.permute([1, 0])
    }
}

/// A view of a part of a [`Tensor`], which is read: it derefs to a tensor.
#[derive(Debug)]
pub struct SubTensor<T, const R: usize>(Tensor<T, R>);

/// A view of a part of a [`Tensor`], which is read and written: it derefs to a tensor.
#[derive(Debug)]
pub struct SubTensorMut<'a, T, const R: usize>(Tensor<T, R>, PhantomData<&'a mut ()>);

impl<T, const R: usize> Deref for SubTensor<T, R> {
    type Target = Tensor<T, R>;

    fn deref(&self) -> &Tensor<T, R> {
        &self.0
    }
}

impl<T, const R: usize> Deref for SubTensorMut<'_, T, R> {
    type Target = Tensor<T, R>;

    fn deref(&self) -> &Tensor<T, R> {
        &self.0
    }
}

impl<T, const R: usize> DerefMut for SubTensorMut<'_, T, R> {
    fn deref_mut(&mut self) -> &mut Tensor<T, R> {
        &mut self.0
    }
}

/// Indices of `gather` and `scatter`: one tile, scalar or number of integers for each axis of the tensor. Their
/// shapes broadcast.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not index a tensor of rank {R}",
    label = "a tuple of {R} tiles of integers is needed here",
    note = "give one tile of indices for each axis: `i` or `(i,)` for rank 1, `(i, j)` for rank 2; their shapes must broadcast"
)]
pub trait Indices<const R: usize> {
    /// The common shape.
    type Shape: Shape;

    /// The indices, repeated to the common shape.
    #[doc(hidden)]
    #[track_caller]
    fn indices(self) -> SmallVec<[Handle; 5]>;
}

/// Indices along one axis: a tile of integers, a scalar, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index along an axis",
    label = "a tile of integers, a scalar or a number is needed here"
)]
pub trait IndexTile {
    /// Their shape.
    type Shape: Shape;

    /// The indices.
    #[doc(hidden)]
    #[track_caller]
    fn index_tile(self) -> Handle;
}

#[diagnostic::do_not_recommend]
impl<I: Int, S: Shape> IndexTile for Tile<I, S> {
    type Shape = S;

    fn index_tile(self) -> Handle {
        self.handle()
    }
}

macro_rules! host_index {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl IndexTile for $ty {
            type Shape = ();

            #[track_caller]
            fn index_tile(self) -> Handle {
                self.coord()
            }
        }
    )*};
}

host_index!(crate::literal::IntLit i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl<I: Int, S: Shape> Indices<1> for Tile<I, S> {
    type Shape = S;

    fn indices(self) -> SmallVec<[Handle; 5]> {
        [self.handle()].into_iter().collect()
    }
}

impl<I: Int, S: Shape, const R: usize> Indices<R> for [Tile<I, S>; R] {
    type Shape = S;

    fn indices(self) -> SmallVec<[Handle; 5]> {
        self.iter().map(|t| t.handle()).collect()
    }
}

/// The common shape of two shapes.
type Both<A, B> = <A as Broadcast<B>>::Output;

macro_rules! indices {
    ($rank:literal; $shape:ty; $($name:ident $i:tt),+; $($bounds:tt)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($name: IndexTile),+> Indices<$rank> for ($($name,)+)
        where
            $($bounds)*
        {
            type Shape = $shape;

            #[track_caller]
            fn indices(self) -> SmallVec<[Handle; 5]> {
                let shape = <$shape>::extents();
                [$(broadcast(self.$i.index_tile(), $name::Shape::extents(), shape.clone())),+].into_iter().collect()
            }
        }
    };
}

indices!(1; A::Shape; A 0; );
indices!(2; Both<A::Shape, B::Shape>; A 0, B 1; A::Shape: Broadcast<B::Shape>);
indices!(3; Both<Both<A::Shape, B::Shape>, C::Shape>; A 0, B 1, C 2;
    A::Shape: Broadcast<B::Shape>, Both<A::Shape, B::Shape>: Broadcast<C::Shape>);
indices!(4; Both<Both<Both<A::Shape, B::Shape>, C::Shape>, D::Shape>; A 0, B 1, C 2, D 3;
    A::Shape: Broadcast<B::Shape>, Both<A::Shape, B::Shape>: Broadcast<C::Shape>,
    Both<Both<A::Shape, B::Shape>, C::Shape>: Broadcast<D::Shape>);
indices!(5; Both<Both<Both<Both<A::Shape, B::Shape>, C::Shape>, D::Shape>, E::Shape>; A 0, B 1, C 2, D 3, E 4;
    A::Shape: Broadcast<B::Shape>, Both<A::Shape, B::Shape>: Broadcast<C::Shape>,
    Both<Both<A::Shape, B::Shape>, C::Shape>: Broadcast<D::Shape>,
    Both<Both<Both<A::Shape, B::Shape>, C::Shape>, D::Shape>: Broadcast<E::Shape>);

/// Positions in tiles as offsets in elements.
#[track_caller]
pub(crate) fn scale(coords: SmallVec<[Handle; 5]>, tile: &Extents) -> SmallVec<[Handle; 5]> {
    let mut offsets = SmallVec::new();
    for (&c, &d) in coords.iter().zip(tile) {
        offsets.push(if d == 1 { c } else { binary(BinaryOp::Mul, c, index(i64::from(d))) });
    }
    offsets
}

/// `ceil(x / d)` of an `i64` that is not negative.
#[track_caller]
pub(crate) fn ceil_div(x: Handle, d: i64) -> Handle {
    if d <= 1 {
        return x;
    }
    binary(BinaryOp::Div, binary(BinaryOp::Add, x, index(d - 1)), index(d))
}

/// A view does not change in a loop; it may be borrowed mutably there.
#[diagnostic::do_not_recommend]
impl<T, const R: usize> crate::control::carry::Staged for Tensor<T, R> {
    fn visit(&mut self, _: &mut dyn FnMut(&mut Handle)) {}
}

#[diagnostic::do_not_recommend]
impl<T, const R: usize> crate::control::carry::Staged for SubTensorMut<'_, T, R> {
    fn visit(&mut self, _: &mut dyn FnMut(&mut Handle)) {}
}
