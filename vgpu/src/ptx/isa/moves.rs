//! Moves: `mov` with packing and unpacking, address conversion, clocks.

use super::Op;
use super::convert::{copy_double, copy_word};
use super::lanes::{LaneOp, Registers, lanes};
use crate::error::Result;
use crate::ptx::decode::{AddressBase, Decoder, Modifiers, Ty};
use crate::ptx::exec::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::ptx::program::{File, L32};
use crate::ptx::syntax::ast::{Instruction, Operand};

/// A move between a register (or two for 128 bits) and the parts of a vector.
pub(crate) struct PackOp {
    pack: bool,
    /// Slots of the whole: one word, one double, or two doubles.
    whole: Vec<u32>,
    whole_file: File,
    /// Slots of the parts, lowest first.
    parts: Vec<u32>,
    part_bits: u32,
}

impl PackOp {
    pub fn execute(&self, registers: &mut Registers, mask: u32) {
        let wide_parts = self.part_bits == 64;
        if self.pack {
            let (mut word, mut doubles) = ([0_u32; 32], [[0_u64; 32]; 2]);
            for lane in 0..32 {
                let mut value = 0_u128;
                for (index, &slot) in self.parts.iter().enumerate() {
                    let part = if wide_parts { registers.d(slot)[lane] } else { registers.w(slot)[lane].into() };
                    let part = if wide_parts { part } else { part & ((1 << self.part_bits) - 1) };
                    value |= u128::from(part) << (index as u32 * self.part_bits);
                }
                word[lane] = value as u32;
                doubles[0][lane] = value as u64;
                doubles[1][lane] = (value >> 64) as u64;
            }
            match self.whole_file {
                File::Double => {
                    for (&slot, value) in self.whole.iter().zip(&doubles) {
                        registers.set_d(slot, value, mask);
                    }
                }
                _ => registers.set_w(self.whole[0], &word, mask),
            }
            return;
        }
        let mut whole = [0_u128; 32];
        for (lane, whole) in whole.iter_mut().enumerate() {
            for (index, &slot) in self.whole.iter().enumerate() {
                *whole |= match self.whole_file {
                    File::Double => u128::from(registers.d(slot)[lane]) << (64 * index),
                    _ => registers.w(slot)[lane].into(),
                };
            }
        }
        for (index, &slot) in self.parts.iter().enumerate() {
            let shift = index as u32 * self.part_bits;
            if wide_parts {
                let mut value = [0_u64; 32];
                for lane in 0..32 {
                    value[lane] = (whole[lane] >> shift) as u64;
                }
                registers.set_d(slot, &value, mask);
            } else {
                let mut value: L32 = [0; 32];
                for lane in 0..32 {
                    value[lane] = ((whole[lane] >> shift) & ((1 << self.part_bits) - 1)) as u32;
                }
                registers.set_w(slot, &value, mask);
            }
        }
    }
}

/// A register that changes while the warp runs.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    /// Low or high half of the cycle counter, or all of it.
    Cycles,
    CyclesHigh,
    Cycles64,
    /// Nanoseconds: low, high, all.
    Timer,
    TimerHigh,
    Timer64,
}

fn clock(name: &str) -> Option<Clock> {
    Some(match name {
        "%clock" => Clock::Cycles,
        "%clock_hi" => Clock::CyclesHigh,
        "%clock64" => Clock::Cycles64,
        "%globaltimer" => Clock::Timer64,
        "%globaltimer_lo" => Clock::Timer,
        "%globaltimer_hi" => Clock::TimerHigh,
        _ => return None,
    })
}

/// Decodes `mov`.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(ty) = m.ty() else { return Ok(None) };
    let [to, from] = d.operands(i)?;
    if let Operand::Name(name) = from
        && let Some(kind) = clock(name)
    {
        let wide = matches!(kind, Clock::Cycles64 | Clock::Timer64);
        let to = if wide { d.double_destination(to)? } else { d.word_destination(to)? };
        return Ok(Some(Op::Clock { kind, to }));
    }
    match (to, from) {
        (Operand::Vector(parts), whole) => pack(d, ty, whole, parts, false).map(Some),
        (whole, Operand::Vector(parts)) => pack(d, ty, whole, parts, true).map(Some),
        _ => match ty.bits() {
            1 => {
                let (a, negated) = d.predicate_source(from)?;
                let to = d.predicate_destination(to)?;
                let f = if negated { |d: &mut u32, a: &u32| *d = !*a } else { |d: &mut u32, a: &u32| *d = *a };
                Ok(Some(Op::Lane(LaneOp::PP { f, d: to, a })))
            }
            64 => {
                // `mov.u64 %rd, %r` does not exist, but `mov.b64 %rd, %clock64` and the like did above.
                let a = d.double(from, ty)?;
                Ok(Some(copy_double(d.double_destination(to)?, a)))
            }
            128 => {
                let (a, to) = (d.quad(from)?, d.quad_destination(to)?);
                let op = PackOp {
                    pack: true,
                    whole: to.to_vec(),
                    whole_file: File::Double,
                    parts: a.to_vec(),
                    part_bits: 64,
                };
                Ok(Some(Op::Pack(Box::new(op))))
            }
            _ => {
                let a = d.word(from, ty)?;
                Ok(Some(copy_word(d.word_destination(to)?, a)))
            }
        },
    }
}

fn pack(d: &mut Decoder, ty: Ty, whole: &Operand, parts: &[Operand], pack: bool) -> Result<Op> {
    let bits = ty.bits();
    if !matches!(parts.len(), 2 | 4) || bits < 16 {
        return Err(d.bad("a vector of 2 or 4 parts packs into at least 16 bits"));
    }
    let part_bits = bits / parts.len() as u32;
    let part_ty = match part_bits {
        8 => Ty::B8,
        16 => Ty::B16,
        32 => Ty::B32,
        _ => Ty::B64,
    };
    if bits == 32 && parts.len() == 2 && pack {
        let (a, b) = (d.word(&parts[0], part_ty)?, d.word(&parts[1], part_ty)?);
        let to = d.word_destination(whole)?;
        return Ok(Op::Lane(LaneOp::WWW { f: lanes!(W(a: W, b: W), (a & 0xFFFF) | b << 16), d: to, a, b }));
    }
    let mut slots = Vec::new();
    for part in parts {
        slots.push(match (pack, part_bits) {
            (true, 64) => d.double(part, part_ty)?,
            (true, _) => d.word(part, part_ty)?,
            (false, 64) => d.double_destination(part)?,
            (false, _) => d.word_destination(part)?,
        });
    }
    let whole_slots = match (bits, pack) {
        (128, true) => d.quad_destination(whole)?.to_vec(),
        (128, false) => d.quad(whole)?.to_vec(),
        (64, true) => vec![d.double_destination(whole)?],
        (64, false) => vec![d.double(whole, ty)?],
        (_, true) => vec![d.word_destination(whole)?],
        (_, false) => vec![d.word(whole, ty)?],
    };
    let whole_file = if bits >= 64 { File::Double } else { File::Word };
    Ok(Op::Pack(Box::new(PackOp { pack, whole: whole_slots, whole_file, parts: slots, part_bits })))
}

/// Decodes `cvta`: between an address in a space and a generic one.
pub(super) fn decode_cvta(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let to_space = m.take("to");
    let Some(space) =
        m.any(&["global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "const"])
    else {
        return Ok(None);
    };
    let Some(ty) = m.ty() else { return Ok(None) };
    if ty.bits() != 64 {
        return Err(d.unsupported("only 64-bit addresses"));
    }
    let window = match space {
        "global" | "const" => 0,
        "local" => LOCAL_WINDOW,
        "param" | "param::entry" => PARAM_WINDOW,
        _ => SHARED_WINDOW,
    };
    let window = d.constant_double(if to_space { window.wrapping_neg() } else { window });
    let [to, from] = d.operands(i)?;
    // A variable's own address may stand for the register.
    let a = match from {
        Operand::Address { .. } => match d.address(from)?.base {
            AddressBase::Double(slot) => slot,
            _ => return Err(d.bad("expected a register or a variable")),
        },
        _ => d.double(from, ty)?,
    };
    let f = lanes!(D(a: D, b: D), a.wrapping_add(b));
    Ok(Some(Op::Lane(LaneOp::DDD { f, d: d.double_destination(to)?, a, b: window })))
}

/// Decodes `isspacep`: whether a generic address lies in a space.
pub(super) fn decode_isspacep(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let Some(space) =
        m.any(&["global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "const"])
    else {
        return Ok(None);
    };
    let f = match space {
        "global" | "const" => lanes!(P(a: D), a >> 32 >= 7),
        "local" => lanes!(P(a: D), a >> 32 == LOCAL_WINDOW >> 32),
        "param" | "param::entry" => lanes!(P(a: D), a >> 32 == PARAM_WINDOW >> 32),
        "shared::cluster" => lanes!(P(a: D), a >> 32 == SHARED_WINDOW >> 32),
        _ => lanes!(P(a: D), a >> 32 == SHARED_WINDOW >> 32 && (a >> 24) & 0xFF == 0),
    };
    d.pd(i, Ty::U64, f).map(Some)
}

/// Reads a clock into a register.
pub(super) fn read_clock(cx: &mut crate::ptx::exec::Cx, kind: Clock, to: u32) {
    // Cycles are instructions executed: what matters is that they grow.
    let cycles = cx.world.executed.wrapping_mul(4).wrapping_add(cx.warp.counters.total());
    let nanoseconds = cx.l.started.elapsed().as_nanos() as u64;
    let mask = cx.mask;
    let registers = &mut cx.warp.registers;
    match kind {
        Clock::Cycles => registers.set_w(to, &[cycles as u32; 32], mask),
        Clock::CyclesHigh => registers.set_w(to, &[(cycles >> 32) as u32; 32], mask),
        Clock::Cycles64 => registers.set_d(to, &[cycles; 32], mask),
        Clock::Timer => registers.set_w(to, &[nanoseconds as u32; 32], mask),
        Clock::TimerHigh => registers.set_w(to, &[(nanoseconds >> 32) as u32; 32], mask),
        Clock::Timer64 => registers.set_d(to, &[nanoseconds; 32], mask),
    }
}
