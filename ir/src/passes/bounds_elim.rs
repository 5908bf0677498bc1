//! Elimination of bounds checks: marks the axes of tile accesses on which the whole tile is known to lie within its
//! view, so that no check is made there.
//!
//! What makes a tile whole is mostly that it is one of the tiles that an extent is cut into. A program or loop counts
//! such tiles: its index q is below `ceil(E / d)` (a *count*), and at offset `q · c` with `c ≤ d` a tile of up to `d`
//! elements lies within E, if E is a multiple of d (which the launcher promised), or if the count was rounded down.
//! Counts come from
//!
//! * the grid of partitioned outputs: the program's index is below the product of their counts, and dividing it by
//!   one count, or taking the remainder, takes the product apart;
//! * the upper bounds of loops.
//!
//! Beside counts there are plain numbers: ranges of offsets against constant extents, and extents that are at least
//! one divisor long because the program would not run if they were empty.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::analysis::constants::integer;
use crate::analysis::ranges::{Range, Ranges};
use crate::diag::Diagnostic;
use crate::function::{Function, Grid, Op, ParamKind, Value, ValueDef};
use crate::ops::{Address, AxisSet, BinaryOp, OpKind};
use crate::pass::{Changed, Pass, PassContext, PassInfo};
use crate::types::ScalarType;

/// The pass.
#[derive(Clone, Copy, Default, Debug)]
pub struct BoundsElim;

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "bounds-elim",
    summary: "marks tile accesses that are known to lie within their view",
    options: &[],
    make: |_| Ok(Box::new(BoundsElim)),
};

impl Pass for BoundsElim {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let mut marked = 0;
        let found: Vec<(Op, AxisSet)> = {
            let prover = Prover::new(function);
            let ops = function.ops_in_order();
            ops.into_iter().filter_map(|op| Some((op, prover.proved(function.kind(op).address()?)))).collect()
        };
        for (op, proved) in found {
            let Some(address) = function.op_mut(op).kind.address_mut() else { continue };
            let (Address::Tile { in_bounds, .. } | Address::Gather { in_bounds, .. }) = address else { continue };
            marked += u64::from((proved.0 & !in_bounds.0).count_ones());
            in_bounds.0 |= proved.0;
        }
        cx.count("axes without checks", marked);
        Ok((marked > 0).into())
    }
}

/// Into how many tiles of `unit` elements an extent is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Count {
    /// The parameter, and its axis.
    param: u32,
    axis: u8,
    unit: i128,
    /// Whether a last tile that is not whole is left out.
    floor: bool,
}

/// A product of counts that a value is below.
type Product = SmallVec<[Count; 3]>;

/// How deep expressions are followed.
const DEPTH: u32 = 8;

struct Prover<'f> {
    f: &'f Function,
    ranges: Ranges,
    /// The loop whose counter a block argument is.
    counters: HashMap<Value, Op>,
}

impl<'f> Prover<'f> {
    fn new(f: &'f Function) -> Self {
        let mut counters = HashMap::new();
        f.walk(|_, op| {
            if let OpKind::For { body, .. } = f.kind(op) {
                counters.insert(f.block(*body).args[0], op);
            }
        });
        Self { f, ranges: Ranges::compute(f), counters }
    }

    fn proved(&self, address: &Address) -> AxisSet {
        match address {
            Address::Tile { view, offsets, shape, .. } => (0..shape.len()).fold(AxisSet::NONE, |set, axis| {
                if self.tile_inside(*view, axis as u8, offsets[axis], shape[axis].into()) {
                    set.with(axis)
                } else {
                    set
                }
            }),
            Address::Gather { view, indices, .. } => (0..indices.len()).fold(AxisSet::NONE, |set, axis| {
                let least = self.extent_range(*view, axis as u8).0;
                let inside = self.ranges.get(indices[axis]).is_some_and(|r| r.min >= 0 && r.max < least);
                if inside { set.with(axis) } else { set }
            }),
            Address::Ptr { .. } => AxisSet::NONE,
        }
    }

    /// Whether `offset .. offset + size` lies within an axis of a view.
    fn tile_inside(&self, view: Value, axis: u8, offset: Value, size: i128) -> bool {
        let Some(range) = self.ranges.get(offset) else { return false };
        if range.min < 0 {
            return false;
        }
        let (least, divisor) = self.extent_range(view, axis);
        if range.max + size <= least {
            return true;
        }
        let ValueDef::Param(param) = self.f.value(view).def else { return false };
        let of_this_axis = |product: &Product| match product[..] {
            [c] if c.param == param && c.axis == axis => Some(c),
            _ => None,
        };
        let (index, scale) = self.scaled(offset);
        let whole = |c: Count| c.floor || divisor % c.unit == 0;
        if self.below(index, DEPTH).iter().filter_map(of_this_axis).any(|c| {
            // q ≤ E/d - 1, so q · c + size ≤ E - d + size.
            whole(c) && scale <= c.unit && size <= c.unit
        }) {
            return true;
        }
        // An offset in elements, below the extent: both are multiples of a number that the tile does not exceed.
        let step = gcd(self.divisor(offset, DEPTH), divisor);
        size <= step && self.below(offset, DEPTH).iter().filter_map(of_this_axis).any(|c| c.unit == 1)
    }

    /// The least that an extent can be, and a divisor of it.
    fn extent_range(&self, view: Value, axis: u8) -> (i128, i128) {
        match self.f.value(view).def {
            ValueDef::Param(p) => {
                let ParamKind::View { spec, .. } = &self.f.params[p as usize].kind else { return (0, 1) };
                let divisor = spec.extent_divisor.get(usize::from(axis)).copied().unwrap_or(1).max(1).into();
                (if self.not_empty(p) { divisor } else { 0 }, divisor)
            }
            _ => match self.f.def_kind(view) {
                Some(OpKind::MakeView { extents, .. }) => {
                    let extent = extents[usize::from(axis)];
                    (self.ranges.get(extent).map_or(0, |r| r.min.max(0)), self.divisor(extent, DEPTH))
                }
                _ => (0, 1),
            },
        }
    }

    /// Whether the grid has no programs where the parameter has an empty axis.
    fn not_empty(&self, param: u32) -> bool {
        matches!(&self.f.grid, Grid::Tiles { outputs } if outputs.iter().any(|(p, _)| *p == param))
    }

    fn not_negative(&self, v: Value) -> bool {
        self.ranges.get(v).is_some_and(|r| r.min >= 0)
    }

    fn constant(&self, v: Value) -> Option<i128> {
        integer(self.f, v)
    }

    /// A value as a multiple of another: `(q, c)` for `q · c` with a positive constant c.
    fn scaled(&self, v: Value) -> (Value, i128) {
        if let Some(&OpKind::Binary { op: BinaryOp::Mul, a, b }) = self.f.def_kind(v)
            && let Some(c) = self.constant(b).filter(|&c| c > 0)
            // No wrap-around, or the product says nothing.
            && self.ranges.get(a).is_some_and(|r| r.min >= 0 && r.max.saturating_mul(c) <= i64::MAX.into())
        {
            return (a, c);
        }
        (v, 1)
    }

    /// What divides a value; 0 for zero.
    fn divisor(&self, v: Value, depth: u32) -> i128 {
        if depth == 0 {
            return 1;
        }
        let divisor = |v| self.divisor(v, depth - 1);
        if let Some(&op) = self.counters.get(&v)
            && let OpKind::For { lower, step, .. } = self.f.kind(op)
        {
            return gcd(divisor(*lower), divisor(*step));
        }
        if let Some(c) = self.constant(v) {
            return c.abs();
        }
        match self.f.def_kind(v) {
            Some(&OpKind::Binary { op: BinaryOp::Mul, b, .. }) if self.scaled(v).1 > 1 => self.constant(b).unwrap_or(1),
            Some(&OpKind::Binary { op: BinaryOp::Min | BinaryOp::Max, a, b }) => gcd(divisor(a), divisor(b)),
            // Where the sum may wrap around, the range is that of the type.
            Some(&OpKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, a, b })
                if self.ranges.get(v).is_some_and(|r| r != Range::of_type(ScalarType::I64)) =>
            {
                gcd(divisor(a), divisor(b))
            }
            Some(&OpKind::ViewExtent { view, axis }) => self.extent_range(view, axis).1,
            Some(&OpKind::Assume { x, .. }) => divisor(x),
            _ => 1,
        }
    }

    /// The count that a value is.
    fn count(&self, v: Value) -> Option<Count> {
        let extent = |v: Value| match *self.f.def_kind(v)? {
            OpKind::ViewExtent { view, axis } => match self.f.value(view).def {
                ValueDef::Param(param) => Some((param, axis)),
                _ => None,
            },
            _ => None,
        };
        if let Some((param, axis)) = extent(v) {
            return Some(Count { param, axis, unit: 1, floor: true });
        }
        let &OpKind::Binary { op: BinaryOp::Div | BinaryOp::FloorDiv, a, b } = self.f.def_kind(v)? else {
            return None;
        };
        let unit = self.constant(b).filter(|&d| d > 0)?;
        if let Some((param, axis)) = extent(a) {
            return Some(Count { param, axis, unit, floor: true });
        }
        let &OpKind::Binary { op: BinaryOp::Add, a: x, b: y } = self.f.def_kind(a)? else { return None };
        let (param, axis) = extent(x)?;
        (self.constant(y)? == unit - 1).then_some(Count { param, axis, unit, floor: false })
    }

    /// Products of counts that a value, which is not negative, is below.
    fn below(&self, v: Value, depth: u32) -> Vec<Product> {
        if depth == 0 {
            return Vec::new();
        }
        if let Some(&op) = self.counters.get(&v) {
            let OpKind::For { upper, .. } = self.f.kind(op) else { return Vec::new() };
            return self.at_most(*upper, depth - 1);
        }
        match self.f.def_kind(v) {
            Some(OpKind::ProgramId { axis: 0 }) => match &self.f.grid {
                Grid::Tiles { outputs } => outputs
                    .iter()
                    .map(|&(param, ref tile)| {
                        let count =
                            |(axis, &d): (usize, &u32)| Count { param, axis: axis as u8, unit: d.into(), floor: false };
                        tile.iter().enumerate().map(count).collect()
                    })
                    .collect(),
                Grid::Explicit => Vec::new(),
            },
            // x < c · rest gives x / c < rest.
            Some(&OpKind::Binary { op: BinaryOp::Div | BinaryOp::FloorDiv, a, b }) => {
                let Some(c) = self.count(b).filter(|_| self.not_negative(a)) else { return Vec::new() };
                let mut products = self.below(a, depth - 1);
                products.retain_mut(|p| match p.iter().position(|&factor| factor == c) {
                    Some(i) => {
                        p.remove(i);
                        true
                    }
                    None => false,
                });
                products
            }
            Some(&OpKind::Binary { op: BinaryOp::Rem | BinaryOp::FloorRem, a, b }) => match self.count(b) {
                // The remainder of zero is not below zero: only where the extent is not empty.
                Some(c) if self.not_empty(c.param) && !c.floor => vec![[c].into_iter().collect()],
                _ if self.not_negative(a) => self.below(a, depth - 1),
                _ => Vec::new(),
            },
            Some(&OpKind::Binary { op: BinaryOp::Min, a, b }) => {
                let mut products = self.below(a, depth - 1);
                products.extend(self.below(b, depth - 1));
                products
            }
            Some(&OpKind::Assume { x, .. }) => self.below(x, depth - 1),
            _ => Vec::new(),
        }
    }

    /// Counts that a value is not above.
    fn at_most(&self, v: Value, depth: u32) -> Vec<Product> {
        if let Some(c) = self.count(v) {
            return vec![[c].into_iter().collect()];
        }
        match self.f.def_kind(v) {
            Some(&OpKind::Binary { op: BinaryOp::Min, a, b }) if depth > 0 => {
                let mut products = self.at_most(a, depth - 1);
                products.extend(self.at_most(b, depth - 1));
                products
            }
            Some(&OpKind::Assume { x, .. }) if depth > 0 => self.at_most(x, depth - 1),
            _ => Vec::new(),
        }
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
