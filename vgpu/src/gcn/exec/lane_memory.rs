//! Bytes of one lane in global memory, the LDS and scratch: where an access falls, and what the sanitizer says of it.

use super::Cx;
use super::access::{Access, Place};
use super::state::HOSTCALL_BUFFER;
use crate::finding::{Address, Agent, FindingKind, OtherAccess, Space};
use crate::gcn::decode::memory::{Act, AtomicOp};
use crate::gcn::inst::{Inst, Kind};
use crate::memory::Miss;
use crate::sanitizer::{Action, GlobalConflict, SharedConflict, Site};

/// What an access does to some bytes.
#[derive(Clone, Copy)]
enum Touch<'a> {
    /// Reads so many.
    Read(usize),
    /// Writes these.
    Write(&'a [u8]),
    /// Reads and writes so many in one.
    Atomic(usize),
}

impl Touch<'_> {
    fn bytes(self) -> usize {
        match self {
            Self::Read(bytes) | Self::Atomic(bytes) => bytes,
            Self::Write(data) => data.len(),
        }
    }

    fn action(self) -> Action {
        match self {
            Self::Read(_) => Action::Read,
            Self::Write(_) => Action::Write,
            Self::Atomic(_) => Action::Atomic,
        }
    }

    /// Whether it writes what is there already: compilers have several waves write one value where they hold copies of it.
    fn leaves(self, old: &[u8]) -> bool {
        matches!(self, Self::Write(new) if new == old)
    }
}

/// Whether it is a compare-and-swap.
fn swaps(act: Act) -> bool {
    matches!(act, Act::Atomic { op: AtomicOp::CmpSwap | AtomicOp::CmpSwapF, .. })
}

impl Cx<'_> {
    pub(super) fn site(&self, access: &Access, lane: usize) -> Site {
        // Instructions are at least four bytes apart.
        Site { agent: self.w.id, lane: lane as u8, pc: access.pc / 4 }
    }

    /// Reads bytes of one lane.
    pub(super) fn read(&mut self, access: &Access, lane: usize, address: u64, out: &mut [u8]) {
        match access.place {
            Place::Global => self.read_global(access, lane, address, out),
            Place::Lds => {
                let Some(at) = self.lds_range(access, lane, address, out.len()) else { return };
                if self.env.sanitize {
                    self.check_lds(access, lane, at, Touch::Read(out.len()));
                }
                out.copy_from_slice(&self.g.lds[at..at + out.len()]);
            }
            Place::Scratch => {
                let Some(at) = self.scratch_range(access, lane, address, out.len()) else { return };
                out.copy_from_slice(&self.w.scratch[at..at + out.len()]);
            }
        }
    }

    /// Writes bytes of one lane.
    pub(super) fn write(&mut self, access: &Access, lane: usize, address: u64, data: &[u8]) {
        match access.place {
            Place::Global => {
                let Some((index, offset)) = self.global_range(access, lane, address, data.len()) else { return };
                self.check_global(access, lane, address, (index, offset), Touch::Write(data));
                self.env.memory.allocation(index).write(offset, data);
            }
            Place::Lds => {
                let Some(at) = self.lds_range(access, lane, address, data.len()) else { return };
                if self.env.sanitize {
                    self.check_lds(access, lane, at, Touch::Write(data));
                }
                self.g.lds[at..at + data.len()].copy_from_slice(data);
            }
            Place::Scratch => {
                let Some(at) = self.scratch_range(access, lane, address, data.len()) else { return };
                self.w.scratch[at..at + data.len()].copy_from_slice(data);
                // What is not defined stays so through scratch: compilers spill whatever is there.
                for (n, written) in self.w.scratch_written[at..at + data.len()].chunks_mut(4).enumerate() {
                    written.fill(access.rows_defined.get(n).is_none_or(|defined| defined >> lane & 1 != 0));
                }
            }
        }
    }

    /// Reads and writes in one. `None` from the closure leaves the value.
    pub(super) fn update(&mut self, access: &Access, lane: usize, bytes: u8, f: impl Fn(u64) -> Option<u64>) -> u64 {
        let len = usize::from(bytes);
        let address = access.address[lane];
        if !address.is_multiple_of(u64::from(bytes)) {
            let message =
                format!("an atomic operation on {bytes} bytes needs an address that is a multiple of {bytes}");
            self.find_address(FindingKind::Misaligned, access, lane, address, len, message);
            return 0;
        }
        match access.place {
            Place::Global => {
                let Some((index, offset)) = self.global_range(access, lane, address, len) else { return 0 };
                if self.env.sanitize
                    && let Some(first) = self.env.memory.allocation(index).first_unwritten(offset, len)
                {
                    let at = address + (first - offset) as u64;
                    let message = "an atomic operation on memory that nobody wrote".to_owned();
                    self.find_address(FindingKind::UninitializedRead, access, lane, at, len, message);
                }
                self.check_global(access, lane, address, (index, offset), Touch::Atomic(len));
                self.env.memory.allocation(index).fetch_update(offset, len, f)
            }
            Place::Lds => {
                let Some(at) = self.lds_range(access, lane, address, len) else { return 0 };
                if self.env.sanitize {
                    self.check_lds(access, lane, at, Touch::Atomic(len));
                }
                let mut buffer = [0; 8];
                buffer[..len].copy_from_slice(&self.g.lds[at..at + len]);
                let old = u64::from_le_bytes(buffer);
                if let Some(new) = f(old) {
                    self.g.lds[at..at + len].copy_from_slice(&new.to_le_bytes()[..len]);
                }
                old
            }
            Place::Scratch => {
                let mut buffer = [0; 8];
                self.read(access, lane, address, &mut buffer[..len]);
                let old = u64::from_le_bytes(buffer);
                if let Some(new) = f(old) {
                    self.write(access, lane, address, &new.to_le_bytes()[..len]);
                }
                old
            }
        }
    }

    fn read_global(&mut self, access: &Access, lane: usize, address: u64, out: &mut [u8]) {
        let Some((index, offset)) = self.global_range(access, lane, address, out.len()) else { return };
        if self.env.sanitize {
            if let Some(first) = self.env.memory.allocation(index).first_unwritten(offset, out.len()) {
                let at = address + (first - offset) as u64;
                let message = "memory is read that nobody wrote".to_owned();
                self.find_address(FindingKind::UninitializedRead, access, lane, at, out.len(), message);
            }
            self.check_global(access, lane, address, (index, offset), Touch::Read(out.len()));
        }
        self.env.memory.allocation(index).read(offset, out);
    }

    /// Where in global memory an access falls; a miss is reported.
    fn global_range(&mut self, access: &Access, lane: usize, address: u64, len: usize) -> Option<(usize, usize)> {
        let align = len.next_power_of_two().min(4) as u64;
        if self.env.sanitize && !address.is_multiple_of(align) {
            let message = format!("an access of {len} bytes needs an address that is a multiple of {align}");
            self.find_address(FindingKind::Misaligned, access, lane, address, len, message);
        }
        match self.env.memory.locate(&mut self.w.cursor, address, len) {
            Ok(place) => Some(place),
            Err(miss) => {
                self.find_miss(access.pc, Some(lane as u32), Space::Global, address, len, miss);
                None
            }
        }
    }

    /// Reports an access that hit no allocation.
    #[cold]
    pub(crate) fn find_miss(&mut self, pc: u32, lane: Option<u32>, space: Space, address: u64, len: usize, miss: Miss) {
        if HOSTCALL_BUFFER.contains(&address) {
            let reason = "calls of the host, as ROCm's `printf` and failed assertions make them by the hidden argument \
                          `hidden_hostcall_buffer`, are not served";
            return self.unsupported_at(pc, reason.to_owned());
        }
        let kind = if miss.freed { FindingKind::UseAfterFree } else { FindingKind::OutOfBounds };
        let message = miss.message(len);
        let address = Address {
            space,
            address,
            bytes: len as u32,
            allocation: miss.allocation,
            offset: miss.offset,
            size: miss.size,
        };
        self.find(kind, pc, lane, Some(address), None, message);
    }

    fn lds_range(&mut self, access: &Access, lane: usize, address: u64, len: usize) -> Option<usize> {
        let size = self.g.lds.len() as u64;
        if address.checked_add(len as u64).is_none_or(|end| end > size) {
            let message = format!("the access is outside the {size} bytes of LDS that the workgroup has");
            self.find_address(FindingKind::OutOfBounds, access, lane, address, len, message);
            return None;
        }
        // What arrives from memory is written word by word.
        let align = match access.act {
            Act::LoadLds { .. } => 4,
            _ if len == 12 => 16,
            _ => len.next_power_of_two().min(16) as u64,
        };
        if self.env.sanitize && !address.is_multiple_of(align) {
            let message = format!("an LDS access of {len} bytes needs an address that is a multiple of {align}");
            self.find_address(FindingKind::Misaligned, access, lane, address, len, message);
        }
        Some(address as usize)
    }

    fn scratch_range(&mut self, access: &Access, lane: usize, address: u64, len: usize) -> Option<usize> {
        let size = u64::from(self.w.scratch_bytes);
        if address.checked_add(len as u64).is_none_or(|end| end > size) {
            let message = format!("the access is outside the {size} bytes of scratch that a work item has");
            self.find_address(FindingKind::OutOfBounds, access, lane, address, len, message);
            return None;
        }
        Some(lane * size as usize + address as usize)
    }

    /// Looks an LDS access up in the shadow.
    fn check_lds(&mut self, access: &Access, lane: usize, at: usize, touch: Touch<'_>) {
        let (len, action) = (touch.bytes(), touch.action());
        let site = self.site(access, lane);
        let agent = self.w.id as usize;
        let Some(shadow) = &mut self.g.lds_shadow else { return };
        let unwritten = if action == Action::Write { None } else { shadow.first_unwritten(at, len) };
        let conflict = shadow.access(at, len, action, site, &self.g.clocks[agent]);
        if let Some(first) = unwritten {
            let message = "LDS is read that no one in the workgroup wrote".to_owned();
            self.find_address(FindingKind::UninitializedRead, access, lane, first as u64, len, message);
        }
        if let Some(conflict) = conflict {
            let same = conflict.action == Action::Write && touch.leaves(&self.g.lds[at..at + len]);
            if !same {
                self.find_shared_race(access, lane, at, len, action, conflict);
            }
        }
    }

    /// Reports an access to bytes of the LDS that the wave itself is still loading.
    #[cold]
    pub(super) fn find_early_lds(&mut self, access: &Access, lane: usize, address: u64, len: usize, load: u32) {
        let other = OtherAccess {
            action: "load into the LDS".to_owned(),
            instruction: self.env.instruction(load),
            agent: Agent { program: self.g.id, warp: u32::from(self.w.id), lane: None },
        };
        let address = self.address(access, address, len);
        let message = "the LDS is accessed where a load into it is outstanding; wait for vmcnt first".to_owned();
        self.find(FindingKind::MissingWaitcnt, access.pc, Some(lane as u32), Some(address), Some(other), message);
    }

    #[cold]
    pub(super) fn find_shared_race(
        &mut self,
        access: &Access,
        lane: usize,
        at: usize,
        len: usize,
        action: Action,
        conflict: SharedConflict,
    ) {
        let other = OtherAccess {
            action: describe(conflict.action).to_owned(),
            instruction: self.env.instruction(conflict.other.pc * 4),
            agent: Agent {
                program: self.g.id,
                warp: u32::from(conflict.other.agent),
                lane: Some(u32::from(conflict.other.lane)),
            },
        };
        let mut address = self.address(access, at as u64, len);
        if let Act::LoadLds { .. } = access.act {
            address = Address {
                space: Space::Shared,
                address: at as u64,
                bytes: len as u32,
                allocation: Some("LDS".to_owned()),
                offset: at as i64,
                size: self.g.lds.len() as u64,
            };
        }
        let message = format!(
            "a {} and a {} of the same bytes by two waves without a barrier and the waits before it between them",
            describe(action),
            describe(conflict.action)
        );
        self.find(FindingKind::SharedRace, access.pc, Some(lane as u32), Some(address), Some(other), message);
    }

    /// Looks a global access up in the shadow.
    fn check_global(&mut self, access: &Access, lane: usize, address: u64, place: (usize, usize), touch: Touch<'_>) {
        let (len, action) = (touch.bytes(), touch.action());
        let Some(shadow) = self.env.shadow else { return };
        let site = self.site(access, lane);
        let clock = &self.g.clocks[self.w.id as usize];
        let Some(conflict) = shadow.access(place, len, action, self.g.linear, site, clock) else { return };
        if conflict.program == self.g.linear && conflict.action == Action::Write {
            let mut old = [0; 16];
            let old = &mut old[..len.min(16)];
            self.env.memory.allocation(place.0).read(place.1, old);
            if touch.leaves(old) {
                return;
            }
        }
        if self.begins_exchange(access, &conflict) {
            return;
        }
        let [x, y, _] = self.env.grid;
        let program = conflict.program;
        let id = [program % x, program / x % y, program / x / y];
        let other = OtherAccess {
            action: describe(conflict.action).to_owned(),
            instruction: self.env.instruction(conflict.other.pc * 4),
            agent: Agent {
                program: id,
                warp: u32::from(conflict.other.agent),
                lane: Some(u32::from(conflict.other.lane)),
            },
        };
        let message = format!(
            "a {} and a {} of the same bytes without an order between them",
            describe(action),
            describe(conflict.action)
        );
        let address = self.address(access, address, len);
        self.find(FindingKind::GlobalRace, access.pc, Some(lane as u32), Some(address), Some(other), message);
    }

    /// Whether of two accesses one is an atomic operation and the other a load with which a loop of compare-and-swap begins. Compilers
    /// make other atomic operations of such loops, and begin them with a plain load: what it reads is compared before it counts.
    fn begins_exchange(&self, access: &Access, conflict: &GlobalConflict) -> bool {
        let other = conflict.other.pc * 4;
        match (access.act, conflict.action) {
            (Act::Load { .. }, Action::Atomic) => {
                self.mem_at(other).is_some_and(|(_, act)| swaps(act)) || self.is_compared(access.pc)
            }
            (act @ Act::Atomic { .. }, Action::Read) => swaps(act) || self.is_compared(other),
            _ => false,
        }
    }

    /// Whether a compare-and-swap at the address that the load at `pc` reads from follows it closely.
    fn is_compared(&self, pc: u32) -> bool {
        // Loops that widen, add and round a small number in between have a few dozen instructions.
        const REACH: usize = 64;
        let Some((load, Act::Load { .. })) = self.mem_at(pc) else { return false };
        let Some(at) = self.env.program.at(u64::from(pc)) else { return false };
        let following = self.env.program.insts.iter().skip(at + 1).take(REACH);
        following
            .filter(|inst| matches!(inst.kind, Kind::Mem(op) if swaps(op.act)))
            .any(|swap| swap.src[0] == load.src[0] && swap.saddr == load.saddr && swap.mem.offset == load.mem.offset)
    }

    /// The memory instruction at an address, and what it does.
    fn mem_at(&self, pc: u32) -> Option<(&Inst, Act)> {
        let inst = self.env.program.insts.get(self.env.program.at(u64::from(pc))?)?;
        match inst.kind {
            Kind::Mem(op) => Some((inst, op.act)),
            _ => None,
        }
    }

    /// An address for a report.
    fn address(&mut self, access: &Access, address: u64, len: usize) -> Address {
        let (space, allocation, offset, size) = match access.place {
            Place::Global => match self.env.memory.locate(&mut self.w.cursor, address, len) {
                Ok((index, offset)) => {
                    let allocation = self.env.memory.allocation(index);
                    (Space::Global, Some(allocation.name().to_owned()), offset as i64, allocation.size())
                }
                Err(miss) => (Space::Global, miss.allocation, miss.offset, miss.size),
            },
            Place::Lds => (Space::Shared, Some("LDS".to_owned()), address as i64, self.g.lds.len() as u64),
            Place::Scratch => {
                (Space::Local, Some("scratch".to_owned()), address as i64, u64::from(self.w.scratch_bytes))
            }
        };
        Address { space, address, bytes: len as u32, allocation, offset, size }
    }

    #[cold]
    fn find_address(
        &mut self,
        kind: FindingKind,
        access: &Access,
        lane: usize,
        address: u64,
        len: usize,
        message: String,
    ) {
        let address = self.address(access, address, len);
        self.find(kind, access.pc, Some(lane as u32), Some(address), None, message);
    }
}

pub(super) fn describe(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Atomic => "atomic operation",
        Action::AtomicRead => "atomic read",
    }
}
