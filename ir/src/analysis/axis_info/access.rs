//! What axis information gives for a memory access: how many neighbours one instruction may take.

use smallvec::SmallVec;

use super::facts::{AxisFacts, Facts, whole};
use super::{AxisInfo, ViewFacts};
use crate::function::{Function, Value};
use crate::ops::{Address, AxisSet};
use crate::types::{MAX_RANK, Type};

/// What is known of a memory access along each axis of its tile. All numbers are powers of two, in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessFacts {
    /// Neighbours along the axis that start at a multiple of this length on the axis are neighbours in memory, start at
    /// an address that is a multiple of their size, and are in bounds and unmasked either all or none: one vector
    /// instruction under one predicate may take them.
    pub widths: SmallVec<[u32; MAX_RANK]>,
    /// Neighbours along the axis are neighbours in memory in runs of this length, whatever their alignment: lanes side
    /// by side along it share cache lines.
    pub runs: SmallVec<[u32; MAX_RANK]>,
}

impl AccessFacts {
    /// The axis to walk first for the fewest memory transactions: the one with the longest runs, of several the last.
    pub fn fastest_axis(&self) -> Option<usize> {
        (0..self.runs.len()).max_by_key(|&axis| (self.runs[axis], axis))
    }
}

impl AxisInfo {
    /// What is known of the access to a tile (not a scalar) at this address, under this mask.
    pub fn access(&self, f: &Function, addr: &Address, mask: Option<Value>) -> AccessFacts {
        let mut facts = match addr {
            Address::Tile { view, offsets, shape, in_bounds } => {
                self.tile_access(f, &self.view(f, *view), offsets, shape, *in_bounds, element_bytes(f, *view))
            }
            Address::Gather { view, indices, in_bounds } => {
                self.gather_access(f, &self.view(f, *view), indices, *in_bounds, element_bytes(f, *view))
            }
            Address::Ptr { ptr } => {
                let bytes = u64::from(pointee_bytes(f, *ptr));
                let axes = self.value(f, *ptr).axes;
                let width = |axis: &AxisFacts| axis.contiguity.min(elements(axis.divisibility / bytes.max(1)));
                AccessFacts {
                    widths: axes.iter().map(width).collect(),
                    runs: axes.iter().map(|axis| axis.contiguity).collect(),
                }
            }
        };
        if let Some(mask) = mask {
            for (width, axis) in facts.widths.iter_mut().zip(&self.value(f, mask).axes) {
                *width = (*width).min(axis.constancy);
            }
        }
        facts
    }

    fn tile_access(
        &self,
        f: &Function,
        view: &ViewFacts,
        offsets: &[Value],
        shape: &[u32],
        in_bounds: AxisSet,
        bytes: u32,
    ) -> AccessFacts {
        let rank = shape.len();
        let mut facts = AccessFacts { widths: SmallVec::from_elem(1, rank), runs: SmallVec::from_elem(1, rank) };
        let Some(axis) = view.unit_axis() else { return facts };
        let mut aligned = view.base.divisibility / u64::from(bytes);
        for other in 0..rank {
            let offset = self.value(f, offsets[other]).divisibility;
            aligned = aligned.min(match other {
                _ if other == axis => offset,
                // Every coordinate along another axis occurs, unless its extent is 1.
                _ if shape[other] == 1 => offset.saturating_mul(view.strides[other].divisibility),
                _ => view.strides[other].divisibility,
            });
        }
        if !in_bounds.contains(axis) {
            // Where the extent is a multiple as well, a vector is inside or outside as a whole.
            aligned = aligned.min(view.extents[axis].divisibility);
        }
        facts.runs[axis] = whole(shape[axis]);
        facts.widths[axis] = elements(aligned).min(facts.runs[axis]);
        facts
    }

    fn gather_access(
        &self,
        f: &Function,
        view: &ViewFacts,
        indices: &[Value],
        in_bounds: AxisSet,
        bytes: u32,
    ) -> AccessFacts {
        let indices: Vec<Facts> = indices.iter().map(|&index| self.value(f, index)).collect();
        let rank = indices.first().map_or(0, |index| index.axes.len());
        let mut facts = AccessFacts { widths: SmallVec::from_elem(1, rank), runs: SmallVec::from_elem(1, rank) };
        let Some(unit) = view.unit_axis() else { return facts };
        for axis in 0..rank {
            let along = indices[unit].axes[axis];
            let mut run = along.contiguity;
            let mut aligned = along.divisibility.min(view.base.divisibility / u64::from(bytes));
            for (other, index) in indices.iter().enumerate().filter(|&(other, _)| other != unit) {
                run = run.min(index.axes[axis].constancy);
                let stride = view.strides[other].divisibility;
                aligned = aligned.min(stride.saturating_mul(index.divisibility));
            }
            if !in_bounds.contains(unit) {
                aligned = aligned.min(view.extents[unit].divisibility);
            }
            facts.runs[axis] = run;
            facts.widths[axis] = elements(aligned).min(run);
        }
        facts
    }
}

/// A count of elements from a power of two that may be beyond any tile.
fn elements(divisor: u64) -> u32 {
    divisor.clamp(1, 1 << 31) as u32
}

fn element_bytes(f: &Function, view: Value) -> u32 {
    match f.ty(view) {
        Type::View { elem, .. } => elem.memory_bytes().unwrap_or(1),
        _ => 1,
    }
}

fn pointee_bytes(f: &Function, ptr: Value) -> u32 {
    f.ty(ptr).elem().and_then(crate::types::Elem::pointee).and_then(|t| t.memory_bytes()).unwrap_or(1)
}
