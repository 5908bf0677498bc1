//! Scalar memory: loads by address and through buffer resources, clocks, and cache control.

use super::{Cx, Entry, buffer};
use crate::counters::Class;
use crate::finding::{Address, Agent, FindingKind, OtherAccess, Space};
use crate::gcn::decode::memory::Act;
use crate::gcn::inst::{Inst, Opnd};
use crate::sanitizer::{Action, Site};

/// A scalar load.
#[derive(Clone, Debug)]
pub(crate) struct ScalarAccess {
    pub pc: u32,
    /// The first register of the result.
    pub dst: u8,
    pub registers: u8,
    pub source: ScalarSource,
}

/// Where its value comes from.
#[derive(Clone, Debug)]
pub(crate) enum ScalarSource {
    Memory {
        address: u64,
        /// Bytes in all; the rest of the registers is zero.
        bytes: u32,
        signed: bool,
    },
    Value(u64),
}

/// The load that an instruction asks for, at this address, so many bytes of which are in range.
fn issue(cx: &mut Cx<'_>, i: &Inst, address: u64, limit: u32) {
    let Some(op) = super::memory::operation(i) else { return };
    let Act::Load { bytes, signed, .. } = op.act else { return };
    let dst = match i.dst {
        Opnd::S(r) => r,
        // A load into nothing is a prefetch.
        _ => return,
    };
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the address of a scalar load");
        cx.defined = u64::MAX;
    }
    let source = ScalarSource::Memory { address, bytes: u32::from(bytes).min(limit), signed };
    cx.issue_scalar(ScalarAccess { pc: i.pc, dst, registers: bytes.div_ceil(4), source });
}

fn offset(cx: &mut Cx<'_>, i: &Inst) -> u64 {
    let soffset = if i.saddr == Opnd::None { 0 } else { cx.s32(i, i.saddr) };
    (i64::from(i.mem.offset) as u64).wrapping_add(u64::from(soffset))
}

/// `s_load_*`.
pub(super) fn load(cx: &mut Cx<'_>, i: &Inst) {
    let base = cx.s64(i, i.src[0]);
    let address = base.wrapping_add(offset(cx, i));
    let Some(op) = super::memory::operation(i) else { return };
    let aligned = match op.act {
        Act::Load { bytes: 4.., .. } => address & !3,
        _ => address,
    };
    issue(cx, i, aligned, u32::MAX);
}

/// `s_buffer_load_*`.
pub(super) fn buffer_load(cx: &mut Cx<'_>, i: &Inst) {
    let resource = buffer::Resource::read(cx, i, i.src[0]);
    let at = offset(cx, i) & !3;
    let limit = resource.scalar_bytes().saturating_sub(at).min(u64::from(u32::MAX)) as u32;
    issue(cx, i, resource.base.wrapping_add(at), limit & !3);
}

/// A value that arrives like a load's.
fn value(cx: &mut Cx<'_>, i: &Inst, value: u64) {
    if let Opnd::S(dst) = i.dst {
        let registers = i.dst_regs.clamp(1, 2);
        cx.issue_scalar(ScalarAccess { pc: i.pc, dst, registers, source: ScalarSource::Value(value) });
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

    /// Does what the load does.
    pub(super) fn complete_scalar(&mut self, access: &ScalarAccess) {
        let words: Vec<u32> = match access.source {
            ScalarSource::Value(value) => vec![value as u32, (value >> 32) as u32],
            ScalarSource::Memory { address, bytes, signed } => self.read_scalar(access, address, bytes, signed),
        };
        for n in 0..access.registers {
            let r = access.dst.saturating_add(n).min(127);
            self.w.s_pending &= !(1 << r);
            self.w.set_s(r, words.get(usize::from(n)).copied().unwrap_or(0));
        }
    }

    fn read_scalar(&mut self, access: &ScalarAccess, address: u64, bytes: u32, signed: bool) -> Vec<u32> {
        let len = bytes as usize;
        let mut data = [0_u8; 64];
        if len == 0 {
            return Vec::new();
        }
        match self.env.memory.locate(&mut self.w.cursor, address, len) {
            Ok((index, at)) => {
                let allocation = self.env.memory.allocation(index);
                if self.env.sanitize
                    && let Some(first) = allocation.first_unwritten(at, len)
                {
                    let place = Address {
                        space: Space::Global,
                        address: address + (first - at) as u64,
                        bytes,
                        allocation: Some(allocation.name().to_owned()),
                        offset: first as i64,
                        size: allocation.size(),
                    };
                    let message = "memory is read that nobody wrote".to_owned();
                    self.find(FindingKind::UninitializedRead, access.pc, None, Some(place), None, message);
                }
                self.check_scalar_race(access, (index, at), address, len);
                self.env.memory.allocation(index).read(at, &mut data[..len]);
            }
            Err(miss) => self.find_miss(access.pc, None, Space::Global, address, len, miss),
        }
        if len < 4 && signed && data[len - 1] & 0x80 != 0 {
            data[len..4].fill(0xff);
        }
        data.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    fn check_scalar_race(&mut self, access: &ScalarAccess, place: (usize, usize), address: u64, len: usize) {
        let Some(shadow) = self.env.shadow else { return };
        let site = Site { agent: self.w.id, lane: 0, pc: access.pc / 4 };
        let clock = &self.g.clocks[self.w.id as usize];
        let Some(conflict) = shadow.access(place, len, Action::Read, self.g.linear, site, clock) else { return };
        let [x, y, _] = self.env.grid;
        let allocation = self.env.memory.allocation(place.0);
        let other = OtherAccess {
            action: "write".to_owned(),
            instruction: self.env.instruction(conflict.other.pc * 4),
            agent: Agent {
                program: [conflict.program % x, conflict.program / x % y, conflict.program / x / y],
                warp: u32::from(conflict.other.agent),
                lane: Some(u32::from(conflict.other.lane)),
            },
        };
        let address = Address {
            space: Space::Global,
            address,
            bytes: len as u32,
            allocation: Some(allocation.name().to_owned()),
            offset: place.1 as i64,
            size: allocation.size(),
        };
        let message = "a scalar read and a write of the same bytes without an order between them".to_owned();
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
    ("s_dcache_wb", Class::Sync, |_, _| {}),
    ("s_dcache_wb_vol", Class::Sync, |_, _| {}),
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
