//! Loops and branches.

use super::info;
use super::values::is_float;
use super::{Gen, Info};
use crate::function::{Block, Value};
use crate::literal::Literal;
use crate::ops::{BinaryOp, CmpOp, LoopHints, OpKind, Values};
use crate::types::{ScalarType, Type};

impl Gen<'_> {
    pub(super) fn control_step(&mut self) {
        match self.c.below(5) {
            0 => self.if_step(),
            1 | 2 => self.for_step(),
            3 => self.accumulate(),
            _ => self.while_step(),
        }
    }

    /// Steps in a nested block with these values visible besides; then `end`, which sees all of them.
    fn nested<R>(&mut self, block: Block, args: &[(Value, Info)], end: impl FnOnce(&mut Self) -> R) -> R {
        let (outer, visible) = (self.b.switch_to(block), self.visible.len());
        for &(v, info) in args {
            self.offer(v, info);
        }
        self.depth += 1;
        let steps = (1 + self.c.below(5)).min(self.budget);
        self.budget -= steps;
        for _ in 0..steps {
            self.step();
        }
        if self.c.one_in(6)
            && let Some(v) = self.pick(|t, _| t.elem_scalar().is_some())
        {
            self.store(v);
        }
        let result = end(self);
        self.depth -= 1;
        self.visible.truncate(visible);
        self.b.switch_to(outer);
        result
    }

    /// A visible value of a type that executors agree on; `otherwise` where there is none.
    fn exact_or(&mut self, ty: &Type, otherwise: Value) -> Value {
        self.pick(|t, info| t == ty && info.exact()).unwrap_or(otherwise)
    }

    fn if_step(&mut self) {
        let cond = self.truths(&[]);
        let then_block = self.b.func.make_block([]);
        let results = self.c.below(3);
        let mut types: Vec<Type> = Vec::new();
        let mut infos: Vec<Info> = Vec::new();
        self.nested(then_block, &[], |g| {
            let mut values = Values::new();
            for _ in 0..results {
                if let Some(v) = g.pick(|t, _| t.elem_scalar().is_some()) {
                    values.push(v);
                    types.push(g.ty(v).clone());
                    infos.push(g.info(v));
                }
            }
            g.op_end(OpKind::Yield { values });
        });
        let else_block = self.b.func.make_block([]);
        self.nested(else_block, &[], |g| {
            let mut values = Values::new();
            for (ty, info) in types.iter().zip(&mut infos) {
                let v = match g.pick(|t, _| t == ty) {
                    Some(v) => v,
                    None => g.fresh_constant(ty),
                };
                *info = info.or(g.info(v));
                values.push(v);
            }
            g.op_end(OpKind::Yield { values });
        });
        for (v, info) in self.op(OpKind::If { cond, then_block, else_block }).into_iter().zip(infos) {
            self.offer(v, info);
        }
    }

    fn hints(&mut self) -> LoopHints {
        LoopHints {
            stages: self.c.of(&[None, None, Some(1), Some(2), Some(3)]),
            unroll: self.c.of(&[None, None, Some(1), Some(2)]),
            warp_specialize: false,
            flatten: false,
        }
    }

    /// Bounds of a loop of few trips, with their number.
    fn bounds(&mut self) -> (Value, Value, Value, i64) {
        let t = self.c.of(&[ScalarType::I64, ScalarType::I32, ScalarType::U8, ScalarType::I16]);
        let low = if t.is_signed_int() { self.c.of(&[0, 1, -3]) } else { self.c.of(&[0, 1, 3]) };
        let (length, step) = (self.c.of(&[2, 3, 0, 1, 4, -2]), self.c.of(&[1, 1, 2, 3]));
        let high = if t.is_signed_int() { low + length } else { (low + length).max(0) };
        let trips = if high > low { (high - low + step - 1) / step } else { 0 };
        let [low, high, step] = [low, high, step].map(|v| self.constant(Type::scalar(t), Literal::Int(v)));
        (low, high, step, trips)
    }

    fn for_step(&mut self) {
        let (lower, upper, step, _) = self.bounds();
        let mut init = Values::new();
        for _ in 0..self.c.below(3) {
            if let Some(v) = self.pick(|t, info| t.elem_scalar().is_some() && info.exact()) {
                init.push(v);
            }
        }
        let types: Vec<Type> = init.iter().map(|&v| self.ty(v).clone()).collect();
        let iv_type = self.ty(lower).clone();
        let body = self.b.func.make_block([iv_type].into_iter().chain(types.iter().cloned()));
        // Of what is carried nothing is known: it is another value in each iteration.
        let args: Vec<Value> = self.b.func.block(body).args.to_vec();
        let offered: Vec<(Value, Info)> = args.iter().map(|&v| (v, Info::ANY)).collect();
        self.nested(body, &offered, |g| {
            let values = types.iter().zip(&args[1..]).map(|(ty, &arg)| g.exact_or(ty, arg)).collect();
            g.op_end(OpKind::Yield { values });
        });
        let hints = self.hints();
        for v in self.op(OpKind::For { lower, upper, step, init, body, hints }) {
            self.offer(v, Info::ANY);
        }
    }

    /// A sum or matrix product that grows in a loop, as in most kernels.
    fn accumulate(&mut self) {
        let (lower, upper, step, trips) = self.bounds();
        let t = self.c.of(&[ScalarType::F32, ScalarType::I32, ScalarType::F64]);
        if !self.config.types.contains(&t) {
            return;
        }
        let product = self.c.one_in(2);
        // A square matrix is fit to be multiplied with itself.
        let n = self.c.of(&[4, 3, 1, 8]);
        let ty = Type::shaped([n, n], t);
        let x = self.bounded(&ty);
        let init = self.constant(ty.clone(), Literal::zero(t));
        let (mut known, x_info) = (Info::whole(0.0), self.info(x));
        let product = product && t != ScalarType::I32;
        if is_float(&ty) {
            for _ in 0..trips {
                let next = if product {
                    info::dot(t, t, crate::ops::DotPrecision::Ieee, n.into(), x_info, x_info, known)
                } else {
                    info::binary(BinaryOp::Add, t, known, x_info)
                };
                match next.filter(|i| i.is_bounded() && (i.exact() || self.config.approximate)) {
                    Some(next) => known = next.or(known),
                    None => return,
                }
            }
        } else {
            known = Info::ANY;
        }
        let iv_type = self.ty(lower).clone();
        let body = self.b.func.make_block([iv_type, ty]);
        let acc = self.b.func.block(body).args[1];
        let outer = self.b.switch_to(body);
        let next = if product {
            self.hidden(OpKind::Dot { a: x, b: x, acc, precision: crate::ops::DotPrecision::Ieee })
        } else {
            self.hidden(OpKind::Binary { op: BinaryOp::Add, a: acc, b: x })
        };
        self.op_end(OpKind::Yield { values: [next].into_iter().collect() });
        self.b.switch_to(outer);
        let hints = self.hints();
        let init = [init].into_iter().collect();
        let v = self.hidden(OpKind::For { lower, upper, step, init, body, hints });
        let v = if is_float(self.ty(v)) { self.without_negative_zero(v) } else { v };
        self.offer(v, known);
    }

    /// A loop that counts up to a limit, with values carried through both of its blocks.
    fn while_step(&mut self) {
        let counter = Type::scalar(ScalarType::I32);
        let zero = self.constant(counter.clone(), Literal::Int(0));
        let limit = self.c.of(&[2, 0, 1, 3]);
        let mut init: Values = [zero].into_iter().collect();
        for _ in 0..self.c.below(2) {
            if let Some(v) = self.pick(|t, info| t.elem_scalar().is_some() && info.exact()) {
                init.push(v);
            }
        }
        let types: Vec<Type> = init.iter().map(|&v| self.ty(v).clone()).collect();
        let cond = self.b.func.make_block(types.iter().cloned());
        let args: Vec<Value> = self.b.func.block(cond).args.to_vec();
        let offered: Vec<(Value, Info)> = args.iter().map(|&v| (v, Info::ANY)).collect();
        self.nested(cond, &offered, |g| {
            let limit = g.constant(Type::scalar(ScalarType::I32), Literal::Int(limit));
            let go = g.hidden(OpKind::Compare { op: CmpOp::Lt, a: args[0], b: limit });
            let mut values: Values = [args[0]].into_iter().collect();
            for (ty, &arg) in types.iter().zip(&args).skip(1) {
                values.push(g.exact_or(ty, arg));
            }
            g.op_end(OpKind::Condition { cond: go, values });
        });
        let body = self.b.func.make_block(types.iter().cloned());
        let args: Vec<Value> = self.b.func.block(body).args.to_vec();
        let offered: Vec<(Value, Info)> = args.iter().map(|&v| (v, Info::ANY)).collect();
        self.nested(body, &offered, |g| {
            let one = g.constant(Type::scalar(ScalarType::I32), Literal::Int(1));
            let next = g.hidden(OpKind::Binary { op: BinaryOp::Add, a: args[0], b: one });
            let mut values: Values = [next].into_iter().collect();
            for (ty, &arg) in types.iter().zip(&args).skip(1) {
                values.push(g.exact_or(ty, arg));
            }
            g.op_end(OpKind::Yield { values });
        });
        for v in self.op(OpKind::While { init, cond, body }) {
            self.offer(v, Info::ANY);
        }
    }
}
