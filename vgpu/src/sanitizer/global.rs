//! The shadow of global memory for one launch: conflicts within a program by its vector clocks, and between programs.
//!
//! Programs of a launch run in any order. Two of them may touch one word, one writing, only when a fence or an atomic with
//! release and acquire orders them. Full clocks across programs would cost more than they find; instead each program counts its
//! releases and acquires ([`ProgramOrder`]), and a conflict is told only when the earlier program has released nothing
//! since its access, or the later one has never acquired. Atomics on both sides never conflict.

use super::{Action, Site, VectorClock};
use crate::memory::Snapshot;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Data bytes whose shadow is allocated at a time.
const PAGE: usize = 4096;

/// How often each program has released and acquired at the scope of the device.
#[derive(Debug, Default)]
pub struct ProgramOrder {
    releases: AtomicU32,
    acquires: AtomicU32,
}

impl ProgramOrder {
    /// Counts a fence or an atomic operation that releases.
    pub fn release(&self) {
        self.releases.fetch_add(1, Relaxed);
    }

    /// Counts a fence or an atomic operation that acquires.
    pub fn acquire(&self) {
        self.acquires.fetch_add(1, Relaxed);
    }
}

/// A conflict with an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalConflict {
    /// The linear index of the program that made it.
    pub program: u32,
    /// Who, in that program.
    pub other: Site,
    /// What it did.
    pub action: Action,
}

/// Two words that describe an access. They are written without a lock, so that a record may be mixed from two accesses of programs that run
/// at the same time: all that tells whether programs conflict is in the first word, which is written last, and what comes from the other
/// access is at worst the place that a finding names.
#[derive(Default)]
struct Record {
    /// Program, bytes of the word, whether it was atomic, wave, releases.
    who: AtomicU64,
    /// Clock, instruction, lane.
    place: AtomicU64,
}

#[derive(Clone, Copy)]
struct Seen {
    program: u32,
    clock: u32,
    site: Site,
    mask: u32,
    atomic: bool,
    releases: u32,
}

const RELEASE_BITS: u32 = 18;

impl Record {
    fn set(&self, seen: Seen) {
        let who = u64::from(seen.program + 1) << 32
            | u64::from(seen.mask) << 28
            | u64::from(seen.atomic) << 27
            | u64::from(seen.site.agent & 0xFF) << 19
            | u64::from(seen.releases & ((1 << RELEASE_BITS) - 1));
        let place =
            u64::from(seen.clock) << 32 | u64::from(seen.site.pc & 0x3F_FFFF) << 6 | u64::from(seen.site.lane & 63);
        self.place.store(place, Relaxed);
        self.who.store(who, Release);
    }

    fn get(&self) -> Option<Seen> {
        let who = self.who.load(Acquire);
        let program = (who >> 32).checked_sub(1)? as u32;
        let place = self.place.load(Relaxed);
        Some(Seen {
            program,
            clock: (place >> 32) as u32,
            site: Site {
                agent: ((who >> 19) & 0xFF) as u16,
                lane: (place & 63) as u8,
                pc: ((place >> 6) & 0x3F_FFFF) as u32,
            },
            mask: ((who >> 28) & 15) as u32,
            atomic: (who >> 27) & 1 == 1,
            releases: (who & ((1 << RELEASE_BITS) - 1)) as u32,
        })
    }
}

/// The last writes and the last reads of a word: of each the latest, and the latest by anyone else or of other bytes before it.
#[derive(Default)]
struct Cell {
    writes: [Record; 2],
    reads: [Record; 2],
}

/// Notes an access as the latest, and keeps the one before it where the new one does not stand for it too.
fn note(records: &[Record; 2], seen: Seen) {
    let [latest, earlier] = records;
    if let Some(before) = latest.get()
        && ((before.program, before.site.agent) != (seen.program, seen.site.agent) || before.mask & !seen.mask != 0)
    {
        earlier.set(before);
    }
    latest.set(seen);
}

type Page = OnceLock<Box<[Cell]>>;

/// The shadow of all global memory, for one launch.
pub struct GlobalShadow {
    allocations: Vec<Box<[Page]>>,
    programs: Vec<ProgramOrder>,
}

impl GlobalShadow {
    /// An empty shadow for a launch of so many programs. Pages come into being when they are touched.
    pub fn new(memory: &Snapshot, programs: usize) -> Self {
        let pages = |size: u64| (0..(size as usize).div_ceil(PAGE)).map(|_| Page::new()).collect();
        let allocations =
            memory.allocations().iter().map(|a| if a.is_freed() { Box::default() } else { pages(a.size()) }).collect();
        Self { allocations, programs: (0..programs).map(|_| ProgramOrder::default()).collect() }
    }

    /// The order counters of a program.
    pub fn program(&self, program: u32) -> &ProgramOrder {
        &self.programs[program as usize]
    }

    /// Records an access of `len` bytes at a place (the allocation and the offset that [`Snapshot::locate`] gave), and tells the first
    /// conflict with an earlier one.
    pub fn access(
        &self,
        (allocation, offset): (usize, usize),
        len: usize,
        action: Action,
        program: u32,
        site: Site,
        clock: &VectorClock,
    ) -> Option<GlobalConflict> {
        let pages = &self.allocations[allocation];
        let order = &self.programs[program as usize];
        let atomic = action.is_atomic();
        let mut conflict = None;
        for word in offset / 4..(offset + len).div_ceil(4) {
            let page = pages.get(word * 4 / PAGE)?;
            let page = page.get_or_init(|| (0..PAGE / 4).map(|_| Cell::default()).collect());
            let cell = &page[word % (PAGE / 4)];
            let low = offset.max(word * 4) - word * 4;
            let high = (offset + len).min(word * 4 + 4) - word * 4;
            let mask = ((1_u32 << high) - 1) & !((1 << low) - 1);
            let races = |seen: &Seen| {
                seen.mask & mask != 0
                    && !(atomic && seen.atomic)
                    && if seen.program == program {
                        seen.site.agent != site.agent && seen.clock > clock.get(seen.site.agent)
                    } else {
                        let released =
                            self.programs[seen.program as usize].releases.load(Relaxed) & ((1 << RELEASE_BITS) - 1);
                        released == seen.releases || order.acquires.load(Relaxed) == 0
                    }
            };
            if conflict.is_none() {
                let told = |seen: Seen, action| GlobalConflict { program: seen.program, other: seen.site, action };
                let first = |records: &[Record; 2]| records.iter().filter_map(Record::get).find(races);
                conflict = first(&cell.writes)
                    .map(|seen| told(seen, if seen.atomic { Action::Atomic } else { Action::Write }));
                if conflict.is_none() && !action.is_read() {
                    conflict = first(&cell.reads).map(|seen| told(seen, Action::Read));
                }
            }
            let seen = Seen {
                program,
                clock: clock.get(site.agent),
                site,
                mask,
                atomic,
                releases: order.releases.load(Relaxed),
            };
            match action {
                Action::Read | Action::AtomicRead => note(&cell.reads, seen),
                Action::Write | Action::Atomic => note(&cell.writes, seen),
            }
        }
        conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Fill, GlobalMemory};

    #[test]
    fn programs_race_unless_a_release_orders_them() -> crate::error::Result<()> {
        let memory = GlobalMemory::default();
        memory.allocate("a", 8192, Fill::Zero)?;
        let shadow = GlobalShadow::new(&memory.snapshot(), 2);
        let clock = VectorClock::of_agent(1, 0);
        let site = |pc| Site { agent: 0, lane: 5, pc };
        let access = |offset, action, program, pc| shadow.access((0, offset), 4, action, program, site(pc), &clock);
        assert_eq!(access(4096, Action::Write, 0, 1), None);
        assert_eq!(access(4096, Action::Write, 0, 2), None);
        assert_eq!(access(4092, Action::Write, 1, 2), None);
        let conflict = access(4096, Action::Read, 1, 3);
        assert_eq!(conflict, Some(GlobalConflict { program: 0, other: site(2), action: Action::Write }));
        assert_eq!(access(0, Action::Atomic, 0, 4), None);
        assert_eq!(access(0, Action::Atomic, 1, 5), None);
        assert!(access(0, Action::Read, 0, 6).is_some());
        // A reader that also writes does not hide the other one.
        assert_eq!(access(64, Action::Read, 0, 6), None);
        assert_eq!(access(64, Action::Read, 1, 6), None);
        let conflict = access(64, Action::Write, 1, 6);
        assert_eq!(conflict, Some(GlobalConflict { program: 0, other: site(6), action: Action::Read }));
        shadow.program(0).release();
        shadow.program(1).acquire();
        assert_eq!(access(4096, Action::Read, 1, 7), None);
        Ok(())
    }

    #[test]
    fn programs_that_run_at_once_do_not_mix_their_bytes() -> crate::error::Result<()> {
        let memory = GlobalMemory::default();
        memory.allocate("a", 4096, Fill::Zero)?;
        let shadow = GlobalShadow::new(&memory.snapshot(), 2);
        let write_own = |program: u32| {
            let clock = VectorClock::of_agent(1, 0);
            let site = Site { agent: 0, lane: program as u8, pc: program };
            let place = (0, program as usize);
            (0..50_000).filter_map(|_| shadow.access(place, 1, Action::Write, program, site, &clock)).next()
        };
        let found = std::thread::scope(|scope| {
            let other = scope.spawn(|| write_own(1));
            write_own(0).or(other.join().ok().flatten())
        });
        assert_eq!(found, None);
        Ok(())
    }
}
