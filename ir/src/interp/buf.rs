//! Values while a kernel runs: one typed buffer for a whole tile, one element long for a scalar.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::literal::Literal;

/// Elements in row-major order; a scalar does not allocate.
pub type Elems<T> = SmallVec<[T; 1]>;

/// The elements of a scalar or tile in host form (see [`crate::numeric`]). Its shape and element type are
/// those of the value in the function. Pointers are addresses (see [`super::memory`]) in `Int`.
#[derive(Clone, Debug)]
pub enum Buf {
    /// Truth values.
    Bool(Elems<bool>),
    /// Integers and pointers.
    Int(Elems<i64>),
    /// Floats.
    Float(Elems<f64>),
}

/// Runs the same expression on the elements of whichever kind a buffer holds, giving a buffer of that kind.
macro_rules! map_elems {
    ($buf:expr, $v:ident => $e:expr) => {
        match $buf {
            Buf::Bool($v) => Buf::Bool($e),
            Buf::Int($v) => Buf::Int($e),
            Buf::Float($v) => Buf::Float($e),
        }
    };
}
pub(super) use map_elems;

/// Runs the same expression on the elements of two buffers of one kind.
macro_rules! map_elems2 {
    ($x:expr, $y:expr, ($v:ident, $w:ident) => $e:expr) => {
        match ($x, $y) {
            (Buf::Bool($v), Buf::Bool($w)) => Buf::Bool($e),
            (Buf::Int($v), Buf::Int($w)) => Buf::Int($e),
            (Buf::Float($v), Buf::Float($w)) => Buf::Float($e),
            _ => unreachable!("operands of one element type"),
        }
    };
}
pub(super) use map_elems2;

impl Buf {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Buf::Bool(v) => v.len(),
            Buf::Int(v) => v.len(),
            Buf::Float(v) => v.len(),
        }
    }

    /// `n` times the literal.
    pub fn splat(value: Literal, n: usize) -> Self {
        match value {
            Literal::Bool(b) => Buf::Bool(SmallVec::from_elem(b, n)),
            Literal::Int(v) => Buf::Int(SmallVec::from_elem(v, n)),
            Literal::Float(v) => Buf::Float(SmallVec::from_elem(v, n)),
        }
    }

    /// Element `i`.
    pub fn get(&self, i: usize) -> Literal {
        match self {
            Buf::Bool(v) => Literal::Bool(v[i]),
            Buf::Int(v) => Literal::Int(v[i]),
            Buf::Float(v) => Literal::Float(v[i]),
        }
    }

    /// The elements at these indices, in their order.
    pub fn pick(&self, indices: impl Iterator<Item = usize>) -> Self {
        map_elems!(self, v => indices.map(|i| v[i]).collect())
    }

    /// The one element `n` times.
    pub fn repeat(&self, n: usize) -> Self {
        map_elems!(self, v => SmallVec::from_elem(v[0], n))
    }

    /// An empty buffer of the same kind.
    pub fn empty_like(&self, capacity: usize) -> Self {
        fn with<T, U>(_: &Elems<U>, n: usize) -> Elems<T> {
            SmallVec::with_capacity(n)
        }
        map_elems!(self, v => with(v, capacity))
    }

    /// Appends a literal of the buffer's kind.
    pub fn push(&mut self, value: Literal) {
        match (self, value) {
            (Buf::Bool(v), Literal::Bool(x)) => v.push(x),
            (Buf::Int(v), Literal::Int(x)) => v.push(x),
            (Buf::Float(v), Literal::Float(x)) => v.push(x),
            _ => unreachable!("elements of one type"),
        }
    }

    /// The truth values.
    pub fn bools(&self) -> &[bool] {
        match self {
            Buf::Bool(v) => v,
            _ => unreachable!("a value of i1"),
        }
    }

    /// The integers or addresses.
    pub fn ints(&self) -> &[i64] {
        match self {
            Buf::Int(v) => v,
            _ => unreachable!("a value of integers"),
        }
    }
}

/// A tensor view: an address, extents and strides in elements.
#[derive(Clone, Debug)]
pub struct ViewVal {
    /// Address of element zero.
    pub base: i64,
    /// Extents.
    pub extents: SmallVec<[i64; 5]>,
    /// Strides.
    pub strides: SmallVec<[i64; 5]>,
}

/// What a value of the function holds.
#[derive(Clone, Debug)]
pub enum Val {
    /// A scalar or tile.
    Data(Rc<Buf>),
    /// A view.
    View(Rc<ViewVal>),
}

impl From<Buf> for Val {
    fn from(b: Buf) -> Self {
        Val::Data(Rc::new(b))
    }
}
