//! Scans, and reductions and scans with a function of the author's.
//!
//! The scanned axis is walked in order. Where it is not the last axis, the lanes of a vector each walk a column.

use smallvec::SmallVec;
use tegula_codegen::emit::Val;
use tegula_ir::function::{Block, Op, Value};
use tegula_ir::ops::OpKind;
use tegula_ir::types::ScalarType;

use super::Lowering;
use super::eval::{Coord, Mode, Site};
use super::nest::Strip;
use crate::plan::Place;
use crate::plan::index::Coords;

impl<'c> Lowering<'_, 'c, '_> {
    /// `scan`.
    pub fn scan(&mut self, op: Op) {
        let func = self.func;
        let OpKind::Scan { kind, x, axis, reverse } = func.kind(op) else { unreachable!("a scan") };
        let t = self.elem(*x).scalar().expect("a scan of numbers");
        let wide = match t {
            ScalarType::F16 | ScalarType::BF16 => ScalarType::F32,
            t => t,
        };
        let kind = kind.reduction();
        let result = func.op(op).results[0];
        self.along(op, &[*x], *axis, *reverse, true, |this, walk| {
            let b = this.b.clone();
            let start = b.broadcast(this.reduce_identity(kind, wide), walk.lanes);
            let acc = b.slot_with(start);
            this.walk(&walk, 0, &mut |this, site, at| {
                let x = this.eval(site, *x, at, walk.lanes);
                let x = this.convert_nearest(t, wide, x);
                let next = this.combine(kind, wide, b.get(acc), x);
                b.set(acc, next);
                let out = this.convert_nearest(wide, t, next);
                this.write_back(site, result, at, out);
            });
        });
    }

    /// `reduce_with` and `scan_with`.
    pub fn combine_with(&mut self, op: Op) {
        let func = self.func;
        let (inputs, axis, body, reverse, scan) = match func.kind(op) {
            OpKind::ReduceWith { inputs, axis, body } => (inputs.clone(), *axis, *body, false, false),
            OpKind::ScanWith { inputs, axis, reverse, body } => (inputs.clone(), *axis, *body, *reverse, true),
            kind => unreachable!("{} has no function", kind.mnemonic()),
        };
        let results = func.op(op).results.clone();
        let vectors = self.is_elementwise_block(body);
        self.along(op, &inputs, axis, reverse, vectors, |this, walk| {
            let b = this.b.clone();
            let slots: SmallVec<[_; 2]> =
                inputs.iter().map(|&v| b.slot(b.lanes_ty(this.register_ty(this.elem(v)), walk.lanes))).collect();
            this.walk_first(&walk, &mut |this, site, at| {
                for ((&v, &slot), &result) in inputs.iter().zip(&slots).zip(&results) {
                    let x = this.eval(site, v, at, walk.lanes);
                    b.set(slot, x);
                    if scan {
                        this.write_back(site, result, at, x);
                    }
                }
            });
            this.walk(&walk, 1, &mut |this, site, at| {
                let mut args: SmallVec<[Val<'c>; 4]> = slots.iter().map(|&s| b.get(s)).collect();
                for &v in &inputs {
                    args.push(this.eval(site, v, at, walk.lanes));
                }
                let next = this.combine_block(body, &args, walk.lanes);
                for ((&slot, &x), &result) in slots.iter().zip(&next).zip(&results) {
                    b.set(slot, x);
                    if scan {
                        this.write_back(site, result, at, x);
                    }
                }
            });
            if !scan {
                let mut kept = walk.at.clone();
                kept.remove(usize::from(axis));
                let site = Site::new(Mode::General, walk.active);
                for (&slot, &result) in slots.iter().zip(&results) {
                    let value = b.get(slot);
                    if this.is_tile(result) {
                        this.write_back(&site, result, &kept, value);
                    } else {
                        this.scalars.insert(result, value);
                    }
                }
            }
        });
    }

    /// Runs `body` for each position of the axes other than `axis`, with vectors along the last axis if that is allowed
    /// and it is not `axis` itself.
    fn along(
        &mut self,
        op: Op,
        inputs: &[Value],
        axis: u8,
        reverse: bool,
        vectors: bool,
        mut body: impl FnMut(&mut Self, Walk<'c>),
    ) {
        let domain: SmallVec<[u32; 5]> = self.shape(inputs[0]).into();
        let axis = usize::from(axis);
        let rank = domain.len();
        let last = rank - 1;
        let by_vector = vectors && axis != last;
        let extent = domain[axis];
        let loads = self.loads_of(inputs);
        // Scalars made in one of the modes are read after all of them: a reduction of all elements to a scalar.
        let scalar_results: SmallVec<[Value; 2]> =
            self.func.op(op).results.iter().copied().filter(|&v| !self.is_tile(v)).collect();
        let slots: SmallVec<[_; 2]> =
            scalar_results.iter().map(|&v| self.b.slot(self.register_ty(self.elem(v)))).collect();
        self.by_mode(&loads, |this, mode| {
            let by_vector = by_vector && mode != Mode::General;
            let others: SmallVec<[usize; 5]> = (0..rank).filter(|&i| i != axis && !(by_vector && i == last)).collect();
            let extents: SmallVec<[u32; 5]> = others.iter().map(|&i| domain[i]).collect();
            let mut outer = Coords::new();
            this.each_index(&extents, &mut outer, &mut |this, outer| {
                let mut at: Coords<Coord<'c>> = SmallVec::from_elem(Coord::uniform(this.b.i64(0)), rank);
                for (&i, &c) in others.iter().zip(&*outer) {
                    at[i] = c;
                }
                if by_vector {
                    let strip = this.cut(domain[last], this.widest(inputs), 100, false);
                    let strip = Strip { unroll: 1, ..strip };
                    this.each_vector(domain[last], strip, &mut |this, vector| {
                        at[last] = Coord::vector(vector.first, strip.lanes);
                        let (lanes, at) = (strip.lanes, at.clone());
                        body(this, Walk { axis, extent, reverse, at, lanes, active: vector.active, mode });
                    });
                } else {
                    body(this, Walk { axis, extent, reverse, at, lanes: 1, active: None, mode });
                }
            });
            for (&v, &slot) in scalar_results.iter().zip(&slots) {
                this.b.set(slot, this.scalar(v));
            }
        });
        for (&v, &slot) in scalar_results.iter().zip(&slots) {
            let value = self.b.get(slot);
            self.scalars.insert(v, value);
        }
    }

    fn widest(&self, inputs: &[Value]) -> u32 {
        inputs.iter().map(|&v| self.elem(v).scalar().map_or(64, |t| t.bits().max(32))).max().unwrap_or(32)
    }

    /// Calls `body` at each position of a walk from position number `from` on.
    fn walk(&mut self, walk: &Walk<'c>, from: u32, body: &mut dyn FnMut(&mut Self, &mut Site<'c>, &[Coord<'c>])) {
        let b = self.b.clone();
        b.static_loop(from.into(), walk.extent.into(), 1, |i| {
            let i = if walk.reverse { b.sub(b.i64(i64::from(walk.extent) - 1), i) } else { i };
            self.step(walk, i, body);
        });
    }

    fn walk_first(&mut self, walk: &Walk<'c>, body: &mut dyn FnMut(&mut Self, &mut Site<'c>, &[Coord<'c>])) {
        let first = if walk.reverse { i64::from(walk.extent) - 1 } else { 0 };
        let first = self.b.i64(first);
        self.step(walk, first, body);
    }

    fn step(&mut self, walk: &Walk<'c>, i: Val<'c>, body: &mut dyn FnMut(&mut Self, &mut Site<'c>, &[Coord<'c>])) {
        let mut at = walk.at.clone();
        at[walk.axis] = Coord::uniform(i);
        let mut site = Site::new(walk.mode, walk.active);
        body(self, &mut site, &at);
    }

    /// Stores elements of a result that has a buffer.
    pub fn write_back(&mut self, site: &Site<'c>, v: Value, at: &[Coord<'c>], value: Val<'c>) {
        match self.plan.places.get(&v) {
            Some(Place::Buffer { buffer, dropped }) => self.buffer_store(site, *buffer, &at[*dropped..], value),
            place => unreachable!("{v} has place {place:?}"),
        }
    }

    /// Whether a combining function can be evaluated on vectors: it has no control flow and touches no memory.
    fn is_elementwise_block(&self, block: Block) -> bool {
        self.func.block(block).ops.iter().all(|&op| {
            let kind = self.func.kind(op);
            kind.is_elementwise() || matches!(kind, OpKind::Constant { .. } | OpKind::Yield { .. })
        })
    }

    /// Evaluates a combining function, on as many lanes as its arguments have.
    fn combine_block(&mut self, block: Block, args: &[Val<'c>], lanes: u32) -> SmallVec<[Val<'c>; 4]> {
        let func = self.func;
        for (&param, &arg) in func.block(block).args.iter().zip(args) {
            self.scalars.insert(param, arg);
        }
        for &op in &func.block(block).ops {
            match func.kind(op) {
                OpKind::Yield { values } => {
                    return values.iter().map(|&v| self.b.broadcast(self.scalar(v), lanes)).collect();
                }
                kind if kind.is_elementwise() => {
                    let operands = kind.operands();
                    let elems: SmallVec<[_; 4]> = operands.iter().map(|&o| self.elem(o)).collect();
                    let values: SmallVec<[Val<'c>; 4]> =
                        operands.iter().map(|&o| self.b.broadcast(self.scalar(o), lanes)).collect();
                    let value = self.elementwise(kind, &elems, &values);
                    self.scalars.insert(func.op(op).results[0], value);
                }
                _ => self.op(op),
            }
        }
        unreachable!("a combining function ends in yield")
    }
}

/// A walk along an axis.
struct Walk<'c> {
    axis: usize,
    extent: u32,
    reverse: bool,
    /// Where, but for `axis`.
    at: Coords<Coord<'c>>,
    lanes: u32,
    active: Option<Val<'c>>,
    mode: Mode,
}
