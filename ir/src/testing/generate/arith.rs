//! Elementwise ops, and facts.

use super::info;
use super::values::{is_arithmetic, is_float};
use super::{Gen, Info};
use crate::literal::Literal;
use crate::ops::{BinaryOp, CmpOp, Fact, OpKind, Rounding, UnaryOp};
use crate::types::{ScalarType, Type};

impl Gen<'_> {
    pub(super) fn unary(&mut self) {
        use UnaryOp as U;
        let Some(x) = self.pick(|t, _| is_arithmetic(t) || t.elem_scalar() == Some(ScalarType::Bool)) else {
            return;
        };
        let t = self.ty(x).elem_scalar().unwrap_or(ScalarType::I32);
        let ops: &[UnaryOp] = match t {
            ScalarType::Bool => &[U::Not],
            t if t.is_signed_int() => &[U::Neg, U::Not, U::Abs, U::Popcount, U::Clz, U::Ctz, U::BitReverse],
            t if t.is_int() => &[U::Not, U::Popcount, U::Clz, U::Ctz, U::BitReverse],
            _ => {
                let op = self.c.of(UnaryOp::ALL);
                let op = if op.is_float_only() { op } else { U::Neg };
                let fast = self.config.approximate && self.c.one_in(8);
                if let Some(info) = info::unary(op, fast, t, self.info(x))
                    && (info.exact() || self.config.approximate)
                {
                    self.value(OpKind::Unary { op, x, fast }, info);
                }
                return;
            }
        };
        let op = self.c.of(ops);
        self.value(OpKind::Unary { op, x, fast: false }, Info::ANY);
    }

    pub(super) fn binary(&mut self) {
        let op = self.c.of(BinaryOp::ALL);
        let Some(a) = self.pick(|t, _| fits_binary(op, t)) else { return };
        let ty = self.ty(a).clone();
        let b = match self.c.below(3) {
            0 | 1 => match self.pick(|t, _| *t == ty) {
                Some(b) => b,
                None => a,
            },
            _ => self.fresh(&ty),
        };
        if !is_float(&ty) {
            self.value(OpKind::Binary { op, a, b }, Info::ANY);
            return;
        }
        let t = ty.elem_scalar().unwrap_or(ScalarType::F32);
        if let Some(info) = info::binary(op, t, self.info(a), self.info(b))
            && (info.exact() || self.config.approximate)
        {
            self.value(OpKind::Binary { op, a, b }, info);
        }
    }

    pub(super) fn compare(&mut self) {
        let Some(a) = self.pick(|t, info| is_arithmetic(t) && info.exact()) else { return };
        let ty = self.ty(a).clone();
        let b = self.exact(&ty);
        let op = self.c.of(CmpOp::ALL);
        self.value(OpKind::Compare { op, a, b }, Info::ANY);
    }

    pub(super) fn select(&mut self) {
        let Some(a) = self.pick(|t, _| t.elem_scalar().is_some()) else { return };
        let ty = self.ty(a).clone();
        let b = match self.pick(|t, _| *t == ty) {
            Some(b) if b != a => b,
            _ => self.fresh(&ty),
        };
        let shape = if self.c.one_in(3) { &[] } else { ty.shape().unwrap_or(&[]) };
        let cond = self.truths(shape);
        let info = self.info(a).or(self.info(b));
        self.value(OpKind::Select { cond, a, b }, info);
    }

    pub(super) fn fma(&mut self) {
        let Some(a) = self.pick(|t, info| is_arithmetic(t) && info.exact()) else { return };
        let ty = self.ty(a).clone();
        let (b, c) = (self.exact(&ty), self.exact(&ty));
        let info = if is_float(&ty) {
            let t = ty.elem_scalar().unwrap_or(ScalarType::F32);
            info::fma(t, self.info(a), self.info(b), self.info(c))
        } else {
            Some(Info::ANY)
        };
        if let Some(info) = info {
            self.value(OpKind::Fma { a, b, c }, info);
        }
    }

    pub(super) fn cast(&mut self) {
        let Some(x) = self.pick(|t, _| t.elem_scalar().is_some()) else { return };
        let from = self.ty(x).elem_scalar().unwrap_or(ScalarType::I32);
        let to = self.c.of(&self.config.types);
        let known = self.info(x);
        let (rounding, saturate) = (self.c.of(Rounding::ALL), self.c.one_in(2));
        let info = match (from.is_float(), to.is_float()) {
            (true, true) => info::cast(from, to, saturate, known),
            (false, true) => Some(info::from_int(from, to, saturate)),
            // To an integer or truth value: not continuous.
            (true, false) => known.exact().then_some(Info::ANY),
            (false, false) => Some(Info::ANY),
        };
        if let Some(info) = info {
            self.value(OpKind::Cast { x, to, rounding, saturate }, info);
        }
    }

    pub(super) fn bitcast(&mut self) {
        // The bits of a NaN are not defined.
        let Some(x) =
            self.pick(|t, info| t.elem_scalar().is_some() && (!is_float(t) || (info.exact() && info.is_bounded())))
        else {
            return;
        };
        let from = self.ty(x).elem_scalar().unwrap_or(ScalarType::I32);
        let targets: Vec<ScalarType> = self.config.types.iter().copied().filter(|t| t.bits() == from.bits()).collect();
        if !targets.is_empty() {
            let to = self.c.of(&targets);
            self.value(OpKind::Bitcast { x, to }, Info::ANY);
        }
    }

    /// A promise or assertion that holds, or a barrier.
    pub(super) fn fact(&mut self) {
        let ints = |t: &Type| t.elem_scalar().is_some_and(|t| t.is_int() && t.bits() >= 8);
        match self.c.below(4) {
            0 => {
                let Some(x) = self.pick(|t, _| ints(t)) else { return };
                let cond = self.hidden(OpKind::Compare { op: CmpOp::Le, a: x, b: x });
                self.op(OpKind::Assert { cond, message: "a value is itself".to_owned() });
            }
            1 => {
                let Some(x) = self.pick(|t, _| ints(t)) else { return };
                let ty = self.ty(x).clone();
                let mask = self.c.of(&[15, 1, 127]);
                let mask_value = self.constant(ty, Literal::Int(mask));
                let x = self.hidden(OpKind::Binary { op: BinaryOp::And, a: x, b: mask_value });
                self.value(OpKind::Assume { x, fact: Fact::Bounded { min: 0, max: mask } }, Info::ANY);
            }
            2 => {
                let Some(x) = self.pick(|t, _| ints(t)) else { return };
                let ty = self.ty(x).clone();
                let four = self.constant(ty, Literal::Int(4));
                let x = self.hidden(OpKind::Binary { op: BinaryOp::Mul, a: x, b: four });
                self.value(OpKind::Assume { x, fact: Fact::Divisible(4) }, Info::ANY);
            }
            // Divergence is of no concern: control flow is the same for all threads of a program.
            _ => {
                self.op(OpKind::Barrier);
            }
        }
    }
}

/// Whether a two-operand function is defined on the elements.
fn fits_binary(op: BinaryOp, ty: &Type) -> bool {
    let Some(t) = ty.elem_scalar() else { return false };
    match op {
        BinaryOp::MulHi | BinaryOp::Shl | BinaryOp::Shr => t.is_int(),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !t.is_float(),
        BinaryOp::MinNan | BinaryOp::MaxNan | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::CopySign => {
            t.is_float() && !t.is_fp8()
        }
        _ => is_arithmetic(ty),
    }
}
