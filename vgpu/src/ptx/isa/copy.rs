//! `cp.async`: asynchronous copies by threads, their groups, and their arrival on memory barriers.
//!
//! In strict mode a copy happens when it is waited for: its source is read then, and its destination holds poison until then.

use super::Op;
use crate::counters::sectors;
use crate::error::Result;
use crate::memory::POISON;
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::launch::Launched;
use crate::ptx::exec::memory::Place;
use crate::ptx::exec::state::World;
use crate::ptx::exec::warp::Warp;
use crate::ptx::exec::{Cx, Resumed, Step};
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};
use crate::sanitizer::Action;

/// What is queued for a lane.
#[derive(Clone, Copy, Debug)]
enum Work {
    Copy { cta: usize, offset: usize, from: Option<Place>, bytes: u8, source_bytes: u8, copy: u32 },
    Arrive { cta: usize, offset: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Item {
    lane: u8,
    group: u32,
    pc: u32,
    work: Work,
}

/// The copies of a warp that have not happened.
#[derive(Debug, Default)]
pub(crate) struct CopyQueue {
    items: Vec<Item>,
    /// Groups committed so far, by lane.
    groups: [u32; 32],
    arrivals: usize,
    bytes: u64,
}

/// A `cp.async` instruction.
pub(crate) enum CopyOp {
    Copy {
        to: AddressOperand,
        from: AddressOperand,
        from_space: Space,
        bytes: u8,
        source_bytes: u32,
        ignore: Option<(u32, bool)>,
    },
    Commit,
    /// Wait until at most so many groups are left; with none given, for all copies, committed or not.
    Wait {
        left: Option<u32>,
    },
    Arrive {
        space: Space,
        address: AddressOperand,
        increment: bool,
    },
}

impl CopyOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        match self {
            Self::Copy { to, from, from_space, bytes, source_bytes, ignore } => {
                let (to, from) = (cx.addresses(to), cx.addresses(from));
                let ignored = ignore.map_or(0, |(slot, negated)| {
                    let p = cx.warp.registers.p(slot);
                    if negated { !p } else { p }
                });
                self.issue(cx, &to, &from, *from_space, *bytes, *source_bytes, ignored);
            }
            Self::Commit => {
                for lane in cx.lanes() {
                    cx.warp.copies.groups[lane] += 1;
                }
            }
            Self::Wait { left } => {
                let groups = cx.warp.copies.groups;
                let mask = cx.mask;
                let due = |item: &Item| {
                    (mask >> item.lane) & 1 == 1
                        && left.is_none_or(|left| item.group + left < groups[item.lane as usize])
                };
                cx.complete_copies(due);
            }
            Self::Arrive { space, address, increment } => {
                let addresses = cx.addresses(address);
                for lane in cx.lanes() {
                    let Some((cta, offset)) = cx.memory_barrier(*space, addresses[lane], lane) else {
                        continue;
                    };
                    if *increment && let Some(barrier) = cx.world.ctas[cta].memory_barriers.get_mut(&offset) {
                        barrier.pending += 1;
                    }
                    let group = cx.warp.copies.groups[lane];
                    let item = Item { lane: lane as u8, group, pc: cx.pc, work: Work::Arrive { cta, offset } };
                    cx.warp.copies.items.push(item);
                    cx.warp.copies.arrivals += 1;
                }
                if !cx.l.launch.strict {
                    cx.complete_copies(|_| true);
                }
            }
        }
        Ok(Step::Next)
    }

    #[allow(clippy::too_many_arguments)]
    fn issue(
        &self,
        cx: &mut Cx,
        to: &[u64; 32],
        from: &[u64; 32],
        from_space: Space,
        bytes: u8,
        source_bytes: u32,
        ignored: u32,
    ) {
        let lanes = u64::from(cx.mask.count_ones());
        cx.warp.counters.async_copy_bytes += lanes * u64::from(bytes);
        let mask = cx.mask;
        let active = (0..32).filter(|lane| (mask >> lane) & 1 == 1).map(|lane| from[lane]);
        cx.warp.counters.global_load_sectors += sectors(active, bytes.into());
        cx.warp.counters.global_load_bytes += lanes * u64::from(bytes);
        let agent = cx.warp.agent;
        let copy = if cx.l.sanitize { cx.world.new_copy(agent, cx.pc) } else { 0 };
        for lane in cx.lanes() {
            let wanted = match source_bytes {
                NONE => bytes,
                slot => cx.warp.registers.w(slot)[lane].min(bytes.into()) as u8,
            };
            let wanted = if (ignored >> lane) & 1 == 1 { 0 } else { wanted };
            let size = usize::from(bytes);
            let Some(Place::Shared { cta, offset }) = cx.place(Space::Shared, to[lane], size, size, lane) else {
                continue;
            };
            let source = if wanted > 0 { cx.place(from_space, from[lane], wanted.into(), size, lane) } else { None };
            // A source out of bounds has been reported: the destination stays poisoned.
            let source_bytes = if wanted > 0 && source.is_none() { u8::MAX } else { wanted };
            let work = Work::Copy { cta, offset, from: source, bytes, source_bytes, copy };
            let group = cx.warp.copies.groups[lane];
            if cx.l.launch.strict {
                if cx.l.sanitize {
                    // Readers of what was there before must be done: the copy may write at once.
                    cx.note(Place::Shared { cta, offset }, size, Action::Write, lane, None);
                    cx.set_in_flight(cta, offset, size, copy);
                    if let Some(shadow) = &mut cx.world.ctas[cta].shadow {
                        shadow.mark_unwritten(offset, size);
                    }
                }
                cx.world.ctas[cta].shared[offset..offset + size].fill(POISON);
            }
            cx.warp.copies.items.push(Item { lane: lane as u8, group, pc: cx.pc, work });
            cx.warp.copies.bytes += size as u64;
            cx.world.bytes_in_flight += size as u64;
        }
        cx.world.max_bytes_in_flight = cx.world.max_bytes_in_flight.max(cx.world.bytes_in_flight);
        if !cx.l.launch.strict {
            cx.complete_copies(|_| true);
        }
    }
}

impl Cx<'_> {
    /// Does the queued work that is due.
    fn complete_copies(&mut self, due: impl Fn(&Item) -> bool) {
        if self.warp.copies.items.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.warp.copies.items);
        let mut left = Vec::with_capacity(items.len());
        let pc = self.pc;
        for item in items {
            if !due(&item) {
                left.push(item);
                continue;
            }
            let lane = usize::from(item.lane);
            self.pc = item.pc;
            match item.work {
                Work::Arrive { cta, offset } => {
                    self.warp.copies.arrivals -= 1;
                    self.arrive(cta, offset, 1, 0, lane);
                }
                Work::Copy { cta, offset, from, bytes, source_bytes, copy } => {
                    let size = usize::from(bytes);
                    self.world.bytes_in_flight -= size as u64;
                    let mut data = [0; 16];
                    let data = &mut data[..size];
                    if source_bytes == u8::MAX {
                        data.fill(POISON);
                    } else if let Some(from) = from {
                        let wanted = usize::from(source_bytes);
                        self.note(from, wanted, Action::Read, lane, None);
                        self.read(from, lane, &mut data[..wanted]);
                    }
                    let place = Place::Shared { cta, offset };
                    if self.l.sanitize && self.l.launch.strict {
                        let words = offset / 4..(offset + size).div_ceil(4);
                        for word in &mut self.world.ctas[cta].in_flight[words] {
                            if *word == copy {
                                *word = 0;
                            }
                        }
                    }
                    self.note(place, size, Action::Write, lane, None);
                    self.write(place, lane, data);
                }
            }
        }
        self.pc = pc;
        // Nothing is queued while queued work is done.
        self.warp.copies.items = left;
    }
}

impl Warp {
    /// Does what the first arrival in the queue waits for, and the arrival; false if there is none.
    pub fn complete_copies_for_barriers(&mut self, l: &Launched, world: &mut World) -> bool {
        if self.copies.arrivals == 0 {
            return false;
        }
        let mut cx = Cx { l, world, warp: self, pc: 0, mask: u32::MAX, here: u32::MAX, resumed: Resumed::No };
        cx.complete_copies(|_| true);
        true
    }
}

/// Decodes `cp.async` (without `.bulk`).
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if m.take("commit_group") {
        return Ok(Some(Op::Copy(Box::new(CopyOp::Commit))));
    }
    if m.take("wait_group") {
        let [left] = d.operands(i)?;
        let left = d.immediate(left)? as u32;
        return Ok(Some(Op::Copy(Box::new(CopyOp::Wait { left: Some(left) }))));
    }
    if m.take("wait_all") {
        return Ok(Some(Op::Copy(Box::new(CopyOp::Wait { left: None }))));
    }
    if m.take("mbarrier") {
        m.take("arrive");
        let increment = !m.take("noinc");
        let space = if m.any(&["shared", "shared::cta"]).is_some() { Space::Shared } else { Space::Generic };
        m.ty();
        let [address] = d.operands(i)?;
        let address = d.address(address)?;
        return Ok(Some(Op::Copy(Box::new(CopyOp::Arrive { space, address, increment }))));
    }
    let Some(cache) = m.any(&["ca", "cg"]) else {
        return Ok(None);
    };
    m.any(&["shared", "shared::cta"]);
    m.take("global");
    m.cache();
    let [to, from, bytes, rest @ ..] = i.operands.as_slice() else {
        return Err(d.bad("expected a destination, a source and a size"));
    };
    let bytes = d.immediate(bytes)?;
    if !matches!((cache, bytes), ("ca", 4 | 8 | 16) | ("cg", 16)) {
        return Err(d.bad("copies have 4, 8 or 16 bytes, with `.cg` only 16"));
    }
    let (to, from) = (d.address(to)?, d.address(from)?);
    let (mut source_bytes, mut ignore) = (NONE, None);
    if let Some(operand) = rest.first() {
        match (d.file_of(operand), operand) {
            (Some(crate::ptx::program::File::Predicate), _) | (_, Operand::Not(_)) => {
                ignore = Some(d.predicate_source(operand)?)
            }
            // A lone 64-bit operand is a cache policy.
            (Some(crate::ptx::program::File::Double), _) => {}
            _ => source_bytes = d.word(operand, Ty::U32)?,
        }
    }
    let op = CopyOp::Copy { to, from, from_space: Space::Global, bytes: bytes as u8, source_bytes, ignore };
    Ok(Some(Op::Copy(Box::new(op))))
}
