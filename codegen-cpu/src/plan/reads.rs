//! What the evaluation of a tile reads: tiles that have a place, scalars, memory; and at which index.

use std::collections::HashSet;

use smallvec::SmallVec;
use tegula_ir::function::{Function, Op, Value};
use tegula_ir::ops::{Address, OpKind};
use tegula_ir::types::{Shape, Type};

use super::index::{Coords, SymCoord, Symbolic, identity, source_index};
use super::{Nest, Root, Step};

/// What is read.
#[derive(Clone, Default, Debug)]
pub struct Reads {
    /// Tiles that are not inline, with the index in terms of the loops.
    pub tiles: Vec<(Value, Coords<SymCoord>)>,
    /// Scalars and views.
    pub scalars: Vec<Value>,
    /// Loads.
    pub loads: Vec<Op>,
    seen: HashSet<(Value, Coords<SymCoord>)>,
}

impl Reads {
    /// What a root reads.
    pub fn of_root(func: &Function, inline: &impl Fn(Value) -> bool, root: Root) -> Self {
        let mut reads = Self::default();
        match root {
            Root::Store(op) => {
                let OpKind::Store { addr, value, mask, .. } = func.kind(op) else { unreachable!("a store") };
                let at = identity(&shape_of(func, *value));
                reads.address(func, inline, addr, &at);
                reads.value(func, inline, *value, &at);
                if let Some(m) = mask {
                    reads.value(func, inline, *m, &at);
                }
            }
            Root::Tile(v) => {
                let at = identity(&shape_of(func, v));
                reads.definition(func, inline, v, &at);
            }
            Root::Reduce(op) => {
                let x = reduced(func, op);
                let at = identity(&shape_of(func, x));
                reads.value(func, inline, x, &at);
            }
        }
        reads
    }

    /// What the roots of a nest read.
    pub fn of_nest(func: &Function, inline: &impl Fn(Value) -> bool, nest: &Nest) -> Self {
        let mut all = Self::default();
        for &root in &nest.roots {
            let reads = Self::of_root(func, inline, root);
            all.tiles.extend(reads.tiles);
            all.scalars.extend(reads.scalars);
            all.loads.extend(reads.loads);
        }
        all
    }

    /// What an op by itself reads, its nested blocks not included. The index is that of each operand's own loop.
    pub fn of_op(func: &Function, inline: &impl Fn(Value) -> bool, op: Op) -> Self {
        let mut reads = Self::default();
        func.kind(op).for_each_operand(|v| {
            let at = func.ty(v).shape().map(|s| identity(&s.into())).unwrap_or_default();
            reads.value(func, inline, v, &at);
        });
        reads
    }

    /// What a step reads, nested blocks not included.
    pub fn of_step(func: &Function, inline: &impl Fn(Value) -> bool, step: &Step) -> Self {
        match step {
            Step::Op(op) => Self::of_op(func, inline, *op),
            Step::Group(g) => {
                let mut all = Self::default();
                for nest in &g.nests {
                    let reads = Self::of_nest(func, inline, nest);
                    all.tiles.extend(reads.tiles);
                    all.scalars.extend(reads.scalars);
                    all.loads.extend(reads.loads);
                }
                all
            }
        }
    }

    /// What reading an operand at an index reads.
    pub fn value(&mut self, func: &Function, inline: &impl Fn(Value) -> bool, v: Value, at: &[SymCoord]) {
        if !matches!(func.ty(v), Type::Tile(_)) {
            self.scalars.push(v);
        } else if self.seen.insert((v, at.into())) {
            if inline(v) {
                self.definition(func, inline, v, at);
            } else {
                self.tiles.push((v, at.into()));
            }
        }
    }

    /// What computing an element of a tile reads.
    fn definition(&mut self, func: &Function, inline: &impl Fn(Value) -> bool, v: Value, at: &[SymCoord]) {
        let Some(op) = func.def_op(v) else { return };
        let kind = func.kind(op);
        let result = func.op(op).results.iter().position(|&r| r == v).unwrap_or(0) as u32;
        match kind {
            OpKind::Load { addr, mask, pad, .. } => {
                self.loads.push(op);
                self.address(func, inline, addr, at);
                for v in mask.iter().chain(pad) {
                    self.value(func, inline, *v, at);
                }
            }
            OpKind::GatherAxis { x, index, axis } => {
                self.value(func, inline, *index, at);
                let mut source: Coords<SymCoord> = at.into();
                source[usize::from(*axis)] = SymCoord::Other;
                self.value(func, inline, *x, &source);
            }
            _ => match source_index(&Symbolic, func, kind, result, at) {
                Some(source) => kind.for_each_operand(|x| self.value(func, inline, x, &source)),
                None => {
                    // Elementwise ops keep the index; others pick elements in their own way.
                    let elementwise = kind.is_elementwise();
                    kind.for_each_operand(|x| {
                        let rank = func.ty(x).shape().map_or(0, <[u32]>::len);
                        let source: Coords<SymCoord> =
                            if elementwise { at.into() } else { SmallVec::from_elem(SymCoord::Other, rank) };
                        self.value(func, inline, x, &source);
                    });
                }
            },
        }
    }

    fn address(&mut self, func: &Function, inline: &impl Fn(Value) -> bool, addr: &Address, at: &[SymCoord]) {
        match addr {
            Address::Tile { view, offsets, .. } => {
                self.scalars.push(*view);
                self.scalars.extend(offsets);
            }
            Address::Gather { view, indices, .. } => {
                self.scalars.push(*view);
                for &v in indices {
                    self.value(func, inline, v, at);
                }
            }
            Address::Ptr { ptr } => self.value(func, inline, *ptr, at),
        }
    }
}

/// The tile that a reduction reduces.
pub fn reduced(func: &Function, op: Op) -> Value {
    match func.kind(op) {
        OpKind::Reduce { x, .. } | OpKind::ArgReduce { x, .. } => *x,
        kind => unreachable!("{} is no reduction", kind.mnemonic()),
    }
}

/// The axes that a reduction reduces.
pub fn reduced_axes(func: &Function, op: Op) -> SmallVec<[u8; 5]> {
    match func.kind(op) {
        OpKind::Reduce { axes, .. } => axes.clone(),
        OpKind::ArgReduce { axis, .. } => SmallVec::from_slice(&[*axis]),
        kind => unreachable!("{} is no reduction", kind.mnemonic()),
    }
}

/// Extents of a tile; none for a scalar.
pub fn shape_of(func: &Function, v: Value) -> Shape {
    func.ty(v).shape().unwrap_or(&[]).into()
}
