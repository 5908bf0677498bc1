//! The decoder: machine words to [`Inst`]s with handlers.
//!
//! Opcodes and operand shapes are data ([`tables`]); here is only where each encoding keeps its fields.

pub(crate) mod dpp;
pub(crate) mod memory;
pub(crate) mod names;
mod scalar;
pub(crate) mod tables;
mod vector;
mod vmem;

use crate::counters::Class;
use crate::gcn::arch::Arch;
use crate::gcn::exec;
use crate::gcn::inst::{Inst, Kind, LaneControl, MemFields, Opnd, Unit, sreg};
use memory::{Act, Space};
use tables::{Encoding, Row, Shape, Table};

/// Takes bits `hi` to `lo` of a word.
fn bits(word: u64, hi: u32, lo: u32) -> u32 {
    (word >> lo & ((1 << (hi - lo + 1)) - 1)) as u32
}

fn bit(word: u64, at: u32) -> bool {
    word >> at & 1 != 0
}

fn sign_extend(value: u32, width: u32) -> i32 {
    ((value << (32 - width)) as i32) >> (32 - width)
}

/// Decodes the instructions of one architecture.
pub(crate) struct Decoder {
    arch: Arch,
    wave32: bool,
    table: &'static Table,
}

/// The words of an instruction, read as they are asked for.
struct Words<'a> {
    code: &'a [u8],
    used: usize,
}

impl Words<'_> {
    fn peek(&self, index: usize) -> Option<u32> {
        let at = index * 4;
        self.code.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn next(&mut self) -> Option<u32> {
        let word = self.peek(self.used)?;
        self.used += 1;
        Some(word)
    }
}

impl Decoder {
    pub(crate) fn new(arch: Arch, wave32: bool) -> Self {
        Self { arch, wave32, table: Table::of(arch) }
    }

    /// Decodes the instruction at the start of `code`, which stands at address `pc`. What cannot be decoded becomes an instruction of one
    /// word that stops the program when it is executed.
    pub(crate) fn decode(&self, code: &[u8], pc: u32) -> Inst {
        let mut words = Words { code, used: 0 };
        let decoded = self.instruction(&mut words, pc);
        match decoded {
            Some(mut inst) => {
                finish(&mut inst);
                if let Some(dual) = &mut inst.dual {
                    finish(dual);
                }
                inst.size = words.used as u32 * 4;
                inst
            }
            None => {
                let mut inst = blank("undefined", pc, exec::undefined, Class::Control);
                inst.imm = words.peek(0).unwrap_or(0) as i32;
                inst.size = 4;
                inst
            }
        }
    }

    fn row(&self, encoding: Encoding, opcode: u32) -> Option<&'static Row> {
        self.table.get(encoding, opcode)
    }

    /// An instruction of a row with its handler, without operands.
    fn start(&self, row: &'static Row, pc: u32) -> Inst {
        match exec::resolve(row.name, self.arch) {
            Some(resolved) => {
                let mut inst = blank(row.name, pc, resolved.run, resolved.class);
                inst.kind = resolved.kind;
                inst
            }
            None => {
                let mut inst = blank(row.mnemonic, pc, exec::unsupported, Class::Control);
                inst.supported = false;
                inst
            }
        }
    }

    fn instruction(&self, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let first = words.next()?;
        let w = u64::from(first);
        let cdna = self.arch.is_cdna();
        if !bit(w, 31) {
            return match bits(w, 30, 25) {
                0x3f => self.vop1(w, words, pc),
                0x3e => self.vopc(w, words, pc),
                op => self.vop2(op, w, words, pc),
            };
        }
        if bits(w, 31, 30) == 0b10 {
            return match bits(w, 31, 23) {
                0b1_0111_1101 => self.sop1(w, words, pc),
                0b1_0111_1110 => self.sopc(w, words, pc),
                0b1_0111_1111 => self.sopp(w, pc),
                _ if bits(w, 31, 28) == 0b1011 => self.sopk(w, words, pc),
                _ => self.sop2(w, words, pc),
            };
        }
        match (bits(w, 31, 26), cdna) {
            (0b11_0000, true) | (0b11_1101, false) => self.smem(w, words, pc),
            (0b11_0100, true) if bits(w, 25, 23) == 0b111 => self.vop3p(w, words, pc),
            (0b11_0100, true) => self.vop3(w, words, pc),
            (0b11_0101, false) => self.vop3(w, words, pc),
            (0b11_0011, false) if bits(w, 25, 24) == 0 => self.vop3p(w, words, pc),
            (0b11_0010, false) => self.vopd(w, words, pc),
            (0b11_0110, _) => self.ds(w, words, pc),
            (0b11_0111, _) if !self.arch.is_gfx12() => self.flat(w, words, pc),
            (0b11_1011, false) if self.arch.is_gfx12() => self.flat12(w, words, pc),
            (0b11_1000, _) if !self.arch.is_gfx12() => self.mubuf(w, words, pc),
            (0b11_1010, _) if !self.arch.is_gfx12() => self.mtbuf(w, words, pc),
            (0b11_0001, false) if self.arch.is_gfx12() => self.buffer12(w, words, pc),
            _ => None,
        }
    }

    /// A scalar register, or what else its number means.
    fn scalar(&self, code: u32) -> Opnd {
        let swapped = !self.arch.is_cdna();
        match code {
            124 if swapped => Opnd::Null,
            125 if swapped => Opnd::S(sreg::M0),
            0..=127 => Opnd::S(code as u8),
            _ => Opnd::None,
        }
    }

    /// A source by its 9-bit code. A literal is the next word; several sources may name it.
    fn source(&self, code: u32, words: &mut Words<'_>, literal: &mut Option<u32>) -> Option<Opnd> {
        Some(match code {
            0..=127 => self.scalar(code),
            128..=192 => Opnd::Int(code as i32 - 128),
            193..=208 => Opnd::Int(192 - code as i32),
            235..=238 => Opnd::Aperture(code as u8),
            240..=248 => Opnd::Float(code as u8),
            251 => Opnd::Vccz,
            252 => Opnd::Execz,
            253 => Opnd::Scc,
            255 => {
                let value = match *literal {
                    Some(value) => value,
                    None => words.next()?,
                };
                *literal = Some(value);
                Opnd::Lit(value)
            }
            256..=511 => Opnd::V(code as u16 - 256),
            _ => return None,
        })
    }
}

/// The registers that a memory instruction's result takes.
fn data_registers(inst: &mut Inst) {
    let Kind::Mem(op) = inst.kind else { return };
    inst.dst_regs = match op.act {
        Act::Load { bytes, .. } => bytes.div_ceil(4),
        Act::Atomic { bytes, .. } if inst.mem.returns => bytes / 4,
        Act::Load2 { bytes, .. } | Act::Exchange2 { bytes, .. } => bytes / 2,
        Act::LoadFormat { components, d16, .. } => {
            if d16 {
                components.div_ceil(2)
            } else {
                components
            }
        }
        Act::LoadTranspose(memory::Transpose::B6) => 3,
        Act::LoadTranspose(memory::Transpose::B16) if op.space == Space::Global => 4,
        Act::LoadTranspose(_) => 2,
        Act::LoadLane | Act::Swizzle | Act::Permute | Act::Bpermute { .. } | Act::Append | Act::Consume => 1,
        _ => 0,
    };
}

/// What depends on the operation alone: the destination that an accumulating one also reads becomes its third source, and truth tables are
/// gathered from where they are spread.
fn finish(inst: &mut Inst) {
    if inst.name.starts_with("v_bitop3") {
        inst.bitop3 = inst.neg & 7 | (inst.abs & 7) << 3 | (inst.omod & 3) << 6;
        (inst.neg, inst.abs, inst.omod) = (0, 0, 0);
    }
    const PREFIXES: [&str; 6] = ["v_fmac_", "v_mac_", "v_dot2c_", "v_dot4c_", "v_dot8c_", "v_pk_fmac_"];
    if PREFIXES.iter().any(|prefix| inst.name.starts_with(prefix)) {
        inst.src[2] = inst.dst;
        inst.src_regs[2] = inst.dst_regs;
        inst.op_sel = inst.op_sel & !4 | inst.op_sel >> 1 & 4;
    }
}

/// Widths by the shapes of destination and sources.
fn shape(inst: &mut Inst, shapes: &[Shape]) {
    if let Some((dst, sources)) = shapes.split_first() {
        inst.dst_regs = dst.registers();
        for (regs, shape) in inst.src_regs.iter_mut().zip(sources) {
            *regs = shape.registers();
        }
    }
}

/// The unit that a mnemonic belongs to.
fn unit(name: &str) -> Unit {
    const MATRIX: [&str; 4] = ["v_mfma", "v_smfmac", "v_wmma", "v_swmmac"];
    if MATRIX.iter().any(|prefix| name.starts_with(prefix)) {
        Unit::Matrix
    } else if name.starts_with("v_") {
        Unit::Vector
    } else if name.starts_with("s_") {
        Unit::Scalar
    } else {
        Unit::Memory
    }
}

fn blank(name: &'static str, pc: u32, run: crate::gcn::inst::Handler, class: Class) -> Inst {
    Inst {
        run,
        dual_run: run,
        name,
        pc,
        size: 4,
        supported: true,
        class,
        unit: unit(name),
        dst: Opnd::None,
        dst_regs: 0,
        sdst: Opnd::None,
        src: [Opnd::None; 3],
        src_regs: [1; 3],
        neg: 0,
        abs: 0,
        neg_hi: 0,
        op_sel: 0,
        op_sel_hi: 0,
        clamp: false,
        omod: 0,
        half_dst: false,
        lanes: LaneControl::None,
        bitop3: 0,
        imm: 0,
        scale: None,
        saddr: Opnd::None,
        mem: MemFields::default(),
        kind: Kind::Plain,
        dual: None,
    }
}
