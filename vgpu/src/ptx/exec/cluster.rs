//! A cluster of programs: its warps, and the scheduler that picks among them.

use super::Wait;
use super::launch::Launched;
use super::state::{Barrier, ClusterBarrier, Cta, Order, Random, World, agents};
use super::warp::Warp;
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingKind};
use crate::memory::POISON;
use crate::sanitizer::SharedShadow;
use std::collections::HashMap;

/// Named barriers of a program.
const BARRIERS: usize = 16;
/// Polls of memory barriers without any progress after which a cluster is stuck.
const PATIENCE: u32 = 256;

/// A cluster on its way.
pub(crate) struct Cluster {
    world: World,
    warps: Vec<Warp>,
    idle: u32,
    progress: u64,
}

impl Cluster {
    /// The cluster of an index, with all its warps at the start.
    pub fn new(l: &Launched, index: u64) -> Self {
        let launch = l.launch;
        let [cx, cy, cz] = l.cluster;
        let clusters = [launch.grid[0] / cx, launch.grid[1] / cy];
        let index32 = index as u32;
        let base = [
            index32 % clusters[0] * cx,
            index32 / clusters[0] % clusters[1] * cy,
            index32 / clusters[0] / clusters[1] * cz,
        ];
        let count = (cx * cy * cz) as usize;
        let threads = launch.threads() as usize;
        let warps_per_cta = threads.div_ceil(32);
        let has_readers = l.sanitize && l.kernel.has_readers;
        let agents = agents(count * warps_per_cta, has_readers);
        let shared = l.shared_bytes as usize;
        let lanes: Vec<u32> = (0..warps_per_cta)
            .map(|warp| match threads - warp * 32 {
                left if left >= 32 => u32::MAX,
                left => (1 << left) - 1,
            })
            .collect();
        let cta = |rank: u32| {
            let id = [base[0] + rank % cx, base[1] + rank / cx % cy, base[2] + rank / cx / cy];
            Cta {
                id,
                linear: id[0] + launch.grid[0] * (id[1] + launch.grid[1] * id[2]),
                shared: vec![POISON; shared],
                shadow: l.sanitize.then(|| SharedShadow::new(shared, agents)),
                in_flight: vec![0; shared.div_ceil(4)],
                barriers: (0..BARRIERS)
                    .map(|_| Barrier {
                        arrived: vec![0; warps_per_cta],
                        order: Order::new(agents),
                        released: Order::new(agents),
                        ..Barrier::default()
                    })
                    .collect(),
                memory_barriers: HashMap::new(),
                atomics: HashMap::new(),
                live: lanes.clone(),
                threads: lanes.clone(),
            }
        };
        let world = World {
            ctas: (0..count as u32).map(cta).collect(),
            barrier: ClusterBarrier {
                arrived: vec![0; count * warps_per_cta],
                generation: 0,
                order: Order::new(agents),
                released: Order::new(agents),
            },
            bulk: Vec::new(),
            copies: Vec::new(),
            warps_per_cta,
            has_readers,
            readings: vec![Vec::new(); count * warps_per_cta],
            global_order: Order::new(agents),
            bytes_in_flight: 0,
            random: Random::new(launch.seed ^ index.wrapping_mul(0xA24B_AED4_963E_E407)),
            engine: Order::new(agents),
            executed: 0,
            progress: 0,
            max_bytes_in_flight: 0,
        };
        let warps = (0..count * warps_per_cta)
            .map(|agent| Warp::new(l, &world, agent / warps_per_cta, agent % warps_per_cta))
            .collect();
        Self { world, warps, idle: 0, progress: 0 }
    }

    /// Runs for about so many instructions; true when all warps have exited.
    pub fn run(&mut self, l: &Launched, slice: u64) -> Result<bool> {
        let end = self.world.executed + slice;
        let mut ready = Vec::new();
        loop {
            if self.world.executed > l.launch.instruction_limit {
                return Err(Error::InstructionLimit {
                    kernel: l.kernel.name.clone(),
                    program: self.world.ctas[0].id,
                    limit: l.launch.instruction_limit,
                });
            }
            if self.world.executed >= end {
                return Ok(false);
            }
            ready.clear();
            let world = &self.world;
            ready.extend((0..self.warps.len()).filter(|&n| self.warps[n].can_run(world)));
            if ready.is_empty() {
                if self.warps.iter().all(Warp::is_done) {
                    self.finish(l);
                    return Ok(true);
                }
                self.unblock(l)?;
                continue;
            }
            let index = ready[self.world.random.below(ready.len())];
            let bound = if l.launch.strict { 64 } else { 1024 };
            let quantum = 1 + self.world.random.below(bound) as u32;
            self.warps[index].run(l, &mut self.world, quantum)?;
        }
    }

    /// No warp can run: asynchronous work completes now, at the latest moment; otherwise waits end without success; otherwise it
    /// is a deadlock.
    fn unblock(&mut self, l: &Launched) -> Result<()> {
        if !self.world.bulk.is_empty() {
            let index = self.world.random.below(self.world.bulk.len());
            self.world.complete_bulk(l, index);
            return Ok(());
        }
        for warp in &mut self.warps {
            if warp.complete_copies_for_barriers(l, &mut self.world) {
                return Ok(());
            }
        }
        if self.warps.iter_mut().any(|warp| warp.time_out(|wait| matches!(wait, Wait::Converge { .. }))) {
            return Ok(());
        }
        if self.progress != self.world.progress {
            self.progress = self.world.progress;
            self.idle = 0;
        }
        self.idle += 1;
        if self.idle <= PATIENCE {
            let mut any = false;
            for warp in &mut self.warps {
                any |= warp.time_out(|wait| matches!(wait, Wait::MemoryBarrier { .. }));
            }
            if any {
                return Ok(());
            }
        }
        Err(self.deadlock(l))
    }

    fn deadlock(&self, l: &Launched) -> Error {
        use std::collections::BTreeMap;
        let mut waits: BTreeMap<(u32, String), Vec<String>> = BTreeMap::new();
        for warp in &self.warps {
            for split in &warp.splits {
                let what = match &split.wait {
                    Some(Wait::Barrier { id, .. }) => {
                        let barrier = &self.world.ctas[warp.cta].barriers[*id];
                        let arrived: u32 = barrier.arrived.iter().map(|lanes| lanes.count_ones()).sum();
                        match barrier.count {
                            Some(count) => {
                                format!("barrier {id} ({arrived} of {count} threads have arrived)")
                            }
                            None => format!("barrier {id} ({arrived} threads have arrived)"),
                        }
                    }
                    Some(Wait::MemoryBarrier { cta, offset, phase }) => {
                        match self.world.ctas[*cta].memory_barriers.get(offset) {
                            Some(barrier) => format!(
                                "the mbarrier at {offset:#x} to leave phase {phase} ({} arrivals and {} bytes are missing)",
                                barrier.pending, barrier.transactions
                            ),
                            None => format!("the mbarrier at {offset:#x}, which is not initialised"),
                        }
                    }
                    Some(Wait::ClusterBarrier { .. }) => "the cluster's barrier".to_owned(),
                    Some(Wait::Converge { mask }) => format!("lanes {mask:#010x} of its warp"),
                    Some(Wait::Turn) | None => "its turn".to_owned(),
                };
                waits.entry((split.pc, what)).or_default().push(if self.world.ctas.len() > 1 {
                    format!("{}.{}", warp.cta, warp.index)
                } else {
                    warp.index.to_string()
                });
            }
        }
        let detail: Vec<_> = waits
            .iter()
            .map(|((pc, what), warps)| format!("warp {} at {} waits for {what}", warps.join(", "), l.location(*pc)))
            .collect();
        let detail = detail.join("; ");
        if let Some((warp, split)) = self.warps.iter().find_map(|warp| warp.splits.first().map(|split| (warp, split))) {
            l.report.add(Finding {
                kind: FindingKind::Deadlock,
                kernel: l.kernel.name.clone(),
                instruction: l.instruction(split.pc),
                agent: self.world.agent(warp.agent, None),
                address: None,
                other: None,
                message: detail.clone(),
                count: 1,
            });
        }
        Error::Deadlock { kernel: l.kernel.name.clone(), program: self.world.ctas[0].id, detail }
    }

    /// What is left to do when all warps have exited: work under way still happens.
    fn finish(&mut self, l: &Launched) {
        while !self.world.bulk.is_empty() {
            self.world.complete_bulk_at_exit(l);
        }
    }

    /// What the cluster counted.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for warp in &self.warps {
            sum.merge(&warp.counters);
        }
        sum.max_bytes_in_flight = self.world.max_bytes_in_flight;
        sum
    }
}
