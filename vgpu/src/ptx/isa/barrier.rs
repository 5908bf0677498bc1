//! Barriers of warps, programs and clusters, and memory barrier objects (`mbarrier`).

use super::Op;
use crate::error::Result;
use crate::finding::{FindingKind, OtherAccess, Space as FoundSpace};
use crate::ptx::decode::{AddressOperand, Decoder, Modifiers, Space, Ty};
use crate::ptx::exec::memory::Place;
use crate::ptx::exec::state::{MemoryBarrier, Order};
use crate::ptx::exec::{Cx, Resumed, Step, Wait};
use crate::ptx::program::NONE;
use crate::ptx::syntax::ast::{Instruction, Operand};
use std::collections::HashMap;

/// A reduction over the threads of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    Count,
    And,
    Or,
}

/// `bar` and `barrier`.
pub(crate) struct BarrierOp {
    /// Of the warp: no barrier, only lanes that come together.
    warp: bool,
    arrive_only: bool,
    aligned: bool,
    id: u32,
    count: u32,
    reduce: Option<(Reduction, u32, u32, bool)>,
}

impl BarrierOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if self.warp {
            let members = cx.warp.registers.w(self.id)[cx.mask.trailing_zeros() as usize];
            return Ok(cx.converge(members).unwrap_or(Step::Next));
        }
        let lane = cx.mask.trailing_zeros() as usize;
        let id = cx.warp.registers.w(self.id)[lane] as usize;
        if id >= 16 {
            return Err(cx.fault(format!("barrier {id}; there are 16")));
        }
        if cx.resumed == Resumed::Ready {
            let barrier = &cx.world.ctas[cx.warp.cta].barriers[id];
            cx.warp.order.join(&barrier.released);
            let (yes, all) = barrier.result;
            if let Some((reduction, to, _, _)) = self.reduce {
                let mask = cx.mask;
                match reduction {
                    Reduction::Count => cx.warp.registers.set_w(to, &[yes; 32], mask),
                    Reduction::And => cx.warp.registers.set_p(to, if yes == all { u32::MAX } else { 0 }, mask),
                    Reduction::Or => cx.warp.registers.set_p(to, if yes != 0 { u32::MAX } else { 0 }, mask),
                }
            }
            return Ok(Step::Next);
        }
        if self.aligned {
            let before = cx.resumed;
            if let Some(step) = cx.converge_barrier() {
                return Ok(step);
            }
            cx.resumed = before;
        }
        let count = match self.count {
            NONE => None,
            slot => Some(cx.warp.registers.w(slot)[lane]),
        };
        if let Some(count) = count
            && (count == 0 || count % 32 != 0)
        {
            return Err(cx.fault(format!("a barrier for {count} threads, which is not a multiple of 32")));
        }
        cx.warp.counters.barriers += 1;
        let index = cx.warp.index;
        let mask = cx.mask;
        let votes = self.reduce.map_or((0, 0), |(_, _, source, negated)| {
            let p = cx.warp.registers.p(source) ^ if negated { u32::MAX } else { 0 };
            ((p & mask).count_ones(), mask.count_ones())
        });
        let agent = cx.warp.agent;
        let cta = &mut cx.world.ctas[cx.warp.cta];
        let barrier = &mut cta.barriers[id];
        if let (Some(old), Some(new)) = (barrier.count, count)
            && old != new
        {
            let message = format!("barrier {id} is used for {old} and for {new} threads at a time");
            cx.find(FindingKind::BarrierDivergence, None, None, None, message);
            return Err(cx.fault(format!("barrier {id} with different thread counts")));
        }
        // A warp counts as a whole where all of it must come.
        let arriving = if self.aligned { u32::MAX } else { mask };
        if barrier.arrived[index] & mask != 0 {
            let message = format!("barrier {id} is reached again by threads that already wait at it");
            cx.find(FindingKind::BarrierDivergence, Some(lane), None, None, message);
        }
        let barrier = &mut cx.world.ctas[cx.warp.cta].barriers[id];
        barrier.arrived[index] |= arriving;
        barrier.count = barrier.count.or(count);
        barrier.votes.0 += votes.0;
        barrier.votes.1 += votes.1;
        barrier.order.join(&cx.warp.order);
        cx.warp.order.clock.tick(agent);
        let generation = barrier.generation;
        if cx.world.ctas[cx.warp.cta].try_release(id) {
            cx.world.progress += 1;
        }
        Ok(if self.arrive_only { Step::Next } else { Step::Wait(Wait::Barrier { id, generation }) })
    }
}

impl Cx<'_> {
    /// All lanes of the warp must come to an aligned barrier.
    fn converge_barrier(&mut self) -> Option<Step> {
        let live = self.world.ctas[self.warp.cta].live[self.warp.index];
        let missing = live & !self.here;
        if missing != 0 {
            if self.resumed == Resumed::No {
                return Some(Step::Wait(Wait::Converge { mask: missing }));
            }
            let message =
                format!("lanes {missing:#010x} of the warp do not come to it; it is aligned, so that all must");
            self.find(FindingKind::BarrierDivergence, Some(missing.trailing_zeros() as usize), None, None, message);
        } else if self.mask != self.here {
            let off = self.here & !self.mask;
            let message = format!(
                "lanes {off:#010x} are turned off by the guard; it is aligned, so that all lanes must execute it"
            );
            self.find(FindingKind::BarrierDivergence, Some(off.trailing_zeros() as usize), None, None, message);
        }
        None
    }
}

/// `barrier.cluster`.
#[derive(Clone, Copy)]
pub(crate) struct ClusterBarrierOp {
    arrive: bool,
}

impl ClusterBarrierOp {
    pub fn execute(self, cx: &mut Cx) -> Result<Step> {
        let agent = cx.warp.agent as usize;
        if self.arrive {
            let barrier = &mut cx.world.barrier;
            if barrier.arrived[agent] & cx.mask != 0 {
                cx.find(
                    FindingKind::BarrierDivergence,
                    None,
                    None,
                    None,
                    "the cluster's barrier is reached twice without a wait",
                );
                return Ok(Step::Next);
            }
            barrier.arrived[agent] |= cx.mask;
            barrier.order.join(&cx.warp.order);
            cx.warp.order.clock.tick(agent as u16);
            cx.warp.cluster_phase = barrier.generation;
            cx.warp.counters.barriers += 1;
            cx.world.try_release_cluster();
            cx.synchronize_device(true, true);
            return Ok(Step::Next);
        }
        if cx.world.barrier.generation == cx.warp.cluster_phase && cx.resumed == Resumed::No {
            if cx.world.barrier.arrived[agent] & cx.mask == 0 {
                return Err(cx.fault("a wait for the cluster's barrier without an arrival"));
            }
            return Ok(Step::Wait(Wait::ClusterBarrier { generation: cx.warp.cluster_phase }));
        }
        cx.warp.order.join(&cx.world.barrier.released);
        Ok(Step::Next)
    }
}

/// Decodes `bar` and `barrier`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    if m.take("cluster") {
        let arrive = m.any(&["arrive", "wait"]) == Some("arrive");
        m.any(&["release", "acquire", "relaxed"]);
        m.take("aligned");
        return Ok(Some(Op::ClusterBarrier(ClusterBarrierOp { arrive })));
    }
    // `bar` is aligned, `barrier` where it says so.
    let aligned = m.take("aligned") || i.opcode == "bar";
    if m.take("warp") {
        m.take("sync");
        let [members] = d.operands(i)?;
        let op = BarrierOp {
            warp: true,
            arrive_only: false,
            aligned: false,
            id: d.word(members, Ty::B32)?,
            count: NONE,
            reduce: None,
        };
        return Ok(Some(Op::Barrier(op)));
    }
    m.take("cta");
    let Some(what) = m.any(&["sync", "arrive", "red"]) else {
        return Ok(None);
    };
    let mut op = BarrierOp { warp: false, arrive_only: what == "arrive", aligned, id: 0, count: NONE, reduce: None };
    let operands = i.operands.as_slice();
    if what == "red" {
        let reduction = match m.any(&["popc", "and", "or"]) {
            Some("popc") => Reduction::Count,
            Some("and") => Reduction::And,
            Some(_) => Reduction::Or,
            None => return Ok(None),
        };
        m.ty();
        let (to, id, count, source) = match operands {
            [to, id, source] => (to, id, None, source),
            [to, id, count, source] => (to, id, Some(count), source),
            _ => return Err(d.bad("expected a destination, a barrier and a predicate")),
        };
        op.id = d.word(id, Ty::U32)?;
        if let Some(count) = count {
            op.count = d.word(count, Ty::U32)?;
        }
        let (source, negated) = d.predicate_source(source)?;
        let to = if reduction == Reduction::Count { d.word_destination(to)? } else { d.predicate_destination(to)? };
        op.reduce = Some((reduction, to, source, negated));
        return Ok(Some(Op::Barrier(op)));
    }
    match operands {
        [id] => op.id = d.word(id, Ty::U32)?,
        [id, count] => {
            op.id = d.word(id, Ty::U32)?;
            op.count = d.word(count, Ty::U32)?;
        }
        _ => return Err(d.bad("expected a barrier and an optional thread count")),
    }
    if op.arrive_only && op.count == NONE {
        return Err(d.bad("an arrival needs the number of threads"));
    }
    Ok(Some(Op::Barrier(op)))
}

enum MemoryBarrierKind {
    Init {
        count: u32,
    },
    Invalidate,
    /// Arrivals, with bytes to expect first.
    Arrive {
        count: u32,
        expect: u32,
        to: u32,
        drop: bool,
    },
    ExpectTransactions {
        bytes: u32,
    },
    CompleteTransactions {
        bytes: u32,
    },
    /// Waits for a phase by state or by parity.
    Test {
        to: u32,
        state: u32,
        parity: bool,
    },
    PendingCount {
        to: u32,
        state: u32,
    },
}

/// An operation on a memory barrier object.
pub(crate) struct MemoryBarrierOp {
    kind: MemoryBarrierKind,
    space: Space,
    address: AddressOperand,
}

/// Waits for memory barriers that have failed once, by barrier.
///
/// `try_wait` and `test_wait` may give false although the phase is over (the test may have been made before that, and a time limit may be
/// short). In strict mode the first test for a phase always does, unless the warp knows by other means that the phase is over: a
/// program that does not ask again then goes on without an order, and with its data not there.
#[derive(Debug, Default)]
pub(crate) struct Polls(HashMap<(usize, u32), (u64, u32)>);

impl Polls {
    fn has_failed(&self, cta: usize, offset: u32, phase: u64) -> bool {
        self.0.get(&(cta, offset)).is_some_and(|&(failed, _)| failed == phase)
    }

    fn failed(&mut self, cta: usize, offset: u32, phase: u64, pc: u32) {
        self.0.insert((cta, offset), (phase, pc));
    }

    fn succeeded(&mut self, cta: usize, offset: u32) {
        self.0.remove(&(cta, offset));
    }

    /// The instruction of a wait that failed and was not repeated.
    pub fn unanswered(&self) -> Option<u32> {
        self.0.values().map(|&(_, pc)| pc).min()
    }
}

/// The state that an arrival gives back: the phase, and the arrivals still pending.
fn state(phase: u64, pending: u32) -> u64 {
    phase << 20 | u64::from(pending & 0xF_FFFF)
}

impl Cx<'_> {
    /// The place of a memory barrier object: rank and offset.
    pub fn memory_barrier(&mut self, space: Space, address: u64, lane: usize) -> Option<(usize, u32)> {
        match self.place(space, address, 8, 8, lane)? {
            Place::Shared { cta, offset } => Some((cta, offset as u32)),
            _ => {
                self.find(FindingKind::BarrierObject, Some(lane), None, None, "an mbarrier must lie in shared memory");
                None
            }
        }
    }

    #[cold]
    fn uninitialised_barrier(&self, offset: u32, lane: usize) {
        let address = self.describe(FoundSpace::Shared, offset.into(), 8);
        let message = format!("there is no initialised mbarrier at {offset:#x}");
        self.find(FindingKind::BarrierObject, Some(lane), Some(address), None, message);
    }

    /// Whoever uses a memory barrier must know that it was initialised: a barrier or a fence stands in between.
    fn check_initialisation(&mut self, cta: usize, offset: u32, lane: usize) {
        if let Some(barrier) = self.world.ctas[cta].memory_barriers.get_mut(&offset) {
            let (agent, time, pc) = barrier.initialised;
            if self.warp.order.clock.get(agent) < time {
                // Told once.
                barrier.initialised.1 = 0;
                let other = OtherAccess {
                    action: "initialisation".to_owned(),
                    instruction: self.l.instruction(pc),
                    agent: self.world.agent(agent, None),
                };
                let address = self.describe(FoundSpace::Shared, offset.into(), 8);
                let message = "the mbarrier is used without an order after its initialisation (a barrier between them)";
                self.find(FindingKind::BarrierObject, Some(lane), Some(address), Some(other), message);
            }
        }
    }

    /// Arrives `count` times, expecting `bytes` more first, and returns the state before.
    pub fn arrive(&mut self, cta: usize, offset: u32, count: u32, bytes: i64, lane: usize) -> u64 {
        self.check_initialisation(cta, offset, lane);
        let order = self.warp.order.clone();
        let agent = self.warp.agent;
        let Some(barrier) = self.world.ctas[cta].memory_barriers.get_mut(&offset) else {
            self.uninitialised_barrier(offset, lane);
            return 0;
        };
        let before = state(barrier.phase, barrier.pending);
        barrier.transactions += bytes;
        let pending = barrier.pending;
        barrier.pending = pending.saturating_sub(count);
        barrier.order.join(&order);
        self.warp.order.clock.tick(agent);
        if count > pending {
            let address = self.describe(FoundSpace::Shared, offset.into(), 8);
            let message = format!("{count} arrivals, but the phase waits for only {pending} more");
            self.find(FindingKind::BarrierObject, Some(lane), Some(address), None, message);
        }
        self.world.settle(cta, offset);
        before
    }
}

impl MemoryBarrierOp {
    pub fn execute(&self, cx: &mut Cx) -> Result<Step> {
        if let MemoryBarrierKind::PendingCount { to, state } = self.kind {
            let states = *cx.warp.registers.d(state);
            let mask = cx.mask;
            cx.warp.registers.set_w(to, &states.map(|state| (state & 0xF_FFFF) as u32), mask);
            return Ok(Step::Next);
        }
        let addresses = cx.addresses(&self.address);
        let mut failed = Vec::new();
        for lane in cx.lanes() {
            let Some((cta, offset)) = cx.memory_barrier(self.space, addresses[lane], lane) else {
                // Nothing to wait for: a loop around it must end.
                if let MemoryBarrierKind::Test { to, .. } = self.kind {
                    cx.warp.registers.predicates[to as usize] |= 1 << lane;
                }
                continue;
            };
            let value = |cx: &Cx, slot: u32, default: u32| {
                if slot == NONE { default } else { cx.warp.registers.w(slot)[lane] }
            };
            match self.kind {
                MemoryBarrierKind::Init { count } => {
                    let expected = value(cx, count, 1);
                    if expected == 0 || expected >= 1 << 20 {
                        return Err(cx.fault(format!("an mbarrier for {expected} arrivals; there are 1 to 1048575")));
                    }
                    let agents = cx.world.agents();
                    let mut order = Order::new(agents);
                    order.join(&cx.warp.order);
                    let barrier = MemoryBarrier {
                        expected,
                        pending: expected,
                        transactions: 0,
                        phase: 0,
                        order,
                        released: Order::new(agents),
                        initialised: (cx.warp.agent, cx.warp.order.clock.get(cx.warp.agent), cx.pc),
                    };
                    let state = &mut cx.world.ctas[cta];
                    state.memory_barriers.insert(offset, barrier);
                    if let Some(shadow) = &mut state.shadow {
                        shadow.mark_written(offset as usize, 8);
                    }
                }
                MemoryBarrierKind::Invalidate => {
                    cx.check_initialisation(cta, offset, lane);
                    match cx.world.ctas[cta].memory_barriers.remove(&offset) {
                        None => cx.uninitialised_barrier(offset, lane),
                        Some(barrier) if barrier.transactions != 0 => {
                            let address = cx.describe(FoundSpace::Shared, offset.into(), 8);
                            let message =
                                format!("it is invalidated while {} bytes are on their way", barrier.transactions);
                            cx.find(FindingKind::BarrierObject, Some(lane), Some(address), None, message);
                        }
                        Some(_) => {}
                    }
                }
                MemoryBarrierKind::Arrive { count, expect, to, drop } => {
                    let count = value(cx, count, 1);
                    let bytes = i64::from(value(cx, expect, 0));
                    if drop && let Some(barrier) = cx.world.ctas[cta].memory_barriers.get_mut(&offset) {
                        barrier.expected = barrier.expected.saturating_sub(count);
                    }
                    let before = cx.arrive(cta, offset, count, bytes, lane);
                    if to != NONE {
                        cx.warp.registers.doubles[to as usize][lane] = before;
                    }
                }
                MemoryBarrierKind::ExpectTransactions { bytes } => {
                    let bytes = i64::from(value(cx, bytes, 0));
                    match cx.world.ctas[cta].memory_barriers.get_mut(&offset) {
                        Some(barrier) => barrier.transactions += bytes,
                        None => cx.uninitialised_barrier(offset, lane),
                    }
                    cx.world.settle(cta, offset);
                }
                MemoryBarrierKind::CompleteTransactions { bytes } => {
                    let bytes = i64::from(value(cx, bytes, 0));
                    match cx.world.ctas[cta].memory_barriers.get_mut(&offset) {
                        Some(barrier) => barrier.transactions -= bytes,
                        None => cx.uninitialised_barrier(offset, lane),
                    }
                    cx.world.settle(cta, offset);
                }
                MemoryBarrierKind::Test { to, state, parity } => {
                    cx.check_initialisation(cta, offset, lane);
                    let Some(barrier) = cx.world.ctas[cta].memory_barriers.get(&offset) else {
                        if cx.resumed == Resumed::No {
                            // It may be initialised by a warp that has not come to it yet; then a fence is missing, but not here.
                            return Ok(Step::Wait(Wait::MemoryBarrier { cta, offset, phase: u64::MAX }));
                        }
                        cx.uninitialised_barrier(offset, lane);
                        cx.warp.registers.predicates[to as usize] |= 1 << lane;
                        continue;
                    };
                    let mut done = if parity {
                        u64::from(cx.warp.registers.w(state)[lane] & 1) != barrier.phase & 1
                    } else {
                        cx.warp.registers.d(state)[lane] >> 20 != barrier.phase & (u64::MAX >> 20)
                    };
                    let phase = barrier.phase.wrapping_sub(done.into());
                    let may_fail = cx.l.launch.strict
                        && !cx.warp.polls.has_failed(cta, offset, phase)
                        && !(done && cx.warp.order.clock.covers(&barrier.released.clock));
                    if may_fail {
                        done = false;
                        failed.push((cta, offset, phase));
                    } else if done {
                        cx.warp.order.join(&barrier.released);
                        cx.warp.polls.succeeded(cta, offset);
                    } else if cx.resumed != Resumed::TimedOut {
                        // Suspended until the phase is over or nothing else can run: both forms may be.
                        return Ok(Step::Wait(Wait::MemoryBarrier { cta, offset, phase }));
                    }
                    let predicate = &mut cx.warp.registers.predicates[to as usize];
                    *predicate = (*predicate & !(1 << lane)) | u32::from(done) << lane;
                }
                MemoryBarrierKind::PendingCount { .. } => {}
            }
        }
        for (cta, offset, phase) in failed {
            cx.warp.polls.failed(cta, offset, phase, cx.pc);
        }
        Ok(Step::Next)
    }
}

/// Decodes `mbarrier`.
pub(super) fn decode_memory_barrier(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let what = m.any(&[
        "init",
        "inval",
        "arrive",
        "arrive_drop",
        "expect_tx",
        "complete_tx",
        "test_wait",
        "try_wait",
        "pending_count",
    ]);
    let Some(what) = what else { return Ok(None) };
    let expect = matches!(what, "arrive" | "arrive_drop") && m.take("expect_tx");
    m.take("noComplete");
    let parity = m.take("parity");
    m.any(&["release", "acquire", "relaxed"]);
    m.any(&["cta", "cluster"]);
    let space = match m.any(&["shared", "shared::cta", "shared::cluster"]) {
        Some("shared::cluster") => Space::SharedCluster,
        Some(_) => Space::Shared,
        None => Space::Generic,
    };
    m.ty();
    let operands = i.operands.as_slice();
    if what == "pending_count" {
        let [to, state] = d.operands(i)?;
        let state = d.double(state, Ty::B64)?;
        let kind = MemoryBarrierKind::PendingCount { to: d.word_destination(to)?, state };
        let address = d.address(&Operand::Address { base: None, offset: 0, coordinates: None })?;
        return Ok(Some(Op::MemoryBarrier(Box::new(MemoryBarrierOp { kind, space, address }))));
    }
    let at = operands.iter().position(|operand| matches!(operand, Operand::Address { .. }));
    let Some(at) = at else {
        return Err(d.bad("the address is missing"));
    };
    let address = d.address(&operands[at])?;
    let rest = &operands[at + 1..];
    let mut optional = |index: usize| match rest.get(index) {
        Some(operand) => d.word(operand, Ty::U32),
        None => Ok(NONE),
    };
    let kind = match what {
        "init" => MemoryBarrierKind::Init { count: optional(0)? },
        "inval" => MemoryBarrierKind::Invalidate,
        "arrive" | "arrive_drop" => {
            let first = optional(0)?;
            let (count, expect) = if expect { (NONE, first) } else { (first, NONE) };
            let to = match operands.first() {
                Some(Operand::Name(_)) if at > 0 => d.double_destination(&operands[0])?,
                _ => NONE,
            };
            MemoryBarrierKind::Arrive { count, expect, to, drop: what == "arrive_drop" }
        }
        "expect_tx" => MemoryBarrierKind::ExpectTransactions { bytes: optional(0)? },
        "complete_tx" => MemoryBarrierKind::CompleteTransactions { bytes: optional(0)? },
        _ => {
            let state = match rest.first() {
                Some(operand) if parity => d.word(operand, Ty::U32)?,
                Some(operand) => d.double(operand, Ty::B64)?,
                None => return Err(d.bad("the phase is missing")),
            };
            if let Some(limit) = rest.get(1) {
                d.word(limit, Ty::U32)?;
            }
            MemoryBarrierKind::Test { to: d.predicate_destination(&operands[0])?, state, parity }
        }
    };
    Ok(Some(Op::MemoryBarrier(Box::new(MemoryBarrierOp { kind, space, address }))))
}
