//! A tile's place in a tensor: loading from it and storing to it.

use std::marker::PhantomData;

use smallvec::SmallVec;
use tegula_ir::ops::{Access, CacheHint, OpKind};

use super::tensor::ViewParts;
use crate::context::{self, Handle};
use crate::elem::Element;
use crate::literal::Operand;
use crate::ops::shape::broadcast;
use crate::shape::Shape;
use crate::shape::broadcast::BroadcastTo;
use crate::tile::Tile;

/// Marks a place that may only be read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOnly;

/// Marks a place that may be written.
#[derive(Clone, Copy, Debug)]
pub struct ReadWrite;

/// Places that may be written.
#[diagnostic::on_unimplemented(
    message = "this tile belongs to a tensor that is only read",
    label = "cannot be written",
    note = "take it with `tile_mut` or `tile_at_mut` from a `&mut Tensor`, or write to a `&mut Tiles` output"
)]
pub trait Writable {}

#[diagnostic::do_not_recommend]
impl Writable for ReadWrite {}

/// Where a tile of shape `S` lies in a tensor.
#[derive(Clone, Debug)]
#[must_use = "load it or store to it"]
pub struct Place<'v, T, S, A> {
    pub(crate) view: &'v ViewParts,
    pub(crate) offsets: SmallVec<[Handle; 5]>,
    access: Access,
    _element: PhantomData<fn() -> T>,
    _shape: PhantomData<fn() -> S>,
    _rights: PhantomData<A>,
}

/// A place that is read: made by [`Tensor::tile`](super::tensor::Tensor::tile).
pub type TileRef<'v, T, S> = Place<'v, T, S, ReadOnly>;

/// A place that is read and written: made by [`Tensor::tile_mut`](super::tensor::Tensor::tile_mut).
pub type TileMut<'v, T, S> = Place<'v, T, S, ReadWrite>;

impl<'v, T: Element, S: Shape, A> Place<'v, T, S, A> {
    pub(crate) fn new(view: &'v ViewParts, offsets: SmallVec<[Handle; 5]>) -> Self {
        Self {
            view,
            offsets,
            access: Access::default(),
            _element: PhantomData,
            _shape: PhantomData,
            _rights: PhantomData,
        }
    }

    /// Accesses memory under this cache policy. A hint.
    pub fn cache(mut self, hint: CacheHint) -> Self {
        self.access.cache = hint;
        self
    }

    /// Accesses memory exactly as written: not merged, moved, repeated or removed.
    pub fn volatile(mut self) -> Self {
        self.access.volatile = true;
        self
    }

    /// The tile; zero outside of the tensor.
    #[track_caller]
    pub fn load(self) -> Tile<T, S> {
        self.load_impl(None, None)
    }

    /// The tile; `pad` outside of the tensor.
    #[track_caller]
    pub fn load_or(self, pad: impl Operand<T, ()>) -> Tile<T, S> {
        let pad = pad.operand();
        self.load_impl(None, Some(pad))
    }

    /// The tile where `mask` is true, zero elsewhere and outside of the tensor. Memory that is masked off is
    /// not touched.
    #[track_caller]
    pub fn load_masked<M: Shape + BroadcastTo<S>>(self, mask: Tile<bool, M>) -> Tile<T, S> {
        let mask = broadcast(mask.handle(), M::extents(), S::extents());
        self.load_impl(Some(mask), None)
    }

    /// The tile where `mask` is true, `pad` elsewhere and outside of the tensor.
    #[track_caller]
    pub fn load_masked_or<M: Shape + BroadcastTo<S>>(
        self,
        mask: Tile<bool, M>,
        pad: impl Operand<T, ()>,
    ) -> Tile<T, S> {
        let mask = broadcast(mask.handle(), M::extents(), S::extents());
        let pad = pad.operand();
        self.load_impl(Some(mask), Some(pad))
    }

    #[track_caller]
    fn load_impl(self, mask: Option<Handle>, pad: Option<Handle>) -> Tile<T, S> {
        let tile = S::extents();
        let mask = mask.map(|m| self.view.to_box(m, &tile));
        let (mut operands, address) = self.view.tile_address(&self.offsets, &tile);
        let n = operands.len();
        let masked = mask.is_some();
        operands.extend(mask);
        operands.extend(pad);
        let access = self.access;
        let loaded = context::emit_all(&operands, |v| OpKind::Load {
            addr: address(&v[..n]),
            mask: masked.then(|| v[n]),
            pad: v.get(n + usize::from(masked)).copied(),
            access,
        });
        Tile::new(loaded.map_or(Handle::POISON, |r| self.view.to_tile(r[0], &tile)))
    }

    /// Writes the tile; what lies outside of the tensor is not written.
    #[track_caller]
    pub fn store(self, value: Tile<T, S>)
    where
        A: Writable,
    {
        self.store_impl(value.handle(), None);
    }

    /// Writes the tile where `mask` is true.
    #[track_caller]
    pub fn store_masked<M: Shape + BroadcastTo<S>>(self, value: Tile<T, S>, mask: Tile<bool, M>)
    where
        A: Writable,
    {
        let mask = broadcast(mask.handle(), M::extents(), S::extents());
        self.store_impl(value.handle(), Some(mask));
    }

    #[track_caller]
    fn store_impl(self, value: Handle, mask: Option<Handle>) {
        let tile = S::extents();
        let value = self.view.to_box(value, &tile);
        let mask = mask.map(|m| self.view.to_box(m, &tile));
        let (mut operands, address) = self.view.tile_address(&self.offsets, &tile);
        let n = operands.len();
        operands.push(value);
        operands.extend(mask);
        let access = self.access;
        context::emit_all(&operands, |v| OpKind::Store {
            addr: address(&v[..n]),
            value: v[n],
            mask: v.get(n + 1).copied(),
            access,
        });
    }
}
