//! Which layout suits an op best, and what a layout costs a memory access.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

use crate::analysis::axis_info::{AccessFacts, AxisInfo};
use crate::function::{Function, Op, Value};
use crate::layout::matrix::Echelon;
use crate::layout::{Blocked, Conversion, ConversionOptions, Dim, LinearLayout};
use crate::ops::{Address, AxisSet, OpKind};
use crate::types::{Elem, LayoutRef, MAX_RANK, Shape, Type};

/// The threads of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threads {
    pub(super) lanes: u32,
    pub(super) warps: u32,
}

/// The widest access of global memory by one thread, in bytes.
const ACCESS_BYTES: u32 = 16;
/// What is transferred together between caches and registers, in bytes.
const SECTOR_BYTES: u32 = 32;

/// The address and the mask of a memory op.
pub(super) fn access_of(kind: &OpKind) -> Option<(&Address, Option<Value>)> {
    match kind {
        OpKind::Load { addr, mask, .. }
        | OpKind::Store { addr, mask, .. }
        | OpKind::AtomicRmw { addr, mask, .. }
        | OpKind::AtomicCas { addr, mask, .. } => Some((addr, *mask)),
        _ => None,
    }
}

/// How tiles of each shape are cut into slices or put together from parts, where these are powers of two: the bits of
/// each axis that count the parts.
#[derive(Default)]
pub(super) struct Parts(HashMap<Shape, SmallVec<[u32; MAX_RANK]>>);

impl Parts {
    pub(super) fn of(f: &Function) -> Self {
        let mut parts = Self::default();
        for op in f.ops_in_order() {
            let shape = |value: Value| f.ty(value).shape().unwrap_or(&[]);
            match f.kind(op) {
                OpKind::ExtractSlice { x, shape: slice, .. } => parts.note(shape(*x), slice),
                OpKind::InsertSlice { x, into, .. } => parts.note(shape(*into), shape(*x)),
                OpKind::Cat { parts: pieces, .. } => parts.note(shape(f.op(op).results[0]), shape(pieces[0])),
                _ => {}
            }
        }
        parts
    }

    fn note(&mut self, whole: &[u32], part: &[u32]) {
        let bits = self.0.entry(whole.into()).or_insert_with(|| smallvec![0; whole.len()]);
        for ((bits, &whole), &part) in bits.iter_mut().zip(whole).zip(part) {
            if whole.is_power_of_two() && part.is_power_of_two() {
                *bits = (*bits).max((whole / part).ilog2());
            }
        }
    }

    /// The extents, padded, of a part of a tile of this shape.
    fn part_of(&self, shape: &[u32]) -> Vec<u32> {
        let bits = self.0.get(shape);
        let part = |(axis, extent): (usize, &u32)| extent.next_power_of_two() >> bits.map_or(0, |bits| bits[axis]);
        shape.iter().enumerate().map(part).collect()
    }
}

/// A memory access to a tile: what is known of it, and its costs under a layout.
pub(super) struct GlobalAccess {
    facts: AccessFacts,
    shape: Vec<u32>,
    element_bytes: u32,
}

impl GlobalAccess {
    /// The access of this op, if it is one to a tile.
    pub(super) fn of(f: &Function, info: &AxisInfo, op: Op) -> Option<Self> {
        let kind = f.kind(op);
        let (addr, mask) = access_of(kind)?;
        let tile = crate::layout::rules::working_type(f, op)?.tile()?;
        let value = match kind {
            OpKind::Store { value, .. } => *value,
            _ => f.op(op).results[0],
        };
        let element_bytes = f.ty(value).elem_scalar()?.memory_bytes()?;
        // A box without padding that lies in its view as a whole is accessed without checks, in vectors that need not
        // divide the view's extents: that is the case to be fast in.
        let mut addr = addr.clone();
        if let Address::Tile { in_bounds, shape, .. } = &mut addr
            && shape.iter().all(|extent| extent.is_power_of_two())
        {
            *in_bounds = AxisSet::all(shape.len());
        }
        let mut facts = info.access(f, &addr, mask);
        if matches!(kind, OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. }) {
            // Atomics go element by element.
            facts.widths.fill(1);
        }
        Some(Self { facts, shape: tile.shape.to_vec(), element_bytes })
    }

    /// Bytes of the tile.
    pub(super) fn bytes(&self) -> u64 {
        self.shape.iter().map(|&extent| u64::from(extent)).product::<u64>() * u64::from(self.element_bytes)
    }

    /// The layout under which the access is coalesced, and vectorised as far as its threads have work. Parts that the
    /// tile is cut into or put together from stay within threads.
    pub(super) fn best_layout(&self, threads: Threads, parts: &Parts) -> LinearLayout {
        let rank = self.shape.len();
        let mut order: Vec<usize> = (0..rank).rev().collect();
        // Longest runs first; a stable sort leaves later axes first where nothing is known.
        order.sort_by_key(|&axis| std::cmp::Reverse(self.facts.runs[axis]));
        let count: u32 = self.shape.iter().map(|extent| extent.next_power_of_two()).product();
        let each = (count / (threads.lanes * threads.warps)).max(1);
        let fastest = order.first().map_or(1, |&axis| self.facts.widths[axis]);
        let vector = fastest.min(ACCESS_BYTES / self.element_bytes).min(each).max(1);
        let part = parts.part_of(&self.shape);
        let of_part = Blocked::coalesced(&part, &order, vector, threads.lanes, threads.warps).layout(&part);
        of_part.fit(&self.shape, &order)
    }

    /// Cost of the access by one warp under a layout: instructions, and the sectors that they transfer.
    pub(super) fn cost(&self, layout: &LinearLayout) -> u32 {
        let Some(axis) = self.facts.fastest_axis() else { return 0 };
        let along = Dim::Axis(axis as u8);
        let limit = self.facts.widths[axis].min(ACCESS_BYTES / self.element_bytes);
        let access = layout.vector_access(along, limit);
        let instructions = layout.in_size(Dim::Register) / access.width();
        // Elements of a sector differ in the low coordinates along the axis; drop those and count what remains.
        let together = (SECTOR_BYTES / self.element_bytes).min(self.facts.runs[axis]).max(1);
        let outs = layout.outs();
        let sector = |basis: u64| basis & !(u64::from((together - 1) & (outs.size(along) - 1)) << outs.shift(along));
        let vector = (0..access.width().ilog2()).map(|bit| outs.flatten(&[(along, 1 << bit)]));
        let moved = layout.bases(Dim::Lane).iter().copied().chain(vector).map(sector);
        let sectors = 1 << Echelon::spanned_by(moved).rank();
        instructions * (4 + sectors)
    }
}

/// Cost, for one warp, of converting a tile between layouts, in the units of [`GlobalAccess::cost`].
pub(super) fn conversion_cost(ty: &Type, from: &LinearLayout, to: &LinearLayout) -> u32 {
    let bits = match ty.elem() {
        Some(Elem::Scalar(elem)) => elem.bits(),
        _ => 64,
    };
    match Conversion::plan(from, to, &ConversionOptions::new(bits)) {
        Ok(Conversion::Identity | Conversion::Registers { .. }) => 0,
        Ok(Conversion::Shuffle(plan)) => 2 * plan.cost(),
        Ok(Conversion::Memory(plan)) => {
            let accesses =
                from.in_size(Dim::Register) / plan.store.width() + to.in_size(Dim::Register) / plan.load.width();
            // Two barriers, and the latency of a round trip.
            40 + 4 * accesses
        }
        Err(_) => u32::MAX / 2,
    }
}

/// The layout of the accumulator of a matrix product that is carried out by multiply-adds: each thread owns blocks of up
/// to 4 by 4 elements, the lanes of a warp stand as near a square as 4 by 8 (8 by 8 of 64), and warps divide rows first
/// if rows are reduced later, else keep each warp's part near a square too.
pub(super) fn dot_layout(shape: &[u32], threads: Threads, rows_first: bool) -> LinearLayout {
    let rank = shape.len();
    let (m, n) = (rank - 2, rank - 1);
    let mut left: Vec<u32> = shape.iter().map(|extent| extent.next_power_of_two()).collect();
    let each = (left.iter().product::<u32>() / (threads.lanes * threads.warps)).max(1);
    let mut blocked = Blocked {
        per_thread: vec![1; rank],
        lanes: vec![1; rank],
        warps: vec![1; rank],
        order: (0..rank).rev().collect(),
    };
    let take = |counts: &mut Vec<u32>, left: &mut Vec<u32>, axis: usize, most: u32| {
        let taken = most.min(left[axis]);
        counts[axis] *= taken;
        left[axis] /= taken;
        taken
    };
    let columns = take(&mut blocked.per_thread, &mut left, n, 4.min(each));
    take(&mut blocked.per_thread, &mut left, m, 4.min(each / columns));

    let mut lanes = threads.lanes;
    lanes /= take(&mut blocked.lanes, &mut left, n, 8);
    for axis in [m, n].into_iter().chain(0..m) {
        lanes /= take(&mut blocked.lanes, &mut left, axis, lanes);
    }
    blocked.lanes[m] *= lanes;

    let mut warps = threads.warps;
    while warps > 1 {
        let rows = left[m] > 1 && (rows_first || left[m] * blocked.lanes[m] >= left[n] * blocked.lanes[n]);
        let axis = if rows || left[n] == 1 { m } else { n };
        let axis = if left[axis] == 1 { (0..rank).find(|&axis| left[axis] > 1).unwrap_or(m) } else { axis };
        blocked.warps[axis] *= 2;
        left[axis] = (left[axis] / 2).max(1);
        warps /= 2;
    }
    blocked.layout(shape)
}

/// The layout of a tile that nothing else decides: row-major, up to 4 neighbours a thread.
pub(super) fn default_layout(shape: &[u32], threads: Threads) -> LayoutRef {
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    let count: u32 = shape.iter().map(|extent| extent.next_power_of_two()).product();
    let each = (count / (threads.lanes * threads.warps)).clamp(1, 4);
    LayoutRef::new(Blocked::coalesced(shape, &order, each, threads.lanes, threads.warps).layout(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accumulators_use_all_threads_that_have_work() {
        for m in [1u32, 7, 16, 64, 128, 256] {
            for n in [1u32, 8, 33, 64, 256] {
                for batch in [1u32, 3] {
                    for (lanes, warps) in [(32, 1), (32, 4), (64, 4), (32, 16)] {
                        for rows_first in [false, true] {
                            let shape = [batch, m, n];
                            let layout = dot_layout(&shape, Threads { lanes, warps }, rows_first);
                            assert!(layout.is_surjective(), "{layout}");
                            assert_eq!((layout.in_size(Dim::Lane), layout.in_size(Dim::Warp)), (lanes, warps));
                            let padded: u32 = shape.iter().map(|extent| extent.next_power_of_two()).product();
                            let each = (padded / (lanes * warps)).max(1);
                            assert_eq!(layout.in_size(Dim::Register), each, "{layout}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn accumulators_of_common_sizes() {
        let text = |shape: [u32; 2], lanes, warps, rows_first| {
            dot_layout(&shape, Threads { lanes, warps }, rows_first).to_string()
        };
        // 16 rows by 32 columns a warp and step; the warps of a square tile stand in a square.
        assert_eq!(
            text([128, 128], 32, 4, false),
            "128x128: reg d1[1 2] d0[1 2] d1[64] d0[32 64], lane d1[4 8 16] d0[4 8], warp d1[32] d0[16]"
        );
        // Where rows are reduced later, a warp owns whole rows.
        assert_eq!(
            text([128, 128], 32, 4, true),
            "128x128: reg d1[1 2] d0[1 2] d1[32 64] d0[64], lane d1[4 8 16] d0[4 8], warp d0[16 32]"
        );
        assert_eq!(
            text([64, 64], 64, 4, false),
            "64x64: reg d1[1 2] d0[1 2], lane d1[4 8 16] d0[4 8 16], warp d1[32] d0[32]"
        );
        assert_eq!(text([16, 16], 32, 4, false), "16x16: reg d1[1], lane d1[2 4 8] d0[1 2], warp d0[4 8]");
    }

    #[test]
    fn conversions_cost_what_they_move() {
        let ty = Type::shaped([64, 64], crate::types::ScalarType::F32);
        let layout = |text: &str| text.parse::<LinearLayout>().expect(text);
        let rows = layout("64x64: reg d1[1 2] d0[8 16 32], lane d1[4 8 16 32] d0[1], warp d0[2 4]");
        let renamed = layout("64x64: reg d0[8] d1[1 2] d0[16 32], lane d1[4 8 16 32] d0[1], warp d0[2 4]");
        let lanes = layout("64x64: reg d1[1 4] d0[8 16 32], lane d1[2 8 16 32] d0[1], warp d0[2 4]");
        let columns = layout("64x64: reg d0[1 2] d1[8 16 32], lane d0[4 8 16 32] d1[1], warp d1[2 4]");
        let costs = [&rows, &renamed, &lanes, &columns].map(|to| conversion_cost(&ty, &rows, to));
        assert_eq!((costs[0], costs[1]), (0, 0));
        assert!(costs[2] > 0 && costs[3] > costs[2], "{costs:?}");
    }
}
