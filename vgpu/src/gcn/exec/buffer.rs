//! Buffer instructions: resources, addresses with bounds and swizzles, and typed elements.

use super::Cx;
use super::access::{Access, Place, lanes};
use super::registers::Width;
use super::state::Lanes;
use crate::finding::FindingKind;
use crate::gcn::arch::Arch;
use crate::gcn::decode::memory::Act;
use crate::gcn::inst::{Inst, Opnd};
use crate::numeric::{f16_to_f32, f32_to_f16};

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
    format: Format,
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

/// What an element is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of each component, up to four.
    bits: [u8; 4],
    kind: Numeric,
}

/// How a component's bits are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Numeric {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    #[default]
    Uint,
    Sint,
    Float,
}

impl Format {
    /// GFX9's data and number formats.
    fn gfx9(data: u32, number: u32) -> Option<Self> {
        let bits = match data {
            1 => [8, 0, 0, 0],
            2 => [16, 0, 0, 0],
            3 => [8, 8, 0, 0],
            4 => [32, 0, 0, 0],
            5 => [16, 16, 0, 0],
            6 => [10, 11, 11, 0],
            7 => [11, 11, 10, 0],
            8 => [10, 10, 10, 2],
            9 => [2, 10, 10, 10],
            10 => [8, 8, 8, 8],
            11 => [32, 32, 0, 0],
            12 => [16, 16, 16, 16],
            13 => [32, 32, 32, 0],
            14 => [32, 32, 32, 32],
            _ => return None,
        };
        let kind = match number {
            0 => Numeric::Unorm,
            1 => Numeric::Snorm,
            2 => Numeric::Uscaled,
            3 => Numeric::Sscaled,
            4 => Numeric::Uint,
            5 => Numeric::Sint,
            7 => Numeric::Float,
            _ => return None,
        };
        Some(Self { bits, kind })
    }

    fn bytes(self) -> usize {
        self.bits.iter().map(|&b| usize::from(b)).sum::<usize>() / 8
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
        let stride = words[1] >> 16 & 0x3fff;
        let swizzle = if gfx9 { words[1] >> 31 != 0 } else { words[1] >> 30 != 0 };
        let bounds = match (gfx9, words[3] >> 28 & 3) {
            (true, _) if stride == 0 || !swizzle => Bounds::Raw,
            (true, _) => Bounds::Index,
            (false, 0) => Bounds::Structured,
            (false, 1) => Bounds::Index,
            (false, 2) => Bounds::Any,
            (false, _) => Bounds::Raw,
        };
        Self {
            base: u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32,
            stride,
            records: words[2],
            swizzle,
            index_stride: 8 << (words[3] >> 21 & 3),
            element: if gfx9 { 4 } else { [0, 4, 8, 16][(words[1] >> 30) as usize] },
            add_lane: words[3] >> 23 & 1 != 0,
            format: Format::gfx9(words[3] >> 15 & 15, words[3] >> 12 & 7).unwrap_or_default(),
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
                match Format::gfx9(u32::from(i.mem.format & 15), u32::from(i.mem.format >> 4 & 7)) {
                    Some(format) => resource.format = format,
                    None => {
                        cx.unsupported(i, format!("the buffer format {:#x}", i.mem.format & 0x7f));
                        return;
                    }
                }
            } else if !matches!(cx.env.arch, Arch::Gfx942 | Arch::Gfx950) {
                cx.unsupported(i, "buffer formats of this generation".to_owned());
                return;
            }
            access.format = resource.format;
            (resource.format.bytes(), resource.format.bytes().max(1))
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

impl Cx<'_> {
    /// A load of elements that are converted by the buffer's format.
    pub(super) fn complete_load_format(&mut self, access: &Access) {
        let Act::LoadFormat { components, d16, high } = access.act else { return };
        let format = access.format;
        let len = format.bytes();
        let mut out = vec![[0_u32; 64]; usize::from(components)];
        for lane in lanes(access.mask) {
            let mut buffer = [0; 16];
            let limit = access.limit.as_ref().map_or(len, |limit| usize::from(limit[lane]).min(len));
            if limit > 0 {
                self.read(access, lane, access.address[lane], &mut buffer[..limit]);
            }
            let raw = u128::from_le_bytes(buffer);
            let mut at = 0;
            for (component, row) in out.iter_mut().enumerate() {
                let bits = u32::from(format.bits[component]);
                // Components that the format lacks are 0, 0, 0, 1.
                row[lane] = if bits == 0 {
                    let one = if matches!(format.kind, Numeric::Uint | Numeric::Sint) { 1 } else { 1.0_f32.to_bits() };
                    if component == 3 { one } else { 0 }
                } else {
                    decode((raw >> at) as u32, bits, format.kind)
                };
                at += bits;
            }
        }
        if !d16 {
            self.deliver_rows(access, &out);
            return;
        }
        let integer = matches!(format.kind, Numeric::Uint | Numeric::Sint);
        let narrow = |v: u32| if integer { v & 0xffff } else { u32::from(f32_to_f16(f32::from_bits(v))) };
        let rows: Vec<Lanes> = out
            .chunks(2)
            .map(|pair| {
                std::array::from_fn(|lane| {
                    let low = narrow(pair[0][lane]);
                    let upper = pair.get(1).map_or(0, |row| narrow(row[lane]));
                    match (high, access.dst) {
                        (true, Some(dst)) => self.w.v[dst as usize][lane] & 0xffff | low << 16,
                        _ => low | upper << 16,
                    }
                })
            })
            .collect();
        self.deliver_rows(access, &rows);
    }

    /// A store of elements that are converted by the buffer's format.
    pub(super) fn complete_store_format(&mut self, access: &Access) {
        let Act::StoreFormat { components, d16, high } = access.act else { return };
        let format = access.format;
        let len = format.bytes();
        let integer = matches!(format.kind, Numeric::Uint | Numeric::Sint);
        for lane in lanes(access.mask) {
            if access.limit.as_ref().is_some_and(|limit| usize::from(limit[lane]) < len) {
                continue;
            }
            let mut raw = 0_u128;
            let mut at = 0;
            for component in 0..usize::from(components) {
                let bits = u32::from(format.bits[component]);
                if bits == 0 {
                    break;
                }
                let value = if d16 {
                    let word = access.data.get(component / 2).map_or(0, |row| row[lane]);
                    let half = if component % 2 == 1 || high { word >> 16 } else { word & 0xffff };
                    if integer { half } else { f16_to_f32(half as u16).to_bits() }
                } else {
                    access.data.get(component).map_or(0, |row| row[lane])
                };
                raw |= u128::from(encode(value, bits, format.kind)) << at;
                at += bits;
            }
            self.write(access, lane, access.address[lane], &raw.to_le_bytes()[..len]);
        }
    }
}

fn mask(bits: u32) -> u32 {
    if bits == 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// A component's bits as the register gets them.
fn decode(raw: u32, bits: u32, kind: Numeric) -> u32 {
    let unsigned = raw & mask(bits);
    let signed = ((raw << (32 - bits)) as i32) >> (32 - bits);
    match kind {
        Numeric::Uint => unsigned,
        Numeric::Sint => signed as u32,
        Numeric::Unorm => (unsigned as f32 / mask(bits) as f32).to_bits(),
        Numeric::Snorm => (signed as f32 / (mask(bits) >> 1) as f32).max(-1.0).to_bits(),
        Numeric::Uscaled => (unsigned as f32).to_bits(),
        Numeric::Sscaled => (signed as f32).to_bits(),
        Numeric::Float => match bits {
            16 => f16_to_f32(unsigned as u16).to_bits(),
            // Eleven and ten bits: a half without sign and with a shorter mantissa.
            11 => f16_to_f32((unsigned << 4) as u16).to_bits(),
            10 => f16_to_f32((unsigned << 5) as u16).to_bits(),
            _ => unsigned,
        },
    }
}

/// A register's value as a component's bits.
fn encode(value: u32, bits: u32, kind: Numeric) -> u32 {
    let float = f32::from_bits(value);
    let encoded = match kind {
        Numeric::Uint => value.min(mask(bits)),
        Numeric::Sint => {
            let limit = (mask(bits) >> 1) as i32;
            (value as i32).clamp(-limit - 1, limit) as u32
        }
        Numeric::Unorm => (float.clamp(0.0, 1.0) * mask(bits) as f32).round_ties_even() as u32,
        Numeric::Snorm => (float.clamp(-1.0, 1.0) * (mask(bits) >> 1) as f32).round_ties_even() as i32 as u32,
        Numeric::Uscaled => float as u32,
        Numeric::Sscaled => float as i32 as u32,
        Numeric::Float => match bits {
            16 => u32::from(f32_to_f16(float)),
            11 => u32::from(f32_to_f16(float.max(0.0))) >> 4,
            10 => u32::from(f32_to_f16(float.max(0.0))) >> 5,
            _ => value,
        },
    };
    encoded & mask(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components() {
        assert_eq!(f32::from_bits(decode(0xff, 8, Numeric::Unorm)), 1.0);
        assert_eq!(decode(0x80, 8, Numeric::Sint), 0xffff_ff80);
        assert_eq!(encode(0.5_f32.to_bits(), 8, Numeric::Unorm), 128);
        assert_eq!(encode(300, 8, Numeric::Uint), 255);
        assert_eq!(f32::from_bits(decode(0x3c00, 16, Numeric::Float)), 1.0);
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
            format: Format::default(),
            bounds: Bounds::Raw,
        };
        assert_eq!(raw.locate(0, 8, 0, 16, 4), (0x1008, 12));
        assert_eq!(raw.locate(0, 0x8000_0000, 0, 16, 4), (0x1000 + 0x8000_0000, 0));
        let swizzled = Resource { stride: 16, records: 64, swizzle: true, bounds: Bounds::Index, ..raw };
        // Record 9, byte 5: group 1, second dword of a record, second place in the group.
        assert_eq!(swizzled.locate(9, 5, 0, 1, 1), (0x1000 + (16 + 4) * 8 + 4 + 1, 1));
        assert_eq!(swizzled.locate(64, 0, 0, 4, 4).1, 0);
    }
}
