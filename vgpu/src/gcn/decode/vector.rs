//! Where the vector encodings keep their fields: VOP1, VOP2, VOPC, VOP3, VOP3P, VOPD, with SDWA and DPP.

use super::dpp;
use super::tables::{Encoding, Row, Shape};
use super::{Decoder, Words, bit, bits, shape};
use crate::gcn::arch::Arch;
use crate::gcn::exec;
use crate::gcn::inst::{ACC, Inst, Kind, LaneControl, Opnd, Scale, Sdwa, Select, Unused, sreg};

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

impl Decoder {
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

    pub(super) fn vop1(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn vop2(&self, opcode: u32, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn vopc(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn vop3(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn vop3p(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn vopd(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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
}
