//! Values that are known while compiling.

use crate::function::{Function, Value};
use crate::literal::Literal;
use crate::numeric::{eval, int};
use crate::ops::OpKind;

/// The constant that a scalar, or every element of a tile, is.
pub fn literal(f: &Function, v: Value) -> Option<Literal> {
    let value = match f.def_kind(v)? {
        OpKind::Constant { value, .. } => *value,
        OpKind::Splat { x, .. } => match f.def_kind(*x)? {
            OpKind::Constant { value, .. } => *value,
            _ => return None,
        },
        _ => return None,
    };
    Some(eval::normalise(f.ty(v).elem_scalar()?, value))
}

/// The mathematical value of a constant integer.
pub fn integer(f: &Function, v: Value) -> Option<i128> {
    let t = f.ty(v).elem_scalar()?;
    Some(int::value(t, literal(f, v)?.as_int()?))
}
