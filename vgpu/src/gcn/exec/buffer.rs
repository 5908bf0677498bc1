//! Buffer instructions: resources, and addresses with bounds and swizzles.

use super::Cx;
use super::access::{Access, Place};
use super::buffer_format::{Format, Selection};
use super::registers::Width;
use super::state::Lanes;
use crate::finding::FindingKind;
use crate::gcn::decode::memory::Act;
use crate::gcn::inst::{Inst, Opnd};

/// A buffer resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    pub base: u64,
    stride: u32,
    records: u32,
    swizzle: bool,
    /// Records that lie together in a swizzle.
    index_stride: u32,
    /// Bytes of a record that lie together in a swizzle.
    element: u32,
    /// The lane's number is added to the index.
    add_lane: bool,
    /// None where the code is that of no format.
    format: Option<Format>,
    /// Where the components of typed accesses come from that have their format from here.
    select: Selection,
    bounds: Bounds,
}

/// How a resource's bounds are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    /// Record and offset in the record.
    Structured,
    /// The record alone.
    Index,
    /// Only whether there are records at all.
    Any,
    /// Bytes.
    Raw,
}

/// How bounds are checked. GFX9 counts records of instructions that have an index, and bytes of the others; later generations have the
/// choice in the resource.
fn bounds(gfx9: bool, indexed: bool, stride: u32, swizzle: bool, choice: u32) -> Bounds {
    match (gfx9, choice) {
        (true, _) if stride != 0 && indexed => Bounds::Index,
        (true, _) => Bounds::Raw,
        (false, 0) => Bounds::Structured,
        (false, 1) => Bounds::Index,
        (false, 2) => Bounds::Any,
        (false, _) if swizzle && stride != 0 => Bounds::Structured,
        (false, _) => Bounds::Raw,
    }
}

impl Resource {
    /// Reads the resource in four scalar registers.
    pub(super) fn read(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd) -> Self {
        let words: [u32; 4] = std::array::from_fn(|n| cx.s32(i, opnd.plus(n as u16)));
        if cx.defined == 0 {
            cx.find_undefined(i, 1, "a buffer resource");
            cx.defined = u64::MAX;
        }
        let gfx9 = cx.env.arch.is_cdna();
        if words[3] >> 30 != 0 {
            let message = format!("the resource's type is {}, not that of a buffer", words[3] >> 30);
            cx.find(FindingKind::BadDescriptor, i.pc, None, None, None, message);
        }
        let add_lane = words[3] >> 23 & 1 != 0;
        let mut stride = words[1] >> 16 & 0x3fff;
        if gfx9 && add_lane {
            // Then the data format's field holds the upper bits of the stride.
            stride |= (words[3] >> 15 & 15) << 14;
        }
        let swizzle = if gfx9 { words[1] >> 31 != 0 } else { words[1] >> 30 != 0 };
        let bounds = bounds(gfx9, i.mem.idxen, stride, swizzle, words[3] >> 28 & 3);
        let format = if gfx9 { words[3] >> 15 & 15 | (words[3] >> 12 & 7) << 4 } else { words[3] >> 12 & 63 };
        Self {
            base: u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32,
            stride,
            records: words[2],
            swizzle,
            index_stride: 8 << (words[3] >> 21 & 3),
            element: if gfx9 { 4 } else { [0, 4, 8, 16][(words[1] >> 30) as usize] },
            add_lane,
            format: Format::new(cx.env.arch, format),
            select: Selection::of_resource(words[3]),
            bounds,
        }
    }

    /// The bytes that scalar loads may read.
    pub(super) fn scalar_bytes(&self) -> u64 {
        if self.stride == 0 { u64::from(self.records) } else { u64::from(self.records) * u64::from(self.stride) }
    }

    /// The address of an element, and how many of its bytes are in range.
    fn locate(&self, index: u32, offset: u64, soffset: u32, bytes: usize, unit: usize) -> (u64, u8) {
        let (index64, stride) = (u64::from(index), u64::from(self.stride));
        let linear = index64 * stride + offset + u64::from(soffset);
        let address = if self.swizzle && self.stride != 0 {
            let (group, element) = (u64::from(self.index_stride), u64::from(self.element.max(4)));
            let (index_high, index_low) = (index64 / group, index64 % group);
            let (offset_high, offset_low) = (offset / element, offset % element);
            self.base
                .wrapping_add(u64::from(soffset))
                .wrapping_add((index_high * stride + offset_high * element) * group + index_low * element + offset_low)
        } else {
            self.base.wrapping_add(linear)
        };
        let records = u64::from(self.records);
        let in_range = match self.bounds {
            // Untyped accesses are checked by component.
            Bounds::Raw => {
                let room = records.saturating_sub(linear).min(bytes as u64) as usize;
                room / unit * unit
            }
            Bounds::Structured if index64 < records && offset + bytes as u64 <= stride.max(1) => bytes,
            Bounds::Index if index64 < records => bytes,
            Bounds::Any if records != 0 => bytes,
            _ => 0,
        };
        (address, in_range as u8)
    }
}

/// Any buffer instruction.
pub(super) fn issue(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = super::memory::operation(i) else { return };
    let mut resource = Resource::read(cx, i, i.src[2]);
    let soffset = cx.s32(i, i.saddr);
    let mut access = Access::new(i.pc, op.act, Place::Global, cx.exec());
    let first: Lanes = if i.mem.idxen || i.mem.offen { cx.v32(i, i.src[0], Width::B32) } else { [0; 64] };
    let second: Lanes = if i.mem.idxen && i.mem.offen { cx.v32(i, i.src[0].plus(1), Width::B32) } else { [0; 64] };
    access.mask &= cx.check_address(i);

    let (bytes, unit) = match op.act {
        Act::Load { bytes, .. } | Act::Store { bytes, .. } | Act::LoadLds { bytes, .. } => {
            (usize::from(bytes), usize::from(bytes).min(4))
        }
        Act::Atomic { bytes, .. } => (usize::from(bytes), usize::from(bytes)),
        Act::LoadFormat { .. } | Act::StoreFormat { .. } => {
            if i.mem.format & 0x80 != 0 {
                // The instruction's own format takes the components as they are.
                resource.format = Format::new(cx.env.arch, u32::from(i.mem.format & 0x7f));
                resource.select = Selection::IDENTITY;
            }
            let Some(format) = resource.format else {
                let message = "a typed access without a valid format".to_owned();
                cx.find(FindingKind::BadDescriptor, i.pc, None, None, None, message);
                return;
            };
            (access.format, access.select) = (format, resource.select);
            (format.bytes(), format.bytes())
        }
        _ => return,
    };
    let mut limit = Box::new([0; 64]);
    for lane in 0..64 {
        let (mut index, offset) = match (i.mem.idxen, i.mem.offen) {
            (true, true) => (first[lane], second[lane]),
            (true, false) => (first[lane], 0),
            (false, true) => (0, first[lane]),
            (false, false) => (0, 0),
        };
        if resource.add_lane {
            index = index.wrapping_add(lane as u32);
        }
        let offset = u64::from(offset).wrapping_add_signed(i64::from(i.mem.offset));
        (access.address[lane], limit[lane]) = resource.locate(index, offset, soffset, bytes, unit);
    }
    access.limit = Some(limit);
    cx.fill(i, &mut access);
    let counter = cx.counter(i, op.act);
    cx.issue(counter, Box::new(access));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_in_bounds() {
        assert_eq!(bounds(true, true, 16, false, 0), Bounds::Index);
        assert_eq!(bounds(true, false, 16, true, 0), Bounds::Raw);
        assert_eq!(bounds(true, true, 0, true, 0), Bounds::Raw);
        assert_eq!(bounds(false, true, 16, false, 0), Bounds::Structured);
        assert_eq!(bounds(false, false, 0, false, 3), Bounds::Raw);
        assert_eq!(bounds(false, false, 16, true, 3), Bounds::Structured);
    }

    #[test]
    fn raw_bounds_are_checked_by_component() {
        let raw = Resource {
            base: 0x1000,
            stride: 0,
            records: 20,
            swizzle: false,
            index_stride: 8,
            element: 4,
            add_lane: false,
            format: None,
            select: Selection::IDENTITY,
            bounds: Bounds::Raw,
        };
        assert_eq!(raw.locate(0, 8, 0, 16, 4), (0x1008, 12));
        assert_eq!(raw.locate(0, 0x8000_0000, 0, 16, 4), (0x1000 + 0x8000_0000, 0));
        let swizzled = Resource { stride: 16, records: 64, swizzle: true, bounds: Bounds::Index, ..raw };
        // Record 9, byte 5: group 1, second dword of a record, second place in the group.
        assert_eq!(swizzled.locate(9, 5, 0, 1, 1), (0x1000 + (16 + 4) * 8 + 4 + 1, 1));
        assert_eq!(swizzled.locate(64, 0, 0, 4, 4).1, 0);
        // Elements of eight bytes: byte 13 lies in the second one.
        let wide = Resource { element: 8, ..swizzled };
        assert_eq!(wide.locate(9, 13, 0, 1, 1), (0x1000 + (16 + 8) * 8 + 8 + 5, 1));
    }
}
