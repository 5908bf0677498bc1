//! Elementwise arithmetic of Tile IR as LLVM IR, with the language's exact meaning.
//!
//! Everything here works on scalars and on LLVM vectors alike, and on every target: what an instruction set lacks is
//! built from what all have. A target may do single operations better through [`NativeOps`].
//!
//! | module | subject |
//! |---|---|
//! | [`arith`] | unary, binary and ternary arithmetic, comparison, selection |
//! | [`convert`] | conversions between element types, with rounding and saturation |
//! | [`float_format`] | the float formats as numbers, and rounding into them by integer arithmetic |

pub mod arith;
pub mod convert;
pub mod float_format;

use tegula_ir::ops::{BinaryOp, Rounding, UnaryOp};
use tegula_ir::types::{Elem, ScalarType};

use crate::emit::{Emitter, GLOBAL, Ty, Val};

/// Operations that a target does with an instruction of its own. Every method may decline with `None`; the caller then
/// builds the operation from common instructions. An implementation must have the meaning that Tile IR gives the
/// operation, for every input.
pub trait NativeOps {
    /// A one-operand operation. With `fast`, the looser error bound of the fast variant will do.
    fn unary<'c>(&self, e: &Emitter<'c, '_>, op: UnaryOp, ty: ScalarType, x: Val<'c>, fast: bool) -> Option<Val<'c>> {
        let _ = (e, op, ty, x, fast);
        None
    }

    /// A two-operand operation.
    fn binary<'c>(&self, e: &Emitter<'c, '_>, op: BinaryOp, ty: ScalarType, a: Val<'c>, b: Val<'c>) -> Option<Val<'c>> {
        let _ = (e, op, ty, a, b);
        None
    }

    /// Whether a fused multiply-add of a 16-bit float type is an instruction.
    fn has_fma(&self, ty: ScalarType) -> bool {
        let _ = ty;
        false
    }

    /// A conversion between float types.
    fn convert<'c>(&self, e: &Emitter<'c, '_>, conversion: Conversion, x: Val<'c>) -> Option<Val<'c>> {
        let _ = (e, conversion, x);
        None
    }
}

/// No native operations: everything from common instructions.
pub struct Generic;

impl NativeOps for Generic {}

/// What a conversion does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    /// Type of the operand.
    pub from: ScalarType,
    /// Type of the result.
    pub to: ScalarType,
    /// Rounding where the result is a float.
    pub rounding: Rounding,
    /// Whether overflow gives the nearest finite value.
    pub saturate: bool,
}

impl Conversion {
    /// To the nearest value, halfway cases to even, without saturation.
    pub fn nearest(from: ScalarType, to: ScalarType) -> Self {
        Conversion { from, to, rounding: Rounding::NearestEven, saturate: false }
    }
}

/// The LLVM type that holds one element in a register. The 8-bit floats are held as their bits.
pub fn register_type<'c>(e: &Emitter<'c, '_>, elem: Elem) -> Ty<'c> {
    match elem {
        Elem::Ptr(_) => e.ptr_type(GLOBAL).into(),
        Elem::Scalar(ScalarType::F16) => e.context.f16_type().into(),
        Elem::Scalar(ScalarType::BF16) => e.context.bf16_type().into(),
        Elem::Scalar(ScalarType::F32) => e.context.f32_type().into(),
        Elem::Scalar(ScalarType::F64) => e.context.f64_type().into(),
        Elem::Scalar(t) => e.int(t.bits()).into(),
    }
}

/// The LLVM type that holds one element in memory: truth values and integers of 4 bits take a byte.
pub fn memory_type<'c>(e: &Emitter<'c, '_>, elem: Elem) -> Ty<'c> {
    match elem {
        Elem::Scalar(t) if t.bits() < 8 => e.int(8).into(),
        _ => register_type(e, elem),
    }
}
