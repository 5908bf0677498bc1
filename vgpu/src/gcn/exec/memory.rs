//! Vector memory instructions by address: flat, global and scratch; their addresses, and the caches' instructions.

use super::access::{Access, Place};
use super::queue::Counter;
use super::registers::Width;
use super::state::{APERTURE_BYTES, Lanes, PRIVATE_APERTURE, SHARED_APERTURE};
use super::{Cx, Entry, buffer, ds, scalar_memory};
use crate::counters::Class;
use crate::gcn::decode::memory::{Act, AtomicOp, MemOp, Space};
use crate::gcn::inst::{Handler, Inst, Kind, Opnd, sreg};

/// The handler of a memory instruction.
pub(super) fn handler(op: MemOp) -> Option<(Handler, Class)> {
    let atomic = matches!(op.act, Act::Atomic { .. });
    let run: (Handler, Class) = match op.space {
        Space::Flat => (flat, if atomic { Class::Atomic } else { Class::Global }),
        Space::Global => (global, if atomic { Class::Atomic } else { Class::Global }),
        Space::Scratch => (scratch, Class::Local),
        Space::Buffer => (buffer::issue, if atomic { Class::Atomic } else { Class::Global }),
        Space::Ds => (ds::handler(op.act), if atomic { Class::Atomic } else { Class::Shared }),
        Space::Scalar | Space::ScalarScratch | Space::ScalarBuffer => {
            let class = match op.act {
                Act::Load { .. } => Class::Constant,
                Act::Store { .. } => Class::Global,
                _ => Class::Atomic,
            };
            (scalar_memory::access, class)
        }
    };
    Some(run)
}

/// The operation of an instruction that has one.
pub(super) fn operation(i: &Inst) -> Option<MemOp> {
    match i.kind {
        Kind::Mem(op) => Some(op),
        _ => None,
    }
}

/// Registers of data that an operation takes from the wave.
fn data_registers(act: Act) -> u16 {
    match act {
        Act::Store { bytes, .. } => u16::from(bytes.div_ceil(4)),
        Act::Atomic { op, bytes } => {
            let words = u16::from(bytes / 4);
            if matches!(op, AtomicOp::CmpSwap | AtomicOp::CmpSwapF) { words * 2 } else { words }
        }
        Act::StoreFormat { components, d16, .. } => u16::from(if d16 { components.div_ceil(2) } else { components }),
        Act::StoreLane => 1,
        _ => 0,
    }
}

impl Cx<'_> {
    /// Reports addresses that nobody defined, and gives the lanes that are left: what the others would do is arbitrary.
    pub(super) fn check_address(&mut self, i: &Inst) -> u64 {
        let unknown = !self.defined & self.w.exec;
        if unknown != 0 {
            self.find_undefined(i, unknown, "an address");
        }
        self.defined = u64::MAX;
        if self.env.sanitize { !unknown } else { u64::MAX }
    }

    /// Takes the data of a store or an atomic, and names the destination of what returns one.
    pub(super) fn fill(&mut self, i: &Inst, access: &mut Access) {
        for part in 0..data_registers(access.act) {
            self.defined = u64::MAX;
            let row = self.v32(i, i.src[1].plus(part), Width::B32);
            access.data.push(row);
            access.rows_defined.push(self.defined);
        }
        access.data_defined = access.rows_defined.iter().fold(u64::MAX, |all, defined| all & defined);
        self.defined = u64::MAX;
        if let Act::Store { .. } = access.act {
            self.hazard_store(i, access.data.len() as u16);
        }
        let returns = match access.act {
            Act::Load { .. } | Act::LoadFormat { .. } | Act::LoadTranspose(_) | Act::LoadLane => true,
            Act::Atomic { .. } => i.mem.returns,
            _ => false,
        };
        if returns && let Opnd::V(r) = i.dst {
            access.dst = Some(r);
            access.dst_regs = i.dst_regs;
        }
        if let Act::LoadLds { .. } = access.act {
            let m0 = self.s32(i, Opnd::S(sreg::M0));
            self.hazard_m0(i);
            if self.defined == 0 {
                self.find_undefined(i, 1, "m0, which holds the destination in the LDS,");
            }
            access.lds_base = (m0 & 0x3_ffff).wrapping_add_signed(i.mem.offset);
        }
        access.device_scope = i.mem.device_scope;
    }

    /// The counter that an operation counts in.
    pub(super) fn counter(&self, i: &Inst, act: Act) -> Counter {
        let store = match act {
            Act::Store { .. } | Act::StoreFormat { .. } | Act::StoreLane => true,
            Act::Atomic { .. } => !i.mem.returns,
            _ => false,
        };
        if store && !self.env.arch.is_cdna() { Counter::Store } else { Counter::Vector }
    }
}

fn global(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    let mut access = Access::new(i.pc, op.act, Place::Global, cx.exec());
    let offset = i64::from(i.mem.offset) as u64;
    if matches!(op.act, Act::LoadLane | Act::StoreLane) {
        // The address is the lane's number times four, from a scalar base on.
        let base = if i.saddr == Opnd::None { 0 } else { cx.s64(i, i.saddr) }.wrapping_add(offset);
        access.address = std::array::from_fn(|lane| base.wrapping_add(lane as u64 * 4));
        access.mask &= cx.check_address(i);
        cx.fill(i, &mut access);
        let counter = cx.counter(i, op.act);
        cx.issue(counter, Box::new(access));
        return;
    }
    let low = cx.v32(i, i.src[0], Width::B32);
    if i.saddr == Opnd::None {
        let high = cx.v32(i, i.src[0].plus(1), Width::B32);
        access.address =
            std::array::from_fn(|lane| (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(offset));
    } else {
        let base = cx.s64(i, i.saddr).wrapping_add(offset);
        access.address = low.map(|offset| base.wrapping_add(u64::from(offset)));
    }
    access.mask &= cx.check_address(i);
    cx.fill(i, &mut access);
    let counter = cx.counter(i, op.act);
    cx.issue(counter, Box::new(access));
}

fn flat(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    let low = cx.v32(i, i.src[0], Width::B32);
    let high = cx.v32(i, i.src[0].plus(1), Width::B32);
    let exec = cx.exec() & cx.check_address(i);
    let offset = i64::from(i.mem.offset) as u64;
    // The lanes by the memory that each address falls into.
    let mut parts = [(Place::Global, 0_u64), (Place::Lds, 0), (Place::Scratch, 0)];
    let mut address = [0; 64];
    for lane in 0..64 {
        let at = (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(offset);
        let (part, at) = match at {
            at if at.wrapping_sub(SHARED_APERTURE) < APERTURE_BYTES => (1, at - SHARED_APERTURE),
            at if at.wrapping_sub(PRIVATE_APERTURE) < APERTURE_BYTES => (2, at - PRIVATE_APERTURE),
            at => (0, at),
        };
        parts[part].1 |= exec & 1 << lane;
        address[lane] = at;
    }
    let (mut memory, mut lds) = (Vec::new(), Vec::new());
    for (place, mask) in parts {
        if mask == 0 {
            continue;
        }
        let mut access = Access::new(i.pc, op.act, place, mask);
        access.address = address;
        cx.fill(i, &mut access);
        if place == Place::Lds { lds.push(access) } else { memory.push(access) }
    }
    let counter = cx.counter(i, op.act);
    cx.issue_flat(counter, memory, lds);
}

fn scratch(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = operation(i) else { return };
    let mut access = Access::new(i.pc, op.act, Place::Scratch, cx.exec());
    let base = if i.saddr == Opnd::None { 0 } else { cx.s32(i, i.saddr) };
    let vaddr: Lanes = if i.mem.use_vaddr { cx.v32(i, i.src[0], Width::B32) } else { [0; 64] };
    access.address = vaddr.map(|offset| u64::from(base.wrapping_add(offset).wrapping_add_signed(i.mem.offset)));
    access.mask &= cx.check_address(i);
    cx.fill(i, &mut access);
    let counter = cx.counter(i, op.act);
    cx.issue(counter, Box::new(access));
}

/// A write-back of the caches at the device's scope: what was stored before is then seen by other programs.
fn write_back(cx: &mut Cx<'_>, i: &Inst) {
    let counter = if cx.env.arch.is_cdna() { Counter::Vector } else { Counter::Store };
    if i.mem.device_scope {
        cx.issue_release(counter);
    }
}

/// An invalidation: what other programs released is seen after it.
fn invalidate(cx: &mut Cx<'_>, i: &Inst) {
    let at_device = match cx.env.arch.is_cdna() || cx.env.arch.is_gfx12() {
        true => i.mem.device_scope,
        false => i.name == "buffer_gl1_inv",
    };
    if at_device && let Some(shadow) = cx.env.shadow {
        shadow.program(cx.g.linear).acquire();
    }
}

pub(super) const TABLE: &[Entry] = &[
    ("ds_nop", Class::Control, |_, _| {}),
    ("buffer_wbl2", Class::Sync, write_back),
    ("buffer_inv", Class::Sync, invalidate),
    ("buffer_gl0_inv", Class::Sync, invalidate),
    ("buffer_gl1_inv", Class::Sync, invalidate),
    ("global_inv", Class::Sync, invalidate),
    ("global_wb", Class::Sync, write_back),
    ("global_wbinv", Class::Sync, |c, i| {
        write_back(c, i);
        invalidate(c, i);
    }),
];
