//! A warp: registers, lanes that have come apart, and the loop that executes instructions.
//!
//! Lanes at the same place form a *split*. The split with the lowest program counter runs first, so that lanes meet again where
//! control flow joins; instructions that need other lanes wait for them. A split that runs for very long while others could
//! makes room, so that lanes may wait for each other, as they may on hardware since Volta.

use super::super::isa::barrier::Polls;
use super::super::isa::control::{self, Results};
use super::super::isa::copy::CopyQueue;
use super::super::isa::lanes::Registers;
use super::super::isa::wgmma::MatrixQueue;
use super::super::isa::{self};
use super::super::program::{File, Kernel, NONE, Register, Special};
use super::launch::Launched;
use super::state::{Order, World};
use super::{Cx, Lanes, Resumed, Step, Wait};
use crate::counters::Counters;
use crate::error::Result;
use crate::finding::FindingKind;
use crate::memory::{Cursor, POISON};
use crate::sanitizer::VectorClock;

/// Instructions after which a split makes room for others of its warp.
const FAIRNESS: u32 = 4096;
/// Calls nested deeper than this are refused.
const MAX_CALLS: usize = 1024;

/// Registers saved when a function is entered again before it returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Saved {
    words: Vec<[u32; 32]>,
    doubles: Vec<[u64; 32]>,
    predicates: Vec<u32>,
    local: Vec<u8>,
    params: Vec<u8>,
}

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub function: u32,
    pub back: u32,
    /// The stack pointers before the call, where there is a stack: what a function takes of it ends with it.
    pub stack: Option<Box<[u64; 32]>>,
    pub saved: Option<Box<Saved>>,
}

/// Lanes at the same place.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub pc: u32,
    pub mask: u32,
    pub wait: Option<Wait>,
    pub resumed: Resumed,
    pub stack: Vec<Frame>,
}

impl Split {
    /// Whether lanes that come to the same place may join: not when it has done half of an instruction.
    fn joins(&self) -> bool {
        matches!(self.wait, None | Some(Wait::Converge { .. })) && self.resumed == Resumed::No
    }
}

/// Which lanes of which registers were written.
pub(crate) struct Defined {
    words: Vec<u32>,
    doubles: Vec<u32>,
    predicates: Vec<u32>,
}

impl Defined {
    #[inline]
    fn lanes(&mut self, register: Register) -> &mut u32 {
        let file = match register.file {
            File::Word => &mut self.words,
            File::Double => &mut self.doubles,
            File::Predicate => &mut self.predicates,
        };
        &mut file[register.slot as usize]
    }
}

/// A warp.
pub(crate) struct Warp {
    /// Its number among the agents of the cluster.
    pub agent: u16,
    /// Its program's rank in the cluster, and its number in the program.
    pub cta: usize,
    pub index: usize,
    pub registers: Registers,
    pub defined: Option<Defined>,
    pub splits: Vec<Split>,
    pub local: Vec<u8>,
    pub call_params: Vec<u8>,
    pub cursor: Cursor,
    pub order: Order,
    pub counters: Counters,
    pub copies: CopyQueue,
    pub matrix: MatrixQueue,
    pub polls: Polls,
    /// The generation of the cluster's barrier that it arrived in.
    pub cluster_phase: u64,
    /// Bulk groups committed so far, by lane.
    pub bulk_groups: [u32; 32],
    /// Bulk copies out of shared memory that were not waited for: lane, group, and the time of the read.
    pub bulk_reads: Vec<(u8, u32, u32)>,
    streak: u32,
}

impl Warp {
    /// A warp at the kernel's first instruction.
    pub fn new(l: &Launched, world: &World, cta: usize, index: usize) -> Self {
        let kernel = l.kernel;
        let mut registers = Registers {
            words: vec![[0; 32]; kernel.words as usize],
            doubles: vec![[0; 32]; kernel.doubles as usize],
            predicates: vec![0; kernel.predicates as usize],
            carry: 0,
        };
        for &(slot, value) in &kernel.constant_words {
            registers.words[slot as usize] = [value; 32];
        }
        for &(slot, value) in &kernel.constant_doubles {
            registers.doubles[slot as usize] = [value; 32];
        }
        for &(slot, value) in &kernel.constant_predicates {
            registers.predicates[slot as usize] = if value { u32::MAX } else { 0 };
        }
        if kernel.stack != NONE {
            registers.doubles[kernel.stack as usize] = [kernel.stack_start.into(); 32];
        }
        for &(special, register) in &kernel.specials {
            let value = |lane| special_value(l, world, special, cta, index, lane);
            match register.file {
                File::Word => registers.words[register.slot as usize] = std::array::from_fn(|lane| value(lane) as u32),
                File::Double => registers.doubles[register.slot as usize] = std::array::from_fn(value),
                File::Predicate => {
                    registers.predicates[register.slot as usize] = if value(0) != 0 { u32::MAX } else { 0 }
                }
            }
        }
        let defined = l.sanitize.then(|| {
            let mut defined = Defined {
                words: vec![0; kernel.words as usize],
                doubles: vec![0; kernel.doubles as usize],
                predicates: vec![0; kernel.predicates as usize],
            };
            for &register in &kernel.defined {
                *defined.lanes(register) = u32::MAX;
            }
            defined
        });
        let mask = world.ctas[cta].threads[index];
        let agent = (cta * world.warps_per_cta + index) as u16;
        let mut order = Order::new(world.agents());
        order.clock = VectorClock::of_agent(world.agents(), agent);
        Self {
            agent,
            cta,
            index,
            registers,
            defined,
            splits: vec![Split { pc: 0, mask, wait: None, resumed: Resumed::No, stack: Vec::new() }],
            local: vec![POISON; 32 * kernel.local_bytes as usize],
            call_params: vec![POISON; 32 * kernel.call_param_bytes as usize],
            cursor: Cursor::default(),
            order,
            counters: Counters::default(),
            copies: CopyQueue::default(),
            matrix: MatrixQueue::default(),
            polls: Polls::default(),
            cluster_phase: 0,
            bulk_groups: [0; 32],
            bulk_reads: Vec::new(),
            streak: 0,
        }
    }

    /// Whether all lanes have exited.
    pub fn is_done(&self) -> bool {
        self.splits.is_empty()
    }

    /// Whether a split's wait is over.
    fn is_ready(&self, world: &World, split: &Split) -> bool {
        if split.resumed == Resumed::TimedOut {
            return true;
        }
        match split.wait {
            None | Some(Wait::Turn) => true,
            Some(Wait::Barrier { id, generation }) => world.ctas[self.cta].barriers[id].generation != generation,
            Some(Wait::MemoryBarrier { cta, offset, phase }) => {
                // One that is not there may still be initialised.
                world.ctas[cta].memory_barriers.get(&offset).map_or(phase != u64::MAX, |barrier| barrier.phase != phase)
            }
            Some(Wait::ClusterBarrier { generation }) => world.barrier.generation != generation,
            Some(Wait::Converge { .. }) => false,
        }
    }

    /// Whether any lane can run.
    pub fn can_run(&self, world: &World) -> bool {
        self.splits.iter().any(|split| self.is_ready(world, split))
    }

    /// Lets a wait of the given kind end without what it waits for; false if there is none.
    pub fn time_out(&mut self, which: impl Fn(&Wait) -> bool) -> bool {
        match self.splits.iter_mut().find(|split| split.wait.as_ref().is_some_and(&which)) {
            Some(split) => {
                split.resumed = Resumed::TimedOut;
                true
            }
            None => false,
        }
    }

    /// Takes out the split to run: the ready one with the lowest program counter.
    fn choose(&mut self, world: &mut World) -> Option<Split> {
        if let [split] = self.splits.as_slice() {
            if !self.is_ready(world, split) {
                return None;
            }
            return self.splits.pop().map(Self::awake);
        }
        let ready: Vec<usize> = (0..self.splits.len()).filter(|&n| self.is_ready(world, &self.splits[n])).collect();
        let index = if self.streak > FAIRNESS && ready.len() > 1 {
            self.streak = 0;
            ready[world.random.below(ready.len())]
        } else {
            ready.into_iter().min_by_key(|&n| self.splits[n].pc)?
        };
        Some(Self::awake(self.splits.swap_remove(index)))
    }

    fn awake(mut split: Split) -> Split {
        if split.wait.take().is_some() && split.resumed == Resumed::No {
            split.resumed = Resumed::Ready;
        }
        split
    }

    /// Joins splits at the same place to this one; false if another one should run first.
    fn join(&mut self, world: &World, split: &mut Split) -> bool {
        let mut first = true;
        let mut index = 0;
        while index < self.splits.len() {
            let other = &self.splits[index];
            if other.pc == split.pc && other.joins() && split.joins() && other.stack == split.stack {
                split.mask |= other.mask;
                self.splits.swap_remove(index);
                continue;
            }
            if other.pc < split.pc && self.streak <= FAIRNESS && self.is_ready(world, other) {
                first = false;
            }
            index += 1;
        }
        first
    }

    /// Executes up to `quantum` instructions, fewer if all lanes wait.
    pub fn run(&mut self, l: &Launched, world: &mut World, quantum: u32) -> Result<()> {
        let kernel: &Kernel = l.kernel;
        let mut left = quantum;
        while left > 0 {
            let Some(mut split) = self.choose(world) else {
                break;
            };
            while left > 0 {
                if !self.splits.is_empty() {
                    if !self.join(world, &mut split) {
                        break;
                    }
                    self.streak += 1;
                    if self.streak > FAIRNESS && self.splits.iter().any(|other| self.is_ready(world, other)) {
                        break;
                    }
                }
                left -= 1;
                let pc = split.pc;
                let inst = &kernel.insts[pc as usize];
                let mut mask = split.mask;
                if inst.guard != NONE {
                    let p = self.registers.p(inst.guard);
                    mask &= if inst.guard_negated { !p } else { p };
                    if self.defined.is_some() {
                        self.check_guard(l, world, &split, inst.guard);
                    }
                }
                if mask == 0 {
                    split.pc += 1;
                    continue;
                }
                let resumed = std::mem::replace(&mut split.resumed, Resumed::No);
                if resumed == Resumed::No {
                    self.counters.count(inst.class, mask.count_ones());
                    if self.defined.is_some() {
                        self.check_registers(l, world, pc, mask);
                    }
                }
                if let Some(trace) = l.trace {
                    crate::ptx::trace::before(trace, self, world, l, pc, mask);
                }
                let mut cx = Cx { l, world, warp: self, pc, mask, here: split.mask, resumed };
                let step = isa::execute(&inst.op, &mut cx)?;
                if let Some(trace) = l.trace
                    && !matches!(step, Step::Wait(_))
                {
                    crate::ptx::trace::after(trace, self, world, l, pc, mask);
                }
                match step {
                    Step::Next => split.pc += 1,
                    Step::Wait(wait) => {
                        split.wait = Some(wait);
                        break;
                    }
                    Step::Branch { taken, target } => {
                        if taken == split.mask {
                            split.pc = target;
                        } else if taken == 0 {
                            split.pc += 1;
                        } else {
                            self.splits.push(Split { pc: target, mask: taken, ..split.clone() });
                            split.mask &= !taken;
                            split.pc += 1;
                        }
                    }
                    Step::Scatter(targets) => {
                        split.mask &= !mask;
                        split.pc += 1;
                        for &(target, lanes) in &targets {
                            self.splits.push(Split { pc: target, mask: lanes, ..split.clone() });
                        }
                        if split.mask == 0 {
                            break;
                        }
                    }
                    Step::Exit => {
                        split.mask &= !mask;
                        split.pc += 1;
                        self.exit(world, mask);
                    }
                    Step::Call(function) => {
                        let rest = split.mask & !mask;
                        if rest != 0 {
                            self.splits.push(Split { pc: pc + 1, mask: rest, ..split.clone() });
                            split.mask = mask;
                        }
                        self.call(l, world, &mut split, function)?;
                    }
                    Step::CallSome { function, lanes } => {
                        let off = split.mask & !mask;
                        if off != 0 {
                            self.splits.push(Split { pc: pc + 1, mask: off, ..split.clone() });
                        }
                        let others = mask & !lanes;
                        if others != 0 {
                            self.splits.push(Split { mask: others, ..split.clone() });
                        }
                        split.mask = lanes;
                        self.call(l, world, &mut split, function)?;
                    }
                    Step::Return => {
                        let rest = split.mask & !mask;
                        if rest != 0 {
                            self.splits.push(Split { pc: pc + 1, mask: rest, ..split.clone() });
                            split.mask = mask;
                        }
                        match split.stack.pop() {
                            None => {
                                split.mask = 0;
                                self.exit(world, mask);
                            }
                            Some(frame) => {
                                split.pc = frame.back;
                                let call = &kernel.insts[frame.back as usize - 1].op;
                                let results = Results::take(call, l, self, frame.function);
                                if let Some(saved) = frame.saved {
                                    self.restore(l, frame.function, &saved, mask);
                                }
                                if let Some(stack) = frame.stack {
                                    self.registers.set_d(kernel.stack, &stack, mask);
                                }
                                results.put(l, self, mask);
                            }
                        }
                    }
                }
                if split.mask == 0 {
                    break;
                }
            }
            if split.mask != 0 {
                self.splits.push(split);
            }
        }
        world.executed += u64::from(quantum - left);
        Ok(())
    }

    /// Lanes exit; barriers no longer wait for them.
    fn exit(&mut self, world: &mut World, mask: u32) {
        let cta = &mut world.ctas[self.cta];
        cta.live[self.index] &= !mask;
        world.progress += 1;
        for id in 0..world.ctas[self.cta].barriers.len() {
            world.ctas[self.cta].try_release(id);
        }
        world.try_release_cluster();
    }

    fn call(&mut self, l: &Launched, world: &mut World, split: &mut Split, function: u32) -> Result<()> {
        let callee = &l.kernel.functions[function as usize];
        if split.stack.len() >= MAX_CALLS {
            let cx =
                Cx { l, world, warp: self, pc: split.pc, mask: split.mask, here: split.mask, resumed: Resumed::No };
            return Err(cx.fault(format!("calls nested more than {MAX_CALLS} deep")));
        }
        let active = split.stack.iter().any(|frame| frame.function == function);
        let saved = active.then(|| {
            let range = |r: &std::ops::Range<u32>| r.start as usize..r.end as usize;
            Box::new(Saved {
                words: self.registers.words[range(&callee.words)].to_vec(),
                doubles: self.registers.doubles[range(&callee.doubles)].to_vec(),
                predicates: self.registers.predicates[range(&callee.predicates)].to_vec(),
                local: self.local.clone(),
                params: self.call_params.clone(),
            })
        });
        control::pass(&l.kernel.insts[split.pc as usize].op, l, self, function, split.mask);
        if let Some(defined) = &mut self.defined {
            for register in callee.params.iter().flat_map(|formal| formal.registers()) {
                *defined.lanes(register) |= split.mask;
            }
        }
        let stack = (l.kernel.stack != NONE).then(|| Box::new(*self.registers.d(l.kernel.stack)));
        split.stack.push(Frame { function, back: split.pc + 1, stack, saved });
        split.pc = callee.entry;
        Ok(())
    }

    /// Gives lanes back the registers and variables that they had before a recursive call.
    fn restore(&mut self, l: &Launched, function: u32, saved: &Saved, mask: u32) {
        let callee = &l.kernel.functions[function as usize];
        for (slot, value) in callee.words.clone().zip(&saved.words) {
            self.registers.set_w(slot, value, mask);
        }
        for (slot, value) in callee.doubles.clone().zip(&saved.doubles) {
            self.registers.set_d(slot, value, mask);
        }
        for (slot, value) in callee.predicates.clone().zip(&saved.predicates) {
            self.registers.set_p(slot, *value, mask);
        }
        let copy = |to: &mut [u8], from: &[u8], bytes: u32, range: std::ops::Range<u32>| {
            for lane in Lanes(mask) {
                let start = lane * bytes as usize;
                let range = start + range.start as usize..start + range.end as usize;
                to[range.clone()].copy_from_slice(&from[range]);
            }
        };
        copy(&mut self.local, &saved.local, l.kernel.local_bytes, callee.locals.clone());
        copy(&mut self.call_params, &saved.params, l.kernel.call_param_bytes, callee.call_params.clone());
    }

    fn check_guard(&mut self, l: &Launched, world: &mut World, split: &Split, guard: u32) {
        let register = Register { file: File::Predicate, slot: guard };
        let Some(defined) = &mut self.defined else {
            return;
        };
        let missing = split.mask & !*defined.lanes(register);
        if missing != 0 {
            *defined.lanes(register) |= missing;
            let pc = split.pc;
            let cx = Cx { l, world, warp: self, pc, mask: split.mask, here: split.mask, resumed: Resumed::No };
            cx.uninitialized(missing);
        }
    }

    /// Reports registers read before they were written, and notes those that will be.
    fn check_registers(&mut self, l: &Launched, world: &mut World, pc: u32, mask: u32) {
        let info = &l.kernel.infos[pc as usize];
        let Some(defined) = &mut self.defined else {
            return;
        };
        let mut missing = 0;
        for &register in &info.reads {
            let lanes = defined.lanes(register);
            missing |= mask & !*lanes;
            // Told once.
            *lanes |= mask;
        }
        for &register in &info.writes {
            *defined.lanes(register) |= mask;
        }
        self.matrix.wrote(info);
        let in_flight = !self.matrix.is_empty() && self.matrix.touches(info);
        if missing != 0 || in_flight {
            let cx = Cx { l, world, warp: self, pc, mask, here: mask, resumed: Resumed::No };
            if missing != 0 {
                cx.uninitialized(missing);
            }
            if in_flight {
                cx.find_matrix_in_flight();
            }
        }
    }
}

impl Cx<'_> {
    #[cold]
    fn uninitialized(&self, lanes: u32) {
        let lane = lanes.trailing_zeros() as usize;
        self.find(
            FindingKind::UninitializedRegister,
            Some(lane),
            None,
            None,
            "a register is read that was never written",
        );
    }
}

fn special_value(l: &Launched, world: &World, special: Special, cta: usize, warp: usize, lane: usize) -> u64 {
    let launch = l.launch;
    let thread = (warp * 32 + lane) as u32;
    let [bx, by, _] = launch.block;
    let id = world.ctas[cta].id;
    let cluster = l.cluster;
    let rank = cta as u32;
    let value = match special {
        Special::Tid(0) => thread % bx,
        Special::Tid(1) => thread / bx % by,
        Special::Tid(_) => thread / bx / by,
        Special::Ntid(axis) => launch.block[axis as usize],
        Special::Ctaid(axis) => id[axis as usize],
        Special::Nctaid(axis) => launch.grid[axis as usize],
        Special::Laneid => lane as u32,
        Special::Warpid => warp as u32,
        Special::Nwarpid => 64,
        Special::Smid => world.ctas[cta].linear % l.multiprocessors,
        Special::Nsmid => l.multiprocessors,
        Special::Gridid => 1,
        Special::LanemaskEq => 1 << lane,
        Special::LanemaskLt => (1 << lane) - 1,
        Special::LanemaskLe => (1 << lane) | ((1 << lane) - 1),
        Special::LanemaskGe => u32::MAX << lane,
        Special::LanemaskGt => !((1 << lane) | ((1 << lane) - 1)),
        Special::Clusterid(axis) => id[axis as usize] / cluster[axis as usize],
        Special::Nclusterid(axis) => launch.grid[axis as usize] / cluster[axis as usize],
        Special::ClusterCtaid(axis) => id[axis as usize] % cluster[axis as usize],
        Special::ClusterNctaid(axis) => cluster[axis as usize],
        Special::ClusterCtarank => rank,
        Special::ClusterNctarank => world.ctas.len() as u32,
        Special::IsExplicitCluster => u32::from(world.ctas.len() > 1),
        Special::TotalSmemSize | Special::AggrSmemSize => world.ctas[cta].shared.len() as u32,
        Special::DynamicSmemSize => launch.dynamic_shared,
        Special::Zero | Special::ZeroDouble => 0,
    };
    value.into()
}
