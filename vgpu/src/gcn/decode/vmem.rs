//! Where the encodings of vector memory instructions keep their fields: DS, FLAT, MUBUF, MTBUF, and RDNA 4's own.

use super::memory::Act;
use super::tables::Encoding;
use super::{Decoder, Words, bit, bits, data_registers, sign_extend};
use crate::gcn::inst::{ACC, Inst, Kind, MemFields, Opnd};

impl Decoder {
    pub(super) fn ds(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn flat(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn flat12(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn mubuf(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn mtbuf(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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

    pub(super) fn buffer12(&self, w: u64, words: &mut Words<'_>, pc: u32) -> Option<Inst> {
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
