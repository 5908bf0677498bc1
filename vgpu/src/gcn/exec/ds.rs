//! The LDS: loads and stores of all widths, pairs, atomics, and the operations across lanes that go through it.

use super::Cx;
use super::access::{Access, Place, lanes};
use super::queue::Counter;
use super::registers::Width;
use super::state::Lanes;
use crate::gcn::decode::memory::{Act, AtomicOp, Transpose};
use crate::gcn::inst::{Handler, Inst, Opnd, sreg};

/// The handler of an LDS instruction.
pub(super) fn handler(act: Act) -> Handler {
    match act {
        Act::Swizzle => swizzle,
        Act::Permute => permute,
        Act::Bpermute { .. } => bpermute,
        Act::LoadLane | Act::StoreLane => by_lane,
        Act::Append | Act::Consume => append,
        _ => issue,
    }
}

fn issue(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = super::memory::operation(i) else { return };
    let mut access = Access::new(i.pc, op.act, Place::Lds, cx.exec());
    let base = cx.v32(i, i.src[0], Width::B32);
    access.mask &= cx.check_address(i);
    // The sum is of 32 bits: a base below zero, as compilers make it, comes back into range.
    let at = |offset: i32| base.map(|v| u64::from(v.wrapping_add(offset as u32)));
    match op.act {
        Act::Load2 { bytes, stride64 } | Act::Store2 { bytes, stride64 } | Act::Exchange2 { bytes, stride64 } => {
            let unit = i32::from(bytes) * if stride64 { 64 } else { 1 };
            access.address = at(i.mem.offset * unit);
            access.address2 = Some(Box::new(at(i.mem.offset1 * unit)));
        }
        _ => access.address = at(i.mem.offset),
    }
    fill(cx, i, &mut access);
    check_own_loads(cx, &access);
    cx.issue(Counter::Lds, Box::new(access));
}

/// A wave that loads into the LDS has to wait before it touches the same bytes itself.
fn check_own_loads(cx: &mut Cx<'_>, access: &Access) {
    if !cx.env.sanitize || !cx.w.queues.loads_into_lds() {
        return;
    }
    let len = match access.act {
        Act::Load { bytes, .. } | Act::Store { bytes, .. } | Act::Atomic { bytes, .. } => bytes,
        Act::Load2 { bytes, .. } | Act::Store2 { bytes, .. } | Act::Exchange2 { bytes, .. } => bytes,
        _ => 4,
    };
    for address in std::iter::once(&access.address).chain(access.address2.as_deref()) {
        for lane in lanes(access.mask) {
            if let Some(pc) = cx.w.queues.load_into_lds(address[lane], u64::from(len)) {
                cx.find_early_lds(access, lane, address[lane], usize::from(len), pc);
                return;
            }
        }
    }
}

/// Data and destination.
fn fill(cx: &mut Cx<'_>, i: &Inst, access: &mut Access) {
    let mut take = |cx: &mut Cx<'_>, opnd: Opnd, registers: u16| {
        for part in 0..registers {
            let row = cx.v32(i, opnd.plus(part), Width::B32);
            access.data.push(row);
        }
    };
    cx.defined = u64::MAX;
    match access.act {
        Act::Store { bytes, .. } => take(cx, i.src[1], u16::from(bytes.div_ceil(4))),
        Act::Store2 { bytes, .. } | Act::Exchange2 { bytes, .. } => {
            take(cx, i.src[1], u16::from(bytes / 4));
            take(cx, i.src[2], u16::from(bytes / 4));
        }
        Act::Atomic { op, bytes } => {
            let words = u16::from(bytes / 4);
            let two = matches!(op, AtomicOp::CmpSwap | AtomicOp::CmpSwapF | AtomicOp::MskOr | AtomicOp::Wrap);
            // GFX9's compare-and-store has the comparison first, GFX11's the new value.
            let compare_first = cx.env.arch.is_cdna() && matches!(op, AtomicOp::CmpSwap | AtomicOp::CmpSwapF);
            let (first, second) = if compare_first { (i.src[2], i.src[1]) } else { (i.src[1], i.src[2]) };
            take(cx, first, words);
            if two {
                take(cx, second, words);
            }
        }
        _ => {}
    }
    access.data_defined = cx.defined;
    cx.defined = u64::MAX;
    let returns = match access.act {
        Act::Store { .. } | Act::Store2 { .. } => false,
        Act::Atomic { .. } => i.mem.returns,
        _ => true,
    };
    if returns && let Opnd::V(r) = i.dst {
        access.dst = Some(r);
        access.dst_regs = i.dst_regs;
    }
}

/// `ds_read_addtid_b32` and its store: the address is the lane's number times four, from m0 on.
fn by_lane(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = super::memory::operation(i) else { return };
    let mut access = Access::new(i.pc, op.act, Place::Lds, cx.exec());
    let base = u64::from(cx.s32(i, Opnd::S(sreg::M0)) & 0xffff) + i.mem.offset as u64;
    access.address = std::array::from_fn(|lane| base + lane as u64 * 4);
    access.mask &= cx.check_address(i);
    if op.act == Act::StoreLane {
        let row = cx.v32(i, i.src[1], Width::B32);
        access.data.push(row);
        access.data_defined = cx.defined;
    } else if let Opnd::V(r) = i.dst {
        access.dst = Some(r);
        access.dst_regs = 1;
    }
    cx.issue(Counter::Lds, Box::new(access));
}

fn append(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = super::memory::operation(i) else { return };
    let mut access = Access::new(i.pc, op.act, Place::Lds, cx.exec());
    let base = u64::from(cx.s32(i, Opnd::S(sreg::M0)) >> 16) + i.mem.offset as u64;
    access.address = [base; 64];
    access.mask &= cx.check_address(i);
    if let Opnd::V(r) = i.dst {
        access.dst = Some(r);
        access.dst_regs = 1;
    }
    cx.issue(Counter::Lds, Box::new(access));
}

/// Queues values worked out at issue: nothing of the LDS's memory is touched, but their arrival is waited for all the same.
fn arrive(cx: &mut Cx<'_>, i: &Inst, act: Act, values: Lanes, defined: u64) {
    let mut access = Access::new(i.pc, act, Place::Lds, cx.exec());
    access.data.push(values);
    access.data_defined = defined;
    if let Opnd::V(r) = i.dst {
        access.dst = Some(r);
        access.dst_regs = 1;
    }
    cx.defined = u64::MAX;
    cx.issue(Counter::Lds, Box::new(access));
}

/// The lane that each lane reads under a swizzle pattern.
fn swizzle_source(lane: usize, pattern: u32, lanes: usize) -> usize {
    if pattern >= 0xe000 {
        // FFT: the bits of the lane number reversed under a mask.
        let mask = pattern & 0x1f;
        let in_group = lane & 31;
        let reversed = ((in_group as u32).reverse_bits() >> 27) as usize;
        return match mask {
            0 => lane & !31 | reversed,
            _ => lane & !31 | reversed & !(mask as usize) & 31 | in_group & mask as usize,
        } % lanes;
    }
    if pattern >= 0xc000 {
        // Rotation by a number of lanes, within a mask.
        let (left, count, mask) = (pattern >> 10 & 1 == 0, (pattern >> 5 & 0x1f) as usize, (pattern & 0x1f) as usize);
        let in_group = lane & 31;
        let moved = if left { in_group + count } else { in_group + 32 - count } & 31;
        return lane & !31 | in_group & mask | moved & !mask & 31;
    }
    if pattern & 0x8000 != 0 {
        return lane & !3 | (pattern >> ((lane & 3) * 2) & 3) as usize;
    }
    let (and, or, xor) = (pattern & 0x1f, pattern >> 5 & 0x1f, pattern >> 10 & 0x1f);
    lane & !31 | (((lane as u32 & 31 & and) | or) ^ xor) as usize
}

fn swizzle(cx: &mut Cx<'_>, i: &Inst) {
    let source = cx.v32(i, i.src[0], Width::B32);
    let exec = cx.exec();
    let pattern = i.mem.offset as u32 & 0xffff;
    let known = cx.defined;
    let mut out = [0; 64];
    let mut defined = u64::MAX;
    for lane in lanes(exec) {
        let from = swizzle_source(lane, pattern, cx.w.lanes as usize);
        // Lanes that are off give zero.
        if exec >> from & 1 != 0 {
            out[lane] = source[from];
            if known >> from & 1 == 0 {
                defined &= !(1 << lane);
            }
        }
    }
    arrive(cx, i, Act::Swizzle, out, defined);
}

fn bpermute(cx: &mut Cx<'_>, i: &Inst) {
    let address = cx.v32(i, i.src[0], Width::B32);
    cx.check_address(i);
    let data = cx.v32(i, i.src[1], Width::B32);
    let known = cx.defined;
    let exec = cx.exec();
    let fetch = matches!(super::memory::operation(i).map(|op| op.act), Some(Act::Bpermute { fetch_inactive: true }));
    let mut out = [0; 64];
    let mut defined = u64::MAX;
    for lane in lanes(exec) {
        let at = address[lane].wrapping_add(i.mem.offset as u32) / 4;
        let from = (at % cx.w.lanes) as usize;
        if fetch || exec >> from & 1 != 0 {
            out[lane] = data[from];
            if known >> from & 1 == 0 {
                defined &= !(1 << lane);
            }
        }
    }
    arrive(cx, i, Act::Bpermute { fetch_inactive: fetch }, out, defined);
}

fn permute(cx: &mut Cx<'_>, i: &Inst) {
    let address = cx.v32(i, i.src[0], Width::B32);
    cx.check_address(i);
    let data = cx.v32(i, i.src[1], Width::B32);
    let known = cx.defined;
    let mut out = [0; 64];
    let mut defined = u64::MAX;
    // Of several lanes that write one, the highest wins.
    for lane in lanes(cx.exec()) {
        let at = address[lane].wrapping_add(i.mem.offset as u32) / 4;
        let to = (at % cx.w.lanes) as usize;
        out[to] = data[lane];
        defined = defined & !(1 << to) | (known >> lane & 1) << to;
    }
    arrive(cx, i, Act::Permute, out, defined);
}

impl Cx<'_> {
    /// A load that transposes: the lanes of a group bring rows, and each gets a column's elements.
    ///
    /// `ds_read_b64_tr_b16` works on groups of 16 lanes, each of which addresses 8 bytes; lane i of a group gets element i%4 of lanes
    /// 4·(i/4) and so on... seen as a matrix, the group's 16 lanes hold 4 rows of 16 elements, four lanes to a row.
    pub(super) fn complete_transpose(&mut self, access: &Access, how: Transpose) {
        let (bytes, element_bits) = match (how, access.place) {
            (Transpose::B16, Place::Global) => (16, 16),
            (Transpose::B16, _) => (8, 16),
            (Transpose::B8, _) => (8, 8),
            (Transpose::B4, _) => (8, 4),
            (Transpose::B6, _) => (12, 6),
        };
        let mut data = [[0_u8; 16]; 64];
        for lane in lanes(access.mask) {
            let mut buffer = [0; 16];
            self.read(access, lane, access.address[lane], &mut buffer[..bytes]);
            data[lane] = buffer;
        }
        let per_lane = bytes * 8 / element_bits;
        let mut rows = vec![[0_u32; 64]; bytes / 4];
        let element = |lane: usize, n: usize| -> u32 {
            let bit = n * element_bits;
            let window =
                u32::from(data[lane][bit / 8]) | u32::from(data[lane].get(bit / 8 + 1).copied().unwrap_or(0)) << 8;
            window >> (bit % 8) & ((1 << element_bits) - 1)
        };
        for lane in 0..64 {
            let group = lane & !15;
            let column = lane & 15;
            for n in 0..per_lane {
                // The 16 lanes hold, one after another, per_lane rows of 16 elements: this lane's column of row n.
                let flat = n * 16 + column;
                let value = element(group + flat / per_lane, flat % per_lane);
                let bit = n * element_bits;
                let placed = u64::from(value) << (bit % 32);
                rows[bit / 32][lane] |= placed as u32;
                if let Some(row) = rows.get_mut(bit / 32 + 1)
                    && placed >> 32 != 0
                {
                    row[lane] |= (placed >> 32) as u32;
                }
            }
        }
        self.deliver_rows(access, &rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzles() {
        // Broadcast of lane 1 of each two: and 0x1e, or 1.
        assert_eq!(swizzle_source(6, 0x1e | 1 << 5, 64), 7);
        // Swap of neighbours.
        assert_eq!(swizzle_source(34, 0x1f | 1 << 10, 64), 35);
        // Quad permutation 3, 2, 1, 0.
        assert_eq!(swizzle_source(4, 0x8000 | 0x1b, 64), 7);
        // Rotation left by one.
        assert_eq!(swizzle_source(31, 0xc000 | 1 << 5, 64), 0);
    }
}
