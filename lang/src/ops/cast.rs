//! Conversions of the element type, by value and by bits.

use tegula_ir::ops::{OpKind, Rounding};

use crate::context;
use crate::elem::Element;
use crate::shape::Shape;
use crate::tile::Tile;

impl<T: Element, S: Shape> Tile<T, S> {
    /// Converts by value, as Rust's `as`: to an integer from a float truncating and saturating, NaN to 0, from
    /// an integer wrapping; to a float rounding to nearest even, with overflow to infinity (to NaN in formats
    /// without infinity); from `bool` to 0 or 1; to `bool` whether not zero.
    #[track_caller]
    pub fn cast<U: Element>(self) -> Tile<U, S> {
        self.cast_with(Rounding::NearestEven, false)
    }

    /// As [`cast`](Self::cast), but a value out of range becomes the nearest finite one: the least or greatest
    /// integer, the largest float. NaN stays NaN in floats.
    #[track_caller]
    pub fn cast_saturating<U: Element>(self) -> Tile<U, S> {
        self.cast_with(Rounding::NearestEven, true)
    }

    /// As [`cast`](Self::cast), with this rounding where the result is a float.
    #[track_caller]
    pub fn cast_rounding<U: Element>(self, rounding: Rounding) -> Tile<U, S> {
        self.cast_with(rounding, false)
    }

    /// Converts by value with this rounding where the result is a float, saturating or not.
    #[track_caller]
    pub fn cast_with<U: Element>(self, rounding: Rounding, saturate: bool) -> Tile<U, S> {
        if T::TYPE == U::TYPE {
            return Tile::new(self.handle());
        }
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Cast { x, to: U::TYPE, rounding, saturate }))
    }

    /// The same bits as another type of the same width, which is checked when the kernel is built.
    #[track_caller]
    pub fn bitcast<U: Element>(self) -> Tile<U, S> {
        if T::TYPE == U::TYPE {
            return Tile::new(self.handle());
        }
        Tile::new(context::emit([self.handle()], |[x]| OpKind::Bitcast { x, to: U::TYPE }))
    }
}
