//! A decoded instruction: everything its handler needs, ready to use.

use crate::counters::Class;
use crate::gcn::decode::memory::{MemOp, Space};
use crate::gcn::exec::Cx;
use crate::gcn::exec::matrix::MatrixOp;

/// Executes an instruction for a wave.
pub(crate) type Handler = fn(&mut Cx<'_>, &Inst);

/// The number of accumulation registers' first row in a wave's register file.
pub(crate) const ACC: u16 = 256;

/// Scalar registers with names.
pub(crate) mod sreg {
    /// The vector condition code.
    pub const VCC: u8 = 106;
    /// Trap temporaries, which GFX12 passes workgroup ids in.
    pub const TTMP0: u8 = 108;
    /// The memory register (its number differs between generations; this is GFX9's).
    pub const M0: u8 = 124;
    /// The execution mask.
    pub const EXEC: u8 = 126;
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Opnd {
    /// There is none.
    #[default]
    None,
    /// A vector register; from [`ACC`] on, an accumulation register.
    V(u16),
    /// A scalar register.
    S(u8),
    /// An inline integer.
    Int(i32),
    /// An inline float, by its code from 240.
    Float(u8),
    /// A 32-bit literal.
    Lit(u32),
    /// The scalar condition code.
    Scc,
    /// Whether vcc is zero.
    Vccz,
    /// Whether exec is zero.
    Execz,
    /// The base or limit of the LDS and scratch apertures, by code 235 to 238.
    Aperture(u8),
    /// Reads zero, discards writes.
    Null,
}

impl Opnd {
    /// The operand `n` registers further, for the parts of a wide one.
    pub(crate) fn plus(self, n: u16) -> Self {
        match self {
            Self::V(r) => Self::V(r + n),
            Self::S(r) => Self::S(r + n as u8),
            other => other,
        }
    }
}

/// A choice of bytes from a register (SDWA).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    Byte(u8),
    Word(u8),
    Dword,
}

/// What becomes of the bytes that SDWA does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unused {
    Zero,
    SignExtend,
    Preserve,
}

/// Sub-dword addressing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sdwa {
    pub dst: Select,
    pub unused: Unused,
    pub src: [Select; 2],
    pub sext: [bool; 2],
}

/// Data-parallel primitives, with the lanes worked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dpp {
    /// For each lane, the lane it reads.
    pub from: [u8; 64],
    /// Lanes whose source lane exists.
    pub valid: u64,
    /// Lanes that row and bank masks let be written.
    pub write: u64,
    /// Invalid sources read as zero; otherwise their lanes are not written.
    pub zero: bool,
    /// Lanes that are switched off may be read.
    pub fetch_inactive: bool,
}

/// How the lanes' parts of an operand are addressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum LaneControl {
    #[default]
    None,
    Sdwa(Sdwa),
    Dpp(Box<Dpp>),
}

/// What memory instructions have beyond operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemFields {
    pub offset: i32,
    /// The second offset of paired LDS accesses.
    pub offset1: i32,
    /// The atomic returns the old value.
    pub returns: bool,
    /// Device scope was asked for (sc1 on CDNA, a scope of device or system on GFX12).
    pub device_scope: bool,
    pub idxen: bool,
    pub offen: bool,
    /// Data goes to the LDS.
    pub lds: bool,
    /// The data format of typed buffers.
    pub format: u8,
    /// Scratch: the address operand is used.
    pub use_vaddr: bool,
}

/// The unit that executes an instruction, as far as distances between instructions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Scalar,
    Vector,
    Matrix,
    /// Vector memory and LDS.
    Memory,
}

/// What an instruction is, apart from its handler.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Kind {
    #[default]
    Plain,
    Mem(MemOp),
    Matrix(MatrixOp),
}

/// Scales of a matrix instruction's factors: for each lane's elements a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Registers with four exponents each.
    pub src: [Opnd; 2],
    /// Which of the four.
    pub byte: [u8; 2],
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub run: Handler,
    /// The canonical mnemonic.
    pub name: &'static str,
    /// Address in the image.
    pub pc: u32,
    /// Size in bytes.
    pub size: u32,
    /// Whether there is a handler for it.
    pub supported: bool,
    pub class: Class,
    pub unit: Unit,
    pub dst: Opnd,
    /// Registers in the destination.
    pub dst_regs: u8,
    pub sdst: Opnd,
    pub src: [Opnd; 3],
    /// Registers in each source.
    pub src_regs: [u8; 3],
    /// Bit i: negate source i.
    pub neg: u8,
    /// Bit i: absolute value of source i.
    pub abs: u8,
    pub neg_hi: u8,
    /// Bits 0 to 2: the half of each source; bit 3: of the destination.
    pub op_sel: u8,
    pub op_sel_hi: u8,
    pub clamp: bool,
    pub omod: u8,
    /// Reads 16-bit halves from and writes them into registers without touching the other half (GFX11 and later).
    pub half_dst: bool,
    pub lanes: LaneControl,
    /// The truth table of `v_bitop3`.
    pub bitop3: u8,
    /// Immediate of SOPK and SOPP, broadcast fields of matrix instructions.
    pub imm: i32,
    /// Scales of the factors of a matrix instruction (GFX950).
    pub scale: Option<Box<Scale>>,
    /// A scalar address or offset of memory instructions.
    pub saddr: Opnd,
    pub mem: MemFields,
    pub kind: Kind,
    /// The first half's own handler, in a dual-issue instruction.
    pub dual_run: Handler,
    /// The other half of a dual-issue instruction.
    pub dual: Option<Box<Inst>>,
}

impl Inst {
    /// What it reads: each operand with its number of registers.
    pub(crate) fn sources(&self) -> Vec<(Opnd, u8)> {
        let mut all: Vec<_> = match self.kind {
            Kind::Mem(op) => {
                let counts = op.source_registers(&self.mem, self.saddr != Opnd::None);
                self.src.iter().copied().zip(counts).collect()
            }
            _ => self.src.iter().copied().zip(self.src_regs.map(|count| count.max(1))).collect(),
        };
        all.push((self.saddr, if matches!(self.kind, Kind::Mem(op) if op.space == Space::Global) { 2 } else { 1 }));
        if let Some(dual) = &self.dual {
            all.extend(dual.sources());
        }
        all.retain(|&(opnd, count)| opnd != Opnd::None && count > 0);
        all
    }

    /// What it writes by name: each operand with its number of registers.
    pub(crate) fn destinations(&self, wave32: bool) -> Vec<(Opnd, u8)> {
        let memory = matches!(self.kind, Kind::Mem(_));
        let mut all = Vec::new();
        if self.dst != Opnd::None && (!memory || self.dst_regs > 0) {
            all.push((self.dst, self.dst_regs.max(1)));
        }
        if self.sdst != Opnd::None {
            all.push((self.sdst, if wave32 { 1 } else { 2 }));
        }
        if let Some(dual) = &self.dual {
            all.extend(dual.destinations(wave32));
        }
        all
    }

    /// Whether it belongs to the transcendental unit.
    #[inline]
    pub(crate) fn is_trans(&self) -> bool {
        self.class == Class::Special && self.dst_regs == 1
    }

    /// Whether sources have modifiers or are addressed in parts, so that the fast way to read them will not do.
    #[inline]
    pub(crate) fn has_lane_control(&self) -> bool {
        !matches!(self.lanes, LaneControl::None)
    }
}
