//! Typed operands: sources with their modifiers, results with clamping, output modifiers and partial writes.
//!
//! Every operation reads all its sources in all lanes before it writes anything.

use super::Cx;
use super::registers::Width;
use super::state::Lanes;
use crate::gcn::inst::{Inst, LaneControl, Opnd, Select, Unused};
use crate::numeric::{Format, Overflow, Rounding, flush_f32, round_f64_to_f32};

/// A type of operand.
pub(crate) trait Ty {
    /// Its values.
    type T: Copy;
    /// Any value.
    const ZERO: Self::T;
    /// Reads source `n`.
    fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [Self::T; 64];
    /// Writes the destination.
    fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[Self::T; 64]);
}

impl Cx<'_> {
    /// 32 bits of source `n`, register `part` of it, through DPP.
    #[inline]
    fn permuted(&mut self, inst: &Inst, n: usize, part: u16, width: Width) -> Lanes {
        let opnd = inst.src[n].plus(part);
        if n == 0
            && let LaneControl::Dpp(dpp) = &inst.lanes
            && let Opnd::V(r) = opnd
        {
            return self.dpp_row(inst, r, dpp);
        }
        self.v32(inst, opnd, width)
    }

    fn dpp_row(&mut self, inst: &Inst, register: u16, dpp: &crate::gcn::inst::Dpp) -> Lanes {
        self.hazard_exec(inst, 5);
        let exec = self.w.exec;
        // Lanes that are read, which may be others than those that execute.
        let defined_before = self.defined;
        self.check_v(inst, register);
        let source_defined = self.w.v_defined[register as usize];
        let readable = if dpp.fetch_inactive { u64::MAX } else { exec };
        let mut defined = 0;
        let row = &self.w.v[register as usize];
        let mut out = [0; 64];
        for (lane, out) in out.iter_mut().enumerate() {
            let from = dpp.from[lane] as usize;
            if dpp.valid >> lane & 1 != 0 && readable >> from & 1 != 0 {
                *out = row[from];
                defined |= (source_defined >> from & 1) << lane;
            } else {
                defined |= 1 << lane;
            }
        }
        self.defined = defined_before & defined;
        out
    }

    /// Lanes that the instruction writes.
    #[inline]
    pub(crate) fn write_mask(&self, inst: &Inst) -> u64 {
        let exec = self.w.exec;
        let LaneControl::Dpp(dpp) = &inst.lanes else { return exec };
        let mut mask = exec & dpp.write;
        if !dpp.zero {
            for lane in 0..64 {
                let readable = dpp.fetch_inactive || exec >> dpp.from[lane] & 1 != 0;
                if dpp.valid >> lane & 1 == 0 || !readable {
                    mask &= !(1 << lane);
                }
            }
        }
        mask
    }

    /// 32 bits of source `n`: permuted by DPP, or selected by SDWA.
    #[inline]
    pub(crate) fn raw(&mut self, inst: &Inst, n: usize, width: Width) -> Lanes {
        if !inst.has_lane_control() {
            return self.v32(inst, inst.src[n], width);
        }
        let mut values = self.permuted(inst, n, 0, width);
        if let LaneControl::Sdwa(sdwa) = &inst.lanes
            && n < 2
        {
            let (shift, bits) = match sdwa.src[n] {
                Select::Byte(b) => (u32::from(b) * 8, 8),
                Select::Word(w) => (u32::from(w) * 16, 16),
                Select::Dword => (0, 32),
            };
            let signed = sdwa.sext[n];
            for value in &mut values {
                let up = *value << (32 - bits - shift);
                *value = if signed { ((up as i32) >> (32 - bits)) as u32 } else { up >> (32 - bits) };
            }
        }
        values
    }

    /// 64 bits of source `n`.
    #[inline]
    pub(crate) fn raw64(&mut self, inst: &Inst, n: usize, float: bool) -> [u64; 64] {
        match inst.src[n] {
            Opnd::V(_) => {
                let low = self.permuted(inst, n, 0, Width::B32);
                let high = self.permuted(inst, n, 1, Width::B32);
                std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
            }
            Opnd::Lit(value) if float => [u64::from(value) << 32; 64],
            other => [self.s64(inst, other); 64],
        }
    }

    /// Writes 32 bits of the destination: register `part` of it.
    #[inline]
    pub(crate) fn put(&mut self, inst: &Inst, part: u16, values: &Lanes) {
        if let Opnd::V(r) = inst.dst {
            let mask = self.write_mask(inst);
            if let LaneControl::Sdwa(sdwa) = &inst.lanes {
                let merged = self.sdwa_result(r + part, values, sdwa.dst, sdwa.unused);
                self.set_v32(inst, r + part, &merged, mask);
            } else {
                self.set_v32(inst, r + part, values, mask);
            }
        } else if let Opnd::S(_) = inst.dst {
            // A scalar result of a vector unit's operation (GFX12's v_s_*): all lanes hold the same.
            self.set_s32(inst, inst.dst.plus(part), values[0]);
        }
    }

    fn sdwa_result(&self, register: u16, values: &Lanes, dst: Select, unused: Unused) -> Lanes {
        let (shift, bits) = match dst {
            Select::Byte(b) => (u32::from(b) * 8, 8),
            Select::Word(w) => (u32::from(w) * 16, 16),
            Select::Dword => return *values,
        };
        let field = ((1_u32 << bits) - 1) << shift;
        let old = &self.w.v[register as usize];
        std::array::from_fn(|lane| {
            let placed = values[lane] << shift & field;
            match unused {
                Unused::Zero => placed,
                Unused::Preserve => old[lane] & !field | placed,
                Unused::SignExtend => (((values[lane] << (32 - bits)) as i32 >> (32 - bits)) as u32) << shift,
            }
        })
    }

    /// Writes 16 bits of the destination: into the half that the instruction names, or over the whole register.
    pub(crate) fn put16(&mut self, inst: &Inst, values: &Lanes, keep_other: bool) {
        let Opnd::V(r) = inst.dst else {
            self.put(inst, 0, values);
            return;
        };
        if matches!(inst.lanes, LaneControl::Sdwa(_)) {
            self.put(inst, 0, values);
            return;
        }
        let high = inst.op_sel & 8 != 0;
        let old = self.w.v[r as usize];
        let merged: Lanes = if high {
            std::array::from_fn(|lane| old[lane] & 0xffff | values[lane] << 16)
        } else if keep_other || inst.half_dst {
            std::array::from_fn(|lane| old[lane] & 0xffff_0000 | values[lane] & 0xffff)
        } else {
            std::array::from_fn(|lane| values[lane] & 0xffff)
        };
        self.put(inst, 0, &merged);
    }

    /// 16 bits of source `n`, in the low half.
    #[inline]
    pub(crate) fn raw16(&mut self, inst: &Inst, n: usize) -> Lanes {
        let mut values = self.raw(inst, n, Width::B16);
        let shift = if inst.op_sel >> n & 1 != 0 && matches!(inst.src[n], Opnd::V(_) | Opnd::S(_)) { 16 } else { 0 };
        for value in &mut values {
            *value = *value >> shift & 0xffff;
        }
        values
    }
}

/// Unsigned 32-bit integers, and bits.
pub(crate) struct U32;
/// Signed 32-bit integers.
pub(crate) struct I32;
/// Unsigned 16-bit integers.
pub(crate) struct U16;
/// Signed 16-bit integers.
pub(crate) struct I16;
/// The same two, in operations that leave the other half of the destination alone on GFX9 too.
pub(crate) struct U16Keep;
/// As [`U16Keep`].
pub(crate) struct I16Keep;
/// 64-bit integers.
pub(crate) struct U64;
/// Signed 64-bit integers.
pub(crate) struct I64;
/// 32-bit floats.
pub(crate) struct F32;
/// 32-bit floats of which only the bits matter, but modifiers apply.
pub(crate) struct F32Bits;
/// 64-bit floats.
pub(crate) struct F64;
/// 16-bit floats, as exact doubles: results are rounded once.
pub(crate) struct F16;
/// The same, leaving the other half of the destination alone on GFX9 too.
pub(crate) struct F16Keep;
/// 16-bit floats of which only the bits matter, but modifiers apply.
pub(crate) struct F16Bits;

macro_rules! integer32 {
    ($name:ident, $t:ty) => {
        impl Ty for $name {
            type T = $t;
            const ZERO: $t = 0;
            #[inline]
            fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [$t; 64] {
                cx.raw(inst, n, Width::B32).map(|v| v as $t)
            }
            #[inline]
            fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[$t; 64]) {
                cx.put(inst, 0, &values.map(|v| v as u32));
            }
        }
    };
}
integer32!(U32, u32);
integer32!(I32, i32);

macro_rules! integer16 {
    ($name:ident, $t:ty, $keep:expr) => {
        impl Ty for $name {
            type T = $t;
            const ZERO: $t = 0;
            fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [$t; 64] {
                cx.raw16(inst, n).map(|v| v as $t)
            }
            fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[$t; 64]) {
                cx.put16(inst, &values.map(|v| u32::from(v as u16)), $keep);
            }
        }
    };
}
integer16!(U16, u16, false);
integer16!(I16, i16, false);
integer16!(U16Keep, u16, true);
integer16!(I16Keep, i16, true);

macro_rules! integer64 {
    ($name:ident, $t:ty, $literal:expr) => {
        impl Ty for $name {
            type T = $t;
            const ZERO: $t = 0;
            fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [$t; 64] {
                if let Opnd::Lit(value) = inst.src[n] {
                    let extend: fn(u32) -> $t = $literal;
                    return [extend(value); 64];
                }
                cx.raw64(inst, n, false).map(|v| v as $t)
            }
            fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[$t; 64]) {
                cx.put(inst, 0, &values.map(|v| v as u32));
                cx.put(inst, 1, &values.map(|v| (v as u64 >> 32) as u32));
            }
        }
    };
}
integer64!(U64, u64, |v| u64::from(v));
integer64!(I64, i64, |v| i64::from(v as i32));

impl Ty for F32 {
    type T = f32;
    const ZERO: f32 = 0.0;
    #[inline]
    fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [f32; 64] {
        let values = F32Bits::load(cx, inst, n);
        if cx.w.mode.flush_32_in { values.map(|v| flush_f32(f32::from_bits(v))) } else { values.map(f32::from_bits) }
    }
    #[inline]
    fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[f32; 64]) {
        let mut bits: Lanes = values.map(f32::to_bits);
        if cx.w.mode.flush_32_out {
            for v in &mut bits {
                *v = flush_f32(f32::from_bits(*v)).to_bits();
            }
        }
        if inst.omod != 0 || inst.clamp {
            let dx10 = cx.w.mode.dx10_clamp;
            for v in &mut bits {
                *v = output_f32(f32::from_bits(*v), inst, dx10).to_bits();
            }
        }
        cx.put(inst, 0, &bits);
    }
}

/// The output modifiers: a factor, then clamping to [0, 1].
pub(crate) fn output_f32(value: f32, inst: &Inst, dx10_clamp: bool) -> f32 {
    let scaled = match inst.omod {
        1 => value * 2.0,
        2 => value * 4.0,
        3 => value * 0.5,
        _ => value,
    };
    if !inst.clamp {
        return scaled;
    }
    if scaled.is_nan() {
        return if dx10_clamp { 0.0 } else { scaled };
    }
    if scaled <= 0.0 { 0.0 } else { scaled.min(1.0) }
}

impl Ty for F32Bits {
    type T = u32;
    const ZERO: u32 = 0;
    #[inline]
    fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [u32; 64] {
        let mut values = cx.raw(inst, n, Width::B32);
        let (abs, neg) = (inst.abs >> n & 1, inst.neg >> n & 1);
        if abs | neg != 0 {
            let keep = if abs != 0 { 0x7fff_ffff } else { u32::MAX };
            let flip = u32::from(neg) << 31;
            for v in &mut values {
                *v = *v & keep ^ flip;
            }
        }
        values
    }
    #[inline]
    fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[u32; 64]) {
        cx.put(inst, 0, values);
    }
}

fn flush_f64(value: f64) -> f64 {
    if value.is_subnormal() { 0.0_f64.copysign(value) } else { value }
}

impl Ty for F64 {
    type T = f64;
    const ZERO: f64 = 0.0;
    fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [f64; 64] {
        let mut values = cx.raw64(inst, n, true);
        let (abs, neg) = (inst.abs >> n & 1, inst.neg >> n & 1);
        if abs | neg != 0 {
            for v in &mut values {
                if abs != 0 {
                    *v &= u64::MAX >> 1;
                }
                *v ^= u64::from(neg) << 63;
            }
        }
        if cx.w.mode.flush_16_64_in { values.map(|v| flush_f64(f64::from_bits(v))) } else { values.map(f64::from_bits) }
    }
    fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[f64; 64]) {
        let flush = cx.w.mode.flush_16_64_out;
        let dx10 = cx.w.mode.dx10_clamp;
        let bits = values.map(|v| {
            let v = if flush { flush_f64(v) } else { v };
            let v = match inst.omod {
                1 => v * 2.0,
                2 => v * 4.0,
                3 => v * 0.5,
                _ => v,
            };
            let v = match inst.clamp {
                true if v.is_nan() => {
                    if dx10 {
                        0.0
                    } else {
                        v
                    }
                }
                true => {
                    if v <= 0.0 {
                        0.0
                    } else {
                        v.min(1.0)
                    }
                }
                false => v,
            };
            v.to_bits()
        });
        cx.put(inst, 0, &bits.map(|v| v as u32));
        cx.put(inst, 1, &bits.map(|v| (v >> 32) as u32));
    }
}

/// A value rounded to `f16` as the mode says, with denormals flushed where it says so.
pub(crate) fn encode_f16(value: f64, cx: &Cx<'_>) -> u32 {
    let mode = &cx.w.mode;
    let narrow = value as f32;
    let bits = if mode.round_16_64 == Rounding::NearestEven && f64::from(narrow) == value {
        u32::from(half::f16::from_f32(narrow).to_bits())
    } else if value.is_nan() {
        0x7e00 | ((value.to_bits() >> 48) as u32 & 0x8000)
    } else {
        Format::F16.encode(value, mode.round_16_64, Overflow::Infinite) as u32
    };
    let bits = if mode.fp16_overflow && bits & 0x7fff == 0x7c00 && !value.is_infinite() { bits - 1 } else { bits };
    if mode.flush_16_64_out && bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

fn load_f16(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [f64; 64] {
    let bits = F16Bits::load(cx, inst, n);
    let flush = cx.w.mode.flush_16_64_in;
    bits.map(|v| {
        let v = if flush && v & 0x7c00 == 0 { v & 0x8000 } else { v };
        f64::from(half::f16::from_bits(v).to_f32())
    })
}

fn store_f16(cx: &mut Cx<'_>, inst: &Inst, values: &[f64; 64], keep: bool) {
    let dx10 = cx.w.mode.dx10_clamp;
    let bits = values.map(|v| {
        let v = match inst.omod {
            1 => v * 2.0,
            2 => v * 4.0,
            3 => v * 0.5,
            _ => v,
        };
        let v = match inst.clamp {
            true if v.is_nan() => {
                if dx10 {
                    0.0
                } else {
                    v
                }
            }
            true => {
                if v <= 0.0 {
                    0.0
                } else {
                    v.min(1.0)
                }
            }
            false => v,
        };
        encode_f16(v, cx)
    });
    cx.put16(inst, &bits, keep);
}

macro_rules! float16 {
    ($name:ident, $keep:expr) => {
        impl Ty for $name {
            type T = f64;
            const ZERO: f64 = 0.0;
            fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [f64; 64] {
                load_f16(cx, inst, n)
            }
            fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[f64; 64]) {
                store_f16(cx, inst, values, $keep);
            }
        }
    };
}
float16!(F16, false);
float16!(F16Keep, true);

impl Ty for F16Bits {
    type T = u16;
    const ZERO: u16 = 0;
    fn load(cx: &mut Cx<'_>, inst: &Inst, n: usize) -> [u16; 64] {
        let values = cx.raw16(inst, n);
        let (abs, neg) = (inst.abs >> n & 1, inst.neg >> n & 1);
        values.map(|v| {
            let v = v as u16;
            let v = if abs != 0 { v & 0x7fff } else { v };
            v ^ u16::from(neg) << 15
        })
    }
    fn store(cx: &mut Cx<'_>, inst: &Inst, values: &[u16; 64]) {
        cx.put16(inst, &values.map(u32::from), false);
    }
}

/// A float operation in the wave's rounding mode: computed in doubles and rounded once, where a double holds the exact result.
pub(crate) fn round_f32(value: f64, mode: Rounding) -> f32 {
    round_f64_to_f32(value, mode)
}

/// One source.
#[inline(always)]
pub(crate) fn op1<A: Ty, D: Ty>(cx: &mut Cx<'_>, inst: &Inst, f: impl Fn(A::T) -> D::T) {
    let a = A::load(cx, inst, 0);
    let mut out = [D::ZERO; 64];
    for lane in 0..64 {
        out[lane] = f(a[lane]);
    }
    D::store(cx, inst, &out);
}

/// Two sources.
#[inline(always)]
pub(crate) fn op2<A: Ty, B: Ty, D: Ty>(cx: &mut Cx<'_>, inst: &Inst, f: impl Fn(A::T, B::T) -> D::T) {
    let a = A::load(cx, inst, 0);
    let b = B::load(cx, inst, 1);
    let mut out = [D::ZERO; 64];
    for lane in 0..64 {
        out[lane] = f(a[lane], b[lane]);
    }
    D::store(cx, inst, &out);
}

/// Three sources.
#[inline(always)]
pub(crate) fn op3<A: Ty, B: Ty, C: Ty, D: Ty>(cx: &mut Cx<'_>, inst: &Inst, f: impl Fn(A::T, B::T, C::T) -> D::T) {
    let a = A::load(cx, inst, 0);
    let b = B::load(cx, inst, 1);
    let c = C::load(cx, inst, 2);
    let mut out = [D::ZERO; 64];
    for lane in 0..64 {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    D::store(cx, inst, &out);
}
