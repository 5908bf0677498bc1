//! Raw pointers and tiles of pointers: no bounds are known, so access is `unsafe`.

use tegula_ir::ops::{Access, Address, OpKind};

use crate::context::{self, Handle};
use crate::elem::{Element, Int, Ptr};
use crate::literal::Operand;
use crate::ops::shape::broadcast;
use crate::shape::Shape;
use crate::shape::broadcast::{Broadcast, BroadcastTo};
use crate::tile::{Scalar, Tile};
use crate::view::tensor::{Tensor, ViewParts};

impl<T: Element, S: Shape> Tile<Ptr<T>, S> {
    /// Pointers that many elements further. Making a pointer is safe; using it is not.
    #[track_caller]
    pub fn offset<I: Int, R: Shape>(self, elements: Tile<I, R>) -> Tile<Ptr<T>, <S as Broadcast<R>>::Output>
    where
        S: Broadcast<R>,
    {
        let shape = <S as Broadcast<R>>::Output::extents();
        let ptr = broadcast(self.handle(), S::extents(), shape.clone());
        let offset = broadcast(elements.handle(), R::extents(), shape);
        Tile::new(context::emit([ptr, offset], |[ptr, offset]| OpKind::PtrAdd { ptr, offset }))
    }

    /// Reads through the pointers.
    ///
    /// # Safety
    /// Every pointer is to memory that holds an element of `T` and is not written meanwhile.
    #[track_caller]
    pub unsafe fn load(self) -> Tile<T, S> {
        self.load_impl(None, None)
    }

    /// Reads through the pointers where `mask` is true; `other` elsewhere.
    ///
    /// # Safety
    /// As [`load`](Self::load), for the pointers where `mask` is true.
    #[track_caller]
    pub unsafe fn load_masked<M: Shape + BroadcastTo<S>>(
        self,
        mask: Tile<bool, M>,
        other: impl Operand<T, ()>,
    ) -> Tile<T, S> {
        let mask = broadcast(mask.handle(), M::extents(), S::extents());
        self.load_impl(Some(mask), Some(other.operand()))
    }

    #[track_caller]
    fn load_impl(self, mask: Option<Handle>, pad: Option<Handle>) -> Tile<T, S> {
        let masked = mask.is_some();
        let operands: Vec<Handle> = [self.handle()].into_iter().chain(mask).chain(pad).collect();
        let loaded = context::emit_all(&operands, |v| OpKind::Load {
            addr: Address::Ptr { ptr: v[0] },
            mask: masked.then(|| v[1]),
            pad: v.get(1 + usize::from(masked)).copied(),
            access: Access::default(),
        });
        Tile::new(loaded.map_or(Handle::POISON, |r| r[0]))
    }

    /// Writes through the pointers.
    ///
    /// # Safety
    /// Every pointer is to memory for an element of `T` that nothing else accesses meanwhile.
    #[track_caller]
    pub unsafe fn store(self, value: Tile<T, S>) {
        self.store_impl(value.handle(), None);
    }

    /// Writes through the pointers where `mask` is true.
    ///
    /// # Safety
    /// As [`store`](Self::store), for the pointers where `mask` is true.
    #[track_caller]
    pub unsafe fn store_masked<M: Shape + BroadcastTo<S>>(self, value: Tile<T, S>, mask: Tile<bool, M>) {
        let mask = broadcast(mask.handle(), M::extents(), S::extents());
        self.store_impl(value.handle(), Some(mask));
    }

    #[track_caller]
    fn store_impl(self, value: Handle, mask: Option<Handle>) {
        let operands: Vec<Handle> = [self.handle(), value].into_iter().chain(mask).collect();
        context::emit_all(&operands, |v| OpKind::Store {
            addr: Address::Ptr { ptr: v[0] },
            value: v[1],
            mask: v.get(2).copied(),
            access: Access::default(),
        });
    }

    /// The addresses as numbers.
    #[track_caller]
    pub fn address(self) -> Tile<u64, S> {
        let to = <u64 as Element>::TYPE;
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Bitcast { x, to }))
    }
}

impl<T: Element> Scalar<Ptr<T>> {
    /// A tensor over memory that starts here, with these extents and strides in elements.
    ///
    /// # Safety
    /// All elements that extents and strides span are memory that holds elements of `T`, which nothing else
    /// writes meanwhile (nor reads, if the tensor is written).
    #[track_caller]
    pub unsafe fn as_tensor<const R: usize>(
        self,
        extents: [Scalar<i64>; R],
        strides: [Scalar<i64>; R],
    ) -> Tensor<T, R> {
        let operands: Vec<Handle> =
            [self.handle()].into_iter().chain(extents.map(Tile::handle)).chain(strides.map(Tile::handle)).collect();
        let view = context::emit_all(&operands, |v| OpKind::MakeView {
            base: v[0],
            extents: v[1..=R].iter().copied().collect(),
            strides: v[R + 1..].iter().copied().collect(),
        });
        Tensor::new(ViewParts::new(view.map_or(Handle::POISON, |r| r[0]), R))
    }
}
