//! Scalar memory: loads, stores and atomics by address and through buffer resources, clocks, and cache control.

use super::{Cx, Entry, buffer};
use crate::counters::Class;
use crate::finding::{self, Address, Agent, FindingKind, OtherAccess};
use crate::gcn::decode::memory::{Act, AtomicOp, Space};
use crate::gcn::inst::{Inst, Opnd};
use crate::sanitizer::{Action, Site};

/// A scalar access.
#[derive(Clone, Debug)]
pub(crate) struct ScalarAccess {
    pub pc: u32,
    /// The first register of the result.
    pub dst: u8,
    /// How many it has; a store has none.
    pub registers: u8,
    pub act: ScalarAct,
}

/// What it does.
#[derive(Clone, Debug)]
pub(crate) enum ScalarAct {
    /// Gives a value that does not come from memory.
    Value(u64),
    Load {
        address: u64,
        /// Bytes in all; the rest of the registers is zero.
        bytes: u32,
        signed: bool,
    },
    Store {
        address: u64,
        data: Vec<u8>,
    },
    Update {
        address: u64,
        op: AtomicOp,
        bytes: u8,
        data: u64,
        compare: u64,
    },
}

/// Loads, stores and atomics, by address or through a buffer resource.
pub(super) fn access(cx: &mut Cx<'_>, i: &Inst) {
    let Some(op) = super::memory::operation(i) else { return };
    let (base, at, room) = match op.space {
        Space::ScalarBuffer => {
            let resource = buffer::Resource::read(cx, i, i.src[0]);
            let at = offset(cx, i, 1) & !3;
            (resource.base, at, resource.scalar_bytes().saturating_sub(at))
        }
        // An offset in a register counts 64 bytes there.
        Space::ScalarScratch => (cx.s64(i, i.src[0]), offset(cx, i, 64), u64::MAX),
        _ => (cx.s64(i, i.src[0]), offset(cx, i, 1), u64::MAX),
    };
    let room = room.min(u64::from(u32::MAX)) as u32 & !3;
    let address = base.wrapping_add(at);
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the address of a scalar access");
        cx.defined = u64::MAX;
    }
    let (act, registers) = match op.act {
        Act::Load { bytes, signed, .. } => {
            let address = if bytes < 4 { address } else { address & !3 };
            (ScalarAct::Load { address, bytes: u32::from(bytes).min(room), signed }, bytes.div_ceil(4))
        }
        Act::Store { bytes, .. } => {
            let mut data = take(cx, i, bytes / 4);
            data.truncate(room as usize);
            cx.w.scalar_store = Some(i.pc);
            (ScalarAct::Store { address: address & !3, data }, 0)
        }
        Act::Atomic { op, bytes } => {
            let two = if op == AtomicOp::CmpSwap { 2 } else { 1 };
            let words = take(cx, i, bytes / 4 * two);
            let part = |n: usize| {
                let mut value = [0; 8];
                let bytes = usize::from(bytes);
                if let Some(from) = words.get(n * bytes..(n + 1) * bytes) {
                    value[..bytes].copy_from_slice(from);
                }
                u64::from_le_bytes(value)
            };
            let registers = if i.mem.returns { bytes / 4 } else { 0 };
            if room < u32::from(bytes) {
                (ScalarAct::Value(0), registers)
            } else {
                (ScalarAct::Update { address, op, bytes, data: part(0), compare: part(1) }, registers)
            }
        }
        _ => return,
    };
    let dst = match i.dst {
        Opnd::S(r) => r,
        _ if registers == 0 => 0,
        // A load into nothing is a prefetch.
        _ => return,
    };
    cx.issue_scalar(ScalarAccess { pc: i.pc, dst, registers, act });
}

/// The registers of data, as bytes.
fn take(cx: &mut Cx<'_>, i: &Inst, registers: u8) -> Vec<u8> {
    let data = (0..registers).flat_map(|n| cx.s32(i, i.src[1].plus(u16::from(n))).to_le_bytes()).collect();
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "what a scalar instruction stores");
        cx.defined = u64::MAX;
    }
    data
}

/// The offset, of which the part in a register counts in units.
fn offset(cx: &mut Cx<'_>, i: &Inst, unit: u64) -> u64 {
    let soffset = if i.saddr == Opnd::None { 0 } else { cx.s32(i, i.saddr) };
    (i64::from(i.mem.offset) as u64).wrapping_add(u64::from(soffset) * unit)
}

/// A value that arrives like a load's.
pub(super) fn value(cx: &mut Cx<'_>, i: &Inst, value: u64) {
    if let Opnd::S(dst) = i.dst {
        let registers = i.dst_regs.clamp(1, 2);
        cx.issue_scalar(ScalarAccess { pc: i.pc, dst, registers, act: ScalarAct::Value(value) });
    }
}

impl Cx<'_> {
    /// Marks the destination as outstanding, and makes its content useless.
    pub(super) fn poison_scalar(&mut self, access: &ScalarAccess) {
        for r in access.dst..access.dst.saturating_add(access.registers).min(127) {
            self.w.set_s(r, 0xdead_beef);
            self.w.s_pending |= 1 << r;
        }
    }

    /// Does what the access does.
    pub(super) fn complete_scalar(&mut self, access: &ScalarAccess) {
        let words: Vec<u32> = match access.act {
            ScalarAct::Value(value) => vec![value as u32, (value >> 32) as u32],
            ScalarAct::Load { address, bytes, signed } => self.read_scalar(access, address, bytes, signed),
            ScalarAct::Store { address, ref data } => {
                self.write_scalar(access, address, data);
                return;
            }
            ScalarAct::Update { address, op, bytes, data, compare } => {
                let apply = |old| super::atomic::apply(op, bytes, old, data, compare);
                let old = self.update_scalar(access, address, bytes, apply);
                vec![old as u32, (old >> 32) as u32]
            }
        };
        for n in 0..access.registers {
            let r = access.dst.saturating_add(n).min(127);
            self.w.s_pending &= !(1 << r);
            self.w.set_s(r, words.get(usize::from(n)).copied().unwrap_or(0));
        }
    }

    /// Where in global memory an access falls, checked.
    fn locate_scalar(
        &mut self,
        access: &ScalarAccess,
        address: u64,
        len: usize,
        action: Action,
    ) -> Option<(usize, usize)> {
        let place = match self.env.memory.locate(&mut self.w.cursor, address, len) {
            Ok(place) => place,
            Err(miss) => {
                self.find_miss(access.pc, None, finding::Space::Global, address, len, miss);
                return None;
            }
        };
        let (index, at) = place;
        let allocation = self.env.memory.allocation(index);
        if self.env.sanitize
            && action != Action::Write
            && let Some(first) = allocation.first_unwritten(at, len)
        {
            let place = Address {
                space: finding::Space::Global,
                address: address + (first - at) as u64,
                bytes: len as u32,
                allocation: Some(allocation.name().to_owned()),
                offset: first as i64,
                size: allocation.size(),
            };
            let message = "memory is read that nobody wrote".to_owned();
            self.find(FindingKind::UninitializedRead, access.pc, None, Some(place), None, message);
        }
        self.check_scalar_race(access, place, address, len, action);
        Some(place)
    }

    fn read_scalar(&mut self, access: &ScalarAccess, address: u64, bytes: u32, signed: bool) -> Vec<u32> {
        let len = bytes as usize;
        let mut data = [0_u8; 64];
        if len == 0 {
            return Vec::new();
        }
        if let Some((index, at)) = self.locate_scalar(access, address, len, Action::Read) {
            self.env.memory.allocation(index).read(at, &mut data[..len]);
        }
        if len < 4 && signed && data[len - 1] & 0x80 != 0 {
            data[len..4].fill(0xff);
        }
        data.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    fn write_scalar(&mut self, access: &ScalarAccess, address: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        if let Some((index, at)) = self.locate_scalar(access, address, data.len(), Action::Write) {
            self.env.memory.allocation(index).write(at, data);
        }
    }

    fn update_scalar(&mut self, access: &ScalarAccess, address: u64, bytes: u8, f: impl Fn(u64) -> Option<u64>) -> u64 {
        let len = usize::from(bytes);
        if !address.is_multiple_of(u64::from(bytes)) {
            let message =
                format!("an atomic operation on {bytes} bytes needs an address that is a multiple of {bytes}");
            self.find(FindingKind::Misaligned, access.pc, None, None, None, message);
            return 0;
        }
        let Some((index, at)) = self.locate_scalar(access, address, len, Action::Atomic) else { return 0 };
        self.env.memory.allocation(index).fetch_update(at, len, f)
    }

    /// At the end of a wave: what it stored through the scalar cache must have been written back, or it may never get to memory.
    pub(crate) fn check_scalar_stores(&mut self) {
        if let Some(pc) = self.w.scalar_store.take()
            && self.env.sanitize
        {
            let message =
                "the wave ends without s_dcache_wb after this scalar store, which the cache may keep".to_owned();
            self.find(FindingKind::UnfinishedAsync, pc, None, None, None, message);
        }
    }

    fn check_scalar_race(
        &mut self,
        access: &ScalarAccess,
        place: (usize, usize),
        address: u64,
        len: usize,
        action: Action,
    ) {
        let Some(shadow) = self.env.shadow else { return };
        let site = Site { agent: self.w.id, lane: 0, pc: access.pc / 4 };
        let clock = &self.g.clocks[self.w.id as usize];
        let Some(conflict) = shadow.access(place, len, action, self.g.linear, site, clock) else { return };
        let [x, y, _] = self.env.grid;
        let allocation = self.env.memory.allocation(place.0);
        let other = OtherAccess {
            action: super::lane_memory::describe(conflict.action).to_owned(),
            instruction: self.env.instruction(conflict.other.pc * 4),
            agent: Agent {
                program: [conflict.program % x, conflict.program / x % y, conflict.program / x / y],
                warp: u32::from(conflict.other.agent),
                lane: Some(u32::from(conflict.other.lane)),
            },
        };
        let address = Address {
            space: finding::Space::Global,
            address,
            bytes: len as u32,
            allocation: Some(allocation.name().to_owned()),
            offset: place.1 as i64,
            size: allocation.size(),
        };
        let message = format!(
            "a scalar {} and a {} of the same bytes without an order between them",
            super::lane_memory::describe(action),
            super::lane_memory::describe(conflict.action)
        );
        self.find(FindingKind::GlobalRace, access.pc, None, Some(address), Some(other), message);
    }
}

pub(super) const TABLE: &[Entry] = &[
    ("s_memtime", Class::Scalar, |c, i| {
        // A clock that counts what this wave has executed: the same in every run with the same seed.
        let now = c.w.executed;
        value(c, i, now);
    }),
    ("s_memrealtime", Class::Scalar, |c, i| {
        // A hundred million a second.
        let now = c.env.started.elapsed().as_nanos() as u64 / 10;
        value(c, i, now);
    }),
    ("s_sendmsg_rtn_b32", Class::Scalar, |c, i| message(c, i)),
    ("s_sendmsg_rtn_b64", Class::Scalar, |c, i| message(c, i)),
    ("s_dcache_inv", Class::Sync, |_, _| {}),
    ("s_dcache_inv_vol", Class::Sync, |_, _| {}),
    ("s_dcache_wb", Class::Sync, |c, _| c.w.scalar_store = None),
    ("s_dcache_wb_vol", Class::Sync, |_, _| {}),
    // The cache may have written a line back just before it is to be discarded: nothing has to happen.
    ("s_dcache_discard", Class::Sync, |_, _| {}),
    ("s_dcache_discard_x2", Class::Sync, |_, _| {}),
    // Probes of address translation.
    ("s_atc_probe", Class::Sync, |_, _| {}),
    ("s_atc_probe_buffer", Class::Sync, |_, _| {}),
    ("s_gl1_inv", Class::Sync, |_, _| {}),
    ("s_prefetch_inst", Class::Sync, |_, _| {}),
    ("s_prefetch_inst_pc_rel", Class::Sync, |_, _| {}),
    ("s_prefetch_data", Class::Sync, |_, _| {}),
    ("s_prefetch_data_pc_rel", Class::Sync, |_, _| {}),
    ("s_buffer_prefetch_data", Class::Sync, |_, _| {}),
];

/// Messages that return something.
fn message(cx: &mut Cx<'_>, i: &Inst) {
    match i.imm & 0xff {
        // Real time.
        131 => {
            let now = cx.env.started.elapsed().as_nanos() as u64 / 10;
            value(cx, i, now);
        }
        // The trap handler's address: there is none.
        132 | 133 => value(cx, i, 0),
        other => cx.unsupported(i, format!("message {other}")),
    }
}
