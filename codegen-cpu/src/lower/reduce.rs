//! Reductions: partial results in vector registers, folded once at the end.

use inkwell::FloatPredicate::UNO;
use inkwell::IntPredicate::SLT;
use smallvec::SmallVec;
use tegula_codegen::emit::Val;
use tegula_ir::function::Op;
use tegula_ir::ops::{ArgReduceKind, CmpOp, OpKind, ReduceKind};
use tegula_ir::types::{Elem, ScalarType};

use super::Lowering;
use super::eval::{Coord, Mode, Site};
use super::nest::{Strip, VectorAt};
use crate::builder::Slot;
use crate::plan::index::Coords;
use crate::plan::reads::{reduced, reduced_axes};
use crate::plan::{Place, Root};

/// Partial results of one reduction: several of them, so that one addition need not wait for the one before.
pub(crate) struct Accumulators<'c> {
    slots: Vec<Partial<'c>>,
    lanes: u32,
}

#[derive(Clone, Copy)]
struct Partial<'c> {
    value: Slot<'c>,
    /// Index of the value, for `arg_reduce`.
    index: Option<Slot<'c>>,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// The type that a reduction is computed in.
    fn reduction_type(&self, op: Op) -> ScalarType {
        let t = self.elem(reduced(self.func, op)).scalar().expect("a reduction of numbers");
        match t {
            ScalarType::F16 | ScalarType::BF16 => ScalarType::F32,
            t => t,
        }
    }

    fn reduction_start(&self, op: Op) -> Val<'c> {
        let t = self.reduction_type(op);
        match self.func.kind(op) {
            OpKind::Reduce { kind, .. } => self.reduce_identity(*kind, t),
            OpKind::ArgReduce { kind: ArgReduceKind::Min, .. } => self.reduce_identity(ReduceKind::Min, t),
            OpKind::ArgReduce { kind: ArgReduceKind::Max, .. } => self.reduce_identity(ReduceKind::Max, t),
            kind => unreachable!("{} is no reduction", kind.mnemonic()),
        }
    }

    /// Partial results for a loop cut into strips.
    pub fn start_reduction(&mut self, op: Op, strip: Strip) -> Accumulators<'c> {
        let b = self.b.clone();
        let start = b.broadcast(self.reduction_start(op), strip.lanes);
        let indexed = matches!(self.func.kind(op), OpKind::ArgReduce { .. });
        let slots = (0..strip.unroll)
            .map(|_| Partial {
                value: b.slot_with(start),
                index: indexed.then(|| b.slot_with(b.broadcast(b.i32(0), strip.lanes))),
            })
            .collect();
        Accumulators { slots, lanes: strip.lanes }
    }

    /// Adds the elements at an index to partial result `u`.
    pub fn accumulate(
        &mut self,
        site: &mut Site<'c>,
        op: Op,
        accumulators: &Accumulators<'c>,
        at: &[Coord<'c>],
        lanes: u32,
        u: u32,
    ) {
        let b = self.b.clone();
        let x = reduced(self.func, op);
        let t = self.elem(x).scalar().expect("a reduction of numbers");
        let wide = self.reduction_type(op);
        let value = self.eval(site, x, at, lanes);
        let mut value = self.convert_nearest(t, wide, value);
        if let Some(active) = site.active {
            value = b.select(active, value, b.broadcast(self.reduction_start(op), lanes));
        }
        let partial = accumulators.slots[u as usize];
        let before = b.get(partial.value);
        match (self.func.kind(op), partial.index) {
            (OpKind::Reduce { kind, .. }, _) => b.set(partial.value, self.combine(*kind, wide, before, value)),
            (OpKind::ArgReduce { kind, axis, .. }, Some(slot)) => {
                let index = self.coord_lanes(&at[usize::from(*axis)], lanes);
                let index = b.zext_or_trunc(index, 32);
                let take = self.is_better(*kind, wide, value, before);
                b.set(partial.value, b.select(take, value, before));
                b.set(slot, b.select(take, index, b.get(slot)));
            }
            _ => unreachable!("an arg_reduce keeps indices"),
        }
    }

    /// Whether `new` replaces `old`, which has a lower index.
    fn is_better(&self, kind: ArgReduceKind, t: ScalarType, new: Val<'c>, old: Val<'c>) -> Val<'c> {
        let b = &self.b;
        let op = match kind {
            ArgReduceKind::Min => CmpOp::Lt,
            ArgReduceKind::Max => CmpOp::Gt,
        };
        let better = self.compare(op, Elem::Scalar(t), new, old);
        if !t.is_float() {
            return better;
        }
        let only_new_is_number = b.and(b.fcmp(UNO, old, old), b.not(b.fcmp(UNO, new, new)));
        b.or(better, only_new_is_number)
    }

    /// Folds the partial results; gives the results of the op as scalars.
    pub fn finish_reduction(&mut self, op: Op, accumulators: Accumulators<'c>) -> SmallVec<[Val<'c>; 2]> {
        let b = self.b.clone();
        let t = self.elem(reduced(self.func, op)).scalar().expect("a reduction of numbers");
        let wide = self.reduction_type(op);
        match self.func.kind(op) {
            OpKind::Reduce { kind, .. } => {
                let all = accumulators
                    .slots
                    .iter()
                    .map(|p| b.get(p.value))
                    .reduce(|x, y| self.combine(*kind, wide, x, y))
                    .expect("at least one partial result");
                let one = b.fold_lanes(all, |x, y| self.combine(*kind, wide, x, y));
                SmallVec::from_slice(&[self.convert_nearest(wide, t, one)])
            }
            OpKind::ArgReduce { kind, .. } => {
                let mut pairs: Vec<(Val<'c>, Val<'c>)> = Vec::new();
                for p in &accumulators.slots {
                    let index = b.get(p.index.expect("an arg_reduce keeps indices"));
                    pairs.push((b.get(p.value), index));
                }
                let mut best = pairs[0];
                for &pair in &pairs[1..] {
                    best = self.better_of(*kind, wide, best, pair);
                }
                let mut lanes = accumulators.lanes;
                while lanes > 1 {
                    let low: Vec<u32> = (0..lanes / 2).collect();
                    let high: Vec<u32> = (lanes / 2..lanes).collect();
                    let part = |pick: &[u32]| (b.shuffle(best.0, best.0, pick), b.shuffle(best.1, best.1, pick));
                    best = self.better_of(*kind, wide, part(&low), part(&high));
                    lanes /= 2;
                }
                SmallVec::from_slice(&[self.convert_nearest(wide, t, best.0), best.1])
            }
            kind => unreachable!("{} is no reduction", kind.mnemonic()),
        }
    }

    /// The better of two values with their indices, which are in no order; the lower index of equals.
    fn better_of(
        &self,
        kind: ArgReduceKind,
        t: ScalarType,
        x: (Val<'c>, Val<'c>),
        y: (Val<'c>, Val<'c>),
    ) -> (Val<'c>, Val<'c>) {
        let b = &self.b;
        let better = self.is_better(kind, t, y.0, x.0);
        let mut equal = self.compare(CmpOp::Eq, Elem::Scalar(t), x.0, y.0);
        if t.is_float() {
            equal = b.or(equal, b.and(b.fcmp(UNO, x.0, x.0), b.fcmp(UNO, y.0, y.0)));
        }
        let take = b.or(better, b.and(equal, b.icmp(SLT, y.1, x.1)));
        (b.select(take, y.0, x.0), b.select(take, y.1, x.1))
    }

    /// A reduction over axes that are not the last ones, in loops of its own.
    pub fn reduce_axes(&mut self, mode: Mode, op: Op) {
        let x = reduced(self.func, op);
        let domain: SmallVec<[u32; 5]> = self.shape(x).into();
        let axes = reduced_axes(self.func, op);
        let rank = domain.len();
        let is_reduced = |i: usize| axes.contains(&(i as u8));
        let last = domain[rank - 1];
        let strip = self.strip(mode, &[Root::Reduce(op)], last);
        let kept: SmallVec<[usize; 5]> = (0..rank - 1).filter(|&i| !is_reduced(i)).collect();
        let inner: SmallVec<[usize; 5]> = (0..rank - 1).filter(|&i| is_reduced(i)).collect();
        let extents = |of: &[usize]| -> SmallVec<[u32; 5]> { of.iter().map(|&i| domain[i]).collect() };
        let index = |outer: &[Coord<'c>], within: &[Coord<'c>], last: Coord<'c>| -> Coords<Coord<'c>> {
            let mut at: Coords<Coord<'c>> = SmallVec::from_elem(last, rank);
            for (&i, &c) in kept.iter().zip(outer).chain(inner.iter().zip(within)) {
                at[i] = c;
            }
            at
        };
        let mut outer = Coords::new();
        self.each_index(&extents(&kept), &mut outer, &mut |this, outer| {
            if is_reduced(rank - 1) {
                let accumulators = this.start_reduction(op, strip);
                let mut within = Coords::new();
                this.each_index(&extents(&inner), &mut within, &mut |this, within| {
                    this.each_vector(last, strip, &mut |this, vector| {
                        let mut site = Site::new(mode, vector.active);
                        let at = index(outer, within, Coord::vector(vector.first, strip.lanes));
                        this.accumulate(&mut site, op, &accumulators, &at, strip.lanes, vector.unrolled);
                    });
                });
                let results = this.finish_reduction(op, accumulators);
                this.put_results(mode, op, &results, outer, None);
                return;
            }
            // Each lane reduces a column: several vectors of columns at a time, for the sake of the cache lines.
            this.each_strip(last, strip, &mut |this, VectorAt { first, unrolled: vectors, active }| {
                let accumulators = this.start_reduction(op, Strip { unroll: vectors, ..strip });
                let mut within = Coords::new();
                this.each_index(&extents(&inner), &mut within, &mut |this, within| {
                    for u in 0..vectors {
                        let mut site = Site::new(mode, active);
                        let base = this.add_const(first, i64::from(u * strip.lanes));
                        let at = index(outer, within, Coord::vector(base, strip.lanes));
                        this.accumulate(&mut site, op, &accumulators, &at, strip.lanes, u);
                    }
                });
                for u in 0..vectors {
                    let results = this.column_results(op, &accumulators, u);
                    let base = this.add_const(first, i64::from(u * strip.lanes));
                    let mut at: Coords<Coord<'c>> = outer.clone();
                    at.push(Coord::vector(base, strip.lanes));
                    this.put_results(mode, op, &results, &at, active);
                }
            });
        });
    }

    /// The results of one vector of columns.
    fn column_results(&self, op: Op, accumulators: &Accumulators<'c>, u: u32) -> SmallVec<[Val<'c>; 2]> {
        let t = self.elem(reduced(self.func, op)).scalar().expect("a reduction of numbers");
        let partial = accumulators.slots[u as usize];
        let value = self.convert_nearest(self.reduction_type(op), t, self.b.get(partial.value));
        std::iter::once(value).chain(partial.index.map(|i| self.b.get(i))).collect()
    }

    fn put_results(&mut self, mode: Mode, op: Op, results: &[Val<'c>], at: &[Coord<'c>], active: Option<Val<'c>>) {
        let site = Site::new(mode, active);
        for (&v, &value) in self.func.op(op).results.iter().zip(results) {
            match self.plan.place(v) {
                Place::Buffer { buffer, dropped } => self.buffer_store(&site, buffer, &at[dropped..], value),
                place => unreachable!("{v} of a reduction over axes has place {place:?}"),
            }
        }
    }

    /// Loops over an axis by strips of several vectors.
    fn each_strip(&mut self, extent: u32, strip: Strip, body: &mut dyn FnMut(&mut Self, VectorAt<'c>)) {
        let b = self.b.clone();
        let (n, lanes) = (i64::from(extent), i64::from(strip.lanes));
        let step = lanes * i64::from(strip.unroll);
        let unrolled = n / step * step;
        b.static_loop(0, unrolled, step, |first| {
            body(self, VectorAt { first, unrolled: strip.unroll, active: None });
        });
        let whole = n / lanes * lanes;
        b.static_loop(unrolled, whole, lanes, |first| {
            body(self, VectorAt { first, unrolled: 1, active: None });
        });
        if whole < n {
            let active: Vec<Val<'c>> = (0..lanes).map(|l| b.bool(l < n - whole)).collect();
            let active = b.const_vector(&active);
            body(self, VectorAt { first: b.i64(whole), unrolled: 1, active: (lanes > 1).then_some(active) });
        }
    }
}
