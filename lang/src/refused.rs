//! What Rust would refuse without naming a way out: comparing tiles where `<` is Rust's, indexing them, looping over them,
//! computing with a place that was not loaded.
//!
//! Each is an implementation of the operator under a condition on [`Mistake`] that never holds, so that the compiler reports that
//! condition, in its words. The condition is on the right operand where there is one:
//! rustc looks for an operator before it knows that operand, and a condition on the tile would hide the operator again.

use std::convert::Infallible;
use std::ops::{Add, Div, Index, Mul, Rem, Sub};

use crate::elem::Element;
use crate::shape::Shape;
use crate::tile::{Scalar, Tile};
use crate::view::access::Place;
use crate::view::tensor::Tensor;

/// A use that is refused.
#[derive(Debug)]
pub enum Mistake {}

/// Never implemented: comparison of tiles of type `T` by Rust's own operators.
#[diagnostic::on_unimplemented(
    message = "`{T}` is compared by an operator in a function that is neither a `#[kernel]` nor `#[device]`",
    label = "here the comparison is Rust's own, which would give a `bool` when the kernel is built",
    note = "mark the function `#[device]`, so that comparisons, `if` and loops in it are those of a kernel; or use methods such as `.less(..)` and `.equal(..)`, also in what a macro expands to"
)]
pub trait Compares<T> {
    /// Nothing.
    fn never() -> &'static Infallible;
}

/// Never implemented: Rust's own loop over a tile of type `T`.
#[diagnostic::on_unimplemented(
    message = "Rust's own `for` cannot run over `{T}`",
    label = "a value of the device, which is not known when the kernel is built",
    note = "to count up to a scalar `n` write `for i in 0..n`, in a `#[kernel]` or in a function marked `#[device]`; operations on a tile apply to all its elements, without a loop"
)]
pub trait LoopsOver<T> {}

/// Never implemented: an element of a tile of type `T` by index.
#[diagnostic::on_unimplemented(
    message = "elements of `{T}` cannot be picked by an index",
    label = "a tile is spread over the threads of a program",
    note = "take a part with `.slice::<S>([i])`, pick along an axis with `.gather::<AXIS, _>(indices)`, or read the element from memory, `tensor.get([i])`"
)]
pub trait IndexesTile<T> {
    /// Nothing.
    fn never() -> &'static Infallible;
}

/// Never implemented: an element of a tensor of type `T` by index.
#[diagnostic::on_unimplemented(
    message = "elements of `{T}` are not reached by an index",
    label = "this would be a reference to memory of the host",
    note = "read one element with `.get([i])` and write it with `.set([i], value)`; a tile is `.tile::<(N,)>([i]).load()`"
)]
pub trait IndexesTensor<T> {
    /// Nothing.
    fn never() -> &'static Infallible;
}

/// Never implemented: arithmetic with a place of type `T`.
#[diagnostic::on_unimplemented(
    message = "a place in a tensor is not a tile",
    label = "read the tile first, with `.load()`",
    note = "`x.tile::<(N,)>([i])` names a place; `.load()`, `.load_or(..)` and `.load_masked(..)` read the tile there"
)]
pub trait ComputesWithPlace<T> {
    /// Nothing.
    fn never() -> &'static Infallible;
}

/// Traits of the right operand or index of a use that is refused.
macro_rules! refused {
    ($($operand:ident where $mistake:ident;)*) => {$(
        #[doc = concat!("What a right operand would have to be: see [`", stringify!($mistake), "`].")]
        pub trait $operand<T> {
            /// Nothing.
            fn never(&self) -> &'static Infallible;
        }

        impl<T, R: ?Sized> $operand<T> for R
        where
            Mistake: $mistake<T>,
        {
            fn never(&self) -> &'static Infallible {
                <Mistake as $mistake<T>>::never()
            }
        }
    )*};
}

refused! {
    Compared where Compares;
    IndexOfTile where IndexesTile;
    IndexOfTensor where IndexesTensor;
    OperandOfPlace where ComputesWithPlace;
}

impl<T, S, R: ?Sized> PartialEq<R> for Tile<T, S>
where
    R: Compared<Self>,
{
    fn eq(&self, other: &R) -> bool {
        match *other.never() {}
    }
}

impl<T, S, R: ?Sized> PartialOrd<R> for Tile<T, S>
where
    R: Compared<Self>,
{
    fn partial_cmp(&self, other: &R) -> Option<std::cmp::Ordering> {
        match *other.never() {}
    }
}

impl<T, S> Iterator for Tile<T, S>
where
    Mistake: LoopsOver<Self>,
{
    type Item = Scalar<T>;

    fn next(&mut self) -> Option<Scalar<T>> {
        None
    }
}

impl<T, S, I: IndexOfTile<Self>> Index<I> for Tile<T, S> {
    type Output = Scalar<T>;

    fn index(&self, i: I) -> &Scalar<T> {
        match *i.never() {}
    }
}

impl<T, const R: usize, I: IndexOfTensor<Self>> Index<I> for Tensor<T, R> {
    type Output = Scalar<T>;

    fn index(&self, i: I) -> &Scalar<T> {
        match *i.never() {}
    }
}

macro_rules! places {
    ($($tr:ident $method:ident),*) => {$(
        impl<T: Element, S: Shape, A, X: OperandOfPlace<Self>> $tr<X> for Place<'_, T, S, A> {
            type Output = Tile<T, S>;

            fn $method(self, other: X) -> Tile<T, S> {
                match *other.never() {}
            }
        }
    )*};
}

places!(Add add, Sub sub, Mul mul, Div div, Rem rem);
