//! A vector memory access, and what it does when it happens: bytes, checks, counters.

use super::Cx;
use super::atomic;
use super::queue::Counter;
use super::state::Lanes;
use crate::counters::{bank_conflicts, sectors};
use crate::finding::FindingKind;
use crate::gcn::decode::memory::{Act, Half};
use crate::sanitizer::Action;

/// Which memory the addresses are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Global,
    Lds,
    /// A lane's own scratch, by offset.
    Scratch,
}

/// An access by the lanes of a wave.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub pc: u32,
    pub act: Act,
    pub place: Place,
    /// Lanes that take part.
    pub mask: u64,
    pub address: [u64; 64],
    /// The second address of paired LDS accesses.
    pub address2: Option<Box<[u64; 64]>>,
    /// Bytes from the address on that are in range of a buffer; beyond them loads give zero and stores do nothing.
    pub limit: Option<Box<[u8; 64]>>,
    /// What is stored, or the operands of an atomic, by register.
    pub data: Vec<Lanes>,
    /// Lanes whose data are defined.
    pub data_defined: u64,
    /// The same for each register of the data: compilers spill pairs of which they need one.
    pub rows_defined: Vec<u64>,
    /// The first register of the result.
    pub dst: Option<u16>,
    pub dst_regs: u8,
    /// Where data go that are loaded into the LDS: for lane 0.
    pub lds_base: u32,
    /// Component formats of typed buffer accesses.
    pub format: super::buffer_format::Format,
    /// Which of them typed accesses take.
    pub select: super::buffer_format::Selection,
    /// It is ordered with other programs at the device's scope.
    pub device_scope: bool,
}

impl Access {
    /// An access with everything but addresses and data left out.
    pub(crate) fn new(pc: u32, act: Act, place: Place, mask: u64) -> Self {
        Self {
            pc,
            act,
            place,
            mask,
            address: [0; 64],
            address2: None,
            limit: None,
            data: Vec::new(),
            data_defined: u64::MAX,
            rows_defined: Vec::new(),
            dst: None,
            dst_regs: 0,
            lds_base: 0,
            format: Default::default(),
            select: Default::default(),
            device_scope: false,
        }
    }
}

/// The set bits of a mask, lowest first.
pub(crate) fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

impl Cx<'_> {
    /// Makes the destination's content useless, and looks for loads into it that are outstanding already.
    pub(crate) fn poison(&mut self, counter: Counter, access: &Access) {
        let Some(dst) = access.dst else { return };
        for r in dst as usize..dst as usize + usize::from(access.dst_regs) {
            // Loads that count in one counter return in order: the later one wins, as the program says.
            if self.w.v_pending[r] & access.mask == 0 {
                continue;
            }
            self.w.queues.overlapping = true;
            if self.w.queues.loads_elsewhere(counter, r as u16, access.mask) {
                self.find(
                    FindingKind::MissingWaitcnt,
                    access.pc,
                    None,
                    None,
                    None,
                    format!(
                        "a second load into {} is issued while one is outstanding",
                        super::registers::register_name(r as u16)
                    ),
                );
            }
        }
        self.mark_outstanding(access);
    }

    /// Marks the destination as outstanding.
    pub(super) fn mark_outstanding(&mut self, access: &Access) {
        let Some(dst) = access.dst else { return };
        for r in dst as usize..dst as usize + usize::from(access.dst_regs) {
            self.w.v_pending[r] |= access.mask;
            // One finding is enough: who reads it early is told of the missing wait.
            self.w.v_defined[r] |= access.mask;
            // What a partial load leaves alone stays readable only after it, too.
            if !keeps_half(access.act) {
                for lane in lanes(access.mask) {
                    self.w.v[r][lane] = 0x7fff_dead;
                }
            }
        }
    }

    /// Writes a result, register `part`, in the access's lanes.
    fn deliver(&mut self, access: &Access, part: u8, values: &Lanes, mask: u64, defined: u64) {
        let Some(dst) = access.dst else { return };
        self.deliver_register(dst + u16::from(part), values, mask, defined);
    }

    /// Writes a register in some lanes with what was loaded.
    pub(super) fn deliver_register(&mut self, register: u16, values: &Lanes, mask: u64, defined: u64) {
        let r = usize::from(register);
        for lane in lanes(mask) {
            self.w.v[r][lane] = values[lane];
        }
        self.arrived(register, mask);
        self.w.v_defined[r] = self.w.v_defined[r] & !mask | mask & defined;
    }

    /// Tells the LDS's shadow of an access that is outstanding and may happen now.
    pub(super) fn announce(&mut self, access: &Access) {
        if let Act::LoadLds { bytes, .. } = access.act {
            let step = usize::from(bytes.max(4));
            for lane in lanes(access.mask) {
                self.announce_range(
                    access,
                    lane,
                    u64::from(access.lds_base) + (lane * step) as u64,
                    step,
                    Action::Write,
                );
            }
        } else if access.place == Place::Lds {
            let (len, actions): (u8, &[Action]) = match access.act {
                Act::Load { bytes, .. } | Act::Load2 { bytes, .. } => (bytes, &[Action::Read]),
                Act::Store { bytes, .. } | Act::Store2 { bytes, .. } => (bytes, &[Action::Write]),
                Act::Exchange2 { bytes, .. } => (bytes, &[Action::Read, Action::Write]),
                Act::Atomic { bytes, .. } => (bytes, &[Action::Atomic]),
                Act::LoadLane => (4, &[Action::Read]),
                Act::StoreLane => (4, &[Action::Write]),
                _ => return,
            };
            for address in std::iter::once(&access.address).chain(access.address2.as_deref()) {
                for lane in lanes(access.mask) {
                    for &action in actions {
                        self.announce_range(access, lane, address[lane], usize::from(len), action);
                    }
                }
            }
        }
    }

    fn announce_range(&mut self, access: &Access, lane: usize, address: u64, len: usize, action: Action) {
        if address.checked_add(len as u64).is_none_or(|end| end > self.g.lds.len() as u64) {
            // It is told when it happens.
            return;
        }
        let site = self.site(access, lane);
        let agent = self.w.id as usize;
        let Some(shadow) = &mut self.g.lds_shadow else { return };
        let at = address as usize;
        if let Some(conflict) = shadow.announce(at, len, action, site, &self.g.clocks[agent]) {
            self.find_shared_race(access, lane, at, len, action, conflict);
        }
    }

    /// Does what the access does.
    pub(crate) fn complete(&mut self, access: &Access) {
        self.count_access(access);
        match access.act {
            Act::Load { bytes, signed, half } => self.complete_load(access, bytes, signed, half),
            Act::Store { bytes, high } => self.complete_store(access, bytes, high),
            Act::Atomic { op, bytes } => self.complete_atomic(access, op, bytes),
            Act::LoadLds { bytes, signed } => self.complete_load_lds(access, bytes, signed),
            Act::Load2 { bytes, .. } | Act::Exchange2 { bytes, .. } => self.complete_load2(access, bytes),
            Act::Store2 { bytes, .. } => self.complete_store2(access, bytes),
            Act::LoadTranspose(how) => self.complete_transpose(access, how),
            Act::LoadFormat { .. } => self.complete_load_format(access),
            Act::StoreFormat { .. } => self.complete_store_format(access),
            Act::LoadLane => self.complete_load(access, 4, false, Half::Whole),
            Act::StoreLane => self.complete_store(access, 4, false),
            Act::Swizzle | Act::Permute | Act::Bpermute { .. } => {
                // The values were taken at issue; only their delivery was outstanding.
                if let Some(values) = access.data.first() {
                    self.deliver(access, 0, values, access.mask, access.data_defined);
                }
            }
            Act::Append | Act::Consume => self.complete_append(access),
        }
    }

    fn count_access(&mut self, access: &Access) {
        let (bytes, is_load) = match access.act {
            Act::Load { bytes, .. } | Act::LoadLds { bytes, .. } => (u32::from(bytes), true),
            Act::Store { bytes, .. } => (u32::from(bytes), false),
            Act::Load2 { bytes, .. } => (u32::from(bytes), true),
            Act::Store2 { bytes, .. } => (u32::from(bytes), false),
            Act::Atomic { bytes, .. } => (u32::from(bytes), false),
            _ => return,
        };
        let mask = access.mask
            & access
                .limit
                .as_ref()
                .map_or(u64::MAX, |limit| (0..64).fold(0, |mask, lane| mask | u64::from(limit[lane] != 0) << lane));
        let active = mask.count_ones();
        match access.place {
            Place::Global => {
                let touched = sectors(lanes(mask).map(|lane| access.address[lane]), bytes);
                let counters = &mut self.g.counters;
                if is_load {
                    counters.global_load_sectors += touched;
                    counters.global_load_bytes += u64::from(bytes * active);
                } else {
                    counters.global_store_sectors += touched;
                    counters.global_store_bytes += u64::from(bytes * active);
                }
                if let Act::LoadLds { .. } = access.act {
                    counters.async_copy_bytes += u64::from(bytes * active);
                }
            }
            Place::Lds => {
                self.g.counters.shared_accesses += 1;
                for address in std::iter::once(&access.address).chain(access.address2.as_deref()) {
                    let of = |lane: usize| (mask >> lane & 1 != 0).then(|| address[lane]);
                    let addresses: [Option<u64>; 64] = std::array::from_fn(of);
                    self.g.counters.bank_conflict_cycles += bank_conflicts(&addresses, bytes);
                }
            }
            Place::Scratch => {}
        }
    }

    fn complete_load(&mut self, access: &Access, bytes: u8, signed: bool, half: Half) {
        let registers = bytes.div_ceil(4);
        let mut out = [[0_u32; 64]; 4];
        let len = usize::from(bytes);
        for lane in lanes(access.mask) {
            let mut buffer = [0; 16];
            let limit = access.limit.as_ref().map_or(len, |limit| usize::from(limit[lane]).min(len));
            if limit > 0 {
                self.read(access, lane, access.address[lane], &mut buffer[..limit]);
            }
            for (part, row) in out.iter_mut().take(usize::from(registers)).enumerate() {
                let at = part * 4;
                row[lane] = u32::from_le_bytes([buffer[at], buffer[at + 1], buffer[at + 2], buffer[at + 3]]);
            }
            if bytes < 4 && signed {
                let up = 32 - 8 * u32::from(bytes);
                out[0][lane] = ((out[0][lane] << up) as i32 >> up) as u32;
            }
        }
        if half != Half::Whole {
            self.merge_half(access, &mut out[0], half);
        }
        for part in 0..registers {
            let defined = self.loaded_defined(access, part, bytes);
            self.deliver(access, part, &out[usize::from(part)], access.mask, defined);
        }
    }

    /// Lanes in which register `part` of a load's result is defined. Of global memory and LDS reads of what nobody wrote are findings
    /// themselves; scratch passes on what it holds.
    fn loaded_defined(&mut self, access: &Access, part: u8, bytes: u8) -> u64 {
        if access.place != Place::Scratch {
            return u64::MAX;
        }
        let size = self.w.scratch_bytes as usize;
        let len = usize::from(bytes).min(4);
        let mut defined = u64::MAX;
        for lane in lanes(access.mask) {
            let at = access.address[lane] as usize + usize::from(part) * 4;
            if at + len <= size && !self.w.scratch_written[lane * size + at..][..len].iter().any(|&written| written) {
                defined &= !(1 << lane);
            }
        }
        defined
    }

    /// Combines a 16-bit result with the other half of the destination.
    fn merge_half(&self, access: &Access, values: &mut Lanes, half: Half) {
        let Some(dst) = access.dst else { return };
        let old = &self.w.v[dst as usize];
        for lane in 0..64 {
            values[lane] = match half {
                Half::High => old[lane] & 0xffff | values[lane] << 16,
                _ => old[lane] & 0xffff_0000 | values[lane] & 0xffff,
            };
        }
    }

    fn complete_store(&mut self, access: &Access, bytes: u8, high: bool) {
        let len = usize::from(bytes);
        self.check_data(access);
        for lane in lanes(access.mask) {
            let mut buffer = [0; 16];
            for (part, row) in access.data.iter().enumerate().take(4) {
                let value = if high { row[lane] >> 16 } else { row[lane] };
                buffer[part * 4..part * 4 + 4].copy_from_slice(&value.to_le_bytes());
            }
            let limit = access.limit.as_ref().map_or(len, |limit| usize::from(limit[lane]).min(len));
            if limit > 0 {
                self.write(access, lane, access.address[lane], &buffer[..limit]);
            }
        }
    }

    /// Data that nobody defined may not leave the wave.
    pub(super) fn check_data(&mut self, access: &Access) {
        let undefined = access.mask & !access.data_defined;
        if undefined != 0 && self.env.sanitize && access.place != Place::Scratch {
            self.find(
                FindingKind::UninitializedRegister,
                access.pc,
                Some(undefined.trailing_zeros()),
                None,
                None,
                "what is stored comes from a register that nobody wrote".to_owned(),
            );
        }
    }

    fn complete_atomic(&mut self, access: &Access, op: crate::gcn::decode::memory::AtomicOp, bytes: u8) {
        self.check_data(access);
        let words = usize::from(bytes / 4);
        let operand = |lane: usize, first: usize| -> u64 {
            let word = |n: usize| access.data.get(n).map_or(0, |row| u64::from(row[lane]));
            word(first) | if words == 2 { word(first + 1) << 32 } else { 0 }
        };
        let mut out = [[0_u32; 64]; 2];
        for lane in lanes(access.mask) {
            if access.limit.as_ref().is_some_and(|limit| limit[lane] < bytes) {
                continue;
            }
            let (data, compare) = (operand(lane, 0), operand(lane, words));
            let old = self.update(access, lane, bytes, |old| atomic::apply(op, bytes, old, data, compare));
            out[0][lane] = old as u32;
            out[1][lane] = (old >> 32) as u32;
        }
        if access.dst.is_some() {
            for (part, row) in out.iter().enumerate().take(words) {
                self.deliver(access, part as u8, row, access.mask, u64::MAX);
            }
        }
    }

    fn complete_load_lds(&mut self, access: &Access, bytes: u8, signed: bool) {
        let len = usize::from(bytes);
        // A lane's place: sub-dword loads take a dword each, wider ones what they load.
        let step = len.max(4);
        let mut to = Access::new(access.pc, access.act, Place::Lds, access.mask);
        to.device_scope = access.device_scope;
        for lane in lanes(access.mask) {
            let mut buffer = [0; 16];
            let limit = access.limit.as_ref().map_or(len, |limit| usize::from(limit[lane]).min(len));
            if limit > 0 {
                self.read(access, lane, access.address[lane], &mut buffer[..limit]);
            }
            if len < 4 && signed && buffer[len - 1] & 0x80 != 0 {
                buffer[len..4].fill(0xff);
            }
            self.write(&to, lane, u64::from(access.lds_base) + (lane * step) as u64, &buffer[..step]);
        }
    }

    fn complete_load2(&mut self, access: &Access, bytes: u8) {
        let len = usize::from(bytes);
        let words = bytes / 4;
        let exchange = matches!(access.act, Act::Exchange2 { .. });
        if exchange {
            self.check_data(access);
        }
        let second = access.address2.as_deref().unwrap_or(&access.address);
        for (pair, address) in [&access.address, second].into_iter().enumerate() {
            let mut out = [[0_u32; 64]; 2];
            for lane in lanes(access.mask) {
                let mut buffer = [0; 8];
                self.read(access, lane, address[lane], &mut buffer[..len]);
                for (part, row) in out.iter_mut().take(usize::from(words)).enumerate() {
                    let at = part * 4;
                    row[lane] = u32::from_le_bytes([buffer[at], buffer[at + 1], buffer[at + 2], buffer[at + 3]]);
                }
            }
            if exchange {
                self.store_pair(access, pair, address, len);
            }
            for part in 0..words {
                self.deliver(access, pair as u8 * words + part, &out[usize::from(part)], access.mask, u64::MAX);
            }
        }
    }

    fn store_pair(&mut self, access: &Access, pair: usize, address: &[u64; 64], len: usize) {
        let words = len / 4;
        for lane in lanes(access.mask) {
            let mut buffer = [0; 8];
            for part in 0..words {
                if let Some(row) = access.data.get(pair * words + part) {
                    buffer[part * 4..part * 4 + 4].copy_from_slice(&row[lane].to_le_bytes());
                }
            }
            self.write(access, lane, address[lane], &buffer[..len]);
        }
    }

    fn complete_store2(&mut self, access: &Access, bytes: u8) {
        self.check_data(access);
        let second = access.address2.as_deref().unwrap_or(&access.address);
        for (pair, address) in [&access.address, second].into_iter().enumerate() {
            self.store_pair(access, pair, address, usize::from(bytes));
        }
    }

    /// The wave's append counter in the LDS: all lanes add or subtract one, and get the value before.
    fn complete_append(&mut self, access: &Access) {
        let count = u64::from(access.mask.count_ones());
        let append = access.act == Act::Append;
        let Some(first) = lanes(access.mask).next() else { return };
        let old = self.update(access, first, 4, |old| Some(if append { old + count } else { old.wrapping_sub(count) }));
        let value = if append { old } else { old.wrapping_sub(count) } as u32;
        self.deliver(access, 0, &[value; 64], access.mask, u64::MAX);
    }

    /// Delivers what a transposing or converting load worked out.
    pub(super) fn deliver_rows(&mut self, access: &Access, rows: &[Lanes]) {
        for (part, row) in rows.iter().enumerate() {
            self.deliver(access, part as u8, row, access.mask, u64::MAX);
        }
    }
}

/// Whether a load leaves part of its destination alone.
fn keeps_half(act: Act) -> bool {
    match act {
        Act::Load { half, .. } => half != Half::Whole,
        Act::LoadFormat { high, .. } => high,
        _ => false,
    }
}
