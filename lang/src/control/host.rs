//! What a kernel's text compares and converts at build time, which values of the device are not known at.

use std::convert::Infallible;

use crate::tile::Tile;

/// Values that a `match` inside a kernel compares with literals.
#[diagnostic::on_unimplemented(
    message = "`match` is decided when the kernel is built, but `{Self}` is a value of the device",
    label = "not known when the kernel is built",
    note = "write `if n == 0 {{ .. }} else if n == 1 {{ .. }} else {{ .. }}`; to choose per element use `select(cond, a, b)`"
)]
pub trait Matched {
    /// The type of the literals: for what is not matched there is none, and patterns are not reported in turn.
    type Value;

    /// The value.
    fn matched(self) -> Self::Value;
}

macro_rules! matched {
    ($($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Matched for $ty {
            type Value = Self;

            fn matched(self) -> Self {
                self
            }
        }
    )*};
}

matched!(bool char i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 &str);

#[diagnostic::do_not_recommend]
impl<T: Matched> Matched for &T {
    type Value = Self;

    fn matched(self) -> Self {
        self
    }
}

/// Never implemented: conversion of a tile of type `T` by `as`.
#[diagnostic::on_unimplemented(
    message = "`as` converts numbers when the kernel is built, but `{T}` is a value of the device",
    label = "not a number of the host",
    note = "write `.cast::<f32>()`, with the element type that it should have"
)]
pub trait Converts<T> {
    /// Nothing.
    fn never() -> &'static Infallible;
}

/// Why a tile is no operand of `as`.
#[derive(Debug)]
pub enum NotAs {}

/// The operand of `as` inside a kernel.
#[derive(Debug)]
pub struct AsOperand<T>(pub T);

impl<T, S> AsOperand<Tile<T, S>> {
    /// Chosen for tiles: reports them, and stands for a number that `as` converts to any other.
    pub fn host(self) -> u8
    where
        NotAs: Converts<Tile<T, S>>,
    {
        match *<NotAs as Converts<Tile<T, S>>>::never() {}
    }
}

/// Chosen for all other types.
pub trait CastOfHost {
    /// The operand's type.
    type Operand;

    /// The operand.
    fn host(self) -> Self::Operand;
}

impl<T> CastOfHost for AsOperand<T> {
    type Operand = T;

    fn host(self) -> T {
        self.0
    }
}
