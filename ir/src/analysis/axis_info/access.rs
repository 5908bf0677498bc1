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
    /// an address that is a multiple of their size, and are in the tile (not its padding), in bounds and unmasked either
    /// all or none: one vector instruction under one predicate may take them.
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
                let shape = f.ty(*ptr).shape().unwrap_or(&[]);
                let width = |(axis, extent): (&AxisFacts, &u32)| {
                    axis.contiguity.min(elements(axis.divisibility / bytes.max(1))).min(undivided(*extent))
                };
                AccessFacts {
                    widths: axes.iter().zip(shape).map(width).collect(),
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
        facts.widths[axis] = elements(aligned).min(undivided(shape[axis]));
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
        let shape = indices.first().and_then(|&index| f.ty(index).shape()).unwrap_or(&[]);
        let indices: Vec<Facts> = indices.iter().map(|&index| self.value(f, index)).collect();
        let rank = shape.len();
        let mut facts = AccessFacts { widths: SmallVec::from_elem(1, rank), runs: SmallVec::from_elem(1, rank) };
        let Some(unit) = view.unit_axis() else { return facts };
        for (axis, &extent) in shape.iter().enumerate() {
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
            facts.widths[axis] = elements(aligned).min(run).min(undivided(extent));
        }
        facts
    }
}

/// A count of elements from a power of two that may be beyond any tile.
fn elements(divisor: u64) -> u32 {
    divisor.clamp(1, 1 << 31) as u32
}

/// The longest vectors that padding does not begin inside of, on an axis of this extent.
fn undivided(extent: u32) -> u32 {
    1 << extent.trailing_zeros()
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

#[cfg(test)]
mod tests {
    use super::super::AxisInfo;
    use crate::ops::OpKind;
    use crate::text::parse_function;

    /// Widths and runs of the last memory access of a kernel with these parameters and body.
    #[track_caller]
    fn check(params: &str, body: &str, widths: &[u32], runs: &[u32]) {
        let text = format!("kernel @k({params}) {{\n{body}\nreturn\n}}");
        let f = parse_function(&text, "test.tile").unwrap_or_else(|error| panic!("{error:?}"));
        let info = AxisInfo::compute(&f);
        let access = f.ops_in_order().into_iter().rev().find_map(|op| match f.kind(op) {
            OpKind::Load { addr, mask, .. } | OpKind::Store { addr, mask, .. } => Some(info.access(&f, addr, *mask)),
            _ => None,
        });
        let access = access.expect("the kernel accesses memory");
        assert_eq!((&access.widths[..], &access.runs[..]), (widths, runs), "{body}");
    }

    const ALIGNED: &str =
        "%x: view<2d, f16> read {align = 16, unit_inner, extent_divisor = [1, 16], stride_divisor = [8, 1]}, %n: i64";

    #[test]
    fn boxes_of_aligned_views() {
        let offsets = "%i = program_id 0 : i64\n%c = constant 64 : i64\n%j = mul %i, %c";
        check(ALIGNED, &format!("{offsets}\n%t = load %x[%i, %j] : tile<4x64xf16>"), &[1, 8], &[1, 64]);
        // An offset of which nothing is known, and one along the other axis, where the stride keeps the alignment.
        check(ALIGNED, "%t = load %x[%n, %n] : tile<4x64xf16>", &[1, 1], &[1, 64]);
        // Odd tiles: runs take in the padding, vectors do not reach into it.
        check(ALIGNED, "%z = constant 0 : i64\n%t = load %x[%n, %z] : tile<4x48xf16>", &[1, 8], &[1, 64]);
        check(ALIGNED, "%z = constant 0 : i64\n%t = load %x[%n, %z] : tile<4x60xf16>", &[1, 4], &[1, 64]);
    }

    #[test]
    fn what_limits_a_box() {
        let load = "%z = constant 0 : i64\n%t = load %x[%n, %z] : tile<4x64xf16>";
        let view = |spec: &str| format!("%x: view<2d, f16> read {{{spec}}}, %n: i64");
        check(
            &view("align = 16, unit_inner, extent_divisor = [1, 16], stride_divisor = [2, 1]"),
            load,
            &[1, 2],
            &[1, 64],
        );
        check(
            &view("align = 4, unit_inner, extent_divisor = [1, 16], stride_divisor = [8, 1]"),
            load,
            &[1, 2],
            &[1, 64],
        );
        check(
            &view("align = 16, unit_inner, extent_divisor = [1, 4], stride_divisor = [8, 1]"),
            load,
            &[1, 4],
            &[1, 64],
        );
        check(&view("align = 16, extent_divisor = [1, 16], stride_divisor = [8, 1]"), load, &[1, 1], &[1, 1]);
        // Where the box is known to be inside, the extent does not matter.
        let view = view("align = 16, unit_inner, stride_divisor = [8, 1]");
        check(&view, load, &[1, 1], &[1, 64]);
        check(&view, &format!("{load}\n%u = load %x[%n, %z] in_bounds [1] : tile<4x64xf16>"), &[1, 8], &[1, 64]);
    }

    #[test]
    fn pointers_and_masks() {
        let params = "%p: ptr<f32> {align = 16}, %n: i32 {divisor = 16}, %m: i32";
        let index = "%i = program_id 0 : i64\n%i32 = cast %i : i32\n%b = constant 256 : i32\n%o = mul %i32, %b\n\
                     %r = arange axis 0 : tile<256xi32>\n%os = splat %o : tile<256xi32>\n%x = add %r, %os\n\
                     %ps = splat %p : tile<256xptr<f32>>\n%q = ptr_add %ps, %x";
        check(params, &format!("{index}\n%t = load %q"), &[4], &[256]);
        let masked = |bound: &str| {
            format!("{index}\n%ns = splat {bound} : tile<256xi32>\n%k = cmp lt %x, %ns\n%t = load %q mask %k")
        };
        check(params, &masked("%n"), &[4], &[256]);
        check(params, &masked("%m"), &[1], &[256]);
        // Every second element.
        let strided = format!("{index}\n%two = constant 2 : tile<256xi32>\n%y = mul %x, %two\n%z = ptr_add %ps, %y");
        check(params, &format!("{strided}\n%t = load %z"), &[1], &[1]);
    }

    #[test]
    fn pointers_that_a_loop_advances() {
        let body = |step: u32| {
            format!(
                "%r = arange axis 0 : tile<128xi32>\n%ps = splat %p : tile<128xptr<f16>>\n%q0 = ptr_add %ps, %r\n\
                 %z = constant 0 : i32\n%one = constant 1 : i32\n%s = constant {step} : i32\n\
                 %e = for %k = %z to %n step %one iter(%q = %q0) -> tile<128xptr<f16>> {{\n\
                 %t = load %q\n%next = ptr_add %q, %s\nyield %next\n}}"
            )
        };
        let params = "%p: ptr<f16> {align = 16}, %n: i32";
        check(params, &body(128), &[8], &[128]);
        check(params, &body(12), &[4], &[128]);
        check(params, &body(3), &[1], &[128]);
    }

    #[test]
    fn gathered_rows() {
        let rows = "%r = constant 5 : tile<8x64xi32>\n%c = arange axis 1 : tile<8x64xi32>";
        check(ALIGNED, &format!("{rows}\n%t = load %x gather [%r, %c]"), &[1, 8], &[1, 64]);
        // Columns gathered: neighbours along axis 0 of the tile are neighbours in memory.
        let columns = "%r = arange axis 1 : tile<8x64xi32>\n%c = arange axis 0 : tile<8x64xi32>";
        check(ALIGNED, &format!("{columns}\n%t = load %x gather [%r, %c]"), &[8, 1], &[8, 1]);
        // Of the rows nothing is known along axis 1.
        let anyhow = "%n32 = cast %n : i32\n%s = splat %n32 : tile<8x64xi32>\n%c = arange axis 1 : tile<8x64xi32>\n\
                      %r = mul %s, %c";
        check(ALIGNED, &format!("{anyhow}\n%t = load %x gather [%r, %c]"), &[1, 1], &[1, 1]);
    }
}
