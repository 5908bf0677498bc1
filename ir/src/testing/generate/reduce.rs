//! Reductions, scans, and matrix products.

use smallvec::SmallVec;

use super::info;
use super::values::{is_arithmetic, is_float};
use super::{Gen, Info};
use crate::function::Value;
use crate::ops::{ArgReduceKind, BinaryOp, CmpOp, DotPrecision, OpKind, ReduceKind, ScanKind, Values};
use crate::types::{ScalarType, Shape, Type};

/// An associative function for `reduce_with` and `scan_with`.
#[derive(Clone, Copy)]
enum Combine {
    /// One input, by a two-operand function.
    Op(BinaryOp),
    /// One input: the left value, or the right.
    Left,
    Right,
    /// Two integer inputs: `(a1 a2, b1 a2 + b2)`, which is not commutative.
    Recurrence,
    /// A value and an index: the greatest, the lower index of equals.
    Greatest,
}

/// Input and accumulator types of `dot`.
const DOTS: [(ScalarType, ScalarType, ScalarType); 14] = {
    use ScalarType::{BF16, F8E4M3, F8E4M3Fnuz, F8E5M2, F16, F32, F64, I4, I8, I32, U4, U8};
    [
        (F32, F32, F32),
        (F16, F16, F32),
        (BF16, BF16, F32),
        (I8, I8, I32),
        (F64, F64, F64),
        (F16, F16, F16),
        (F8E4M3, F8E4M3, F32),
        (F8E4M3, F8E5M2, F32),
        (F8E4M3Fnuz, F8E4M3Fnuz, F32),
        (U8, I8, I32),
        (U8, U8, I32),
        (I4, I4, I32),
        (U4, I4, I32),
        (BF16, BF16, BF16),
    ]
};

impl Gen<'_> {
    pub(super) fn reduce(&mut self) {
        let Some(x) = self.pick(|t, _| t.tile().is_some() && t.elem_scalar().is_some_and(|t| !t.is_fp8())) else {
            return;
        };
        let shape: Shape = self.ty(x).shape().unwrap_or(&[]).into();
        let t = self.ty(x).elem_scalar().unwrap_or(ScalarType::I32);
        if t != ScalarType::Bool && self.c.one_in(4) {
            return self.arg_reduce(x, t, &shape);
        }
        let mut axes: SmallVec<[u8; 5]> = (0..shape.len() as u8).filter(|_| self.c.one_in(2)).collect();
        if axes.is_empty() {
            axes.push(self.c.below(shape.len()) as u8);
        }
        use ReduceKind as R;
        let kinds: &[ReduceKind] = match t {
            ScalarType::Bool => &[R::And, R::Or, R::Xor],
            t if t.is_int() => &[R::Sum, R::Prod, R::Min, R::Max, R::And, R::Or, R::Xor],
            _ => &[R::Sum, R::Max, R::Min, R::MaxNan, R::MinNan, R::Prod],
        };
        let kind = self.c.of(kinds);
        if !t.is_float() {
            self.value(OpKind::Reduce { kind, x, axes }, Info::ANY);
            return;
        }
        let n = axes.iter().map(|&a| u64::from(shape[a as usize])).product();
        if let Some(info) = self.allowed(info::reduce(kind, t, n, self.info(x))) {
            let v = self.hidden(OpKind::Reduce { kind, x, axes });
            self.offer_sum(v, info);
        }
    }

    fn arg_reduce(&mut self, x: Value, t: ScalarType, shape: &[u32]) {
        if t.is_float() && !self.info(x).exact() {
            return;
        }
        let (kind, axis) = (self.c.of(ArgReduceKind::ALL), self.c.below(shape.len()) as u8);
        let info = self.info(x);
        let results = self.op(OpKind::ArgReduce { kind, x, axis });
        self.offer(results[0], info);
        self.offer(results[1], Info::ANY);
    }

    pub(super) fn scan(&mut self) {
        let Some(x) = self.pick(|t, _| t.tile().is_some() && is_arithmetic(t)) else { return };
        let shape: Shape = self.ty(x).shape().unwrap_or(&[]).into();
        let t = self.ty(x).elem_scalar().unwrap_or(ScalarType::I32);
        let axis = self.c.below(shape.len());
        let (kind, reverse) = (self.c.of(ScanKind::ALL), self.c.one_in(2));
        let op = OpKind::Scan { kind, x, axis: axis as u8, reverse };
        if !t.is_float() {
            self.value(op, Info::ANY);
            return;
        }
        let as_reduce = kind.reduction();
        if let Some(info) = self.allowed(info::reduce(as_reduce, t, u64::from(shape[axis]), self.info(x))) {
            let v = self.hidden(op);
            self.offer_sum(v, info);
        }
    }

    /// What may be made under the configuration.
    fn allowed(&self, info: Option<Info>) -> Option<Info> {
        info.filter(|i| i.exact() || self.config.approximate)
    }

    /// Offers a float reduction without the sign of its zeros.
    fn offer_sum(&mut self, v: Value, info: Info) {
        let v = self.without_negative_zero(v);
        self.offer(v, info);
    }

    pub(super) fn combine(&mut self) {
        let Some(x) = self.pick(|t, info| t.tile().is_some() && t.elem_scalar().is_some() && info.exact()) else {
            return;
        };
        let ty = self.ty(x).clone();
        let t = ty.elem_scalar().unwrap_or(ScalarType::I32);
        let bounded = self.info(x).is_bounded();
        let functions: &[Combine] = match t {
            ScalarType::Bool => &[Combine::Op(BinaryOp::Or), Combine::Op(BinaryOp::Xor), Combine::Left],
            t if t.is_int() => &[
                Combine::Op(BinaryOp::Add),
                Combine::Recurrence,
                Combine::Op(BinaryOp::Mul),
                Combine::Op(BinaryOp::Max),
                Combine::Op(BinaryOp::Xor),
                Combine::Greatest,
                Combine::Left,
                Combine::Right,
            ],
            t if t.is_fp8() => &[Combine::Left, Combine::Right],
            _ if bounded => &[Combine::Greatest, Combine::Op(BinaryOp::Min), Combine::Left, Combine::Right],
            _ => &[Combine::Op(BinaryOp::Max), Combine::Op(BinaryOp::MinNan), Combine::Right],
        };
        let function = self.c.of(functions);
        let inputs: Values = match function {
            Combine::Op(_) | Combine::Left | Combine::Right => [x].into_iter().collect(),
            Combine::Recurrence => [x, self.exact(&ty)].into_iter().collect(),
            Combine::Greatest => {
                let shape: Shape = ty.shape().unwrap_or(&[]).into();
                let axis = self.c.below(shape.len()) as u8;
                let index = self.hidden(OpKind::Arange { shape, elem: ScalarType::I32, axis, start: 0 });
                [x, index].into_iter().collect()
            }
        };
        let infos: Vec<Info> = inputs.iter().map(|&v| self.info(v)).collect();
        let rank = ty.shape().map_or(1, <[u32]>::len);
        let axis = self.c.below(rank) as u8;
        let body = self.combine_body(function, &inputs);
        let kind = if self.c.one_in(2) {
            OpKind::ScanWith { inputs, axis, reverse: self.c.one_in(2), body }
        } else {
            OpKind::ReduceWith { inputs, axis, body }
        };
        for (v, info) in self.op(kind).into_iter().zip(infos) {
            self.offer(v, info);
        }
    }

    fn combine_body(&mut self, function: Combine, inputs: &Values) -> crate::function::Block {
        let elems: Vec<Type> =
            inputs.iter().map(|&v| Type::Scalar(self.ty(v).elem().unwrap_or(ScalarType::I32.into()))).collect();
        let body = self.b.func.make_block(elems.iter().chain(&elems).cloned());
        let args = self.b.func.block(body).args.clone();
        let before = self.b.switch_to(body);
        let binary = |g: &mut Self, op, a, b| g.hidden(OpKind::Binary { op, a, b });
        let values: Values = match function {
            Combine::Op(op) => [binary(self, op, args[0], args[1])].into_iter().collect(),
            Combine::Left => [args[0]].into_iter().collect(),
            Combine::Right => [args[1]].into_iter().collect(),
            Combine::Recurrence => {
                let (a1, b1, a2, b2) = (args[0], args[1], args[2], args[3]);
                let a = binary(self, BinaryOp::Mul, a1, a2);
                let scaled = binary(self, BinaryOp::Mul, b1, a2);
                [a, binary(self, BinaryOp::Add, scaled, b2)].into_iter().collect()
            }
            Combine::Greatest => {
                let (a, i, b, k) = (args[0], args[1], args[2], args[3]);
                let greater = self.hidden(OpKind::Compare { op: CmpOp::Gt, a: b, b: a });
                let equal = self.hidden(OpKind::Compare { op: CmpOp::Eq, a: b, b: a });
                let lower = self.hidden(OpKind::Compare { op: CmpOp::Lt, a: k, b: i });
                let tie = binary(self, BinaryOp::And, equal, lower);
                let take = binary(self, BinaryOp::Or, greater, tie);
                let v = self.hidden(OpKind::Select { cond: take, a: b, b: a });
                [v, self.hidden(OpKind::Select { cond: take, a: k, b: i })].into_iter().collect()
            }
        };
        self.op_end(OpKind::Yield { values });
        self.b.switch_to(before);
        body
    }

    pub(super) fn dot(&mut self) {
        let (ta, tb, tc) = self.c.of(&DOTS);
        if ![ta, tb, tc].iter().all(|t| self.config.types.contains(t)) {
            return;
        }
        // The left matrix may be there already; the others follow from it.
        let left = self.pick(|t, info| {
            t.elem_scalar() == Some(ta)
                && t.shape().is_some_and(|s| s.len() >= 2)
                && (!is_float(t) || info.is_bounded())
        });
        let left_shape: Shape = match left {
            Some(v) if self.c.one_in(2) => self.ty(v).shape().unwrap_or(&[]).into(),
            _ => {
                let mut shape: Shape =
                    [self.c.of(&[4, 1, 3, 7, 16]), self.c.of(&[4, 1, 5, 8, 17])].into_iter().collect();
                if self.c.one_in(5) {
                    shape.insert(0, self.c.of(&[2, 1, 3]));
                }
                shape
            }
        };
        let r = left_shape.len();
        let n = self.c.of(&[4, 1, 3, 6, 16]);
        let mut right_shape = left_shape.clone();
        right_shape[r - 2] = left_shape[r - 1];
        right_shape[r - 1] = n;
        let mut acc_shape = left_shape.clone();
        acc_shape[r - 1] = n;
        if ![&left_shape, &right_shape, &acc_shape].iter().all(|s| self.count_fits(s)) {
            return;
        }
        let k = u64::from(left_shape[r - 1]);
        let a = self.bounded(&Type::shaped(left_shape, ta));
        let b = self.bounded(&Type::shaped(right_shape, tb));
        let acc = self.bounded(&Type::shaped(acc_shape, tc));
        let precision = if ta == ScalarType::F32 { self.c.of(DotPrecision::ALL) } else { DotPrecision::Ieee };
        let op = OpKind::Dot { a, b, acc, precision };
        if !ta.is_float() {
            self.value(op, Info::ANY);
            return;
        }
        let info = info::dot(ta, tc, precision, k, self.info(a), self.info(b), self.info(acc));
        if let Some(info) = self.allowed(info) {
            let v = self.hidden(op);
            self.offer_sum(v, info);
        }
    }
}
