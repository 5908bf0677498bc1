//! What the warps of a cluster share: programs with their shared memory and barriers, and the asynchronous engine.

use super::super::isa::bulk::BulkCopy;
use crate::sanitizer::{SharedShadow, VectorClock};
use std::collections::HashMap;

/// Order between agents: what is known to have happened, and what of it the asynchronous proxy may rely on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Happens-before.
    pub clock: VectorClock,
    /// The part of it that proxy fences have passed on to the asynchronous proxy.
    pub fenced: VectorClock,
}

impl Order {
    pub fn new(agents: usize) -> Self {
        Self { clock: VectorClock::new(agents), fenced: VectorClock::new(agents) }
    }

    pub fn join(&mut self, other: &Self) {
        self.clock.join(&other.clock);
        self.fenced.join(&other.fenced);
    }
}

/// One of a program's sixteen barriers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// Lanes that have arrived, by warp.
    pub arrived: Vec<u32>,
    /// Threads to arrive, where the instruction says so.
    pub count: Option<u32>,
    pub generation: u64,
    /// Order of those that have arrived.
    pub order: Order,
    /// Order of the generation before.
    pub released: Order,
    /// Threads of this generation whose predicate was true, and all that voted; then those of the one before.
    pub votes: (u32, u32),
    pub result: (u32, u32),
}

/// A memory barrier object.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBarrier {
    /// Arrivals of a phase.
    pub expected: u32,
    /// Arrivals still to come in this one.
    pub pending: u32,
    /// Bytes announced and not yet arrived; negative when they came before they were announced.
    pub transactions: i64,
    pub phase: u64,
    pub order: Order,
    pub released: Order,
    /// Who initialised it, when by its own clock, and at which instruction.
    pub initialised: (u16, u32, u32),
}

/// The state of one program.
pub(crate) struct Cta {
    pub id: [u32; 3],
    /// Its linear index in the grid.
    pub linear: u32,
    pub shared: Vec<u8>,
    pub shadow: Option<SharedShadow>,
    /// By word: the asynchronous copy that will write it, by number; 0 for none.
    pub in_flight: Vec<u32>,
    pub barriers: Vec<Barrier>,
    pub memory_barriers: HashMap<u32, MemoryBarrier>,
    /// Order through atomics on shared memory.
    pub atomics: HashMap<u32, Order>,
    /// Lanes that have not exited, by warp.
    pub live: Vec<u32>,
    /// Threads of the program, by warp, as launched.
    pub threads: Vec<u32>,
}

impl Cta {
    /// Whether a barrier's generation is complete; if so the next one begins.
    pub fn try_release(&mut self, id: usize) -> bool {
        let barrier = &mut self.barriers[id];
        let complete = match barrier.count {
            Some(count) => {
                barrier.arrived.iter().map(|lanes| if *lanes == 0 { 0 } else { lanes.count_ones() }).sum::<u32>()
                    >= count
            }
            None => {
                barrier.arrived.iter().any(|&lanes| lanes != 0)
                    && self.live.iter().zip(&barrier.arrived).all(|(live, arrived)| live & !arrived == 0)
            }
        };
        if complete {
            barrier.arrived.fill(0);
            barrier.count = None;
            barrier.generation += 1;
            let agents = barrier.order.clock.agents();
            barrier.released = std::mem::replace(&mut barrier.order, Order::new(agents));
            barrier.result = std::mem::take(&mut barrier.votes);
        }
        complete
    }
}

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Lanes that have arrived, by agent.
    pub arrived: Vec<u32>,
    pub generation: u64,
    pub order: Order,
    pub released: Order,
}

/// All that the warps of a cluster share.
pub(crate) struct World {
    pub ctas: Vec<Cta>,
    pub barrier: ClusterBarrier,
    /// Bulk copies on their way.
    pub bulk: Vec<BulkCopy>,
    /// The place of each asynchronous copy by its number in [`Cta::in_flight`]: agent and instruction.
    pub copies: Vec<(u16, u32)>,
    pub warps_per_cta: usize,
    /// Whether the kernel reads shared memory asynchronously.
    pub has_readers: bool,
    /// When each warp started its asynchronous reads, by its own clock; a read's number here, from 1, is its time as the reader's.
    pub readings: Vec<Vec<u32>>,
    /// Order through atomics and fences on global memory.
    pub global_order: Order,
    pub bytes_in_flight: u64,
    pub random: Random,
    /// Order of the bulk engine, which is an agent of its own.
    pub engine: Order,
    /// Warp instructions executed by the cluster.
    pub executed: u64,
    /// Counts events that others may have waited for.
    pub progress: u64,
    pub max_bytes_in_flight: u64,
}

/// Agents of a cluster of so many warps.
pub(crate) fn agents(warps: usize, has_readers: bool) -> usize {
    warps + 1 + if has_readers { warps } else { 0 }
}

impl World {
    /// The agent number of the bulk engine, as the writer that it is.
    pub fn engine_agent(&self) -> u16 {
        (self.ctas.len() * self.warps_per_cta) as u16
    }

    /// The agent number under which what a warp has started asynchronously (a matrix product, a bulk copy out of shared memory) reads. Its
    /// time is known to the warp only when it has waited.
    pub fn reader_agent(&self, warp: u16) -> u16 {
        self.engine_agent() + 1 + warp
    }

    /// A warp starts reading asynchronously: the time of that by the reader's clock.
    pub fn start_reading(&mut self, warp: u16, clock: &VectorClock) -> u32 {
        let readings = &mut self.readings[usize::from(warp)];
        readings.push(clock.get(warp));
        readings.len() as u32
    }

    /// Agents of the cluster: its warps, the bulk engine, and the asynchronous readers of each warp, where there are any.
    pub fn agents(&self) -> usize {
        agents(self.ctas.len() * self.warps_per_cta, self.has_readers)
    }

    /// A number for an asynchronous copy of an agent's instruction.
    pub fn new_copy(&mut self, agent: u16, pc: u32) -> u32 {
        self.copies.push((agent, pc));
        self.copies.len() as u32
    }

    /// Completes a memory barrier's phase if nothing is missing.
    pub fn settle(&mut self, cta: usize, offset: u32) {
        let agents = self.agents();
        if let Some(barrier) = self.ctas[cta].memory_barriers.get_mut(&offset)
            && barrier.pending == 0
            && barrier.transactions == 0
        {
            barrier.phase += 1;
            self.progress += 1;
            barrier.pending = barrier.expected;
            barrier.released = std::mem::replace(&mut barrier.order, Order::new(agents));
        }
    }

    /// Whether the cluster's barrier is complete; if so the next generation begins.
    pub fn try_release_cluster(&mut self) -> bool {
        let warps = self.warps_per_cta;
        let complete = self.ctas.iter().enumerate().all(|(rank, cta)| {
            cta.live.iter().enumerate().all(|(warp, live)| live & !self.barrier.arrived[rank * warps + warp] == 0)
        });
        if complete && self.barrier.arrived.iter().any(|&lanes| lanes != 0) {
            self.barrier.arrived.fill(0);
            self.barrier.generation += 1;
            self.progress += 1;
            let agents = self.agents();
            self.barrier.released = std::mem::replace(&mut self.barrier.order, Order::new(agents));
            return true;
        }
        false
    }
}

/// A small generator: which warp runs next depends on the seed alone.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
