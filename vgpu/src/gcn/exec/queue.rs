//! Outstanding memory operations of a wave.
//!
//! In strict mode an operation is only noted when it is issued, and happens when a wait demands it: as late as the program allows.
//! Operations of one kind happen in order. Scalar loads return in any order, so that only a wait for all of them promises one.

use super::Cx;
use super::access::Access;
use super::scalar_memory::ScalarAccess;
use super::state::Lanes;
use crate::gcn::decode::memory::Act;
use std::collections::VecDeque;

/// Which counter an operation counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Vector memory: all of it on CDNA, loads and returning atomics on RDNA.
    Vector,
    /// Stores and atomics without result (RDNA).
    Store,
    /// LDS.
    Lds,
}

/// An outstanding operation.
#[derive(Clone, Debug)]
pub(crate) enum Queued {
    Access(Box<Access>),
    /// The accesses of one instruction to several memories, which count as one.
    Accesses(Vec<Access>),
    /// A load that has read memory, and whose registers have yet to be written.
    Loaded(Vec<Loaded>),
    /// A write-back of caches: a release at the scope of the device.
    Release,
    /// It has happened, and only its counter does not tell yet.
    Happened,
}

impl Queued {
    fn accesses(&self) -> &[Access] {
        match self {
            Self::Access(access) => std::slice::from_ref(access),
            Self::Accesses(accesses) => accesses,
            Self::Loaded(_) | Self::Release | Self::Happened => &[],
        }
    }

    /// Whether it is to write a register in some of these lanes.
    fn writes(&self, register: u16, mask: u64) -> bool {
        match self {
            Self::Loaded(rows) => rows.iter().any(|row| row.register == register && row.mask & mask != 0),
            _ => self.accesses().iter().any(|access| {
                let writes = |first: u16| (first..first + u16::from(access.dst_regs)).contains(&register);
                access.mask & mask != 0 && access.dst.is_some_and(writes)
            }),
        }
    }
}

/// A register's worth of what was loaded.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    register: u16,
    values: Lanes,
    mask: u64,
    defined: u64,
}

/// The operations by counter, oldest first, each with its place in the order of issue.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    vector: VecDeque<(u64, Queued)>,
    store: VecDeque<(u64, Queued)>,
    lds: VecDeque<(u64, Queued)>,
    scalar: VecDeque<Box<ScalarAccess>>,
    issued: u64,
    /// A register was loaded while a load into it was outstanding: arrivals are looked at more closely from then on.
    pub(super) overlapping: bool,
}

impl Queues {
    fn of(&mut self, counter: Counter) -> &mut VecDeque<(u64, Queued)> {
        match counter {
            Counter::Vector => &mut self.vector,
            Counter::Store => &mut self.store,
            Counter::Lds => &mut self.lds,
        }
    }
}

impl Queues {
    fn all(&self) -> impl Iterator<Item = (Counter, &Queued)> {
        [(Counter::Vector, &self.vector), (Counter::Store, &self.store), (Counter::Lds, &self.lds)]
            .into_iter()
            .flat_map(|(counter, queue)| queue.iter().map(move |(_, queued)| (counter, queued)))
    }

    /// Whether a load that counts in another counter is to write a register in some of these lanes.
    pub(crate) fn loads_elsewhere(&self, counter: Counter, register: u16, mask: u64) -> bool {
        self.all().any(|(other, queued)| other != counter && queued.writes(register, mask))
    }

    /// Lanes in which an outstanding load is to write a register.
    fn outstanding(&self, register: u16, mask: u64) -> u64 {
        super::access::lanes(mask)
            .filter(|&lane| self.all().any(|(_, queued)| queued.writes(register, 1 << lane)))
            .fold(0, |all, lane| all | 1 << lane)
    }

    /// Whether loads into the LDS are outstanding.
    pub(crate) fn loads_into_lds(&self) -> bool {
        let into = |access: &Access| matches!(access.act, Act::LoadLds { .. });
        self.vector.iter().any(|(_, queued)| queued.accesses().iter().any(into))
    }

    /// The first outstanding load into the LDS that is to write some of these bytes.
    pub(crate) fn load_into_lds(&self, start: u64, len: u64) -> Option<u32> {
        let into = |access: &Access| {
            let Act::LoadLds { bytes, .. } = access.act else { return false };
            let step = u64::from(bytes.max(4));
            let at = |lane: usize| u64::from(access.lds_base) + lane as u64 * step;
            super::access::lanes(access.mask).any(|lane| at(lane) < start + len && start < at(lane) + step)
        };
        self.vector.iter().flat_map(|(_, queued)| queued.accesses()).find(|access| into(access)).map(|a| a.pc)
    }
}

impl Cx<'_> {
    /// Issues an operation: it happens now, or is queued in strict mode.
    pub(crate) fn issue(&mut self, counter: Counter, access: Box<Access>) {
        if self.env.strict {
            self.poison(counter, &access);
            self.enqueue(counter, Queued::Access(access));
        } else {
            self.complete(&access);
        }
    }

    /// Issues an instruction by generic address, which counts as one memory's operation and as one of the LDS, wherever it goes.
    pub(crate) fn issue_flat(&mut self, counter: Counter, memory: Vec<Access>, lds: Vec<Access>) {
        for (counter, accesses) in [(counter, memory), (Counter::Lds, lds)] {
            if !self.env.strict {
                accesses.iter().for_each(|access| self.complete(access));
                continue;
            }
            accesses.iter().for_each(|access| self.poison(counter, access));
            self.enqueue(counter, if accesses.is_empty() { Queued::Happened } else { Queued::Accesses(accesses) });
        }
    }

    /// Issues a release.
    pub(crate) fn issue_release(&mut self, counter: Counter) {
        if self.env.strict {
            self.enqueue(counter, Queued::Release);
        } else {
            self.happen(Queued::Release);
        }
    }

    fn enqueue(&mut self, counter: Counter, queued: Queued) {
        self.w.queues.issued += 1;
        let order = self.w.queues.issued;
        self.w.queues.of(counter).push_back((order, queued));
    }

    pub(crate) fn issue_scalar(&mut self, access: ScalarAccess) {
        if self.env.strict {
            self.poison_scalar(&access);
            self.w.queues.scalar.push_back(Box::new(access));
        } else {
            self.complete_scalar(&access);
        }
    }

    fn happen(&mut self, queued: Queued) {
        match queued {
            Queued::Access(access) => self.complete(&access),
            Queued::Accesses(accesses) => accesses.iter().for_each(|access| self.complete(access)),
            Queued::Loaded(rows) => {
                for row in rows {
                    self.deliver_register(row.register, &row.values, row.mask, row.defined);
                }
            }
            Queued::Release => {
                if let Some(shadow) = self.env.shadow {
                    shadow.program(self.g.linear).release();
                }
            }
            Queued::Happened => {}
        }
    }

    /// Lets the oldest operations happen until at most `left` are outstanding.
    pub(crate) fn wait(&mut self, counter: Counter, left: usize) {
        while self.w.queues.of(counter).len() > left {
            let Some((order, queued)) = self.w.queues.of(counter).pop_front() else { return };
            // A wave's own accesses to one address stay in order, whatever counters they count in.
            let other = match counter {
                Counter::Vector => Counter::Store,
                Counter::Store => Counter::Vector,
                Counter::Lds => {
                    self.happen(queued);
                    continue;
                }
            };
            while self.w.queues.of(other).front().is_some_and(|&(earlier, _)| earlier < order) {
                if let Some((_, earlier)) = self.w.queues.of(other).pop_front() {
                    self.happen(earlier);
                }
            }
            self.happen(queued);
        }
    }

    /// At a barrier of a workgroup whose waves share one compute unit. Its vector memory operations happen in the order of issue: what
    /// was issued before a barrier happens before what any wave of the workgroup issues after it, without a wait (LLVM's AMDGPUUsage,
    /// "Memory Model gfx942", which leaves `vmcnt(0)` out of releases to the workgroup). When registers hold what was loaded, and when
    /// data arrive in the LDS, is told by waits alone.
    pub(crate) fn settle_vector_memory(&mut self) {
        self.settle_queues(&[Counter::Vector, Counter::Store]);
    }

    /// At a barrier: the LDS serves all waves in one order, so that what was issued before the barrier happens before what any wave
    /// issues after it, without a wait (LLVM's AMDGPUUsage, "Memory Model": LDS operations of all waves "are executed in a total
    /// global ordering as observed by all waves").
    pub(crate) fn settle_lds(&mut self) {
        self.settle_queues(&[Counter::Lds]);
    }

    fn settle_queues(&mut self, counters: &[Counter]) {
        for &counter in counters {
            let queue = std::mem::take(self.w.queues.of(counter));
            // The operations that happen here leave what their counters know.
            for (order, queued) in queue {
                let queued = match queued {
                    Queued::Access(access) => self.settle(&access).unwrap_or(Queued::Access(access)),
                    Queued::Accesses(accesses) => {
                        let settled: Option<Vec<_>> = accesses.iter().map(|access| self.settle(access)).collect();
                        match settled {
                            Some(parts) => Queued::Loaded(
                                parts
                                    .into_iter()
                                    .flat_map(|part| if let Queued::Loaded(rows) = part { rows } else { Vec::new() })
                                    .collect(),
                            ),
                            None => Queued::Accesses(accesses),
                        }
                    }
                    other => other,
                };
                self.w.queues.of(counter).push_back((order, queued));
            }
        }
    }

    /// Lets an access happen but for the registers that it loads. None where it has to wait.
    fn settle(&mut self, access: &Access) -> Option<Queued> {
        if let Act::LoadLds { .. } = access.act {
            return None;
        }
        self.complete(access);
        let Some(first) = access.dst else { return Some(Queued::Happened) };
        let rows = (first..first + u16::from(access.dst_regs))
            .map(|register| {
                let r = usize::from(register);
                let (values, defined) = (self.w.v[r], self.w.v_defined[r]);
                Loaded { register, values, mask: access.mask, defined }
            })
            .collect();
        self.mark_outstanding(access);
        Some(Queued::Loaded(rows))
    }

    /// At a barrier: accesses to the LDS that are still outstanding may happen before it as well as after it.
    pub(crate) fn announce_lds(&mut self) {
        if !self.env.sanitize {
            return;
        }
        let queues = std::mem::take(&mut self.w.queues);
        for (_, queued) in queues.all() {
            queued.accesses().iter().for_each(|access| self.announce(access));
        }
        self.w.queues = queues;
    }

    /// Notes that a register's load has arrived, unless another one is still to come.
    pub(super) fn arrived(&mut self, register: u16, mask: u64) {
        let r = usize::from(register);
        self.w.v_pending[r] &= !mask;
        if self.w.queues.overlapping {
            self.w.v_pending[r] |= self.w.queues.outstanding(register, mask);
        }
    }

    /// A wait on the counter that LDS and scalar memory share.
    pub(crate) fn wait_lds_and_scalar(&mut self, left: usize) {
        if left == 0 {
            self.wait_scalar(0);
            self.wait(Counter::Lds, 0);
            return;
        }
        // At most `left` of all are outstanding. The adversary lets scalar loads return first, so that this many of the LDS's may be left.
        self.wait(Counter::Lds, left);
    }

    /// A wait for scalar memory: out of order, so that only a wait for all means anything.
    pub(crate) fn wait_scalar(&mut self, left: usize) {
        if left == 0 {
            while let Some(access) = self.w.queues.scalar.pop_front() {
                self.complete_scalar(&access);
            }
        }
    }

    /// Lets everything happen: at the end of the wave.
    pub(crate) fn drain(&mut self) {
        self.wait(Counter::Vector, 0);
        self.wait(Counter::Store, 0);
        self.wait_lds_and_scalar(0);
    }
}
