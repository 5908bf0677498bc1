//! The shadow of a program's shared memory (LDS): who wrote and read each word last, and which bytes were written at all.

use super::{Action, Site, VectorClock};

/// A conflict with an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedConflict {
    /// Who made it.
    pub other: Site,
    /// What it did.
    pub action: Action,
    /// When, by the agent's own clock.
    pub time: u32,
}

#[derive(Clone, Copy, Default)]
struct Record {
    /// The agent's own time; 0 for no access.
    clock: u32,
    /// Instruction (21 bits), whether atomic, lane (6 bits), bytes of the word (4 bits).
    place: u32,
}

impl Record {
    fn new(clock: u32, site: Site, mask: u32, atomic: bool) -> Self {
        Self {
            clock,
            place: (site.pc & 0x1F_FFFF) << 11 | u32::from(atomic) << 10 | u32::from(site.lane & 63) << 4 | mask,
        }
    }

    fn is_atomic(self) -> bool {
        (self.place >> 10) & 1 == 1
    }

    fn mask(self) -> u32 {
        self.place & 15
    }

    fn site(self, agent: u16) -> Site {
        Site { agent, lane: ((self.place >> 4) & 63) as u8, pc: self.place >> 11 }
    }
}

/// A write, with its agent.
#[derive(Clone, Copy, Default)]
struct Write {
    record: Record,
    agent: u16,
}

/// The shadow of one shared memory.
pub struct SharedShadow {
    words: usize,
    /// The last write of each word, and the last one before it by another agent that left other bytes than it wrote.
    writes: Vec<[Write; 2]>,
    /// The last read of each word by each agent, by agent; empty for those that have not read anything.
    reads: Vec<Vec<Record>>,
    /// By byte.
    written: Vec<bool>,
}

impl SharedShadow {
    /// The shadow of `bytes` bytes accessed by `agents` agents. Nothing counts as written.
    pub fn new(bytes: usize, agents: usize) -> Self {
        let words = bytes.div_ceil(4);
        Self {
            words,
            writes: vec![[Write::default(); 2]; words],
            reads: vec![Vec::new(); agents],
            written: vec![false; words * 4],
        }
    }

    fn mask(word: usize, start: usize, end: usize) -> u32 {
        let low = start.max(word * 4) - word * 4;
        let high = end.min(word * 4 + 4) - word * 4;
        (((1 << high) - 1) as u32) & !((1 << low) - 1)
    }

    /// Records an access to `len` bytes at `offset` by an agent with this clock, and tells the first conflict with an earlier one. The range must
    /// be in bounds.
    #[inline]
    pub fn access(
        &mut self,
        offset: usize,
        len: usize,
        action: Action,
        site: Site,
        clock: &VectorClock,
    ) -> Option<SharedConflict> {
        let conflict = self.announce(offset, len, action, site, clock);
        if !action.is_read() {
            self.written[offset..offset + len].fill(true);
        }
        conflict
    }

    /// As [`Self::access`], for an access that may happen now but has not yet: what it writes does not count as written.
    #[inline]
    pub fn announce(
        &mut self,
        offset: usize,
        len: usize,
        action: Action,
        site: Site,
        clock: &VectorClock,
    ) -> Option<SharedConflict> {
        let end = offset + len;
        let now = clock.get(site.agent);
        let mut conflict = None;
        if action.is_read() && self.reads[site.agent as usize].is_empty() {
            self.reads[site.agent as usize] = vec![Record::default(); self.words];
        }
        for word in offset / 4..end.div_ceil(4).min(self.words) {
            let mask = Self::mask(word, offset, end);
            for Write { record, agent } in self.writes[word] {
                if record.clock > clock.get(agent)
                    && record.mask() & mask != 0
                    && !(action.is_atomic() && record.is_atomic())
                    && conflict.is_none()
                {
                    let action = if record.is_atomic() { Action::Atomic } else { Action::Write };
                    conflict = Some(SharedConflict { other: record.site(agent), action, time: record.clock });
                }
            }
            if action.is_read() {
                self.reads[site.agent as usize][word] = Record::new(now, site, mask, action.is_atomic());
                continue;
            }
            for (agent, reads) in self.reads.iter().enumerate() {
                let Some(&read) = reads.get(word) else { continue };
                if agent != site.agent as usize
                    && read.clock > clock.get(agent as u16)
                    && read.mask() & mask != 0
                    && !(action.is_atomic() && read.is_atomic())
                    && conflict.is_none()
                {
                    let (other, time) = (read.site(agent as u16), read.clock);
                    conflict = Some(SharedConflict { other, action: Action::Read, time });
                }
            }
            let [last, earlier] = &mut self.writes[word];
            if last.agent != site.agent && last.record.mask() & !mask != 0 {
                *earlier = *last;
            }
            *last = Write { record: Record::new(now, site, mask, action.is_atomic()), agent: site.agent };
        }
        conflict
    }

    /// The last write of the word at `offset`: its time and site.
    pub fn last_write(&self, offset: usize) -> Option<(u32, Site)> {
        let Write { record, agent } = self.writes[offset / 4][0];
        (record.clock != 0).then(|| (record.clock, record.site(agent)))
    }

    /// The first byte of the range that nobody wrote.
    #[inline]
    pub fn first_unwritten(&self, offset: usize, len: usize) -> Option<usize> {
        self.written[offset..offset + len].iter().position(|&written| !written).map(|at| offset + at)
    }

    /// Marks bytes as written without an access, as for memory that comes initialised.
    pub fn mark_written(&mut self, offset: usize, len: usize) {
        self.written[offset..offset + len].fill(true);
    }

    /// Forgets that bytes were written: the destination of a copy that has not arrived.
    pub fn mark_unwritten(&mut self, offset: usize, len: usize) {
        self.written[offset..offset + len].fill(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(agent: u16, pc: u32) -> Site {
        Site { agent, lane: 3, pc }
    }

    #[test]
    fn a_barrier_orders_and_its_absence_is_found() {
        let mut shadow = SharedShadow::new(64, 2);
        let mut clocks = [VectorClock::of_agent(2, 0), VectorClock::of_agent(2, 1)];
        assert_eq!(shadow.access(0, 16, Action::Write, site(0, 1), &clocks[0]), None);
        let conflict = shadow.access(8, 4, Action::Read, site(1, 2), &clocks[1]);
        assert_eq!(conflict, Some(SharedConflict { other: site(0, 1), action: Action::Write, time: 1 }));
        // A barrier: both learn of each other and go on.
        let mut joined = clocks[0].clone();
        joined.join(&clocks[1]);
        for (agent, clock) in clocks.iter_mut().enumerate() {
            *clock = joined.clone();
            clock.tick(agent as u16);
        }
        assert_eq!(shadow.access(8, 4, Action::Read, site(1, 3), &clocks[1]), None);
        // Write after read, without a barrier.
        let conflict = shadow.access(0, 16, Action::Write, site(0, 4), &clocks[0]);
        assert_eq!(conflict, Some(SharedConflict { other: site(1, 3), action: Action::Read, time: 2 }));
    }

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let mut shadow = SharedShadow::new(8, 2);
        let clocks = [VectorClock::of_agent(2, 0), VectorClock::of_agent(2, 1)];
        assert_eq!(shadow.access(0, 2, Action::Write, site(0, 1), &clocks[0]), None);
        assert_eq!(shadow.access(2, 2, Action::Write, site(1, 2), &clocks[1]), None);
        // Both writers of the word are remembered.
        assert_eq!(shadow.access(0, 2, Action::Read, site(0, 3), &clocks[0]), None);
        let conflict = shadow.access(0, 2, Action::Read, site(1, 3), &clocks[1]);
        assert_eq!(conflict.map(|found| (found.other, found.action)), Some((site(0, 1), Action::Write)));
        assert!(shadow.access(1, 2, Action::Write, site(0, 3), &clocks[0]).is_some());
        assert_eq!(shadow.first_unwritten(0, 8), Some(4));
    }

    #[test]
    fn an_announced_write_conflicts_but_does_not_count_as_written() {
        let mut shadow = SharedShadow::new(8, 2);
        let clocks = [VectorClock::of_agent(2, 0), VectorClock::of_agent(2, 1)];
        assert_eq!(shadow.announce(0, 4, Action::Write, site(0, 1), &clocks[0]), None);
        assert!(shadow.access(0, 4, Action::Read, site(1, 2), &clocks[1]).is_some());
        assert_eq!(shadow.first_unwritten(0, 4), Some(0));
    }

    #[test]
    fn atomics_do_not_race_with_each_other() {
        let mut shadow = SharedShadow::new(8, 2);
        let clocks = [VectorClock::of_agent(2, 0), VectorClock::of_agent(2, 1)];
        assert_eq!(shadow.access(0, 4, Action::Atomic, site(0, 1), &clocks[0]), None);
        assert_eq!(shadow.access(0, 4, Action::Atomic, site(1, 2), &clocks[1]), None);
        assert!(shadow.access(0, 4, Action::Read, site(0, 3), &clocks[0]).is_some());
    }
}
