//! The functions that reductions and scans apply, and values of which some may be missing.

use inkwell::FloatPredicate::{OEQ, OGT, OLT, ORD, UNO};
use inkwell::IntPredicate::{EQ, SGT, SLT, UGT, ULT};
use tegula_ir::function::Block;
use tegula_ir::ops::{ArgReduceKind, BinaryOp, ReduceKind, ScanKind};
use tegula_ir::types::ScalarType;

use super::lowering::{Lowered, Lowering, Result};
use crate::emit::Val;

/// An associative function of two lists of scalars. The left ones stand at lower positions.
#[derive(Clone, Copy)]
pub(super) enum Combine {
    /// A two-operand operation on one value of a number format.
    Binary(BinaryOp, ScalarType),
    /// The better of two (value, index) pairs.
    Extreme(ArgReduceKind, ScalarType),
    /// A block of Tile IR on `n` left and `n` right values.
    Body(Block),
}

impl Combine {
    /// The function of a reduction.
    pub(super) fn of_reduce(kind: ReduceKind, ty: ScalarType) -> Self {
        Combine::Binary(kind.combiner(), ty)
    }

    /// The function of a scan.
    pub(super) fn of_scan(kind: ScanKind, ty: ScalarType) -> Self {
        Self::of_reduce(kind.reduction(), ty)
    }

    /// Whether the order of operands does not matter.
    pub(super) fn is_commutative(self) -> bool {
        !matches!(self, Combine::Body(_))
    }
}

/// A list of values that may be missing, as those of padding are.
#[derive(Clone)]
pub(super) struct Partial<'c> {
    pub values: Vec<Val<'c>>,
    /// Whether the values are there; `None` is always.
    pub present: Option<Val<'c>>,
}

impl<'c> Partial<'c> {
    /// Values that are there.
    pub(super) fn present(values: Vec<Val<'c>>) -> Self {
        Partial { values, present: None }
    }
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Applies the function.
    pub(super) fn combine(&mut self, function: Combine, left: &[Val<'c>], right: &[Val<'c>]) -> Result<Vec<Val<'c>>> {
        match function {
            Combine::Binary(op, ty) => Ok(vec![self.binary(op, ty, left[0], right[0])?]),
            Combine::Extreme(kind, ty) => Ok(self.extreme(kind, ty, left, right)),
            Combine::Body(body) => {
                let args = self.f.block(body).args.clone();
                for (&arg, &value) in args.iter().zip(left.iter().chain(right)) {
                    self.set(arg, Lowered::scalar(value));
                }
                let results = self.block_yielding(body)?;
                Ok(results.into_iter().map(|value| self.scalar(value)).collect())
            }
        }
    }

    /// Of two (value, index) pairs the one with the better value; of equal values that with the lower index. NaN is
    /// worse than any number.
    fn extreme(&self, kind: ArgReduceKind, ty: ScalarType, left: &[Val<'c>], right: &[Val<'c>]) -> Vec<Val<'c>> {
        let e = &self.e;
        let ((a, i), (b, j)) = ((left[0], left[1]), (right[0], right[1]));
        let max = kind == ArgReduceKind::Max;
        let earlier = e.icmp(SLT, j, i);
        let take_right = if ty.is_float() {
            let better = e.fcmp(if max { OGT } else { OLT }, b, a);
            let (a_nan, b_nan) = (e.fcmp(UNO, a, a), e.fcmp(UNO, b, b));
            let only_number = e.and(a_nan, e.fcmp(ORD, b, b));
            let equal = e.or(e.fcmp(OEQ, a, b), e.and(a_nan, b_nan));
            e.or(e.or(better, only_number), e.and(equal, earlier))
        } else {
            let predicate = match (max, ty.is_signed_int()) {
                (true, true) => SGT,
                (true, false) => UGT,
                (false, true) => SLT,
                (false, false) => ULT,
            };
            e.or(e.icmp(predicate, b, a), e.and(e.icmp(EQ, a, b), earlier))
        };
        vec![e.select(take_right, b, a), e.select(take_right, j, i)]
    }

    /// The value that changes nothing, if the function has one.
    pub(super) fn identity(&self, function: Combine) -> Option<Val<'c>> {
        let Combine::Binary(op, ty) = function else { return None };
        let e = &self.e;
        let bits = ty.bits();
        if ty.is_float() {
            let ty = crate::elementwise::register_type(e, ty.into()).into_float_type();
            return Some(e.const_float(
                ty,
                match op {
                    // Zero with a plus sign would turn a sum of negative zeros positive.
                    BinaryOp::Add => -0.0,
                    BinaryOp::Mul => 1.0,
                    // These pass NaN over.
                    BinaryOp::Min | BinaryOp::Max => f64::NAN,
                    BinaryOp::MinNan => f64::INFINITY,
                    BinaryOp::MaxNan => f64::NEG_INFINITY,
                    _ => return None,
                },
            ));
        }
        let (min, max) = if ty.is_signed_int() { (-1i64 << (bits - 1), !(-1i64 << (bits - 1))) } else { (0, -1) };
        Some(e.const_int(
            bits,
            match op {
                BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor => 0,
                BinaryOp::Mul => 1,
                BinaryOp::And => -1,
                BinaryOp::Min => max,
                BinaryOp::Max => min,
                _ => return None,
            },
        ))
    }

    /// Values of which only those that are `present` count: by the identity, or with a flag.
    pub(super) fn partial(&self, function: Combine, values: Vec<Val<'c>>, present: Option<Val<'c>>) -> Partial<'c> {
        match (present, self.identity(function)) {
            (Some(present), Some(identity)) => {
                Partial::present(values.into_iter().map(|v| self.e.select(present, v, identity)).collect())
            }
            (present, _) => Partial { values, present },
        }
    }

    /// Applies the function where both sides are there; else gives the side that is.
    pub(super) fn merge(&mut self, function: Combine, left: &Partial<'c>, right: &Partial<'c>) -> Result<Partial<'c>> {
        let both = self.combine(function, &left.values, &right.values)?;
        let e = &self.e;
        let choose = |cond: Val<'c>, a: &[Val<'c>], b: &[Val<'c>]| -> Vec<Val<'c>> {
            a.iter().zip(b).map(|(&a, &b)| e.select(cond, a, b)).collect()
        };
        Ok(match (left.present, right.present) {
            (None, None) => Partial::present(both),
            (Some(l), None) => Partial::present(choose(l, &both, &right.values)),
            (None, Some(r)) => Partial::present(choose(r, &both, &left.values)),
            (Some(l), Some(r)) => {
                let one = choose(l, &left.values, &right.values);
                Partial { values: choose(e.and(l, r), &both, &one), present: Some(e.or(l, r)) }
            }
        })
    }

    /// The same values from another lane.
    pub(super) fn shuffle_partial(&self, partial: &Partial<'c>, exchange: impl Fn(Val<'c>) -> Val<'c>) -> Partial<'c> {
        Partial {
            values: partial.values.iter().map(|&v| self.shuffle(v, &exchange)).collect(),
            present: partial.present.map(|p| self.shuffle(p, &exchange)),
        }
    }
}
