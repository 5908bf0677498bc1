//! Addresses and accesses: generic windows, bounds, alignment, and what the sanitizer notes of each access.

use super::super::decode::Space as Decoded;
use super::super::decode::{AddressBase, AddressOperand};
use super::Cx;
use crate::finding::{Address, FindingKind, OtherAccess, Space};
use crate::sanitizer::{Action, SharedConflict, Site, VectorClock};

/// Generic addresses of shared memory start here. Bits 24 and up of the offset select the program of the cluster: 0 is the
/// executing one, `rank + 1` another.
pub(crate) const SHARED_WINDOW: u64 = 1 << 32;
/// Generic addresses of local memory start here.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 32;
/// Addresses of local memory from here on are those of a function's parameters: taking the address of one gives such an address.
pub(crate) const CALL_PARAMS: u64 = 1 << 24;
/// Generic addresses of the kernel's parameters start here.
pub(crate) const PARAM_WINDOW: u64 = 3 << 32;
/// Addresses of functions start here, 16 apart.
pub(crate) const FUNCTION_WINDOW: u64 = 4 << 32;
/// Bits of an offset within one program's shared memory.
pub(crate) const RANK_SHIFT: u32 = 24;

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Global { allocation: usize, offset: usize },
    Shared { cta: usize, offset: usize },
    Local { offset: usize },
    Param { offset: usize },
    CallParam { offset: usize },
}

impl Place {
    /// The place so many bytes behind.
    pub fn after(self, bytes: usize) -> Self {
        match self {
            Self::Global { allocation, offset } => Self::Global { allocation, offset: offset + bytes },
            Self::Shared { cta, offset } => Self::Shared { cta, offset: offset + bytes },
            Self::Local { offset } => Self::Local { offset: offset + bytes },
            Self::Param { offset } => Self::Param { offset: offset + bytes },
            Self::CallParam { offset } => Self::CallParam { offset: offset + bytes },
        }
    }
}

impl Cx<'_> {
    /// The addresses of all lanes (of lanes that do not execute too).
    #[inline]
    pub fn addresses(&self, operand: &AddressOperand) -> [u64; 32] {
        let offset = operand.offset as u64;
        match operand.base {
            AddressBase::None => [offset; 32],
            AddressBase::Word(slot) => {
                let words = self.warp.registers.w(slot);
                let mut addresses = [0; 32];
                for lane in 0..32 {
                    addresses[lane] = u64::from(words[lane].wrapping_add(offset as u32));
                }
                addresses
            }
            AddressBase::Double(slot) => {
                let mut addresses = *self.warp.registers.d(slot);
                for address in &mut addresses {
                    *address = address.wrapping_add(offset);
                }
                addresses
            }
        }
    }

    /// The space of a generic address, and the address in it.
    fn generic(address: u64) -> (Decoded, u64) {
        match address >> 32 {
            1 => (Decoded::SharedCluster, address & 0xFFFF_FFFF),
            2 => (Decoded::Local, address & 0xFFFF_FFFF),
            3 => (Decoded::EntryParam, address & 0xFFFF_FFFF),
            _ => (Decoded::Global, address),
        }
    }

    /// The program and offset that a shared address means, whether or not it is in bounds.
    pub fn shared_address(&self, address: u64) -> (usize, u64) {
        let address = address & 0xFFFF_FFFF;
        match (address >> RANK_SHIFT) as usize {
            0 => (self.warp.cta, address),
            rank if rank <= self.world.ctas.len() => (rank - 1, address & ((1 << RANK_SHIFT) - 1)),
            _ => (self.warp.cta, address),
        }
    }

    /// Finds out where an access goes, checks it, and reports what is wrong with it.
    #[inline]
    pub fn place(&mut self, space: Decoded, address: u64, bytes: usize, align: usize, lane: usize) -> Option<Place> {
        let (space, local) = match space {
            Decoded::Generic => Self::generic(address),
            space => (space, address),
        };
        if address & (align as u64 - 1) != 0 {
            self.misaligned(space, local, bytes, align, lane);
            return None;
        }
        let within = |size: usize| local <= size as u64 && size as u64 - local >= bytes as u64;
        match space {
            Decoded::Generic | Decoded::Global => match self.l.snapshot.locate(&mut self.warp.cursor, local, bytes) {
                Ok((allocation, offset)) => Some(Place::Global { allocation, offset }),
                Err(_) => {
                    self.missed_global(local, bytes, lane);
                    None
                }
            },
            Decoded::Shared | Decoded::SharedCluster => {
                let (cta, offset) = self.shared_address(local);
                let size = self.world.ctas[cta].shared.len() as u64;
                if cta != self.warp.cta && self.world.ctas[cta].live.iter().all(|&lanes| lanes == 0) {
                    self.exited(cta, offset, bytes, lane);
                    return None;
                }
                if offset <= size && size - offset >= bytes as u64 {
                    Some(Place::Shared { cta, offset: offset as usize })
                } else {
                    self.missed(Space::Shared, offset, bytes, size as usize, lane);
                    None
                }
            }
            Decoded::Local if local >> CALL_PARAMS.trailing_zeros() == 1 => {
                self.place(Decoded::CallParam, local - CALL_PARAMS, bytes, align, lane)
            }
            Decoded::Local => {
                let size = self.l.kernel.local_bytes as usize;
                if within(size) {
                    return Some(Place::Local { offset: local as usize });
                }
                self.missed(Space::Local, local, bytes, size, lane);
                None
            }
            Decoded::EntryParam => {
                let size = self.l.params.len();
                if within(size) {
                    return Some(Place::Param { offset: local as usize });
                }
                self.missed(Space::Param, local, bytes, size, lane);
                None
            }
            Decoded::CallParam => {
                let size = self.l.kernel.call_param_bytes as usize;
                if within(size) {
                    return Some(Place::CallParam { offset: local as usize });
                }
                self.missed(Space::Param, local, bytes, size, lane);
                None
            }
        }
    }

    #[cold]
    fn misaligned(&self, space: Decoded, address: u64, bytes: usize, align: usize, lane: usize) {
        let space = match space {
            Decoded::Generic | Decoded::Global => Space::Global,
            Decoded::Shared | Decoded::SharedCluster => Space::Shared,
            Decoded::Local => Space::Local,
            Decoded::EntryParam | Decoded::CallParam => Space::Param,
        };
        let address = self.describe(space, address, bytes);
        let message = format!("the address {:#x} is not a multiple of {align}", address.address);
        self.find(FindingKind::Misaligned, Some(lane), Some(address), None, message);
    }

    #[cold]
    fn exited(&self, cta: usize, offset: u64, bytes: usize, lane: usize) {
        let address = self.describe(Space::Shared, offset, bytes);
        let message = format!(
            "the shared memory of program {:?} of the cluster, which has exited: a barrier.cluster must keep it alive",
            self.world.ctas[cta].id
        );
        self.find(FindingKind::UseAfterFree, Some(lane), Some(address), None, message);
    }

    #[cold]
    fn missed(&self, space: Space, address: u64, bytes: usize, size: usize, lane: usize) {
        let message = format!("{bytes} bytes at offset {address:#x} of {size} bytes of {space} memory");
        let address = self.describe(space, address, bytes);
        self.find(FindingKind::OutOfBounds, Some(lane), Some(address), None, message);
    }

    #[cold]
    fn missed_global(&self, address: u64, bytes: usize, lane: usize) {
        let described = self.describe(Space::Global, address, bytes);
        let located = self.l.snapshot.locate(&mut crate::memory::Cursor::default(), address, bytes);
        let Err(miss) = located else { return };
        let kind = if miss.freed { FindingKind::UseAfterFree } else { FindingKind::OutOfBounds };
        self.find(kind, Some(lane), Some(described), None, miss.message(bytes));
    }

    /// An address for people.
    #[cold]
    pub fn describe(&self, space: Space, address: u64, bytes: usize) -> Address {
        let mut allocation = None;
        let mut offset = address as i64;
        let size;
        match space {
            Space::Global => {
                let snapshot = &self.l.snapshot;
                match snapshot.locate(&mut crate::memory::Cursor::default(), address, 1) {
                    Ok((index, at)) => {
                        allocation = Some(snapshot.allocation(index).name().to_owned());
                        offset = at as i64;
                        size = snapshot.allocation(index).size();
                    }
                    Err(miss) => {
                        allocation = miss.allocation;
                        offset = miss.offset;
                        size = miss.size;
                    }
                }
            }
            Space::Shared => {
                let names = &self.l.kernel.shared_names;
                let named = names
                    .iter()
                    .find(|(_, start, size)| (u64::from(*start)..u64::from(start + size)).contains(&address));
                if let Some((name, start, bytes)) = named {
                    (allocation, offset, size) =
                        (Some(name.clone()), address as i64 - i64::from(*start), u64::from(*bytes));
                } else {
                    size = self.world.ctas[self.warp.cta].shared.len() as u64;
                }
            }
            Space::Local => size = self.l.kernel.local_bytes.into(),
            Space::Param | Space::Constant => size = self.l.params.len() as u64,
        }
        Address { space, address, bytes: bytes as u32, allocation, offset, size }
    }

    /// Reads bytes.
    #[inline]
    pub fn read(&self, place: Place, lane: usize, out: &mut [u8]) {
        let from =
            |bytes: &[u8], offset: usize, out: &mut [u8]| out.copy_from_slice(&bytes[offset..offset + out.len()]);
        match place {
            Place::Global { allocation, offset } => self.l.snapshot.allocation(allocation).read(offset, out),
            Place::Shared { cta, offset } => from(&self.world.ctas[cta].shared, offset, out),
            Place::Local { offset } => {
                from(&self.warp.local, lane * self.l.kernel.local_bytes as usize + offset, out);
            }
            Place::Param { offset } => from(&self.l.params, offset, out),
            Place::CallParam { offset } => {
                from(&self.warp.call_params, lane * self.l.kernel.call_param_bytes as usize + offset, out);
            }
        }
    }

    /// Writes bytes.
    #[inline]
    pub fn write(&mut self, place: Place, lane: usize, data: &[u8]) {
        let to = |bytes: &mut [u8], offset: usize| bytes[offset..offset + data.len()].copy_from_slice(data);
        match place {
            Place::Global { allocation, offset } => self.l.snapshot.allocation(allocation).write(offset, data),
            Place::Shared { cta, offset } => to(&mut self.world.ctas[cta].shared, offset),
            Place::Local { offset } => to(&mut self.warp.local, lane * self.l.kernel.local_bytes as usize + offset),
            Place::Param { .. } => {
                self.find(FindingKind::OutOfBounds, Some(lane), None, None, "the kernel's parameters are read-only");
            }
            Place::CallParam { offset } => {
                to(&mut self.warp.call_params, lane * self.l.kernel.call_param_bytes as usize + offset);
            }
        }
    }

    /// Notes an access for the sanitizer, before it is made. `new` is what a write will write: a conflict between two writes of
    /// the same value in one program is let pass: compilers have several warps write one value where they hold copies of it.
    #[inline]
    pub fn note(&mut self, place: Place, bytes: usize, action: Action, lane: usize, new: Option<&[u8]>) {
        if self.l.sanitize {
            match place {
                Place::Global { allocation, offset } => self.note_global(allocation, offset, bytes, action, lane, new),
                Place::Shared { cta, offset } => self.note_shared(cta, offset, bytes, action, lane, new),
                _ => {}
            }
        }
    }

    fn site(&self, lane: usize) -> Site {
        Site { agent: self.warp.agent, lane: lane as u8, pc: self.pc }
    }

    fn note_global(
        &mut self,
        allocation: usize,
        offset: usize,
        bytes: usize,
        action: Action,
        lane: usize,
        new: Option<&[u8]>,
    ) {
        let memory = self.l.snapshot.allocation(allocation);
        if action != Action::Write
            && let Some(first) = memory.first_unwritten(offset, bytes)
        {
            let address = self.describe(Space::Global, memory.base() + offset as u64, bytes);
            let message = format!("byte {first} of `{}` was never written", memory.name());
            self.find(FindingKind::UninitializedRead, Some(lane), Some(address), None, message);
        }
        let Some(shadow) = &self.l.shadow else { return };
        let program = self.world.ctas[self.warp.cta].linear;
        let site = self.site(lane);
        let conflict = shadow.access((allocation, offset), bytes, action, program, site, &self.warp.order.clock);
        if let Some(conflict) = conflict {
            if conflict.program == program
                && conflict.action == Action::Write
                && action == Action::Write
                && new.is_some_and(|new| self.same_global(allocation, offset, new))
            {
                return;
            }
            let address = self.describe(Space::Global, memory.base() + offset as u64, bytes);
            // Agents of other clusters have the same numbers: only the program is another.
            let warp = u32::from(conflict.other.agent) % self.world.warps_per_cta as u32;
            let other = OtherAccess {
                action: describe_action(conflict.action).to_owned(),
                instruction: self.l.instruction(conflict.other.pc),
                agent: crate::finding::Agent {
                    program: self.l.program(conflict.program),
                    warp,
                    lane: Some(conflict.other.lane.into()),
                },
            };
            let message = if conflict.program == program {
                "two warps of a program access it without a barrier in between"
            } else {
                "two programs access it, and nothing orders them"
            };
            self.find(FindingKind::GlobalRace, Some(lane), Some(address), Some(other), message);
        }
    }

    fn same_global(&self, allocation: usize, offset: usize, new: &[u8]) -> bool {
        let mut old = [0; 64];
        let old = &mut old[..new.len().min(64)];
        self.l.snapshot.allocation(allocation).read(offset, old);
        *old == new[..old.len()]
    }

    fn note_shared(
        &mut self,
        cta: usize,
        offset: usize,
        bytes: usize,
        action: Action,
        lane: usize,
        new: Option<&[u8]>,
    ) {
        self.check_in_flight(cta, offset, bytes, action, lane);
        let site = self.site(lane);
        let state = &mut self.world.ctas[cta];
        let Some(shadow) = &mut state.shadow else {
            return;
        };
        let unwritten = if action == Action::Write { None } else { shadow.first_unwritten(offset, bytes) };
        let conflict = shadow.access(offset, bytes, action, site, &self.warp.order.clock);
        if let Some(conflict) = conflict {
            let same = conflict.action == Action::Write
                && action == Action::Write
                && new.is_some_and(|new| state.shared[offset..offset + new.len()] == *new);
            if !same {
                self.race(offset, bytes, lane, conflict);
            }
        }
        if let Some(first) = unwritten {
            self.unwritten(offset, bytes, lane, first);
        }
    }

    /// Notes that an asynchronous operation of the warp reads shared memory from now on, by the reader's clock.
    pub fn note_reader(&mut self, cta: usize, offset: usize, bytes: usize, clock: &VectorClock) {
        self.check_in_flight(cta, offset, bytes, Action::Read, 0);
        let site = Site { agent: self.world.reader_agent(self.warp.agent), lane: 0, pc: self.pc };
        let Some(shadow) = &mut self.world.ctas[cta].shadow else { return };
        let unwritten = shadow.first_unwritten(offset, bytes);
        if let Some(conflict) = shadow.access(offset, bytes, Action::Read, site, clock) {
            self.race(offset, bytes, 0, conflict);
        }
        if let Some(first) = unwritten {
            self.unwritten(offset, bytes, 0, first);
        }
    }

    /// What the warp knows, and the next instant of its asynchronous reader.
    pub fn next_reader(&mut self) -> (VectorClock, u32) {
        let agent = self.warp.agent;
        let time = self.world.start_reading(agent, &self.warp.order.clock);
        let mut clock = self.warp.order.clock.clone();
        clock.advance(self.world.reader_agent(agent), time);
        (clock, time)
    }

    #[cold]
    fn unwritten(&self, offset: usize, bytes: usize, lane: usize, first: usize) {
        let address = self.describe(Space::Shared, offset as u64, bytes);
        let message = format!("the byte at {first:#x} of shared memory was never written");
        self.find(FindingKind::UninitializedRead, Some(lane), Some(address), None, message);
    }

    /// Reports a race in shared memory.
    #[cold]
    fn race(&self, offset: usize, bytes: usize, lane: usize, conflict: SharedConflict) {
        let agent = conflict.other.agent;
        let engine = self.world.engine_agent();
        let (kind, message) = self.world.conflict(self.l, &conflict, &self.warp.order.clock);
        let other = OtherAccess {
            action: match (agent >= engine, conflict.action) {
                (true, Action::Read) => "asynchronous read".to_owned(),
                (true, _) => "asynchronous write".to_owned(),
                (false, action) => describe_action(action).to_owned(),
            },
            instruction: self.l.instruction(conflict.other.pc),
            agent: self.world.agent(agent, Some(conflict.other.lane.into())),
        };
        let address = self.describe(Space::Shared, offset as u64, bytes);
        self.find(kind, Some(lane), Some(address), Some(other), format!("{message}{}", self.unanswered()));
    }

    /// Reports an access to memory that an asynchronous copy has still to write.
    #[inline]
    fn check_in_flight(&self, cta: usize, offset: usize, bytes: usize, action: Action, lane: usize) {
        let words = &self.world.ctas[cta].in_flight[offset / 4..(offset + bytes).div_ceil(4)];
        if let Some(&copy) = words.iter().find(|&&copy| copy != 0) {
            self.touched_in_flight(offset, bytes, action, lane, copy);
        }
    }

    #[cold]
    fn touched_in_flight(&self, offset: usize, bytes: usize, action: Action, lane: usize, copy: u32) {
        let (agent, pc) = self.world.copies[copy as usize - 1];
        let other = OtherAccess {
            action: "asynchronous copy".to_owned(),
            instruction: self.l.instruction(pc),
            agent: self.world.agent(agent, None),
        };
        let address = self.describe(Space::Shared, offset as u64, bytes);
        let verb = if action.is_read() { "read" } else { "written" };
        let message = format!("it is {verb} before the copy that writes it was waited for{}", self.unanswered());
        self.find(FindingKind::AsyncNotWaited, Some(lane), Some(address), Some(other), message);
    }

    /// A hint at a wait of the warp that failed and was not repeated.
    #[cold]
    fn unanswered(&self) -> String {
        self.warp.polls.unanswered().map_or_else(String::new, |pc| {
            format!(
                "; the wait at {} gave false, as it may at any time, and was not repeated until it gave true",
                self.l.location(pc)
            )
        })
    }

    /// Marks words as the destination of a copy on its way (by its number), or (with 0) as arrived.
    pub fn set_in_flight(&mut self, cta: usize, offset: usize, bytes: usize, copy: u32) {
        if bytes > 0 {
            self.world.ctas[cta].in_flight[offset / 4..(offset + bytes).div_ceil(4)].fill(copy);
        }
    }
}

fn describe_action(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Atomic => "atomic",
        Action::AtomicRead => "atomic read",
    }
}
