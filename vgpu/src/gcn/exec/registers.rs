//! Reads and writes of registers, with what is known of them: defined or not, outstanding or not.

use super::Cx;
use super::state::Lanes;
use crate::finding::FindingKind;
use crate::gcn::inst::{Inst, Opnd, sreg};

/// What an inline float constant means to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    B16,
    B32,
    B64,
}

/// The value of an inline float by its code, as the bits of a format.
pub(crate) fn inline_float(code: u8, width: Width) -> u64 {
    let value: f64 = match code {
        240 => 0.5,
        241 => -0.5,
        242 => 1.0,
        243 => -1.0,
        244 => 2.0,
        245 => -2.0,
        246 => 4.0,
        247 => -4.0,
        // 1 / (2 pi), in each format as the hardware has it.
        _ => {
            return match width {
                Width::B16 => 0x3118,
                Width::B32 => 0x3e22_f983,
                Width::B64 => 0x3fc4_5f30_6dc9_c882,
            };
        }
    };
    match width {
        Width::B16 => u64::from(half::f16::from_f64(value).to_bits()),
        Width::B32 => u64::from((value as f32).to_bits()),
        Width::B64 => value.to_bits(),
    }
}

impl Cx<'_> {
    #[cold]
    fn read_pending(&mut self, inst: &Inst, register: String, lane: Option<u32>) {
        self.find(
            FindingKind::MissingWaitcnt,
            inst.pc,
            lane,
            None,
            None,
            format!("{register} is read while a load into it is outstanding; wait for its counter first"),
        );
    }

    #[cold]
    fn write_pending(&mut self, inst: &Inst, register: String) {
        self.find(
            FindingKind::MissingWaitcnt,
            inst.pc,
            None,
            None,
            None,
            format!("{register} is written while a load into it is outstanding, which may overwrite it later"),
        );
    }

    /// Checks that a scalar register may be read.
    #[inline]
    pub(crate) fn check_s(&mut self, inst: &Inst, register: u8) {
        let mask = 1_u128 << (register & 127);
        if self.w.s_pending & mask != 0 {
            self.read_pending(inst, format!("s{register}"), None);
        }
        if self.w.s_defined & mask == 0 {
            self.defined = 0;
        }
        self.hazard_read_s(inst, register);
    }

    /// A 32-bit scalar operand.
    #[inline]
    pub(crate) fn s32(&mut self, inst: &Inst, opnd: Opnd) -> u32 {
        match opnd {
            Opnd::S(r) => {
                self.check_s(inst, r);
                self.w.s[(r & 127) as usize]
            }
            Opnd::Int(value) => value as u32,
            Opnd::Lit(value) => value,
            Opnd::Float(code) => inline_float(code, Width::B32) as u32,
            Opnd::Scc => {
                if !self.w.scc_defined {
                    self.defined = 0;
                }
                u32::from(self.w.scc)
            }
            Opnd::Vccz => u32::from(self.w.vcc() == 0),
            Opnd::Execz => u32::from(self.w.exec == 0),
            Opnd::Aperture(_) => self.aperture(opnd) as u32,
            Opnd::V(_) | Opnd::None | Opnd::Null => 0,
        }
    }

    /// A 64-bit scalar operand.
    #[inline]
    pub(crate) fn s64(&mut self, inst: &Inst, opnd: Opnd) -> u64 {
        match opnd {
            Opnd::S(r) => {
                self.check_s(inst, r);
                self.check_s(inst, r.wrapping_add(1));
                self.w.s64(r)
            }
            Opnd::Int(value) => i64::from(value) as u64,
            Opnd::Float(code) => inline_float(code, Width::B64),
            Opnd::Lit(value) => u64::from(value),
            Opnd::Aperture(_) => self.aperture(opnd),
            other => u64::from(self.s32(inst, other)),
        }
    }

    /// A mask of lanes: one scalar register in waves of 32, two in waves of 64.
    #[inline]
    pub(crate) fn mask(&mut self, inst: &Inst, opnd: Opnd) -> u64 {
        if self.w.wave32 { u64::from(self.s32(inst, opnd)) } else { self.s64(inst, opnd) }
    }

    /// The apertures' bases and limits, of which only the upper halves matter.
    fn aperture(&self, opnd: Opnd) -> u64 {
        use super::state::{APERTURE_BYTES, PRIVATE_APERTURE, SHARED_APERTURE};
        match opnd {
            Opnd::Aperture(235) => SHARED_APERTURE,
            Opnd::Aperture(236) => SHARED_APERTURE + APERTURE_BYTES - 1,
            Opnd::Aperture(237) => PRIVATE_APERTURE,
            _ => PRIVATE_APERTURE + APERTURE_BYTES - 1,
        }
    }

    /// Writes a 32-bit scalar.
    #[inline]
    pub(crate) fn set_s32(&mut self, inst: &Inst, opnd: Opnd, value: u32) {
        if let Opnd::S(r) = opnd {
            let mask = 1_u128 << (r & 127);
            if self.w.s_pending & mask != 0 {
                self.write_pending(inst, format!("s{r}"));
            }
            self.w.set_s(r, value);
            self.hazard_write_s(inst, r);
            if self.defined == 0 {
                self.w.s_defined &= !mask;
                if r == sreg::EXEC || r == sreg::EXEC + 1 {
                    self.find_undefined(inst, 1, "the execution mask");
                    self.w.s_defined |= mask;
                }
            }
        }
    }

    /// Writes a 64-bit scalar.
    #[inline]
    pub(crate) fn set_s64(&mut self, inst: &Inst, opnd: Opnd, value: u64) {
        if let Opnd::S(_) = opnd {
            self.set_s32(inst, opnd, value as u32);
            self.set_s32(inst, opnd.plus(1), (value >> 32) as u32);
        }
    }

    /// Writes a mask of lanes.
    #[inline]
    pub(crate) fn set_mask(&mut self, inst: &Inst, opnd: Opnd, value: u64) {
        if self.w.wave32 {
            self.set_s32(inst, opnd, value as u32);
        } else {
            self.set_s64(inst, opnd, value);
        }
    }

    /// Reads a vector operand's 32 bits in all lanes as they are, and notes whether the active lanes are defined.
    #[inline]
    pub(crate) fn v32(&mut self, inst: &Inst, opnd: Opnd, width: Width) -> Lanes {
        match opnd {
            Opnd::V(r) => {
                self.check_v(inst, r);
                self.w.v[r as usize]
            }
            Opnd::Float(code) => [inline_float(code, width) as u32; 64],
            other => [self.s32(inst, other); 64],
        }
    }

    /// Checks that a vector register may be read, in the active lanes.
    #[inline]
    pub(crate) fn check_v(&mut self, inst: &Inst, register: u16) {
        let r = register as usize;
        let pending = self.w.v_pending[r] & self.w.exec;
        if pending != 0 {
            self.read_pending(inst, register_name(register), Some(pending.trailing_zeros()));
        }
        self.defined &= self.w.v_defined[r];
        self.hazard_read_v(inst, register);
    }

    /// Writes a vector register in the lanes of `mask`.
    #[inline]
    pub(crate) fn set_v32(&mut self, inst: &Inst, register: u16, values: &Lanes, mask: u64) {
        let r = register as usize;
        if self.w.v_pending[r] & mask != 0 {
            self.write_pending(inst, register_name(register));
        }
        self.hazard_write_v(inst, register);
        let row = &mut self.w.v[r];
        if mask == u64::MAX {
            *row = *values;
            self.w.v_defined[r] = self.defined;
        } else {
            for lane in 0..64 {
                let keep = ((mask >> lane) as u32 & 1).wrapping_sub(1);
                row[lane] = row[lane] & keep | values[lane] & !keep;
            }
            self.w.v_defined[r] = self.w.v_defined[r] & !mask | self.defined & mask;
        }
    }
}

/// The name of a row of the vector register file.
pub(crate) fn register_name(register: u16) -> String {
    match register.checked_sub(crate::gcn::inst::ACC) {
        Some(acc) => format!("a{acc}"),
        None => format!("v{register}"),
    }
}
