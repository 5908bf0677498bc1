//! Arithmetic and bit functions that have no operator. The result has the shape of the tile the method is
//! called on; operands are repeated to it.

use tegula_ir::ops::{BinaryOp, OpKind, UnaryOp};

use super::math::unary;
use super::operators::binary;
use crate::context;
use crate::elem::{Float, Int, Num};
use crate::literal::Operand;
use crate::shape::Shape;
use crate::tile::Tile;

impl<T: Num, S: Shape> Tile<T, S> {
    /// The lesser value. A NaN is passed over (IEEE 754-2019 `minimumNumber`); -0.0 is less than 0.0.
    #[track_caller]
    pub fn minimum(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::Min, self.handle(), other.operand()))
    }

    /// The greater value. A NaN is passed over (`maximumNumber`); -0.0 is less than 0.0.
    #[track_caller]
    pub fn maximum(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::Max, self.handle(), other.operand()))
    }

    /// The value, but not below `min` nor above `max`: `x.maximum(min).minimum(max)`, so that a NaN gives
    /// `min`.
    #[track_caller]
    pub fn clamp(self, min: impl Operand<T, S>, max: impl Operand<T, S>) -> Self {
        let (min, max) = (min.operand(), max.operand());
        Tile::new(binary(BinaryOp::Min, binary(BinaryOp::Max, self.handle(), min), max))
    }

    /// `self * b + c`: for floats with one rounding, for integers wrapping.
    #[track_caller]
    pub fn mul_add(self, b: impl Operand<T, S>, c: impl Operand<T, S>) -> Self {
        Tile::new(context::emit([self.handle(), b.operand(), c.operand()], |[a, b, c]| OpKind::Fma { a, b, c }))
    }

    /// The quotient rounded down; 0 for integer division by zero.
    #[track_caller]
    pub fn floor_div(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::FloorDiv, self.handle(), other.operand()))
    }

    /// The remainder of [`floor_div`](Self::floor_div), which has the sign of the divisor; 0 for an integer
    /// remainder by zero.
    #[track_caller]
    pub fn floor_rem(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::FloorRem, self.handle(), other.operand()))
    }
}

impl<T: Float, S: Shape> Tile<T, S> {
    /// The lesser value, NaN if either is (IEEE 754-2019 `minimum`).
    #[track_caller]
    pub fn minimum_nan(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::MinNan, self.handle(), other.operand()))
    }

    /// The greater value, NaN if either is (`maximum`).
    #[track_caller]
    pub fn maximum_nan(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::MaxNan, self.handle(), other.operand()))
    }

    /// The value, but not below 0; 0 for a NaN.
    #[track_caller]
    pub fn relu(self) -> Self {
        self.maximum(0)
    }
}

impl<T: Int, S: Shape> Tile<T, S> {
    /// The upper half of the product in twice the width.
    #[track_caller]
    pub fn mul_hi(self, other: impl Operand<T, S>) -> Self {
        Tile::new(binary(BinaryOp::MulHi, self.handle(), other.operand()))
    }

    /// `ceil(self / other)`, for a divisor above zero; does not overflow.
    #[track_caller]
    pub fn ceil_div(self, other: impl Operand<T, S>) -> Self {
        let other = other.operand();
        let quotient = Tile::<T, S>::new(binary(BinaryOp::FloorDiv, self.handle(), other));
        let remainder = Tile::<T, S>::new(binary(BinaryOp::FloorRem, self.handle(), other));
        super::compare::select(remainder.equal(0), quotient, quotient + crate::literal::IntLit(1))
    }

    /// The number of set bits.
    #[track_caller]
    pub fn count_ones(self) -> Self {
        Tile::new(unary(UnaryOp::Popcount, self.handle(), false))
    }

    /// The number of zero bits above the highest set bit; the width for 0.
    #[track_caller]
    pub fn leading_zeros(self) -> Self {
        Tile::new(unary(UnaryOp::Clz, self.handle(), false))
    }

    /// The number of zero bits below the lowest set bit; the width for 0.
    #[track_caller]
    pub fn trailing_zeros(self) -> Self {
        Tile::new(unary(UnaryOp::Ctz, self.handle(), false))
    }

    /// The bits in reverse order.
    #[track_caller]
    pub fn reverse_bits(self) -> Self {
        Tile::new(unary(UnaryOp::BitReverse, self.handle(), false))
    }
}
