//! Outstanding memory operations of a wave.
//!
//! In strict mode an operation is only noted when it is issued, and happens when a wait demands it: as late as the program allows.
//! Operations of one kind happen in order. Scalar loads return in any order, so that only a wait for all of them promises one.

use super::Cx;
use super::access::Access;
use super::scalar_memory::ScalarAccess;
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

/// A cache operation that takes effect after what was issued before it.
#[derive(Clone, Debug)]
pub(crate) enum Queued {
    Access(Box<Access>),
    /// A write-back of caches: a release at the scope of the device.
    Release,
}

/// The operations by counter, oldest first, each with its place in the order of issue.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    vector: VecDeque<(u64, Queued)>,
    store: VecDeque<(u64, Queued)>,
    lds: VecDeque<(u64, Queued)>,
    scalar: VecDeque<Box<ScalarAccess>>,
    issued: u64,
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
    /// Whether a load that counts in another counter is to write a register in some of these lanes.
    pub(crate) fn loads_elsewhere(&self, counter: Counter, register: u16, mask: u64) -> bool {
        let all = [(Counter::Vector, &self.vector), (Counter::Store, &self.store), (Counter::Lds, &self.lds)];
        all.into_iter().filter(|&(other, _)| other != counter).flat_map(|(_, queue)| queue).any(|(_, queued)| {
            match queued {
                Queued::Access(access) => {
                    let writes = |first: u16| (first..first + u16::from(access.dst_regs)).contains(&register);
                    access.mask & mask != 0 && access.dst.is_some_and(writes)
                }
                Queued::Release => false,
            }
        })
    }
}

impl Cx<'_> {
    /// Issues an operation: it happens now, or is queued in strict mode.
    pub(crate) fn issue(&mut self, counter: Counter, access: Box<Access>) {
        if self.env.strict {
            self.poison(counter, &access);
            self.w.queues.issued += 1;
            let order = self.w.queues.issued;
            self.w.queues.of(counter).push_back((order, Queued::Access(access)));
        } else {
            self.complete(&access);
        }
    }

    /// Issues a release.
    pub(crate) fn issue_release(&mut self, counter: Counter) {
        self.w.queues.issued += 1;
        let order = self.w.queues.issued;
        if self.env.strict {
            self.w.queues.of(counter).push_back((order, Queued::Release));
        } else {
            self.happen(Queued::Release);
        }
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
            Queued::Release => {
                if let Some(shadow) = self.env.shadow {
                    shadow.program(self.g.linear).release();
                }
            }
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

    /// At a barrier of a CDNA processor. All waves of a workgroup run on one compute unit there, whose vector memory
    /// operations happen in the order of issue: what was issued before a barrier happens before what any wave of the
    /// workgroup issues after it, without a wait (LLVM's AMDGPUUsage, "Memory Model gfx942", which leaves `vmcnt(0)` out
    /// of releases to the workgroup). When data arrive in the LDS is told by waits alone.
    pub(crate) fn settle_vector_memory(&mut self) {
        for (order, queued) in std::mem::take(&mut self.w.queues.vector) {
            match queued {
                Queued::Access(access) if !matches!(access.act, Act::LoadLds { .. }) => self.complete(&access),
                other => self.w.queues.vector.push_back((order, other)),
            }
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
