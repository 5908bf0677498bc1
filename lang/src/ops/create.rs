//! Making tiles: zeros, constants, counting.

use tegula_ir::literal::Literal;
use tegula_ir::ops::OpKind;

use crate::context::{self, Handle};
use crate::elem::{Element, Int};
use crate::literal::{self, Operand, constant};
use crate::shape::axes::HasAxis;
use crate::shape::{Ranked, Shape};
use crate::tile::{Scalar, Tile};

/// A tile of zeros (`false` for `bool`).
#[track_caller]
pub fn zeros<T: Element, S: Shape>() -> Tile<T, S> {
    Tile::new(constant(T::TYPE, S::extents(), Literal::zero(T::TYPE)))
}

/// A tile of ones (`true` for `bool`).
#[track_caller]
pub fn ones<T: Element, S: Shape>() -> Tile<T, S> {
    Tile::new(constant(T::TYPE, S::extents(), Literal::small(T::TYPE, 1)))
}

/// A tile with every element equal to `value`, a number or a scalar.
#[track_caller]
pub fn full<T: Element, S: Shape>(value: impl Operand<T, S>) -> Tile<T, S> {
    Tile::new(value.operand())
}

/// A host value as a scalar of the kernel: what a variable must be that a loop or branch of the device changes.
#[track_caller]
pub fn scalar<T: Element>(value: T) -> Scalar<T> {
    literal::typed(value)
}

/// The numbers 0, 1, 2, … along one axis.
#[track_caller]
pub fn arange<T: Int, S: Ranked<1>>() -> Tile<T, S> {
    Tile::new(arange_handle::<T, S>(0, 0))
}

/// As [`arange`], starting at `start`.
#[track_caller]
pub fn arange_from<T: Int, S: Ranked<1>>(start: i64) -> Tile<T, S> {
    Tile::new(arange_handle::<T, S>(0, start))
}

/// A tile that holds each element's index along axis `AXIS`.
#[track_caller]
pub fn arange_along<T: Int, S: HasAxis<AXIS>, const AXIS: usize>() -> Tile<T, S> {
    Tile::new(arange_handle::<T, S>(AXIS as u8, 0))
}

#[track_caller]
fn arange_handle<T: Int, S: Shape>(axis: u8, start: i64) -> Handle {
    let shape = S::extents();
    let last = i128::from(start) + i128::from(shape.get(usize::from(axis)).copied().unwrap_or(1)) - 1;
    let (min, max) = literal::int_range(T::TYPE);
    if i128::from(start) < min || last > max {
        context::report(
            format!("{} cannot count from {start} to {last}", T::TYPE),
            &format!("values of {} are {min} to {max}: count in a wider type", T::TYPE),
        );
    }
    context::emit([], |[]| OpKind::Arange { shape, elem: T::TYPE, axis, start })
}
