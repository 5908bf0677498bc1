//! Distances that software must keep between dependent instructions on CDNA, where the hardware does not.
//!
//! A distance is counted in wait states: every instruction is one, and `s_nop` adds more. The rules are those of the CDNA3 ISA document
//! and of what LLVM's hazard recogniser inserts.

use super::Cx;
use super::matrix;
use super::registers::register_name;
use crate::finding::{Agent, FindingKind, OtherAccess};
use crate::gcn::arch::Arch;
use crate::gcn::inst::{Inst, Kind, LaneControl, Opnd, Select, Unit, sreg};

/// When the results of a matrix instruction may be touched, in wait states after it.
#[derive(Clone, Copy, Debug, Default)]
struct MatrixWrite {
    /// The wave's count of wait states when it was issued.
    issued: u32,
    /// Before vector instructions.
    valu: u8,
    /// Before memory instructions.
    memory: u8,
    /// Before matrix instructions take it as a factor.
    factor: u8,
    /// Before matrix instructions take it as an addend that overlaps without being the same registers.
    addend: u8,
    /// Before matrix instructions take the very same registers as addend.
    same_addend: u8,
    /// Whether the writer is one of those that work on narrow formats.
    xdl: bool,
    /// The first register written, to tell the same from an overlap.
    first: u16,
    pc: u32,
}

/// The last ordinary vector instruction that wrote a register.
#[derive(Clone, Copy, Debug, Default)]
struct VectorWrite {
    issued: u32,
    pc: u32,
    /// Of the transcendental unit.
    trans: bool,
    /// A dot product.
    dot: bool,
    /// Only a part of the register was written.
    partial: bool,
}

/// The last matrix instruction that read a register as addend, and how long it may not be overwritten.
#[derive(Clone, Copy, Debug, Default)]
struct AddendRead {
    issued: u32,
    until: u8,
    pc: u32,
}

/// What is remembered of a wave's recent instructions.
#[derive(Debug, Default)]
pub(crate) struct Hazards {
    matrix: Vec<MatrixWrite>,
    /// No matrix result is too young after this tick.
    matrix_horizon: u32,
    addends: Vec<AddendRead>,
    addend_horizon: u32,
    vector: Vec<VectorWrite>,
    /// Scalar registers by the tick and place of the vector instruction that wrote them last.
    scalar: Vec<(u32, u32)>,
    /// The last write of m0 by the scalar unit: tick, place.
    m0: (u32, u32),
    /// The last hardware register that was set: which, tick, place.
    hardware: (u32, u32, u32),
    /// The last matrix instruction in double precision: tick, place.
    matrix_f64: (u32, u32),
    /// Data of the last wide store: first register, registers, tick, place.
    store: Option<(u16, u16, u32, u32)>,
}

impl Hazards {
    /// The memory of a wave's recent instructions; without it nothing is checked.
    pub(crate) fn new() -> Self {
        Self {
            matrix: vec![MatrixWrite::default(); 512],
            addends: vec![AddendRead::default(); 512],
            vector: vec![VectorWrite::default(); 512],
            scalar: vec![(0, 0); 128],
            ..Self::default()
        }
    }
}

/// Whether only a part of the destination register is written.
fn writes_part(i: &Inst) -> bool {
    match &i.lanes {
        LaneControl::Sdwa(sdwa) => sdwa.dst != Select::Dword,
        _ => i.unit == Unit::Vector && i.op_sel & 8 != 0 && !matches!(i.kind, Kind::Matrix(_)),
    }
}

impl Cx<'_> {
    #[cold]
    fn find_hazard(&mut self, i: &Inst, pc: u32, what: String, passed: u32, needed: u32) {
        let other = OtherAccess {
            action: "write".to_owned(),
            instruction: self.env.instruction(pc),
            agent: Agent { program: self.g.id, warp: u32::from(self.w.id), lane: None },
        };
        let message = format!("{what}: {needed} wait states are needed in between, there are {passed}");
        self.find(FindingKind::Hazard, i.pc, None, None, Some(other), message);
    }

    /// Wait states between an earlier instruction and this one.
    fn passed(&self, issued: u32) -> u32 {
        (self.w.ticks - issued).saturating_sub(1)
    }

    /// Checks a vector register that is read.
    #[inline]
    pub(super) fn hazard_read_v(&mut self, i: &Inst, register: u16) {
        let Some(hazards) = &self.w.hazards else { return };
        let ticks = self.w.ticks;
        if ticks < hazards.matrix_horizon {
            self.check_matrix_result(i, register);
        }
        let Some(hazards) = &self.w.hazards else { return };
        let Some(&write) = hazards.vector.get(register as usize) else { return };
        // Nothing looks further back than four wait states.
        if write.issued != 0 && ticks - write.issued <= 4 {
            self.check_vector_write(i, register, write);
        }
    }

    #[cold]
    fn check_vector_write(&mut self, i: &Inst, register: u16, write: VectorWrite) {
        let passed = self.passed(write.issued);
        let name = register_name(register);
        let dpp = matches!(&i.lanes, LaneControl::Dpp(_)) && i.src[0] == Opnd::V(register);
        let (needed, what) = match i.unit {
            Unit::Matrix if write.dot => (0, String::new()),
            Unit::Matrix => (2, format!("a matrix instruction reads {name}, which a vector instruction wrote")),
            // The same dot product may take it as its addend at once.
            Unit::Vector | Unit::Memory
                if write.dot
                    && !(self.env.program.name(write.pc) == i.name
                        && i.src[2] == Opnd::V(register)
                        && !i.src[..2].contains(&Opnd::V(register))) =>
            {
                (3, format!("{name}, the result of a dot product, is read by another instruction"))
            }
            Unit::Vector if dpp => (2, format!("{name} is read through DPP after it was written")),
            Unit::Vector if write.trans && !i.is_trans() => {
                (1, format!("{name}, the result of a transcendental instruction, is read by another one"))
            }
            Unit::Vector if write.partial => (1, format!("{name} is read after a part of it was written")),
            Unit::Vector if matches!(i.name, "v_readlane_b32" | "v_readfirstlane_b32") => {
                (1, format!("a lane of {name} is read after a vector instruction wrote it"))
            }
            _ => return,
        };
        if passed < needed {
            self.find_hazard(i, write.pc, what, passed, needed);
        }
    }

    /// Checks and notes a vector register that is written.
    #[inline]
    pub(super) fn hazard_write_v(&mut self, i: &Inst, register: u16) {
        let ticks = self.w.ticks;
        let Some(hazards) = &self.w.hazards else { return };
        if let Some(&before) = hazards.vector.get(register as usize)
            && before.dot
            && before.issued != 0
            && ticks - before.issued <= 3
            && i.unit == Unit::Vector
        {
            self.check_dot_overwritten(i, register, before);
        }
        let Some(hazards) = &mut self.w.hazards else { return };
        if i.unit == Unit::Vector
            && let Some(slot) = hazards.vector.get_mut(register as usize)
        {
            *slot = VectorWrite {
                issued: ticks,
                pc: i.pc,
                trans: i.is_trans(),
                dot: i.name.starts_with("v_dot"),
                partial: writes_part(i),
            };
        }
        let (matrix, addend, store) = (hazards.matrix_horizon, hazards.addend_horizon, hazards.store);
        if ticks < matrix && i.unit != Unit::Matrix {
            self.check_matrix_result(i, register);
        }
        if ticks < addend && i.unit == Unit::Vector {
            self.check_addend(i, register);
        }
        if let Some((first, count, issued, pc)) = store
            && i.unit == Unit::Vector
            && (first..first + count).contains(&register)
        {
            let passed = self.passed(issued);
            if passed < 2 {
                let what = format!("{} is overwritten while a wide store may still read it", register_name(register));
                self.find_hazard(i, pc, what, passed, 2);
            }
        }
    }

    #[cold]
    fn check_dot_overwritten(&mut self, i: &Inst, register: u16, write: VectorWrite) {
        let passed = self.passed(write.issued);
        if passed < 3 && self.env.program.name(write.pc) != i.name {
            let what = format!(
                "{}, the result of a dot product, is overwritten by another instruction",
                register_name(register)
            );
            self.find_hazard(i, write.pc, what, passed, 3);
        }
    }

    #[cold]
    fn check_addend(&mut self, i: &Inst, register: u16) {
        let Some(read) = self.w.hazards.as_ref().and_then(|h| h.addends.get(register as usize)).copied() else {
            return;
        };
        let passed = self.passed(read.issued);
        if read.until != 0 && passed < u32::from(read.until) {
            let what =
                format!("{} is overwritten while a matrix instruction may still read it", register_name(register));
            self.find_hazard(i, read.pc, what, passed, u32::from(read.until));
        }
    }

    /// Checks a scalar register that is read.
    #[inline]
    pub(super) fn hazard_read_s(&mut self, i: &Inst, register: u8) {
        let Some(hazards) = &self.w.hazards else { return };
        let (issued, pc) = hazards.scalar[(register & 127) as usize];
        if issued != 0 && self.w.ticks - issued <= 5 {
            self.check_scalar_write(i, register, issued, pc);
        }
    }

    #[cold]
    fn check_scalar_write(&mut self, i: &Inst, register: u8, issued: u32, pc: u32) {
        let passed = self.passed(issued);
        let lane_select = matches!(i.name, "v_readlane_b32" | "v_writelane_b32") && i.src[1] == Opnd::S(register);
        let (needed, how) = match i.unit {
            Unit::Memory => (5, "a memory instruction"),
            Unit::Vector if lane_select => (4, "as a lane number"),
            Unit::Vector => (2, "a vector instruction"),
            _ => return,
        };
        if passed < needed {
            let name = if register == sreg::VCC { "vcc".to_owned() } else { format!("s{register}") };
            let what = format!("{name}, which a vector instruction wrote, is read by {how}");
            self.find_hazard(i, pc, what, passed, needed);
        }
    }

    /// Notes a scalar register that a vector instruction writes.
    #[inline]
    pub(super) fn hazard_write_s(&mut self, i: &Inst, register: u8) {
        let ticks = self.w.ticks;
        if let Some(hazards) = &mut self.w.hazards {
            // A later write by the scalar unit ends the hazard.
            let issued = if i.unit == Unit::Vector { ticks } else { 0 };
            hazards.scalar[(register & 127) as usize] = (issued, i.pc);
            if register == sreg::M0 {
                hazards.m0 = if i.unit == Unit::Scalar { (ticks, i.pc) } else { (0, 0) };
            }
        }
    }

    /// Checks that vcc is old enough for `v_div_fmas`.
    pub(super) fn hazard_div_fmas(&mut self, i: &Inst) {
        self.hazard_mask(i, sreg::VCC, 4, "vcc, which a vector instruction wrote, is read by v_div_fmas");
    }

    /// Checks that the execution mask is old enough for what looks at other lanes.
    pub(super) fn hazard_exec(&mut self, i: &Inst, needed: u32) {
        self.hazard_mask(i, sreg::EXEC, needed, "exec, which a vector instruction wrote, decides which lanes are read");
    }

    fn hazard_mask(&mut self, i: &Inst, register: u8, needed: u32, what: &str) {
        let Some(hazards) = &self.w.hazards else { return };
        let (issued, pc) = hazards.scalar[register as usize];
        if issued != 0 {
            let passed = self.passed(issued);
            if passed < needed {
                self.find_hazard(i, pc, what.to_owned(), passed, needed);
            }
        }
    }

    /// Notes a store whose data the hardware reads late.
    pub(super) fn hazard_store(&mut self, i: &Inst, registers: u16) {
        let wide = registers > 2;
        // With an offset in a scalar register, buffer stores read their data in time.
        let late = !matches!(i.saddr, Opnd::S(_)) || !i.name.starts_with("buffer_");
        let ticks = self.w.ticks;
        if let (Some(hazards), Opnd::V(first)) = (&mut self.w.hazards, i.src[1])
            && wide
            && late
        {
            hazards.store = Some((first, registers, ticks, i.pc));
        }
    }

    /// Checks that m0, which a scalar instruction wrote, is old enough for instructions that read it without naming it.
    pub(super) fn hazard_m0(&mut self, i: &Inst) {
        let Some(hazards) = &self.w.hazards else { return };
        let (issued, pc) = hazards.m0;
        if issued != 0 {
            let passed = self.passed(issued);
            if passed < 1 {
                self.find_hazard(i, pc, "m0 is read right after it was written".to_owned(), passed, 1);
            }
        }
    }

    /// Checks and notes the accesses to a hardware register: it is not read or written again in the two wait states after a write.
    pub(super) fn hazard_hardware_register(&mut self, i: &Inst, register: u32, write: bool) {
        let Some(hazards) = &self.w.hazards else { return };
        let (last, issued, pc) = hazards.hardware;
        if issued != 0 && last == register {
            let passed = self.passed(issued);
            if passed < 2 {
                let what = format!("hardware register {register} is accessed after it was written");
                self.find_hazard(i, pc, what, passed, 2);
            }
        }
        let ticks = self.w.ticks;
        if write && let Some(hazards) = &mut self.w.hazards {
            hazards.hardware = (register, ticks, i.pc);
        }
    }

    /// Checks that double-precision matrix instructions are far enough back for a fused multiplication and addition.
    #[inline]
    pub(super) fn hazard_fma64(&mut self, i: &Inst) {
        let Some(hazards) = &self.w.hazards else { return };
        let (issued, pc) = hazards.matrix_f64;
        if issued != 0 {
            let passed = self.passed(issued);
            if passed < 2 {
                let what = "a fused multiply-add in double precision follows a matrix instruction in it".to_owned();
                self.find_hazard(i, pc, what, passed, 2);
            }
        }
    }

    /// Notes how long the registers of a matrix instruction may not be touched.
    pub(super) fn hazard_matrix(&mut self, i: &Inst, op: &matrix::MatrixOp, registers: u16) {
        use matrix::Element;
        let Opnd::V(first) = i.dst else { return };
        let arch = self.env.arch;
        let issued = self.w.ticks;
        let Some(hazards) = &mut self.w.hazards else { return };
        let passes = matrix::passes(op, i);
        if op.a == Element::F64 {
            hazards.matrix_f64 = (issued, i.pc);
        }
        let xdl = !matches!(op.a, Element::F32 | Element::F64);
        let later = u8::from(arch == Arch::Gfx950 && xdl && passes != 2);
        let same = if passes == 2 { 2 } else { 0 };
        let (valu, memory, factor, addend, same_addend) = match (op.a, op.m) {
            (Element::F64, 4) => (6, 9, 6, 4, 4),
            (Element::F64, _) if arch == Arch::Gfx950 => (19, 18, 19, 17, 0),
            (Element::F64, _) => (11, 18, 11, 9, 0),
            _ if xdl => (passes + 3 + later, passes + 3 + later, passes + 3 + later, passes + 1 + later, same),
            _ => (passes + 2, passes + 2, passes + 2, passes, same),
        };
        let write = MatrixWrite { issued, valu, memory, factor, addend, same_addend, xdl, first, pc: i.pc };
        for slot in hazards.matrix.iter_mut().skip(first as usize).take(registers as usize) {
            *slot = write;
        }
        hazards.matrix_horizon = hazards.matrix_horizon.max(issued + 1 + u32::from(memory.max(factor).max(valu)));
        let until = match passes {
            2 => 1,
            4 => 3,
            8 => 7,
            _ => 15,
        };
        if let Opnd::V(addend) = i.src[2]
            && xdl
            && !op.sparse
        {
            for slot in hazards.addends.iter_mut().skip(addend as usize).take(registers as usize) {
                *slot = AddendRead { issued, until, pc: i.pc };
            }
            hazards.addend_horizon = hazards.addend_horizon.max(issued + 1 + until as u32);
        }
    }

    /// Checks that enough wait states have passed since a matrix instruction wrote a register that is touched now.
    #[cold]
    fn check_matrix_result(&mut self, i: &Inst, register: u16) {
        let Some(write) = self.w.hazards.as_ref().and_then(|h| h.matrix.get(register as usize)).copied() else {
            return;
        };
        if write.valu == 0 {
            return;
        }
        let passed = self.passed(write.issued);
        let needed = match (&i.kind, i.unit) {
            (Kind::Matrix(op), _) => {
                let is = |opnd: Opnd, registers: u8| match opnd {
                    Opnd::V(r) => (r..r + u16::from(registers)).contains(&register),
                    _ => false,
                };
                let xdl = !matches!(op.a, matrix::Element::F32 | matrix::Element::F64);
                let addend = if op.sparse { i.dst } else { i.src[2] };
                if is(i.src[0], i.src_regs[0]) || is(i.src[1], i.src_regs[1]) || (op.sparse && is(i.src[2], 1)) {
                    write.factor
                } else if addend == Opnd::V(write.first) {
                    write.same_addend
                } else if xdl && !write.xdl {
                    0
                } else {
                    write.addend
                }
            }
            (_, Unit::Memory) => write.memory,
            (_, Unit::Vector) => write.valu,
            _ => 0,
        };
        if passed < u32::from(needed) {
            let what = format!("{} is touched after a matrix instruction that writes it", register_name(register));
            self.find_hazard(i, write.pc, what, passed, u32::from(needed));
        }
    }
}
