//! Where the scalar encodings keep their fields: SOP2, SOP1, SOPC, SOPK, SOPP, SMEM.

use super::memory::Act;
use super::tables::{Encoding, Shape};
use super::{Decoder, Words, bit, bits, data_registers, shape, sign_extend};
use crate::gcn::inst::{Inst, Kind, Opnd};

impl Decoder {
    pub(super) fn sop2(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn sop1(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn sopc(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn sopk(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn sopp(&self, w: u64, pc: u32) -> Option<Inst> {
        let row = self.row(Encoding::Sopp, bits(w, 22, 16))?;
        let mut inst = self.start(row, pc);
        inst.imm = sign_extend(bits(w, 15, 0), 16);
        Some(inst)
    }

    pub(super) fn smem(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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
}
