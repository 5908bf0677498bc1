//! Atomic read-modify-write on tensors, element by element in no particular order.
//!
//! Each gives the old values, zero where nothing was done: outside of the tensor, or masked off. Memory
//! ordering is relaxed and the scope is the device unless asked otherwise.

use smallvec::SmallVec;
use tegula_ir::Value;
use tegula_ir::ops::{Address, AtomicOp, OpKind, Ordering, Scope};

use super::access::{Place, Writable};
use super::tensor::{Indices, Tensor};
use crate::context::{self, Handle};
use crate::elem::{AnyElem, Element, Int, Num, Ptr};
use crate::literal::Operand;
use crate::ops::shape::broadcast;
use crate::shape::Shape;
use crate::shape::broadcast::BroadcastTo;
use crate::tile::Tile;

/// How an atomic is done: memory ordering, scope, and where.
#[derive(Clone, Copy, Debug)]
#[must_use = "call an operation on it"]
pub struct Atomic<P, T, S> {
    place: P,
    ordering: Ordering,
    scope: Scope,
    mask: Option<Handle>,
    _type: std::marker::PhantomData<fn() -> (T, S)>,
}

/// The operands of an address, and what makes it of the values behind them.
type AddressOf = (SmallVec<[Handle; 8]>, Box<dyn FnOnce(&[Value]) -> Address>);

/// Elements in memory that atomics can be done on.
pub trait AtomicPlace {
    /// The operands of the address, and what makes it of the values behind them.
    #[doc(hidden)]
    #[track_caller]
    fn address(&self) -> AddressOf;

    /// A value in the form in which the address takes it.
    #[doc(hidden)]
    #[track_caller]
    fn to_memory(&self, value: Handle) -> Handle {
        value
    }

    /// A value in the form of the place, made from one in the form of the address.
    #[doc(hidden)]
    #[track_caller]
    fn to_place(&self, value: Handle) -> Handle {
        value
    }
}

impl<T: Element, S: Shape, A: Writable> AtomicPlace for Place<'_, T, S, A> {
    #[track_caller]
    fn address(&self) -> AddressOf {
        let (operands, address) = self.view.tile_address(&self.offsets, &S::extents());
        (operands, Box::new(address))
    }

    #[track_caller]
    fn to_memory(&self, value: Handle) -> Handle {
        self.view.to_box(value, &S::extents())
    }

    #[track_caller]
    fn to_place(&self, value: Handle) -> Handle {
        self.view.to_tile(value, &S::extents())
    }
}

/// Elements of a tensor picked by indices: made by [`Tensor::atomic_at`].
#[derive(Clone, Debug)]
pub struct Picked<'v, T, S, const R: usize> {
    tensor: &'v Tensor<T, R>,
    indices: SmallVec<[Handle; 5]>,
    _shape: std::marker::PhantomData<fn() -> S>,
}

impl<T: Element, S: Shape, const R: usize> AtomicPlace for Picked<'_, T, S, R> {
    #[track_caller]
    fn address(&self) -> AddressOf {
        let (operands, address) = self.tensor.view.gather_address(&self.indices, &S::extents());
        (operands, Box::new(address))
    }
}

/// Elements behind pointers: made by [`Tile::atomic`].
#[derive(Clone, Copy, Debug)]
pub struct Pointed(Handle);

impl AtomicPlace for Pointed {
    #[track_caller]
    fn address(&self) -> AddressOf {
        ([self.0].into_iter().collect(), Box::new(|v: &[Value]| Address::Ptr { ptr: v[0] }))
    }
}

impl<'v, T: Element, S: Shape, A: Writable> Place<'v, T, S, A> {
    /// Atomics on this tile: `out.tile_mut::<S>([i]).atomic().fetch_add(x)`.
    pub fn atomic(self) -> Atomic<Self, T, S> {
        Atomic::new(self)
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// Atomics on the elements at these indices: `out.atomic_at(i).fetch_add(1)`. Equal indices are updated one
    /// after the other.
    #[track_caller]
    pub fn atomic_at<I: Indices<R>>(&mut self, indices: I) -> Atomic<Picked<'_, T, I::Shape, R>, T, I::Shape> {
        let indices = indices.indices();
        Atomic::new(Picked { tensor: self, indices, _shape: std::marker::PhantomData })
    }
}

impl<T: Element, S: Shape> Tile<Ptr<T>, S> {
    /// Atomics on the elements behind the pointers.
    ///
    /// # Safety
    /// Every pointer (where the mask is true) is to memory that holds an element of `T`.
    pub unsafe fn atomic(self) -> Atomic<Pointed, T, S> {
        Atomic::new(Pointed(self.handle()))
    }
}

impl<P: AtomicPlace, T: Element, S: Shape> Atomic<P, T, S> {
    fn new(place: P) -> Self {
        Self { place, ordering: Ordering::Relaxed, scope: Scope::Device, mask: None, _type: std::marker::PhantomData }
    }

    /// With this memory ordering.
    pub fn ordering(mut self, ordering: Ordering) -> Self {
        self.ordering = ordering;
        self
    }

    /// Ordered among these threads.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Only where `mask` is true.
    #[track_caller]
    pub fn masked<M: Shape + BroadcastTo<S>>(mut self, mask: Tile<bool, M>) -> Self {
        self.mask = Some(broadcast(mask.handle(), M::extents(), S::extents()));
        self
    }

    #[track_caller]
    fn emit<U: AnyElem>(
        self,
        values: &[Handle],
        op: impl FnOnce(Address, &[Value], Option<Value>, Ordering, Scope) -> OpKind,
    ) -> Tile<U, S> {
        let (mut operands, address) = self.place.address();
        let n = operands.len();
        for &value in values {
            operands.push(self.place.to_memory(value));
        }
        let m = operands.len();
        operands.extend(self.mask.map(|mask| self.place.to_memory(mask)));
        let (ordering, scope) = (self.ordering, self.scope);
        let result =
            context::emit_all(&operands, |v| op(address(&v[..n]), &v[n..m], v.get(m).copied(), ordering, scope));
        Tile::new(result.map_or(Handle::POISON, |r| self.place.to_place(r[0])))
    }

    #[track_caller]
    fn rmw(self, op: AtomicOp, value: Handle) -> Tile<T, S> {
        self.emit(&[value], |addr, v, mask, ordering, scope| OpKind::AtomicRmw {
            op,
            addr,
            value: v[0],
            mask,
            ordering,
            scope,
        })
    }

    /// Puts `value` in; gives the old values.
    #[track_caller]
    pub fn exchange(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::Xchg, value.operand())
    }

    /// Puts `value` in where the bits are those of `expected`; gives the old values.
    #[track_caller]
    pub fn compare_exchange(self, expected: impl Operand<T, S>, value: impl Operand<T, S>) -> Tile<T, S> {
        let values = [expected.operand(), value.operand()];
        self.emit(&values, |addr, v, mask, ordering, scope| OpKind::AtomicCas {
            addr,
            compare: v[0],
            value: v[1],
            mask,
            ordering,
            scope,
        })
    }
}

impl<P: AtomicPlace, T: Num, S: Shape> Atomic<P, T, S> {
    /// Adds; wrapping for integers. Gives the old values.
    #[track_caller]
    pub fn fetch_add(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::Add, value.operand())
    }

    /// Keeps the lesser value, passing over NaN. Gives the old values.
    #[track_caller]
    pub fn fetch_min(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::Min, value.operand())
    }

    /// Keeps the greater value, passing over NaN. Gives the old values.
    #[track_caller]
    pub fn fetch_max(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::Max, value.operand())
    }
}

impl<P: AtomicPlace, T: Int, S: Shape> Atomic<P, T, S> {
    /// And of the bits. Gives the old values.
    #[track_caller]
    pub fn fetch_and(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::And, value.operand())
    }

    /// Or of the bits. Gives the old values.
    #[track_caller]
    pub fn fetch_or(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::Or, value.operand())
    }

    /// Exclusive or of the bits. Gives the old values.
    #[track_caller]
    pub fn fetch_xor(self, value: impl Operand<T, S>) -> Tile<T, S> {
        self.rmw(AtomicOp::Xor, value.operand())
    }
}
