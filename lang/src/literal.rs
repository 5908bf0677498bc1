//! Literals and host numbers where a tile is expected.
//!
//! Inside a kernel the macro turns unsuffixed literals that are operands into [`IntLit`] and [`FloatLit`],
//! which adapt to the element type of the other operand. Host numbers with a type, such as a constant of type
//! `f32`, go with tiles of that element type.

use tegula_ir::Type;
use tegula_ir::literal::Literal;
use tegula_ir::ops::OpKind;
use tegula_ir::types::Shape as Extents;

use crate::context::{self, Handle};
use crate::elem::{Element, Float, Num, ScalarType, bf16, f16};
use crate::shape::Shape;
use crate::shape::broadcast::BroadcastTo;
use crate::tile::Tile;

/// An integer literal without a suffix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLit(pub i128);

/// A float literal without a suffix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatLit(pub f64);

/// A constant of this shape, each element equal to `value`.
#[track_caller]
pub(crate) fn constant(elem: ScalarType, extents: Extents, value: Literal) -> Handle {
    context::emit([], |[]| OpKind::Constant { value, ty: Type::shaped(extents, elem) })
}

/// The least and the greatest value of an integer type.
pub(crate) fn int_range(elem: ScalarType) -> (i128, i128) {
    let bits = elem.bits();
    if elem.is_signed_int() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}

/// An integer as a literal of `elem`; reports one that is out of range.
#[track_caller]
pub(crate) fn int_literal(elem: ScalarType, value: i128) -> Literal {
    match elem {
        ScalarType::Bool => Literal::Bool(value != 0),
        t if t.is_float() => Literal::Float(value as f64),
        t => {
            let (min, max) = int_range(t);
            if value < min || value > max {
                context::report(
                    format!("literal {value} is out of range for {t}"),
                    &format!("values of {t} are {min} to {max}"),
                );
                return Literal::Int(0);
            }
            // For u64 the literal holds the bits.
            Literal::Int(value as i64)
        }
    }
}

/// What can stand where a tile of element type `T` and shape `S` is an argument: such a tile, one that repeats
/// to that shape, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a tile of `{T}` with shape `{S}`",
    label = "a tile of `{T}` with shape `{S}`, a scalar of `{T}`, or a number is needed here",
    note = "convert the element type with `.cast::<{T}>()`; insert missing axes with `.expand::<AXIS>()`"
)]
pub trait Operand<T, S: Shape> {
    /// The value, repeated to shape `S`.
    #[doc(hidden)]
    #[track_caller]
    fn operand(self) -> Handle;
}

#[diagnostic::do_not_recommend]
impl<T: crate::elem::AnyElem, S: Shape, R: Shape + BroadcastTo<S>> Operand<T, S> for Tile<T, R> {
    #[track_caller]
    fn operand(self) -> Handle {
        crate::ops::shape::broadcast(self.handle(), R::extents(), S::extents())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Num, S: Shape> Operand<T, S> for IntLit {
    #[track_caller]
    fn operand(self) -> Handle {
        constant(T::TYPE, S::extents(), int_literal(T::TYPE, self.0))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Float, S: Shape> Operand<T, S> for FloatLit {
    #[track_caller]
    fn operand(self) -> Handle {
        constant(T::TYPE, S::extents(), Literal::Float(self.0))
    }
}

#[diagnostic::do_not_recommend]
impl<S: Shape> Operand<bool, S> for bool {
    #[track_caller]
    fn operand(self) -> Handle {
        constant(ScalarType::Bool, S::extents(), Literal::Bool(self))
    }
}

macro_rules! host_operand {
    ($bound:ident, $lit:ident, $($ty:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: $bound, S: Shape> Operand<T, S> for $ty {
            #[track_caller]
            fn operand(self) -> Handle {
                <$lit as Operand<T, S>>::operand($lit(self.into()))
            }
        }
    )*};
}

host_operand!(Num, IntLit, i8 i16 i32 i64 u8 u16 u32 u64);
host_operand!(Float, FloatLit, f16 bf16 f32 f64);

#[diagnostic::do_not_recommend]
impl<T: Num, S: Shape> Operand<T, S> for usize {
    #[track_caller]
    fn operand(self) -> Handle {
        <IntLit as Operand<T, S>>::operand(IntLit(self as i128))
    }
}

/// A host value of an element type as a constant of shape `S`.
#[track_caller]
pub(crate) fn typed<T: Element, S: Shape>(value: T) -> Tile<T, S> {
    Tile::new(constant(T::TYPE, S::extents(), value.literal()))
}
