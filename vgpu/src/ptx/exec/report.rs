//! Findings from the machine's own terms: instructions by number, agents by warp.

use super::Cx;
use super::launch::Launched;
use super::state::World;
use crate::error::{Error, Location};
use crate::finding::{Address, Agent, Finding, FindingKind, Instruction, OtherAccess};
use crate::sanitizer::{SharedConflict, VectorClock};

impl Launched<'_> {
    /// The place of an instruction.
    pub fn location(&self, pc: u32) -> Location {
        let position = self.kernel.infos[pc as usize].position;
        Location { file: self.file.clone(), ..Location::text(position.line, position.column) }
    }

    /// An instruction for people.
    pub fn instruction(&self, pc: u32) -> Instruction {
        let Some(info) = self.kernel.infos.get(pc as usize) else {
            return Instruction::default();
        };
        Instruction {
            text: info.text.clone(),
            location: self.location(pc),
            source: info.source.map(|index| self.kernel.sources[index as usize].clone()),
        }
    }

    /// The program of a linear index.
    pub fn program(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.grid;
        [linear % x, linear / x % y, linear / x / y]
    }
}

impl World {
    /// What a conflict with an earlier access to shared memory is to one whose clock this is, and what to say of it.
    pub fn conflict(
        &self,
        l: &Launched,
        conflict: &SharedConflict,
        clock: &VectorClock,
    ) -> (FindingKind, &'static str) {
        let race = (FindingKind::SharedRace, "two warps access it without a barrier in between");
        let Some(warp) = conflict.other.agent.checked_sub(self.engine_agent() + 1) else { return race };
        let started = self.readings[usize::from(warp)][conflict.time as usize - 1];
        if clock.get(warp) < started {
            return race;
        }
        match l.kernel.infos.get(conflict.other.pc as usize).map(|info| info.opcode.as_str()) {
            Some("wgmma") => (
                FindingKind::SharedRace,
                "it is written before the product that reads it was waited for (wgmma.wait_group)",
            ),
            _ => (
                FindingKind::AsyncSourceOverwritten,
                "it is written before the copy was known to have read it (cp.async.bulk.wait_group.read)",
            ),
        }
    }

    /// The warp behind an agent number: its program, and its number there.
    pub fn agent(&self, agent: u16, lane: Option<u32>) -> Agent {
        let warps = self.warps_per_cta;
        let engine = self.engine_agent();
        let agent = if agent > engine { agent - engine - 1 } else { agent };
        let rank = (agent as usize / warps).min(self.ctas.len() - 1);
        Agent { program: self.ctas[rank].id, warp: (agent as usize % warps) as u32, lane }
    }
}

impl Cx<'_> {
    /// The executing warp with a lane.
    pub fn agent(&self, lane: Option<usize>) -> Agent {
        Agent {
            program: self.world.ctas[self.warp.cta].id,
            warp: self.warp.index as u32,
            lane: lane.map(|lane| lane as u32),
        }
    }

    /// Adds a finding about the current instruction.
    pub fn find(
        &self,
        kind: FindingKind,
        lane: Option<usize>,
        address: Option<Address>,
        other: Option<OtherAccess>,
        message: impl Into<String>,
    ) {
        self.l.report.add(Finding {
            kind,
            kernel: self.l.kernel.name.clone(),
            instruction: self.l.instruction(self.pc),
            agent: self.agent(lane),
            address,
            other,
            message: message.into(),
            count: 1,
        });
    }

    /// An error at the current instruction after which the program cannot go on.
    pub fn fault(&self, detail: impl Into<String>) -> Error {
        Error::Fault {
            kernel: self.l.kernel.name.clone(),
            program: self.world.ctas[self.warp.cta].id,
            location: self.l.location(self.pc),
            detail: detail.into(),
        }
    }
}
