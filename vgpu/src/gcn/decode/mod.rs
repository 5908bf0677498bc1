//! The decoder: machine words to [`Inst`]s with handlers.
//!
//! Opcodes and operand shapes are data ([`tables`]); here is only where each encoding keeps its fields.

pub(crate) mod dpp;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod tables;

use crate::counters::Class;
use crate::gcn::arch::Arch;
use crate::gcn::exec;
use crate::gcn::inst::{ACC, Inst, Kind, LaneControl, MemFields, Opnd, Scale, Sdwa, Select, Unit, Unused, sreg};
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

/// Operations that write a carry or a flag mask besides their result, and so use the form with two destinations.
fn has_mask_result(name: &str) -> bool {
    matches!(
        name,
        "v_add_co_u32"
            | "v_sub_co_u32"
            | "v_subrev_co_u32"
            | "v_addc_co_u32"
            | "v_subb_co_u32"
            | "v_subbrev_co_u32"
            | "v_div_scale_f32"
            | "v_div_scale_f64"
            | "v_mad_u64_u32"
            | "v_mad_i64_i32"
    )
}

/// The prefix of scaled matrix instructions among VOP3P's opcodes.
const LOAD_SCALE: u32 = 0x2c;

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

    fn sop2(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Sop2, bits(w, 29, 23))?;
        let mut inst = self.start(row, pc);
        let mut literal = None;
        inst.dst = self.scalar(bits(w, 22, 16));
        inst.src[0] = self.source(bits(w, 7, 0), words, &mut literal)?;
        inst.src[1] = self.source(bits(w, 15, 8), words, &mut literal)?;
        shape(&mut inst, &row.shapes);
        // The forms with a literal operand beside two sources.
        if matches!(row.name, "s_fmaak_f32" | "s_fmamk_f32") {
            let k = Opnd::Lit(match literal {
                Some(value) => value,
                None => words.next()?,
            });
            if row.name == "s_fmaak_f32" {
                inst.src[2] = k;
            } else {
                inst.src = [inst.src[0], k, inst.src[1]];
            }
        }
        Some(inst)
    }

    fn sop1(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Sop1, bits(w, 15, 8))?;
        let mut inst = self.start(row, pc);
        inst.dst = self.scalar(bits(w, 22, 16));
        inst.imm = bits(w, 7, 0) as i32;
        // Some take an immediate where others have a source; its code then is none.
        inst.src[0] = self.source(bits(w, 7, 0), words, &mut None).unwrap_or_default();
        shape(&mut inst, &row.shapes);
        if row.shapes.len() == 1
            && matches!(row.name, "s_setpc_b64" | "s_rfe_b64" | "s_cbranch_join" | "s_set_gpr_idx_idx")
        {
            inst.src_regs[0] = row.shapes[0].registers();
        }
        Some(inst)
    }

    fn sopc(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Sopc, bits(w, 22, 16))?;
        let mut inst = self.start(row, pc);
        let mut literal = None;
        inst.src[0] = self.source(bits(w, 7, 0), words, &mut literal)?;
        inst.src[1] = match row.name {
            // The field holds the mode itself.
            "s_set_gpr_idx_on" => Opnd::S((bits(w, 15, 8) & 15) as u8),
            _ => self.source(bits(w, 15, 8), words, &mut literal)?,
        };
        for (regs, shape) in inst.src_regs.iter_mut().zip(&row.shapes) {
            *regs = shape.registers();
        }
        Some(inst)
    }

    fn sopk(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Sopk, bits(w, 27, 23))?;
        let mut inst = self.start(row, pc);
        inst.dst = self.scalar(bits(w, 22, 16));
        inst.src[0] = inst.dst;
        inst.imm = sign_extend(bits(w, 15, 0), 16);
        if row.name == "s_cbranch_i_fork" {
            inst.src_regs[0] = 2;
            inst.dst = Opnd::None;
        }
        if row.name == "s_setreg_imm32_b32" {
            inst.src[0] = Opnd::Lit(words.next()?);
        }
        Some(inst)
    }

    fn sopp(&self, w: u64, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Sopp, bits(w, 22, 16))?;
        let mut inst = self.start(row, pc);
        inst.imm = sign_extend(bits(w, 15, 0), 16);
        Some(inst)
    }

    fn smem(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let gfx12 = self.arch.is_gfx12();
        let row = self.row(Encoding::Smem, if gfx12 { bits(w, 18, 13) } else { bits(w, 25, 18) })?;
        let mut inst = self.start(row, pc);
        inst.dst = self.scalar(bits(w, 12, 6));
        inst.src[0] = Opnd::S((bits(w, 5, 0) << 1) as u8);
        let soffset = self.scalar(bits(second, 31, 25));
        if self.arch.is_cdna() {
            let (imm, soffset_en) = (bit(w, 17), bit(w, 14));
            if imm {
                inst.mem.offset = sign_extend(bits(second, 20, 0), 21);
            }
            inst.saddr = match (imm, soffset_en) {
                (_, true) => soffset,
                (false, false) => self.scalar(bits(second, 6, 0)),
                (true, false) => Opnd::None,
            };
        } else {
            inst.mem.offset =
                if gfx12 { sign_extend(bits(second, 23, 0), 24) } else { sign_extend(bits(second, 20, 0), 21) };
            inst.saddr = if soffset == Opnd::Null { Opnd::None } else { soffset };
        }
        match inst.kind {
            Kind::Mem(op) if !matches!(op.act, Act::Load { .. }) => {
                // The data's registers are where a load has its result, and an atomic that returns has both.
                inst.src[1] = inst.dst;
                inst.mem.returns = matches!(op.act, Act::Atomic { .. }) && bit(w, 16);
                if !inst.mem.returns {
                    inst.dst = Opnd::None;
                }
            }
            // Probes have an immediate there.
            _ if row.shapes.first() == Some(&Shape::Constant) => inst.dst = Opnd::None,
            _ => {}
        }
        data_registers(&mut inst);
        Some(inst)
    }

    /// A vector register field of eight bits, which in short encodings of 16-bit operands holds the half in its top bit.
    fn short_vector(&self, code: u32, shape: Option<Shape>, op_sel: &mut u8, place: u32) -> Opnd {
        if shape == Some(Shape::Half) && !self.arch.is_cdna() {
            *op_sel |= ((code >> 7) as u8) << place;
            Opnd::V(code as u16 & 0x7f)
        } else {
            Opnd::V(code as u16)
        }
    }

    /// The first source of VOP1, VOP2 and VOPC, which may call for another word with DPP or SDWA.
    fn first_source(
        &self,
        inst: &mut Inst,
        code: u32,
        shape: Option<Shape>,
        words: &mut Words<'_>,
        literal: &mut Option<u32>,
    ) -> Option<()> {
        let cdna = self.arch.is_cdna();
        inst.src[0] = match code {
            249 if cdna => {
                let extra = u64::from(words.next()?);
                self.sdwa(inst, extra)?;
                return Some(());
            }
            250 => {
                let extra = u64::from(words.next()?);
                inst.lanes = LaneControl::Dpp(Box::new(dpp::dpp16(extra, self.arch, self.wave32)?));
                inst.neg |= bits(extra, 20, 20) as u8 | (bits(extra, 22, 22) as u8) << 1;
                inst.abs |= bits(extra, 21, 21) as u8 | (bits(extra, 23, 23) as u8) << 1;
                let mut op_sel = inst.op_sel;
                let source = self.short_vector(bits(extra, 7, 0), shape, &mut op_sel, 0);
                inst.op_sel = op_sel;
                source
            }
            233 | 234 if !cdna => {
                let extra = u64::from(words.next()?);
                inst.lanes = LaneControl::Dpp(Box::new(dpp::dpp8(extra, code == 234)));
                let mut op_sel = inst.op_sel;
                let source = self.short_vector(bits(extra, 7, 0), shape, &mut op_sel, 0);
                inst.op_sel = op_sel;
                source
            }
            256.. => {
                let mut op_sel = inst.op_sel;
                let source = self.short_vector(code - 256, shape, &mut op_sel, 0);
                inst.op_sel = op_sel;
                source
            }
            _ => self.source(code, words, literal)?,
        };
        Some(())
    }

    /// The extra word of SDWA. For comparisons its destination fields mean something else, which the caller reads.
    fn sdwa(&self, inst: &mut Inst, extra: u64) -> Option<()> {
        let select = |code| {
            Some(match code {
                0..=3 => Select::Byte(code as u8),
                4 | 5 => Select::Word(code as u8 - 4),
                6 => Select::Dword,
                _ => return None,
            })
        };
        let source = |code: u32, scalar: bool| if scalar { self.scalar(code & 0x7f) } else { Opnd::V(code as u16) };
        inst.src[0] = source(bits(extra, 7, 0), bit(extra, 23));
        if bit(extra, 31)
            && let Opnd::V(code) = inst.src[1]
        {
            inst.src[1] = source(u32::from(code), true);
        }
        inst.neg = bits(extra, 20, 20) as u8 | (bits(extra, 28, 28) as u8) << 1;
        inst.abs = bits(extra, 21, 21) as u8 | (bits(extra, 29, 29) as u8) << 1;
        let comparison = inst.name.starts_with("v_cmp");
        let (dst, unused) = if comparison {
            if bit(extra, 15) {
                inst.dst = self.scalar(bits(extra, 14, 8));
            }
            (Select::Dword, Unused::Zero)
        } else {
            inst.clamp = bit(extra, 13);
            inst.omod = bits(extra, 15, 14) as u8;
            let unused = match bits(extra, 12, 11) {
                0 => Unused::Zero,
                1 => Unused::SignExtend,
                2 => Unused::Preserve,
                _ => return None,
            };
            (select(bits(extra, 10, 8))?, unused)
        };
        inst.lanes = LaneControl::Sdwa(Sdwa {
            dst,
            unused,
            src: [select(bits(extra, 18, 16))?, select(bits(extra, 26, 24))?],
            sext: [bit(extra, 19), bit(extra, 27)],
        });
        Some(())
    }

    fn vop1(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Vop1, bits(w, 16, 9))?;
        let mut inst = self.start(row, pc);
        if row.shapes.is_empty() {
            return Some(inst);
        }
        shape(&mut inst, &row.shapes);
        inst.half_dst = !self.arch.is_cdna() && row.shapes[0] == Shape::Half;
        let mut op_sel = 0;
        inst.dst = match row.shapes[0] {
            Shape::Scalar(_) => self.scalar(bits(w, 24, 17)),
            shape => self.short_vector(bits(w, 24, 17), Some(shape), &mut op_sel, 3),
        };
        inst.op_sel = op_sel;
        self.first_source(&mut inst, bits(w, 8, 0), row.shapes.get(1).copied(), words, &mut None)?;
        if row.name == "v_accvgpr_mov_b32" {
            inst.dst = inst.dst.plus(ACC);
            inst.src[0] = inst.src[0].plus(ACC);
        }
        Some(inst)
    }

    fn vop2(&self, opcode: u32, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Vop2, opcode)?;
        let mut inst = self.start(row, pc);
        self.two_sources(&mut inst, row, bits(w, 24, 17), bits(w, 16, 9), bits(w, 8, 0), words, &mut None)?;
        Some(inst)
    }

    /// The operands of VOP2, of which dual-issue instructions are made too.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of the encoding")]
    fn two_sources(
        &self,
        inst: &mut Inst,
        row: &Row,
        vdst: u32,
        vsrc1: u32,
        src0: u32,
        words: &mut Words<'_>,
        literal: &mut Option<u32>,
    ) -> Option<()> {
        let dst_shape = row.shapes.first().copied();
        let mut shapes: Vec<Shape> = row.shapes.iter().skip(1).copied().collect();
        let mask_result = has_mask_result(row.name);
        if mask_result {
            inst.sdst = Opnd::S(sreg::VCC);
            shapes.remove(0);
        }
        inst.dst_regs = dst_shape.map_or(0, Shape::registers);
        for (regs, shape) in inst.src_regs.iter_mut().zip(&shapes) {
            *regs = shape.registers();
        }
        inst.half_dst = !self.arch.is_cdna() && dst_shape == Some(Shape::Half);
        let mut op_sel = 0;
        inst.dst = self.short_vector(vdst, dst_shape, &mut op_sel, 3);
        let literal_middle = shapes.get(1) == Some(&Shape::Constant);
        let place = if literal_middle { 2 } else { 1 };
        let second = self.short_vector(vsrc1, shapes.get(place).copied(), &mut op_sel, place as u32);
        inst.op_sel = op_sel;
        // Of dual-issue instructions, moves leave the field of the second source unused.
        if shapes.len() > 1 {
            inst.src[1] = second;
        }
        self.first_source(inst, src0, shapes.first().copied(), words, literal)?;
        if shapes.contains(&Shape::Constant) {
            let value = match *literal {
                Some(value) => value,
                None => words.next()?,
            };
            *literal = Some(value);
            if literal_middle {
                inst.src = [inst.src[0], Opnd::Lit(value), second];
            } else {
                inst.src[2] = Opnd::Lit(value);
            }
        }
        if shapes.get(2) == Some(&Shape::Vcc) {
            inst.src[2] = Opnd::S(sreg::VCC);
        }
        Some(())
    }

    fn vopc(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Vopc, bits(w, 24, 17))?;
        let mut inst = self.start(row, pc);
        // From GFX10 on, v_cmpx writes exec alone.
        let with_mask = row.shapes.first() == Some(&Shape::Vcc);
        let shapes = if with_mask { &row.shapes[1..] } else { &row.shapes[..] };
        inst.dst = if with_mask { Opnd::S(sreg::VCC) } else { Opnd::None };
        for (regs, shape) in inst.src_regs.iter_mut().zip(shapes) {
            *regs = shape.registers();
        }
        let mut op_sel = 0;
        inst.src[1] = self.short_vector(bits(w, 16, 9), shapes.get(1).copied(), &mut op_sel, 1);
        inst.op_sel = op_sel;
        self.first_source(&mut inst, bits(w, 8, 0), shapes.first().copied(), words, &mut None)?;
        Some(inst)
    }

    fn vop3(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let row = self.row(Encoding::Vop3, bits(w, 25, 16))?;
        let mut inst = self.start(row, pc);
        let mask_result = has_mask_result(row.name);
        inst.clamp = bit(w, 15);
        inst.omod = bits(second, 28, 27) as u8;
        inst.neg = bits(second, 31, 29) as u8;
        if mask_result {
            inst.sdst = self.scalar(bits(w, 14, 8));
        } else {
            inst.op_sel = bits(w, 14, 11) as u8;
            inst.abs = bits(w, 10, 8) as u8;
        }
        let mut shapes = &row.shapes[..];
        // From GFX10 on, v_cmpx writes exec alone.
        let has_dst = self.arch.is_cdna() || !row.name.starts_with("v_cmpx");
        if has_dst && !shapes.is_empty() {
            inst.dst = match shapes[0] {
                Shape::Scalar(_) => self.scalar(bits(w, 7, 0)),
                _ => Opnd::V(bits(w, 7, 0) as u16),
            };
            inst.dst_regs = shapes[0].registers();
            inst.half_dst = !self.arch.is_cdna() && shapes[0] == Shape::Half;
            shapes = &shapes[1..];
        }
        if mask_result {
            shapes = &shapes[1..];
        }
        let mut literal = None;
        let fields = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
        for (i, shape) in shapes.iter().take(3).enumerate() {
            inst.src_regs[i] = shape.registers();
            if i == 0 && matches!(fields[0], 250 | 233 | 234) && !self.arch.is_cdna() {
                self.first_source(&mut inst, fields[0], None, words, &mut literal)?;
            } else {
                inst.src[i] = self.source(fields[i], words, &mut literal)?;
            }
        }
        Some(inst)
    }

    fn vop3p(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        if self.arch == Arch::Gfx950 && bits(w, 22, 16) == LOAD_SCALE {
            return self.scaled_matrix(w, second, words, pc);
        }
        let row = self.row(Encoding::Vop3p, bits(w, 22, 16))?;
        let mut inst = self.start(row, pc);
        shape(&mut inst, &row.shapes);
        inst.dst = Opnd::V(bits(w, 7, 0) as u16);
        let mut literal = None;
        let fields = [bits(second, 8, 0), bits(second, 17, 9), bits(second, 26, 18)];
        let sources = row.shapes.len().saturating_sub(1).min(3);
        for (i, &code) in fields.iter().enumerate().take(sources) {
            if i == 0 && matches!(code, 250 | 233 | 234) && !self.arch.is_cdna() {
                self.first_source(&mut inst, code, None, words, &mut literal)?;
            } else {
                inst.src[i] = self.source(code, words, &mut literal)?;
            }
        }
        let acc = |opnd: Opnd, yes: bool| match opnd {
            Opnd::V(r) if yes => Opnd::V(r + ACC),
            other => other,
        };
        match row.name {
            "v_accvgpr_read_b32" => inst.src[0] = acc(inst.src[0], true),
            "v_accvgpr_write_b32" => inst.dst = acc(inst.dst, true),
            name if name.starts_with("v_mfma") || name.starts_with("v_smfmac") => {
                let acc_cd = bit(w, 15);
                inst.dst = acc(inst.dst, acc_cd);
                inst.src[0] = acc(inst.src[0], bit(second, 27));
                inst.src[1] = acc(inst.src[1], bit(second, 28));
                // The third operand of the sparse forms is an index, in ordinary registers.
                inst.src[2] = acc(inst.src[2], acc_cd && !name.starts_with("v_smfmac"));
                // cbsz, abid, blgp
                inst.imm = (bits(w, 10, 8) | bits(w, 14, 11) << 3 | bits(second, 31, 29) << 7) as i32;
            }
            _ => {
                inst.clamp = bit(w, 15);
                inst.op_sel = bits(w, 13, 11) as u8;
                inst.op_sel_hi = (bits(second, 28, 27) | bits(w, 14, 14) << 2) as u8;
                inst.neg = bits(second, 31, 29) as u8;
                inst.neg_hi = bits(w, 10, 8) as u8;
            }
        }
        Some(inst)
    }

    /// A matrix instruction behind a prefix with the scales of its factors.
    fn scaled_matrix(&self, w: u64, second: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let mut literal = None;
        let mut source = |code| self.source(code, words, &mut literal);
        let src = [source(bits(second, 8, 0))?, source(bits(second, 17, 9))?];
        // The low bit of each choice is in op_sel, the high one in op_sel_hi.
        let byte = |n: u32| bits(w, 11 + n, 11 + n) as u8 | (bits(second, 27 + n, 27 + n) as u8) << 1;
        let first = u64::from(words.next()?);
        let mut inst = self.vop3p(first, words, pc)?;
        if !matches!(inst.kind, Kind::Matrix(_)) {
            return None;
        }
        inst.scale = Some(Box::new(Scale { src, byte: [byte(0), byte(1)] }));
        Some(inst)
    }

    fn vopd(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let mut literal = None;
        let vdst = bits(second, 31, 24);
        let x_row = self.row(Encoding::VopdX, bits(w, 25, 22))?;
        let mut x = self.start(x_row, pc);
        self.two_sources(&mut x, x_row, vdst, bits(w, 16, 9), bits(w, 8, 0), words, &mut literal)?;
        let y_row = self.row(Encoding::VopdY, bits(w, 21, 17))?;
        let mut y = self.start(y_row, pc);
        // The two destinations are of different parity, so that the second's lowest bit need not be stored.
        let vdst_y = bits(second, 23, 17) << 1 | (!vdst & 1);
        self.two_sources(&mut y, y_row, vdst_y, bits(second, 16, 9), bits(second, 8, 0), words, &mut literal)?;
        if !x.supported {
            return Some(x);
        }
        if !y.supported {
            return Some(y);
        }
        x.dual_run = x.run;
        x.run = exec::dual;
        x.dual = Some(Box::new(y));
        Some(x)
    }

    fn ds(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let cdna = self.arch.is_cdna();
        let row = self.row(Encoding::Ds, if cdna { bits(w, 24, 17) } else { bits(w, 25, 18) })?;
        if bit(w, if cdna { 16 } else { 17 }) && !self.arch.is_gfx12() {
            // Global data share: none of these processors' compute code uses it.
            return None;
        }
        let mut inst = self.start(row, pc);
        let acc = if cdna && bit(w, 25) { ACC } else { 0 };
        let vector = |hi, lo| Opnd::V(bits(second, hi, lo) as u16);
        inst.src[0] = vector(7, 0);
        inst.src[1] = vector(15, 8).plus(acc);
        inst.src[2] = vector(23, 16).plus(acc);
        inst.dst = vector(31, 24).plus(acc);
        let (offset0, offset1) = (bits(w, 7, 0) as i32, bits(w, 15, 8) as i32);
        inst.mem.returns = row.name.contains("_rtn_");
        match inst.kind {
            Kind::Mem(op) if matches!(op.act, Act::Load2 { .. } | Act::Store2 { .. } | Act::Exchange2 { .. }) => {
                inst.mem.offset = offset0;
                inst.mem.offset1 = offset1;
            }
            _ => inst.mem.offset = offset0 | offset1 << 8,
        }
        data_registers(&mut inst);
        Some(inst)
    }

    fn flat_encoding(segment: u32) -> Option<Encoding> {
        Some(match segment {
            0 => Encoding::Flat,
            1 => Encoding::Scratch,
            2 => Encoding::Global,
            _ => return None,
        })
    }

    fn flat(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let cdna = self.arch.is_cdna();
        let encoding = Self::flat_encoding(if cdna { bits(w, 15, 14) } else { bits(w, 17, 16) })?;
        let row = self.row(encoding, bits(w, 24, 18))?;
        let mut inst = self.start(row, pc);
        inst.mem.offset =
            if encoding == Encoding::Flat { bits(w, 11, 0) as i32 } else { sign_extend(bits(w, 12, 0), 13) };
        let acc = if cdna && bit(second, 23) { ACC } else { 0 };
        inst.src[0] = Opnd::V(bits(second, 7, 0) as u16);
        inst.src[1] = Opnd::V(bits(second, 15, 8) as u16 + acc);
        inst.dst = Opnd::V(bits(second, 31, 24) as u16 + acc);
        let (returns, none) = if cdna { (bit(w, 16), 0x7f) } else { (bit(w, 14), 0x7c) };
        inst.mem.returns = returns;
        inst.mem.device_scope = cdna && bit(w, 25);
        inst.mem.use_vaddr = if cdna { bit(w, 13) } else { bit(second, 23) };
        let saddr = bits(second, 22, 16);
        inst.saddr = if encoding == Encoding::Flat || saddr == none { Opnd::None } else { self.scalar(saddr) };
        data_registers(&mut inst);
        Some(inst)
    }

    fn flat12(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let third = u64::from(words.next()?);
        let encoding = Self::flat_encoding(bits(w, 25, 24))?;
        let row = self.row(encoding, bits(w, 21, 14))?;
        let mut inst = self.start(row, pc);
        inst.mem.offset = sign_extend(bits(third, 31, 8), 24);
        inst.src[0] = Opnd::V(bits(third, 7, 0) as u16);
        inst.src[1] = Opnd::V(bits(second, 30, 23) as u16);
        inst.dst = Opnd::V(bits(second, 7, 0) as u16);
        inst.mem.returns = bit(second, 20);
        inst.mem.device_scope = bits(second, 19, 18) >= 2;
        inst.mem.use_vaddr = bit(second, 17);
        let saddr = self.scalar(bits(w, 6, 0));
        inst.saddr = if encoding == Encoding::Flat || saddr == Opnd::Null { Opnd::None } else { saddr };
        data_registers(&mut inst);
        Some(inst)
    }

    fn mubuf(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let cdna = self.arch.is_cdna();
        let row = self.row(Encoding::Mubuf, if cdna { bits(w, 24, 18) } else { bits(w, 25, 18) })?;
        let mut inst = self.start(row, pc);
        let acc = if cdna && bit(second, 23) { ACC } else { 0 };
        inst.mem = MemFields {
            offset: bits(w, 11, 0) as i32,
            returns: bit(w, 14),
            device_scope: cdna && bit(w, 15),
            idxen: if cdna { bit(w, 13) } else { bit(second, 23) },
            offen: if cdna { bit(w, 12) } else { bit(second, 22) },
            lds: cdna && bit(w, 16),
            ..MemFields::default()
        };
        self.buffer_operands(&mut inst, second, acc, words)?;
        Some(inst)
    }

    fn mtbuf(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let row = self.row(Encoding::Mtbuf, bits(w, 18, 15))?;
        let mut inst = self.start(row, pc);
        let cdna = self.arch.is_cdna();
        let acc = if cdna && bit(second, 23) { ACC } else { 0 };
        inst.mem = MemFields {
            offset: bits(w, 11, 0) as i32,
            idxen: if cdna { bit(w, 13) } else { bit(second, 23) },
            offen: if cdna { bit(w, 12) } else { bit(second, 22) },
            // GFX9's number format over the data format, or the format's number, with the top bit to tell that it is given here and not
            // by the descriptor.
            format: (0x80 | bits(w, 25, 19)) as u8,
            ..MemFields::default()
        };
        self.buffer_operands(&mut inst, second, acc, words)?;
        Some(inst)
    }

    fn buffer_operands(&self, inst: &mut Inst, second: u64, acc: u16, words: &mut Words<'_>) -> Option<()> {
        inst.src[0] = Opnd::V(bits(second, 7, 0) as u16);
        inst.src[1] = Opnd::V(bits(second, 15, 8) as u16 + acc);
        inst.dst = inst.src[1];
        inst.src[2] = Opnd::S((bits(second, 20, 16) << 2) as u8);
        inst.saddr = self.source(bits(second, 31, 24), words, &mut None)?;
        if inst.mem.lds
            && let Kind::Mem(op) = &mut inst.kind
        {
            op.act = match op.act {
                Act::Load { bytes, signed, .. } => Act::LoadLds { bytes, signed },
                _ => return None,
            };
        }
        data_registers(inst);
        Some(())
    }

    fn buffer12(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
        let second = u64::from(words.next()?);
        let third = u64::from(words.next()?);
        let op = bits(w, 21, 14);
        let typed = op >> 7 != 0;
        let row = self.row(if typed { Encoding::Mtbuf } else { Encoding::Mubuf }, op & 0x7f)?;
        let mut inst = self.start(row, pc);
        inst.mem = MemFields {
            format: if typed { (0x80 | bits(second, 29, 23)) as u8 } else { 0 },
            offset: sign_extend(bits(third, 31, 8), 24),
            returns: bit(second, 20),
            device_scope: bits(second, 19, 18) >= 2,
            idxen: bit(second, 31),
            offen: bit(second, 30),
            ..MemFields::default()
        };
        inst.src[0] = Opnd::V(bits(third, 7, 0) as u16);
        inst.src[1] = Opnd::V(bits(second, 7, 0) as u16);
        inst.dst = inst.src[1];
        inst.src[2] = self.scalar(bits(second, 17, 9));
        inst.saddr = self.scalar(bits(w, 6, 0));
        data_registers(&mut inst);
        Some(inst)
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
