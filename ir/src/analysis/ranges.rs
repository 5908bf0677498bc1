//! Integer ranges: the least and greatest value that each integer scalar, or any element of an integer tile, can have.
//!
//! One pass in program order; values carried round loops are only bounded where the loop leaves them as they are.

use crate::exec::MAX_EXTENT;
use crate::function::{Block, Function, ParamKind, Value};
use crate::numeric::int;
use crate::ops::{BinaryOp, Fact, OpKind, ReduceKind, UnaryOp};
use crate::types::ScalarType;

/// An interval of integers, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Least value.
    pub min: i128,
    /// Greatest value.
    pub max: i128,
}

impl Range {
    /// All values of a type.
    pub fn of_type(t: ScalarType) -> Self {
        if t == ScalarType::Bool { Self::new(0, 1) } else { Self { min: int::min_value(t), max: int::max_value(t) } }
    }

    /// The interval between two values.
    pub fn new(min: i128, max: i128) -> Self {
        Self { min, max }
    }

    /// One value.
    pub fn exactly(v: i128) -> Self {
        Self { min: v, max: v }
    }

    /// Whether both ends are in the other interval.
    pub fn within(self, other: Range) -> bool {
        other.min <= self.min && self.max <= other.max
    }

    fn union(self, other: Range) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// What is in both; where nothing is (code that cannot run), this interval.
    fn intersect(self, other: Range) -> Self {
        let r = Self { min: self.min.max(other.min), max: self.max.min(other.max) };
        if r.min <= r.max { r } else { self }
    }

    /// The hull of a function's values at the corners, for functions that are monotonic in each operand.
    fn corners(self, other: Range, f: impl Fn(i128, i128) -> i128) -> Self {
        let v = [f(self.min, other.min), f(self.min, other.max), f(self.max, other.min), f(self.max, other.max)];
        let (min, max) = (v.into_iter().min(), v.into_iter().max());
        Self { min: min.unwrap_or(0), max: max.unwrap_or(0) }
    }
}

/// The ranges of a function's integer values.
#[derive(Clone, Debug)]
pub struct Ranges {
    ranges: Vec<Option<Range>>,
}

impl Ranges {
    /// Computes the range of every integer value.
    pub fn compute(f: &Function) -> Self {
        let mut r = Self { ranges: vec![None; f.num_values()] };
        for p in &f.params {
            if let ParamKind::Scalar { elem, .. } = p.kind
                && !elem.is_float()
            {
                r.set(p.value, Range::of_type(elem));
            }
        }
        r.block(f, f.body);
        r
    }

    /// The range of an integer or truth value; `None` for others, and for values made after the analysis.
    pub fn get(&self, v: Value) -> Option<Range> {
        self.ranges.get(v.as_u32() as usize).copied().flatten()
    }

    fn set(&mut self, v: Value, r: Range) {
        self.ranges[v.as_u32() as usize] = Some(r);
    }

    fn whole(f: &Function, v: Value) -> Option<Range> {
        f.ty(v).elem_scalar().filter(|t| !t.is_float()).map(Range::of_type)
    }

    fn block(&mut self, f: &Function, block: Block) {
        for &op in &f.block(block).ops {
            let results = &f.op(op).results;
            match f.kind(op) {
                OpKind::For { lower, upper, init, body, .. } => {
                    let args = &f.block(*body).args;
                    let t = f.ty(*lower).elem_scalar();
                    if let (Some(lo), Some(hi), Some(t)) = (self.get(*lower), self.get(*upper), t) {
                        self.set(args[0], Range::new(lo.min, (hi.max - 1).max(lo.min)).intersect(Range::of_type(t)));
                    }
                    let end = f.terminator(*body).map(|t| f.kind(t).operands()).unwrap_or_default();
                    for (i, &start) in init.iter().enumerate() {
                        let kept = end.get(i) == Some(&args[i + 1]) || end.get(i) == Some(&start);
                        let range = if kept { self.get(start) } else { Self::whole(f, start) };
                        if let Some(range) = range {
                            self.set(args[i + 1], range);
                        }
                    }
                    self.block(f, *body);
                    for (i, &r) in results.iter().enumerate() {
                        if let (Some(a), Some(b)) = (self.get(init[i]), end.get(i).and_then(|&y| self.get(y))) {
                            self.set(r, a.union(b));
                        }
                    }
                }
                OpKind::If { then_block, else_block, .. } => {
                    self.block(f, *then_block);
                    self.block(f, *else_block);
                    let ends = [*then_block, *else_block]
                        .map(|b| f.terminator(b).map(|t| f.kind(t).operands()).unwrap_or_default());
                    for (i, &r) in results.iter().enumerate() {
                        let side = |s: usize| ends[s].get(i).and_then(|&y| self.get(y));
                        if let (Some(a), Some(b)) = (side(0), side(1)) {
                            self.set(r, a.union(b));
                        }
                    }
                }
                kind => {
                    for nested in kind.blocks() {
                        for &arg in &f.block(nested).args {
                            if let Some(r) = Self::whole(f, arg) {
                                self.set(arg, r);
                            }
                        }
                        self.block(f, nested);
                    }
                    for (i, &result) in results.iter().enumerate() {
                        if let Some(all) = Self::whole(f, result) {
                            let known = self.transfer(f, kind, i).map_or(all, |r| r.intersect(all));
                            self.set(result, known);
                        }
                    }
                }
            }
        }
    }

    /// The range of a result, if the op says more than its type.
    fn transfer(&self, f: &Function, kind: &OpKind, result: usize) -> Option<Range> {
        let get = |v: &Value| self.get(*v);
        let elem = |v: &Value| f.ty(*v).elem_scalar();
        match kind {
            OpKind::Constant { value, ty } => {
                let t = ty.elem_scalar()?;
                Some(Range::exactly(match value {
                    crate::literal::Literal::Bool(b) => (*b).into(),
                    value => int::value(t, int::wrap(t, value.as_int()?)),
                }))
            }
            OpKind::Arange { shape, elem, axis, start } => {
                let last = i128::from(*start) + i128::from(shape[usize::from(*axis)]) - 1;
                fits(Range::new((*start).into(), last), *elem)
            }
            OpKind::ProgramId { .. } => Some(Range::new(0, i128::from(i32::MAX) - 1)),
            OpKind::NumPrograms { .. } => Some(Range::new(1, i32::MAX.into())),
            OpKind::ViewExtent { view, axis } => match f.def_kind(*view) {
                Some(OpKind::MakeView { extents, .. }) => self.get(extents[usize::from(*axis)]),
                _ => Some(Range::new(0, MAX_EXTENT.into())),
            },
            OpKind::Splat { x, .. }
            | OpKind::Broadcast { x, .. }
            | OpKind::Reshape { x, .. }
            | OpKind::Permute { x, .. }
            | OpKind::Flip { x, .. }
            | OpKind::Split { x }
            | OpKind::ExtractSlice { x, .. }
            | OpKind::GatherAxis { x, .. }
            | OpKind::ConvertLayout { x, .. } => get(x),
            OpKind::Join { a, b } | OpKind::Select { a, b, .. } | OpKind::InsertSlice { x: a, into: b, .. } => {
                Some(get(a)?.union(get(b)?))
            }
            OpKind::Cat { parts, .. } => {
                let mut all = parts.iter().map(get);
                all.next()?.and_then(|first| all.try_fold(first, |r, p| Some(r.union(p?))))
            }
            OpKind::Unary { op, x, .. } => unary(*op, elem(x)?, get(x)?),
            OpKind::Binary { op, a, b } => binary(*op, elem(a)?, get(a)?, get(b)?),
            OpKind::Fma { a, b, c } => {
                let t = elem(a)?;
                let product = get(a)?.corners(get(b)?, i128::wrapping_mul);
                let c = get(c)?;
                fits(Range::new(product.min + c.min, product.max + c.max), t)
            }
            OpKind::Cast { x, to, saturate, .. } => {
                let r = get(x)?;
                let all = Range::of_type(*to);
                if *to == ScalarType::Bool || to.is_float() {
                    None
                } else if *saturate {
                    Some(Range::new(r.min.clamp(all.min, all.max), r.max.clamp(all.min, all.max)))
                } else {
                    fits(r, *to)
                }
            }
            OpKind::Assume { x, fact } => match fact {
                Fact::Bounded { min, max } => Some(get(x)?.intersect(Range::new((*min).into(), (*max).into()))),
                _ => get(x),
            },
            OpKind::Reduce { kind: ReduceKind::Min | ReduceKind::Max, x, .. } => get(x),
            OpKind::ArgReduce { x, axis, .. } => match result {
                0 => get(x),
                _ => Some(Range::new(0, i128::from(f.ty(*x).shape()?[usize::from(*axis)]) - 1)),
            },
            _ => None,
        }
    }
}

/// The interval, if it has no value that wraps around in the type.
fn fits(r: Range, t: ScalarType) -> Option<Range> {
    r.within(Range::of_type(t)).then_some(r)
}

fn unary(op: UnaryOp, t: ScalarType, x: Range) -> Option<Range> {
    match op {
        UnaryOp::Neg => fits(Range::new(-x.max, -x.min), t),
        UnaryOp::Abs => {
            let least = if x.min <= 0 && x.max >= 0 { 0 } else { x.min.abs().min(x.max.abs()) };
            fits(Range::new(least, x.min.abs().max(x.max.abs())), t)
        }
        UnaryOp::Popcount | UnaryOp::Clz | UnaryOp::Ctz => fits(Range::new(0, t.bits().into()), t),
        _ => None,
    }
}

fn binary(op: BinaryOp, t: ScalarType, a: Range, b: Range) -> Option<Range> {
    match op {
        BinaryOp::Add => fits(Range::new(a.min + b.min, a.max + b.max), t),
        BinaryOp::Sub => fits(Range::new(a.min - b.max, a.max - b.min), t),
        // Products of 64-bit values fit in 128 bits, but for the corner of two u64 maxima.
        BinaryOp::Mul => fits(a.corners(b, i128::saturating_mul), t),
        BinaryOp::Div | BinaryOp::FloorDiv if b.min > 0 => {
            let floor = op == BinaryOp::FloorDiv;
            Some(a.corners(b, |x, y| if floor { x.div_euclid(y) } else { x / y }))
        }
        // A divisor of zero gives zero.
        BinaryOp::Div if a.min >= 0 && b.min >= 0 => Some(Range::new(0, a.max)),
        BinaryOp::Rem if a.min >= 0 => {
            let magnitude = b.min.abs().max(b.max.abs());
            Some(Range::new(0, a.max.min((magnitude - 1).max(0))))
        }
        BinaryOp::FloorRem if b.min >= 0 => Some(Range::new(0, (b.max - 1).max(0))),
        BinaryOp::Min => Some(Range::new(a.min.min(b.min), a.max.min(b.max))),
        BinaryOp::Max => Some(Range::new(a.min.max(b.min), a.max.max(b.max))),
        BinaryOp::And if a.min >= 0 || b.min >= 0 => {
            let limit = [a, b].into_iter().filter(|r| r.min >= 0).map(|r| r.max).min()?;
            Some(Range::new(0, limit))
        }
        BinaryOp::Or | BinaryOp::Xor if a.min >= 0 && b.min >= 0 => {
            // Below the next power of two of both.
            let bits = 128 - a.max.max(b.max).leading_zeros();
            Some(Range::new(0, (1i128 << bits) - 1))
        }
        BinaryOp::Shl if b.min >= 0 && b.max < t.bits().into() => {
            fits(a.corners(b, |x, y| x.saturating_mul(1 << y)), t)
        }
        BinaryOp::Shr if b.min >= 0 => {
            let shift = |x: i128, y: i128| x >> y.min(127);
            Some(a.corners(b, shift))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on every pair of small intervals of `i8`/`u8` values, against all the values.
    #[test]
    fn results_lie_in_their_ranges() {
        let points = [-128i64, -127, -9, -2, -1, 0, 1, 2, 3, 7, 8, 100, 126, 127, 128, 200, 255];
        for t in [ScalarType::I8, ScalarType::U8] {
            let points: Vec<i64> = points.into_iter().filter(|&p| int::wrap(t, p) == p).collect();
            for op in BinaryOp::ALL.iter().copied().filter(|op| {
                !matches!(
                    op,
                    BinaryOp::MinNan | BinaryOp::MaxNan | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::CopySign
                )
            }) {
                for w in points.windows(3) {
                    for v in points.windows(3) {
                        let (a, b) = (Range::new(w[0].into(), w[2].into()), Range::new(v[0].into(), v[2].into()));
                        let range = binary(op, t, a, b).unwrap_or(Range::of_type(t));
                        for &x in w {
                            for &y in v {
                                let r = i128::from(int::binary(op, t, x, y));
                                assert!(range.min <= r && r <= range.max, "{x} {op} {y} = {r} not in {range:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}
