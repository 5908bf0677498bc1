//! Tiles and scalars: the values of a kernel.

use std::marker::PhantomData;

use crate::context::Handle;
use crate::elem::{AnyElem, Ptr};
use crate::shape::Shape;

/// A value of element type `T` and shape `S`, spread over the threads of a program: a small handle that is
/// copied freely. Operations on tiles append to the kernel that is being built.
///
/// A tile of shape `()` is a [`Scalar`].
#[must_use = "operations on tiles give new tiles"]
pub struct Tile<T, S> {
    handle: Handle,
    _type: PhantomData<fn() -> (T, S)>,
}

/// One number or truth value, the same in every thread of a program.
pub type Scalar<T> = Tile<T, ()>;

/// A pointer to elements of `T` in global memory. Reading and writing through it is `unsafe`.
pub type Pointer<T> = Tile<Ptr<T>, ()>;

impl<T, S> Clone for Tile<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S> Copy for Tile<T, S> {}

impl<T: AnyElem, S: Shape> std::fmt::Debug for Tile<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tile<{}, {:?}>", T::elem(), S::extents())
    }
}

impl<T: AnyElem, S: Shape> Tile<T, S> {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle, _type: PhantomData }
    }

    pub(crate) fn handle(self) -> Handle {
        self.handle
    }

    pub(crate) fn handle_mut(&mut self) -> &mut Handle {
        &mut self.handle
    }
}
