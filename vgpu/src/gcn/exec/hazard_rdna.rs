//! Distances that software must keep between dependent instructions on RDNA 3 and 4 in waves of 32.
//!
//! What is checked is what LLVM's hazard recogniser keeps apart for these processors:
//!
//! - RDNA 3: the result of a transcendental instruction is not read by one of the next six vector instructions, unless two more
//!   transcendental ones, a memory instruction, or a wait for vector results (`s_waitcnt_depctr` with `va_vdst` of zero) come in between;
//! - both: a matrix instruction does not have factors (or the index of a sparse one) from the matrix instruction before it without another
//!   vector instruction in between.
//!
//! All other dependences between vector instructions are interlocked by the hardware: `s_delay_alu` is a hint and may be wrong. Not
//! checked are the distances that only waves of 64 need (masks, partial forwarding), and `s_wait_alu` of RDNA 4 between reads and writes of
//! scalar registers.

use super::Cx;
use super::registers::register_name;
use crate::finding::{Agent, FindingKind, OtherAccess};
use crate::gcn::arch::Arch;
use crate::gcn::inst::{Inst, Kind, Opnd, Unit};

/// A vector instruction whose result may be too young.
#[derive(Clone, Copy, Debug)]
struct Young {
    /// First register of the result, and how many.
    first: u16,
    count: u16,
    /// Vector instructions so far, this one among them.
    vector: u32,
    /// Transcendental ones so far.
    trans: u32,
    pc: u32,
}

/// What is remembered of a wave's recent instructions.
#[derive(Debug, Default)]
pub(crate) struct RdnaHazards {
    vector: u32,
    trans: u32,
    /// Transcendental instructions whose results may be too young.
    young: Vec<Young>,
    matrix: Option<Young>,
}

/// Vector instructions that may come between a transcendental one and a reader that is still too early.
const MOST_VECTOR: u32 = 5;
/// Transcendental instructions that may.
const MOST_TRANS: u32 = 1;

fn overlaps(opnd: Opnd, registers: u8, young: &Young) -> bool {
    match opnd {
        Opnd::V(r) => r < young.first + young.count && young.first < r + u16::from(registers.max(1)),
        _ => false,
    }
}

impl Cx<'_> {
    /// Checks and notes an instruction before it is executed.
    pub(crate) fn hazard_rdna(&mut self, i: &Inst) {
        let Some(mut hazards) = self.w.rdna_hazards.take() else { return };
        match i.unit {
            Unit::Vector | Unit::Matrix => self.check_young(i, &mut hazards),
            // Memory instructions wait for all vector results.
            Unit::Memory => hazards.young.clear(),
            Unit::Scalar if i.name == "s_waitcnt_depctr" && i.imm >> 12 & 15 == 0 => hazards.young.clear(),
            Unit::Scalar => {}
        }
        self.w.rdna_hazards = Some(hazards);
    }

    fn check_young(&mut self, i: &Inst, hazards: &mut RdnaHazards) {
        let (vector, trans) = (hazards.vector, hazards.trans);
        hazards.young.retain(|young| vector - young.vector <= MOST_VECTOR && trans - young.trans <= MOST_TRANS);
        if !hazards.young.is_empty() {
            for (opnd, count) in i.sources() {
                if let Some(young) = hazards.young.iter().find(|young| overlaps(opnd, count, young)) {
                    let what = "the result of a transcendental instruction, is read too early: wait for it with s_waitcnt_depctr first";
                    self.find_young(i, young, what);
                }
            }
            // What is written anew is no longer the transcendental unit's.
            for (opnd, count) in i.destinations(true) {
                hazards.young.retain(|young| !overlaps(opnd, count, young));
            }
        }
        hazards.vector += 1;
        let Opnd::V(first) = i.dst else { return };
        let young = Young {
            first,
            count: u16::from(i.dst_regs.max(1)),
            vector: hazards.vector,
            trans: hazards.trans + 1,
            pc: i.pc,
        };
        if i.is_trans() {
            hazards.trans += 1;
            if self.env.arch == Arch::Gfx1100 {
                hazards.young.push(young);
            }
        }
        if let Kind::Matrix(op) = i.kind {
            if let Some(last) = hazards.matrix.filter(|last| last.vector + 1 == hazards.vector) {
                let factors = if op.sparse { 3 } else { 2 };
                if (0..factors).any(|n| overlaps(i.src[n], i.src_regs[n], &last)) {
                    let what = "a matrix instruction's result, is a factor of the next one: put a v_nop in between";
                    self.find_young(i, &last, what);
                }
            }
            hazards.matrix = Some(young);
        }
    }

    #[cold]
    fn find_young(&mut self, i: &Inst, young: &Young, what: &str) {
        let other = OtherAccess {
            action: "write".to_owned(),
            instruction: self.env.instruction(young.pc),
            agent: Agent { program: self.g.id, warp: u32::from(self.w.id), lane: None },
        };
        let message = format!("{}, {what}", register_name(young.first));
        self.find(FindingKind::Hazard, i.pc, None, None, Some(other), message);
    }
}
