//! Simpler addresses.
//!
//! * A gather whose indices count up by one along the axes of the tile, each view axis along its own, reads a box: it
//!   becomes a tile access, which targets make with wide loads and cheap bounds.
//! * Sums of 64-bit scalars are regrouped so that what changes least is added first: then the part that a loop does
//!   not change can leave it, and a product with the loop's counter is left alone, which targets turn into an
//!   increment.
//!
//! Integer sums wrap around, so regrouping them is exact.

use std::collections::HashSet;

use smallvec::SmallVec;

use crate::analysis::constants::integer;
use crate::analysis::ranges::{Range, Ranges};
use crate::analysis::uses::Uses;
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Value};
use crate::numeric::int;
use crate::ops::{Address, BinaryOp, OpKind};
use crate::pass::{Changed, Pass, PassContext, PassInfo};
use crate::passes::rewrite::{Emitter, Rewrite, rewrite};
use crate::types::{ScalarType, Shape, Type};

/// The pass.
#[derive(Clone, Copy, Default, Debug)]
pub struct SimplifyAddress;

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "simplify-address",
    summary: "turns gathers of boxes into tile accesses and regroups sums of offsets",
    options: &[],
    make: |_| Ok(Box::new(SimplifyAddress)),
};

impl Pass for SimplifyAddress {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let ranges = Ranges::compute(function);
        let uses = Uses::compute(function);
        let depths = depths(function);
        let inner = inner_sums(function, &uses);
        let (mut boxes, mut sums) = (0, 0);
        let changed = rewrite(function, |e, op| {
            let kind = e.f.kind(op).clone();
            match &kind {
                OpKind::Load { addr, .. }
                | OpKind::Store { addr, .. }
                | OpKind::AtomicRmw { addr, .. }
                | OpKind::AtomicCas { addr, .. } => {
                    let laid_out = kind.operands().iter().any(|&v| e.f.ty(v).layout().is_some());
                    if let (false, Some(new)) = (laid_out, as_box(e, &ranges, addr)) {
                        boxes += 1;
                        if let Some(addr) = e.f.op_mut(op).kind.address_mut() {
                            *addr = new;
                        }
                    }
                    Rewrite::Keep
                }
                OpKind::Binary { op: BinaryOp::Add, .. } => {
                    let result = e.f.op(op).results[0];
                    match regroup(e, &inner, &depths, result) {
                        Some(v) => {
                            sums += 1;
                            Rewrite::with(v)
                        }
                        None => Rewrite::Keep,
                    }
                }
                _ => Rewrite::Keep,
            }
        });
        cx.count("gathers of boxes", boxes);
        cx.count("sums regrouped", sums);
        Ok(changed)
    }
}

/// An index tile as a sum: scalars, a constant, and a step along each axis.
struct Affine {
    scalars: SmallVec<[(Value, i64); 2]>,
    constant: i64,
    steps: SmallVec<[i64; 5]>,
}

impl Affine {
    fn constant(constant: i64, rank: usize) -> Self {
        Self { scalars: SmallVec::new(), constant, steps: SmallVec::from_elem(0, rank) }
    }

    fn plus(mut self, other: Affine, sign: i64) -> Option<Self> {
        self.scalars.extend(other.scalars.into_iter().map(|(v, c)| (v, c * sign)));
        self.constant = self.constant.checked_add(other.constant.checked_mul(sign)?)?;
        for (s, o) in self.steps.iter_mut().zip(other.steps) {
            *s = s.checked_add(o.checked_mul(sign)?)?;
        }
        Some(self)
    }
}

/// Takes an index apart. Arithmetic of narrow types only counts where it cannot wrap around.
fn affine(f: &Function, ranges: &Ranges, v: Value, depth: u32) -> Option<Affine> {
    let rank = f.ty(v).shape()?.len();
    let t = f.ty(v).elem_scalar()?;
    let exact = |v: Value| t == ScalarType::I64 || ranges.get(v).is_some_and(|r| r != Range::of_type(t));
    if depth == 0 {
        return None;
    }
    let get = |v| affine(f, ranges, v, depth - 1);
    match f.def_kind(v)? {
        OpKind::Constant { value, .. } => Some(Affine::constant(int::wrap(t, value.as_int()?), rank)),
        OpKind::Splat { x, .. } => {
            let mut a = Affine::constant(0, rank);
            a.scalars.push((*x, 1));
            Some(a)
        }
        OpKind::Arange { axis, start, .. } if exact(v) => {
            let mut a = Affine::constant(*start, rank);
            a.steps[usize::from(*axis)] = 1;
            Some(a)
        }
        OpKind::Binary { op: BinaryOp::Add, a, b } if exact(v) => get(*a)?.plus(get(*b)?, 1),
        OpKind::Binary { op: BinaryOp::Sub, a, b } if exact(v) => get(*a)?.plus(get(*b)?, -1),
        OpKind::Binary { op: BinaryOp::Mul, a, b } if exact(v) => {
            let c = i64::try_from(integer(f, *b)?).ok()?;
            let zero = Affine::constant(0, rank);
            zero.plus(get(*a)?, c)
        }
        OpKind::Cast { x, to, .. } if to.is_int() => {
            let from = f.ty(*x).elem_scalar().filter(|t| t.is_int())?;
            // Widening keeps every value.
            let all = Range::of_type(from);
            let a = get(*x)?;
            all.within(Range::of_type(*to)).then_some(a)
        }
        OpKind::Broadcast { x, .. } => {
            let mut a = get(*x)?;
            let from = f.ty(*x).shape()?;
            for (step, &extent) in a.steps.iter_mut().zip(from) {
                if extent == 1 {
                    *step = 0;
                }
            }
            Some(a)
        }
        OpKind::Reshape { x, shape } => {
            // Only axes of extent 1 come or go.
            let from: Shape = f.ty(*x).shape()?.into();
            let dense = |s: &Shape| s.iter().copied().filter(|&d| d != 1).collect::<Shape>();
            if dense(&from) != dense(shape) {
                return None;
            }
            let a = get(*x)?;
            let mut kept = from.iter().zip(&a.steps).filter(|(d, _)| **d != 1).map(|(_, &s)| s);
            let steps = shape.iter().map(|&d| if d == 1 { 0 } else { kept.next().unwrap_or(0) }).collect();
            Some(Affine { steps, ..a })
        }
        OpKind::Permute { x, perm } => {
            let a = get(*x)?;
            let steps = perm.iter().map(|&p| a.steps[usize::from(p)]).collect();
            Some(Affine { steps, ..a })
        }
        _ => None,
    }
}

/// A gather as a box of the view, if it is one.
fn as_box(e: &mut Emitter<'_>, ranges: &Ranges, addr: &Address) -> Option<Address> {
    let Address::Gather { view, indices, in_bounds } = addr else { return None };
    let shape: Shape = e.f.ty(*indices.first()?).shape()?.into();
    if shape.is_empty() || shape.len() != indices.len() {
        return None;
    }
    let mut parts: SmallVec<[Affine; 5]> = SmallVec::new();
    for (axis, &index) in indices.iter().enumerate() {
        let a = affine(e.f, ranges, index, 16)?;
        let own = |i: usize, step: i64| shape[i] == 1 || step == i64::from(i == axis);
        let is_box = a.steps.iter().enumerate().all(|(i, &s)| own(i, s));
        // Scalars are offsets as they are; a scaled one would need a product.
        let simple = a.scalars.iter().all(|&(_, c)| c == 1);
        // A view's offset is signed.
        let signed = e.f.ty(index).elem_scalar().is_some_and(|t| t != ScalarType::U64)
            && a.scalars.iter().all(|&(v, _)| e.f.ty(v).elem_scalar() != Some(ScalarType::U64));
        if !is_box || !simple || !signed {
            return None;
        }
        parts.push(a);
    }
    let offsets = parts
        .into_iter()
        .map(|a| {
            let mut sum: Option<Value> = None;
            for (v, _) in a.scalars {
                let v = e.cast(v, ScalarType::I64);
                sum = Some(sum.map_or(v, |s| e.binary(BinaryOp::Add, s, v)));
            }
            match (sum, a.constant) {
                (Some(s), 0) => s,
                (Some(s), c) => {
                    let c = e.index(c);
                    e.binary(BinaryOp::Add, s, c)
                }
                (None, c) => e.index(c),
            }
        })
        .collect();
    Some(Address::Tile { view: *view, offsets, shape, in_bounds: *in_bounds })
}

/// In how many loops each value is defined.
fn depths(f: &Function) -> Vec<u32> {
    fn block(f: &Function, b: Block, depth: u32, out: &mut Vec<u32>) {
        for &arg in &f.block(b).args {
            out[arg.as_u32() as usize] = depth;
        }
        for &op in &f.block(b).ops {
            for &r in &f.op(op).results {
                out[r.as_u32() as usize] = depth;
            }
            let inner = depth + u32::from(matches!(f.kind(op), OpKind::For { .. } | OpKind::While { .. }));
            for nested in f.kind(op).blocks() {
                block(f, nested, inner, out);
            }
        }
    }
    let mut out = vec![0; f.num_values()];
    block(f, f.body, 0, &mut out);
    out
}

/// Sums that are only used by one other sum: they are regrouped with it. A sum that is used elsewhere too would be
/// computed twice.
fn inner_sums(f: &Function, uses: &Uses) -> HashSet<Value> {
    let is_sum = |v: Value| matches!(f.def_kind(v), Some(OpKind::Binary { op: BinaryOp::Add, .. }));
    let mut inner = HashSet::new();
    f.walk(|_, op| {
        if let &OpKind::Binary { op: BinaryOp::Add, a, b } = f.kind(op) {
            inner.extend([a, b].into_iter().filter(|&v| is_sum(v) && uses.count(v) == 1));
        }
    });
    inner
}

/// A sum of at least three scalars with the least deep ones added first, if it is not so already.
fn regroup(e: &mut Emitter<'_>, inner: &HashSet<Value>, depths: &[u32], v: Value) -> Option<Value> {
    if *e.f.ty(v) != Type::INDEX || inner.contains(&v) {
        return None;
    }
    let depth = |v: Value| depths.get(v.as_u32() as usize).copied().unwrap_or(0);
    let mut terms: Vec<Value> = Vec::new();
    let mut pending = vec![v];
    while let Some(t) = pending.pop() {
        match e.f.def_kind(t) {
            Some(&OpKind::Binary { op: BinaryOp::Add, a, b }) if t == v || inner.contains(&t) => {
                pending.push(b);
                pending.push(a);
            }
            _ => terms.push(t),
        }
    }
    let deepest = terms.iter().map(|&t| depth(t)).max()?;
    if terms.len() < 3 || terms.iter().all(|&t| depth(t) == deepest) {
        return None;
    }
    let mut order = terms.clone();
    order.sort_by_key(|&t| depth(t));
    // Already in order: ((a + b) + c), innermost sum first.
    if is_left_chain(e.f, v, &order) {
        return None;
    }
    let mut sum = order[0];
    for &t in &order[1..] {
        sum = e.binary(BinaryOp::Add, sum, t);
    }
    Some(sum)
}

/// Whether `v` is the sum of the terms in this order, added one after another.
fn is_left_chain(f: &Function, v: Value, terms: &[Value]) -> bool {
    let Some((&last, rest)) = terms.split_last() else { return false };
    if rest.is_empty() {
        return v == last;
    }
    match f.def_kind(v) {
        Some(&OpKind::Binary { op: BinaryOp::Add, a, b }) => b == last && is_left_chain(f, a, rest),
        _ => false,
    }
}
