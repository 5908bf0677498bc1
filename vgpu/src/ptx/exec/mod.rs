//! Running a decoded kernel: programs on a thread pool, warps of a cluster by a seeded scheduler, lanes by masks.

pub(crate) mod cluster;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod report;
pub(crate) mod state;
pub(crate) mod warp;

use super::program::Kernel;
use launch::Launched;
use state::World;
use warp::Warp;

/// What an instruction executes in.
pub(crate) struct Cx<'a> {
    pub l: &'a Launched<'a>,
    pub world: &'a mut World,
    pub warp: &'a mut Warp,
    pub pc: u32,
    /// The lanes that execute: at this instruction, and not turned off by its guard.
    pub mask: u32,
    /// The lanes at this instruction, the others among them.
    pub here: u32,
    /// Set when the instruction waited, and now goes on.
    pub resumed: Resumed,
}

/// How an instruction comes to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// For the first time.
    No,
    /// What it waited for has happened.
    Ready,
    /// It has not, but nothing else could run.
    TimedOut,
}

/// What a split waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A barrier of the program to leave a generation.
    Barrier { id: usize, generation: u64 },
    /// A memory barrier to leave a phase.
    MemoryBarrier { cta: usize, offset: u32, phase: u64 },
    /// The cluster's barrier to leave a generation.
    ClusterBarrier { generation: u64 },
    /// Other lanes of the warp to come to this instruction.
    Converge { mask: u32 },
    /// Nothing but other warps to have run.
    Turn,
}

/// How execution goes on after an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// At the next instruction.
    Next,
    /// At the same one, once something has happened.
    Wait(Wait),
    /// At a target for some of the lanes, at the next for the others.
    Branch { taken: u32, target: u32 },
    /// At targets of each lane's own.
    Scatter(Box<[(u32, u32)]>),
    /// Not at all, for the executing lanes.
    Exit,
    /// In a function.
    Call(u32),
    /// In a function for some of the lanes; the others execute the instruction again.
    CallSome { function: u32, lanes: u32 },
    /// Behind the call.
    Return,
}

impl<'a> Cx<'a> {
    pub fn kernel(&self) -> &'a Kernel {
        self.l.kernel
    }

    /// The executing lanes, one by one.
    pub fn lanes(&self) -> Lanes {
        Lanes(self.mask)
    }
}

/// The lanes of a mask, ascending.
#[derive(Clone, Copy)]
pub(crate) struct Lanes(pub u32);

impl Iterator for Lanes {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}
