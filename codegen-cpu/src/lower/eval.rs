//! Elements of tiles by index, a vector of them at a time.
//!
//! An index has a [`Coord`] for each axis. Evaluating an inline tile evaluates its operands at the index that its op
//! maps to; a tile with a place is read there. Within one step of a loop each tile is evaluated once for each index.

use std::collections::HashMap;

use smallvec::SmallVec;
use tegula_codegen::emit::Val;
use tegula_ir::function::Value;
use tegula_ir::ops::{BinaryOp, OpKind};
use tegula_ir::types::{Elem, ScalarType};

use super::Lowering;
use crate::plan::Place;
use crate::plan::index::{Coordinates, Coords, source_index, strides};

/// A coordinate of a vector of elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Coord<'c> {
    /// `base + lane * step`; `base` is an `i64`.
    Affine {
        /// Coordinate of lane 0.
        base: Val<'c>,
        /// Distance of the lanes.
        step: i64,
    },
    /// One `i64` for each lane.
    Lanes(Val<'c>),
}

/// Which accesses to tensors a loop is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// As `Whole`; and stores are aligned to whole vectors and go past the caches, which the tensors would only flush.
    Stream,
    /// All boxes lie within their views, whose last axes are contiguous.
    Whole,
    /// The last axes are contiguous; boxes are checked.
    Edge,
    /// Nothing is known.
    General,
}

impl Mode {
    /// Whether all boxes are known to lie within their views.
    pub fn is_whole(self) -> bool {
        matches!(self, Mode::Stream | Mode::Whole)
    }
}

/// One step of a loop: what has been computed in it, and for which lanes it counts.
pub(crate) struct Site<'c> {
    pub mode: Mode,
    /// The lanes that are elements, where not all are.
    pub active: Option<Val<'c>>,
    memo: HashMap<(Value, Coords<Coord<'c>>, u32), Val<'c>>,
}

impl<'c> Site<'c> {
    /// A step in which nothing has been computed.
    pub fn new(mode: Mode, active: Option<Val<'c>>) -> Self {
        Self { mode, active, memo: HashMap::new() }
    }
}

impl<'c> Coord<'c> {
    /// The same for all lanes.
    pub fn uniform(base: Val<'c>) -> Self {
        Coord::Affine { base, step: 0 }
    }

    /// Consecutive from `first` on.
    pub fn vector(first: Val<'c>, lanes: u32) -> Self {
        Coord::Affine { base: first, step: i64::from(lanes > 1) }
    }

    /// Whether all lanes have it.
    pub fn is_uniform(&self) -> bool {
        matches!(self, Coord::Affine { step: 0, .. })
    }
}

impl<'c> Coordinates for Lowering<'_, 'c, '_> {
    type Coord = Coord<'c>;

    fn constant(&self, i: i64) -> Coord<'c> {
        Coord::uniform(self.b.i64(i))
    }

    fn shift(&self, c: &Coord<'c>, by: i64) -> Coord<'c> {
        match *c {
            Coord::Affine { base, step } => Coord::Affine { base: self.add_const(base, by), step },
            Coord::Lanes(v) => Coord::Lanes(self.b.add(v, self.b.int_like(v, by))),
        }
    }

    fn reverse(&self, c: &Coord<'c>, extent: u32) -> Coord<'c> {
        let last = i64::from(extent) - 1;
        match *c {
            Coord::Affine { base, step } => Coord::Affine { base: self.b.sub(self.b.i64(last), base), step: -step },
            Coord::Lanes(v) => Coord::Lanes(self.b.sub(self.b.int_like(v, last), v)),
        }
    }
}

impl<'c> Lowering<'_, 'c, '_> {
    /// `v + c` of `i64`, folded where `v` is a constant.
    pub fn add_const(&self, v: Val<'c>, c: i64) -> Val<'c> {
        match self.b.as_const(v) {
            Some(k) => self.b.i64(k.wrapping_add(c)),
            None => self.b.add(v, self.b.i64(c)),
        }
    }

    /// A coordinate as lanes of `i64`.
    pub fn coord_lanes(&self, c: &Coord<'c>, lanes: u32) -> Val<'c> {
        match *c {
            Coord::Lanes(v) => v,
            Coord::Affine { base, step: 0 } => self.b.broadcast(base, lanes),
            Coord::Affine { base, step } => {
                let offsets: Vec<Val<'c>> = (0..i64::from(lanes)).map(|l| self.b.i64(l * step)).collect();
                self.b.add(self.b.broadcast(base, lanes), self.b.const_vector(&offsets))
            }
        }
    }

    /// The elements of a scalar or tile at an index, one for each of `lanes`.
    pub fn eval(&mut self, site: &mut Site<'c>, v: Value, at: &[Coord<'c>], lanes: u32) -> Val<'c> {
        if !self.is_tile(v) {
            return self.b.broadcast(self.scalar(v), lanes);
        }
        // The same element in every lane is computed once.
        if lanes > 1 && at.iter().all(Coord::is_uniform) {
            let one = self.eval(site, v, at, 1);
            return self.b.broadcast(one, lanes);
        }
        let key = (v, Coords::from(at), lanes);
        if let Some(&done) = site.memo.get(&key) {
            return done;
        }
        let result = match self.plan.place(v) {
            Place::Inline => self.eval_inline(site, v, at, lanes),
            Place::Buffer { buffer, dropped } => self.buffer_load(site, buffer, &at[dropped..], lanes),
            Place::Row { buffer } => match (self.scalars.get(&v), buffer) {
                (Some(&row), _) => self.b.broadcast(row, lanes),
                (None, Some(buffer)) => self.buffer_load(site, buffer, at, lanes),
                (None, None) => unreachable!("{v} is read in its own group only"),
            },
        };
        site.memo.insert(key, result);
        result
    }

    /// Whether a tile has the same element in every lane of an index, as far as changes of index tell.
    fn is_uniform(&self, v: Value, at: &[Coord<'c>]) -> bool {
        if !self.is_tile(v) || at.iter().all(Coord::is_uniform) {
            return true;
        }
        let Some(op) = self.func.def_op(v) else { return false };
        let kind = self.func.kind(op);
        match source_index(self, self.func, kind, 0, at) {
            Some(source) => self.is_uniform(kind.operands()[0], &source),
            None => matches!(kind, OpKind::Splat { .. } | OpKind::Constant { .. }),
        }
    }

    /// Notes an element that has been computed, so that it is not read back.
    pub fn remember(&self, site: &mut Site<'c>, v: Value, at: &[Coord<'c>], lanes: u32, is: Val<'c>) {
        site.memo.insert((v, at.into(), lanes), is);
    }

    /// Computes the elements of a tile from its op, wherever its place is.
    pub fn eval_inline(&mut self, site: &mut Site<'c>, v: Value, at: &[Coord<'c>], lanes: u32) -> Val<'c> {
        let func = self.func;
        let op = func.def_op(v).expect("an inline tile is made by an op");
        let kind = func.kind(op);
        let elem = self.elem(v);
        match kind {
            OpKind::Constant { value, .. } => {
                let t = elem.scalar().expect("a constant of numbers");
                self.b.broadcast(self.literal(t, *value), lanes)
            }
            OpKind::Splat { x, .. } => self.b.broadcast(self.scalar(*x), lanes),
            OpKind::Arange { elem, axis, start, .. } => {
                let at = self.shift(&at[usize::from(*axis)], *start);
                // Narrow first: adding lanes in the element's width is cheaper and wraps in the same way.
                match at {
                    Coord::Affine { base, step } if lanes > 1 => {
                        let base = self.b.zext_or_trunc(base, elem.bits());
                        let offsets: Vec<Val<'c>> =
                            (0..i64::from(lanes)).map(|l| self.b.const_int(elem.bits(), l * step)).collect();
                        self.b.add(self.b.broadcast(base, lanes), self.b.const_vector(&offsets))
                    }
                    at => self.b.zext_or_trunc(self.coord_lanes(&at, lanes), elem.bits()),
                }
            }
            OpKind::Load { addr, mask, pad, access } => {
                let mask = mask.map(|m| self.eval(site, m, at, lanes));
                let t = elem.scalar().expect("tensors hold numbers");
                let pad = match pad {
                    Some(p) => self.scalar(*p),
                    None => self.b.zero(self.register_ty(Elem::Scalar(t))),
                };
                if lanes > 1 && self.ahead.contains(&op) {
                    self.prefetch_next_row(site, addr, t, at, lanes);
                }
                self.load(site, op, addr, mask, pad, t, at, lanes, access)
            }
            OpKind::GatherAxis { x, index, axis } => {
                let axis = usize::from(*axis);
                let extent = self.shape(*x)[axis];
                let t = self.elem(*index).scalar().expect("integer indices");
                let index = self.eval(site, *index, at, lanes);
                let index = self.clamp_index(index, t, extent);
                let mut source: Coords<Coord<'c>> = at.into();
                source[axis] = if lanes == 1 { Coord::uniform(index) } else { Coord::Lanes(index) };
                self.eval(site, *x, &source, lanes)
            }
            OpKind::Reshape { x, shape } if self.is_tile(*x) && source_index(self, func, kind, 0, at).is_none() => {
                let linear = self.linear_index(at, &strides(shape), lanes);
                self.eval_linear(site, *x, linear, lanes)
            }
            kind if kind.is_elementwise() => {
                let operands: SmallVec<[Value; 4]> = kind.operands();
                let elems: SmallVec<[Elem; 4]> = operands.iter().map(|&o| self.elem(o)).collect();
                let values: SmallVec<[Val<'c>; 4]> = operands.iter().map(|&o| self.eval(site, o, at, lanes)).collect();
                if lanes > 1
                    && elem == Elem::Scalar(ScalarType::F32)
                    && let OpKind::Binary { op: BinaryOp::Div, b, .. } = kind
                    && self.is_uniform(*b, at)
                {
                    return self.divide_by_uniform(values[0], values[1]);
                }
                self.elementwise(kind, &elems, &values)
            }
            kind => {
                let result = func.op(op).results.iter().position(|&r| r == v).unwrap_or(0) as u32;
                let source = source_index(self, func, kind, result, at)
                    .unwrap_or_else(|| unreachable!("{} is not inline", kind.mnemonic()));
                let x = kind.operands()[0];
                self.eval(site, x, &source, lanes)
            }
        }
    }

    /// An index of any integer type, clamped to `0..extent`, as `i64`.
    fn clamp_index(&self, index: Val<'c>, t: ScalarType, extent: u32) -> Val<'c> {
        let b = &self.b;
        let wide = self.index(index, t.is_signed_int());
        let last = b.int_like(wide, i64::from(extent) - 1);
        if t.is_signed_int() {
            let low = b.intrinsic("llvm.smax", &[wide.get_type()], &[wide, b.int_like(wide, 0)]);
            b.intrinsic("llvm.smin", &[wide.get_type()], &[low, last])
        } else {
            b.intrinsic("llvm.umin", &[wide.get_type()], &[wide, last])
        }
    }

    /// The index at a row-major position: the inverse of [`Self::linear_index`].
    pub fn index_of(&self, shape: &[u32], at: Coord<'c>, lanes: u32) -> Coords<Coord<'c>> {
        let b = &self.b;
        let mut rest = match at {
            Coord::Affine { base, .. } if lanes == 1 => base,
            at => self.coord_lanes(&at, lanes),
        };
        let mut index: Coords<Coord<'c>> = Coords::new();
        for &extent in shape.iter().rev() {
            let extent = b.int_like(rest, extent.into());
            let c = b.urem(rest, extent);
            index.push(if lanes == 1 { Coord::uniform(c) } else { Coord::Lanes(c) });
            rest = b.udiv(rest, extent);
        }
        index.reverse();
        index
    }

    /// Row-major position of an index.
    pub fn linear_index(&self, at: &[Coord<'c>], strides: &[i64], lanes: u32) -> Coord<'c> {
        let b = &self.b;
        let mut base = b.i64(0);
        let mut step = 0;
        let mut spread: Option<Val<'c>> = None;
        for (c, &stride) in at.iter().zip(strides) {
            match *c {
                Coord::Affine { base: c, step: s } => {
                    let scaled = match b.as_const(c) {
                        Some(k) => b.i64(k * stride),
                        None => b.mul(c, b.i64(stride)),
                    };
                    base = match (b.as_const(base), b.as_const(scaled)) {
                        (Some(x), Some(y)) => b.i64(x + y),
                        _ => b.add(base, scaled),
                    };
                    step += s * stride;
                }
                Coord::Lanes(v) => {
                    let scaled = if stride == 1 { v } else { b.mul(v, b.int_like(v, stride)) };
                    spread = Some(spread.map_or(scaled, |s| b.add(s, scaled)));
                }
            }
        }
        let affine = Coord::Affine { base, step };
        match spread {
            Some(s) => Coord::Lanes(b.add(s, self.coord_lanes(&affine, lanes))),
            None => affine,
        }
    }
}
