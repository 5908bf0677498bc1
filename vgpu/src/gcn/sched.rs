//! The scheduler of a workgroup: which wave runs when, barriers, and the end.
//!
//! The order is pseudo-random but a pure function of the launch's seed and the workgroup's number, so that races move when the seed does and
//! stay when it does not.

use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::finding::FindingKind;
use crate::gcn::exec::state::{Env, Flow, Group, Wave, WaveState};
use crate::gcn::exec::{Cx, salu};
use crate::gcn::inst::Unit;
use crate::gcn::trace;
use crate::launch::Launch;
use crate::sanitizer::VectorClock;

/// A small generator (xorshift64*): the sequence is all that matters.
struct Random(u64);

impl Random {
    fn new(seed: u64, workgroup: u32) -> Self {
        let mixed =
            (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(workgroup).wrapping_mul(0xbf58_476d_1ce4_e5b9));
        Self(mixed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }
}

/// The most instructions that a wave executes before another may run.
const LONGEST_TURN: usize = 512;

/// A sleeping wave waits for others: one sleep counts as so many instructions of a slice, so that other workgroups get their turn soon.
const SLEEP: u64 = 1000;

/// A workgroup under way.
pub(crate) struct Workgroup {
    group: Group,
    waves: Vec<Wave>,
    /// Waves that can run.
    ready: Vec<usize>,
    random: Random,
    /// Instructions that it may still execute.
    left: u64,
}

impl Workgroup {
    /// A workgroup that has not started.
    pub(crate) fn new(group: Group, waves: Vec<Wave>, launch: &Launch) -> Self {
        let random = Random::new(launch.seed, group.linear);
        let ready = (0..waves.len()).collect();
        Self { group, waves, ready, random, left: launch.instruction_limit }
    }

    /// What it cost so far.
    pub(crate) fn into_counters(self) -> Counters {
        self.group.counters
    }

    /// The workgroup's number in the grid.
    pub(crate) fn linear(&self) -> u32 {
        self.group.linear
    }

    /// Runs it for about so many instructions. True when it is done.
    pub(crate) fn run(&mut self, env: &Env<'_>, mut slice: u64) -> Result<bool> {
        while !self.ready.is_empty() || release(env, &mut self.group, &mut self.waves, &mut self.ready)? {
            if slice == 0 {
                return Ok(false);
            }
            let chosen = self.random.below(self.ready.len());
            let wave = &mut self.waves[self.ready[chosen]];
            // Turns of very different length move waves against each other.
            let turn = 1 + self.random.below(LONGEST_TURN);
            let before = wave.executed;
            let slept = turn_of(env, &mut self.group, wave, turn)?;
            let executed = wave.executed - before;
            slice = slice.saturating_sub(executed + if slept { SLEEP } else { 0 });
            self.left = self.left.saturating_sub(executed);
            if self.left == 0 {
                return Err(Error::InstructionLimit {
                    kernel: env.kernel.to_owned(),
                    program: self.group.id,
                    limit: env.instruction_limit,
                });
            }
            if wave.state != WaveState::Running {
                self.ready.swap_remove(chosen);
            }
        }
        Ok(true)
    }
}

/// Lets a wave execute at most `turn` instructions. True when it went to sleep.
fn turn_of(env: &Env<'_>, group: &mut Group, wave: &mut Wave, turn: usize) -> Result<bool> {
    let program = env.program;
    let Some(mut at) = program.at(wave.pc) else { return Err(lost(env, group, wave)) };
    let mut cx = Cx { w: wave, g: group, env, next: 0, flow: Flow::Next, defined: u64::MAX };
    for _ in 0..turn {
        let Some(inst) = program.insts.get(at) else { return Err(lost(env, cx.g, cx.w)) };
        cx.defined = u64::MAX;
        cx.w.ticks += 1;
        cx.w.executed += 1;
        cx.g.counters.count(inst.class, cx.w.exec.count_ones());
        if cx.w.rdna_hazards.is_some() {
            cx.hazard_rdna(inst);
        }
        let begun = env.trace.and_then(|tracer| Some((tracer, trace::before(tracer, &cx, inst)?)));
        match cx.w.gpr_index {
            _ if cx.w.mode.skip_vector && inst.unit != Unit::Scalar => {}
            Some(mode) if inst.unit == Unit::Vector => salu::indexed(&mut cx, inst, mode),
            _ => (inst.run)(&mut cx, inst),
        }
        if let Some((tracer, begun)) = begun {
            trace::after(tracer, begun, &cx, inst);
        }
        at += 1;
        match std::mem::replace(&mut cx.flow, Flow::Next) {
            Flow::Next => {}
            Flow::Jump => {
                cx.w.pc = cx.next;
                match program.at(cx.next) {
                    Some(index) => at = index,
                    None => return Err(lost(env, cx.g, cx.w)),
                }
            }
            Flow::Barrier => {
                cx.g.counters.barriers += 1;
                cx.w.pc = u64::from(inst.pc + inst.size);
                cx.w.state = WaveState::Barrier(inst.pc);
                return Ok(false);
            }
            Flow::Yield => {
                cx.w.pc = u64::from(inst.pc + inst.size);
                return Ok(true);
            }
            Flow::End => {
                cx.drain();
                cx.check_scalar_stores();
                cx.w.state = WaveState::Done;
                return Ok(false);
            }
            Flow::Fail(error) => return Err(error),
        }
    }
    match program.insts.get(at) {
        Some(inst) => cx.w.pc = u64::from(inst.pc),
        None => return Err(lost(env, cx.g, cx.w)),
    }
    Ok(false)
}

fn lost(env: &Env<'_>, group: &Group, wave: &Wave) -> Error {
    Error::Fault {
        kernel: env.kernel.to_owned(),
        program: group.id,
        location: crate::error::Location::code(wave.pc),
        detail: format!("wave {} goes on where there is no code", wave.id),
    }
}

/// When no wave can run: lets those at the barrier pass it. False when all are done.
fn release(env: &Env<'_>, group: &mut Group, waves: &mut [Wave], ready: &mut Vec<usize>) -> Result<bool> {
    let waiting: Vec<(usize, u32)> = waves
        .iter()
        .enumerate()
        .filter_map(|(index, wave)| match wave.state {
            WaveState::Barrier(pc) => Some((index, pc)),
            _ => None,
        })
        .collect();
    let Some(&(first, pc)) = waiting.first() else { return Ok(false) };
    if env.sanitize {
        check_barrier(env, group, waves, first, pc);
    }
    group.signalled = 0;
    // Whoever passes knows all that the others did before they arrived.
    let mut joined = VectorClock::new(waves.len());
    for &(index, _) in &waiting {
        joined.join(waves[index].arrived.as_ref().unwrap_or(&group.clocks[index]));
    }
    for &(index, _) in &waiting {
        group.clocks[index].join(&joined);
        waves[index].arrived = None;
        waves[index].state = WaveState::Running;
        ready.push(index);
    }
    Ok(true)
}

/// A barrier is for all waves of the workgroup. They need not be at one place: the hardware counts arrivals (CDNA3 ISA, `S_BARRIER`), and
/// compilers that let halves of a workgroup take turns make the halves wait at different ones. Who has ended is no longer counted, which
/// tells that waves passed different numbers of barriers.
fn check_barrier(env: &Env<'_>, group: &mut Group, waves: &mut [Wave], first: usize, pc: u32) {
    let Some(done) = waves.iter().find(|wave| wave.state == WaveState::Done) else { return };
    let message = format!("wave {} has ended without reaching the barrier that others wait at", done.id);
    let mut cx = Cx { w: &mut waves[first], g: group, env, next: 0, flow: Flow::Next, defined: u64::MAX };
    cx.find(FindingKind::BarrierDivergence, pc, None, None, None, message);
}
