//! Groups and loop nests.
//!
//! A group is made for up to three modes of access and chooses one when it runs. Within a row its nests run one after
//! another; a nest loops over the remaining axes, the last one by vectors.

use std::collections::HashSet;

use smallvec::SmallVec;
use tegula_codegen::emit::Val;
use tegula_ir::function::{Op, Value};
use tegula_ir::ops::OpKind;
use tegula_ir::types::{Elem, ScalarType};

use super::Lowering;
use super::eval::{Coord, Mode, Site};
use super::reduce::Accumulators;
use crate::builder::Slot;
use crate::plan::group::{is_suffix, makes};
use crate::plan::index::Coords;
use crate::plan::reads::{Reads, reduced_axes};
use crate::plan::{Group, Nest, Place, Root};

/// How a loop over one axis is cut into vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip {
    pub lanes: u32,
    pub unroll: u32,
}

/// What there is to do for each element.
struct Work {
    /// Bits of the widest element that is computed.
    widest: u32,
    /// Ops.
    ops: usize,
    /// Whether a reduction is among them.
    reduces: bool,
}

/// Ops for an element from which on computing takes longer than memory takes to fetch it.
const BUSY: usize = 16;

/// A vector of a loop over an axis.
#[derive(Clone, Copy)]
pub(crate) struct VectorAt<'c> {
    /// Coordinate of the first lane.
    pub first: Val<'c>,
    /// Number within an unrolled step; in a loop over strips, how many vectors there are.
    pub unrolled: u32,
    /// The lanes that are elements, where not all are.
    pub active: Option<Val<'c>>,
}

impl<'c> Lowering<'_, 'c, '_> {
    /// Runs `body` in the mode of access that fits these loads and stores.
    pub fn by_mode(&mut self, accesses: &[Op], mut body: impl FnMut(&mut Self, Mode)) {
        let (whole, unit) = self.classify(accesses);
        let streams = self.streams(accesses).unwrap_or_else(|| self.b.bool(false));
        let b = self.b.clone();
        let body = std::cell::RefCell::new((self, &mut body));
        let run = |mode: Mode| {
            let mut guard = body.borrow_mut();
            let (this, body) = &mut *guard;
            body(this, mode);
        };
        let in_bounds = || {
            b.if_else(
                streams,
                || {
                    run(Mode::Stream);
                    // Others must see what went past the caches.
                    b.store_fence();
                },
                || run(Mode::Whole),
            );
        };
        b.if_else(unit, || b.if_else(whole, in_bounds, || run(Mode::Edge)), || run(Mode::General));
    }

    /// A group of nests.
    pub fn group(&mut self, g: &Group) {
        let func = self.func;
        // Scalars made in one of the modes are read after all of them.
        let made: SmallVec<[Value; 2]> = g.nests.iter().flat_map(|n| &n.roots).flat_map(|&r| makes(func, r)).collect();
        let slots: SmallVec<[(Value, Slot<'c>); 2]> = made
            .iter()
            .filter(|&&v| !self.is_tile(v))
            .map(|&v| (v, self.b.slot(self.register_ty(self.elem(v)))))
            .collect();
        let ahead = self.loads_ahead(g);
        self.by_mode(&g.accesses, |this, mode| {
            let mut rows: Coords<Coord<'c>> = Coords::new();
            this.each_index(&g.rows, &mut rows, &mut |this, rows| {
                for (nest, ahead) in g.nests.iter().zip(&ahead) {
                    this.ahead = if mode == Mode::Stream { ahead.clone() } else { HashSet::new() };
                    this.nest(mode, g, nest, rows);
                }
                this.ahead.clear();
            });
            for &(v, slot) in &slots {
                this.b.set(slot, this.scalar(v));
            }
            for v in &made {
                this.scalars.remove(v);
            }
        });
        for (v, slot) in slots {
            let value = self.b.get(slot);
            self.scalars.insert(v, value);
        }
    }

    /// For each nest the loads that should fetch the next row, when memory would otherwise have nothing to do: those of
    /// rows that an earlier nest has read already, and all where a lone nest has much to compute.
    fn loads_ahead(&self, g: &Group) -> Vec<HashSet<Op>> {
        let inline = |v: Value| self.plan.places.get(&v) == Some(&Place::Inline);
        let loads: Vec<Vec<Op>> = g.nests.iter().map(|n| Reads::of_nest(self.func, &inline, n).loads).collect();
        if let [nest] = &g.nests[..] {
            let busy = self.work(&nest.roots).ops > BUSY;
            return vec![loads[0].iter().filter(|_| busy).copied().collect()];
        }
        let reads = |i: usize, op: &Op| loads[i].contains(op);
        (0..loads.len())
            .map(|i| {
                let again = |op: &&Op| (0..i).any(|j| reads(j, op)) && !(i + 1..loads.len()).any(|j| reads(j, op));
                if g.rows.is_empty() { HashSet::new() } else { loads[i].iter().filter(again).copied().collect() }
            })
            .collect()
    }

    /// Loops over all indices of `extents`, the last axis innermost; the coordinates are added to `at`.
    pub fn each_index(
        &mut self,
        extents: &[u32],
        at: &mut Coords<Coord<'c>>,
        body: &mut dyn FnMut(&mut Self, &mut Coords<Coord<'c>>),
    ) {
        let Some((&extent, rest)) = extents.split_first() else { return body(self, at) };
        let b = self.b.clone();
        b.static_loop(0, extent.into(), 1, |i| {
            at.push(Coord::uniform(i));
            self.each_index(rest, at, body);
            at.pop();
        });
    }

    /// Loops over an axis by vectors.
    pub fn each_vector(&mut self, extent: u32, strip: Strip, body: &mut dyn FnMut(&mut Self, VectorAt<'c>)) {
        let b = self.b.clone();
        let (extent, lanes, unroll) = (i64::from(extent), i64::from(strip.lanes), i64::from(strip.unroll));
        let step = lanes * unroll;
        let unrolled = extent / step * step;
        b.static_loop(0, unrolled, step, |i| {
            for u in 0..unroll {
                let at = self.add_const(i, u * lanes);
                body(self, VectorAt { first: at, unrolled: u as u32, active: None });
            }
        });
        let whole = extent / lanes * lanes;
        b.static_loop(unrolled, whole, lanes, |first| {
            body(self, VectorAt { first, unrolled: 0, active: None });
        });
        if whole < extent {
            let active: Vec<Val<'c>> = (0..lanes).map(|l| b.bool(l < extent - whole)).collect();
            let active = b.const_vector(&active);
            body(self, VectorAt { first: b.i64(whole), unrolled: 0, active: (lanes > 1).then_some(active) });
        }
    }

    fn nest(&mut self, mode: Mode, g: &Group, nest: &Nest, rows: &Coords<Coord<'c>>) {
        if let [Root::Reduce(op)] = nest.roots[..]
            && !is_suffix(&reduced_axes(self.func, op), nest.domain.len())
        {
            return self.reduce_axes(mode, op);
        }
        let inner = &nest.domain[g.rows.len()..];
        let mut accumulators: Vec<Option<Accumulators<'c>>> = Vec::new();
        let strip = self.strip(mode, &nest.roots, inner.last().copied().unwrap_or(1));
        for &root in &nest.roots {
            accumulators.push(match root {
                Root::Reduce(op) => Some(self.start_reduction(op, strip)),
                _ => None,
            });
        }
        let mut at = rows.clone();
        match inner.split_last() {
            None => {
                let mut site = Site::new(mode, None);
                self.roots(&mut site, nest, &at, 1, 0, &accumulators);
            }
            Some((&last, outer)) => self.each_index(outer, &mut at, &mut |this, at| {
                this.each_vector(last, strip, &mut |this, vector| {
                    let mut site = Site::new(mode, vector.active);
                    at.push(Coord::vector(vector.first, strip.lanes));
                    this.roots(&mut site, nest, at, strip.lanes, vector.unrolled, &accumulators);
                    at.pop();
                });
            }),
        }
        for (&root, accumulators) in nest.roots.iter().zip(accumulators) {
            if let (Root::Reduce(op), Some(a)) = (root, accumulators) {
                let results = self.finish_reduction(op, a);
                for (&v, value) in self.func.op(op).results.iter().zip(results) {
                    self.put(mode, v, value, rows);
                }
            }
        }
    }

    /// Gives a tile or scalar its element at `at`, whatever its place.
    fn put(&mut self, mode: Mode, v: Value, value: Val<'c>, at: &[Coord<'c>]) {
        if !self.is_tile(v) {
            self.scalars.insert(v, value);
            return;
        }
        let site = Site::new(mode, None);
        match self.plan.place(v) {
            Place::Inline => {}
            Place::Buffer { buffer, dropped } => self.buffer_store(&site, buffer, &at[dropped..], value),
            Place::Row { buffer } => {
                self.scalars.insert(v, value);
                if let Some(buffer) = buffer {
                    self.buffer_store(&site, buffer, at, value);
                }
            }
        }
    }

    /// Computes the roots of a nest at an index.
    fn roots(
        &mut self,
        site: &mut Site<'c>,
        nest: &Nest,
        at: &[Coord<'c>],
        lanes: u32,
        u: u32,
        accumulators: &[Option<Accumulators<'c>>],
    ) {
        let func = self.func;
        for (&root, accumulators) in nest.roots.iter().zip(accumulators) {
            match (root, accumulators) {
                (Root::Store(op), _) => {
                    let OpKind::Store { addr, value, mask, access } = func.kind(op) else { unreachable!("a store") };
                    let v = self.eval(site, *value, at, lanes);
                    let mask = mask.map(|m| self.eval(site, m, at, lanes));
                    let t = self.elem(*value).scalar().expect("tensors hold numbers");
                    self.store(site, op, addr, mask, v, t, at, access);
                }
                (Root::Tile(v), _) => {
                    let value = self.eval_inline(site, v, at, lanes);
                    self.remember(site, v, at, lanes, value);
                    match self.plan.place(v) {
                        Place::Inline => {}
                        Place::Buffer { buffer, dropped } => self.buffer_store(site, buffer, &at[dropped..], value),
                        Place::Row { .. } => {
                            let one = self.b.lane(value, 0);
                            self.put(site.mode, v, one, at);
                        }
                    }
                }
                (Root::Reduce(op), Some(a)) => self.accumulate(site, op, a, at, lanes, u),
                (Root::Reduce(_), None) => unreachable!("a reduction has accumulators"),
            }
        }
    }

    /// How to cut the last axis for these roots: as many lanes as the widest element allows, more vectors at a time the
    /// less there is to do for each. Where strides are not known, elements are handled one by one: a gather and a
    /// scatter of every access would cost as much, and many times the code.
    pub fn strip(&self, mode: Mode, roots: &[Root], extent: u32) -> Strip {
        if mode == Mode::General {
            return Strip { lanes: 1, unroll: 1 };
        }
        let Work { widest, ops, reduces } = self.work(roots);
        self.cut(extent, widest, ops, reduces)
    }

    /// What there is to do for each element of these roots.
    fn work(&self, roots: &[Root]) -> Work {
        let mut widest = 8;
        let mut ops = 0;
        let mut reduces = false;
        for &root in roots {
            match root {
                Root::Store(op) => {
                    func_operands(self, op, &mut |v| self.survey(v, &mut widest, &mut ops));
                }
                Root::Tile(v) => {
                    widest = widest.max(compute_bits(self.elem(v)));
                    ops += 1;
                    if let Some(op) = self.func.def_op(v) {
                        func_operands(self, op, &mut |v| self.survey(v, &mut widest, &mut ops));
                    }
                }
                Root::Reduce(op) => {
                    reduces = true;
                    widest = widest.max(32);
                    func_operands(self, op, &mut |v| self.survey(v, &mut widest, &mut ops));
                }
            }
        }
        Work { widest, ops, reduces }
    }

    /// The strip for elements computed in `widest` bits.
    pub fn cut(&self, extent: u32, widest: u32, ops: usize, reduces: bool) -> Strip {
        let lanes = (self.target.vector_bytes * 8 / widest).max(2);
        let lanes = lanes.min(extent.next_power_of_two());
        let unroll = match ops {
            0..=8 => 4,
            9..=40 if reduces => 4,
            9..=40 => 2,
            _ => 1,
        };
        let unroll = unroll.min((extent / lanes).max(1));
        Strip { lanes, unroll: if unroll == 3 { 2 } else { unroll } }
    }

    /// Counts the ops of an inline tree and finds the widest element computed in it.
    fn survey(&self, v: Value, widest: &mut u32, ops: &mut usize) {
        if !self.is_tile(v) || *ops > 200 {
            return;
        }
        *widest = (*widest).max(compute_bits(self.elem(v)));
        if self.plan.place(v) == Place::Inline
            && let Some(op) = self.func.def_op(v)
        {
            *ops += 1;
            func_operands(self, op, &mut |v| self.survey(v, widest, ops));
        }
    }
}

fn func_operands(lowering: &Lowering<'_, '_, '_>, op: Op, f: &mut dyn FnMut(Value)) {
    lowering.func.kind(op).for_each_operand(f);
}

/// Bits that an element takes while it is computed with.
fn compute_bits(elem: Elem) -> u32 {
    match elem {
        Elem::Ptr(_) => 64,
        Elem::Scalar(t) if t.is_float() => t.bits().max(32),
        Elem::Scalar(ScalarType::Bool) => 8,
        Elem::Scalar(t) => t.bits().max(8),
    }
}
