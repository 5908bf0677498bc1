//! The scalar unit: arithmetic, logic, moves, branches, and what controls the wave.

use super::state::Flow;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::{Inst, Opnd, sreg};
use crate::numeric::{Rounding, round_f64_to_f32};

impl Cx<'_> {
    pub(super) fn set_scc(&mut self, value: bool) {
        self.w.scc = value;
        self.w.scc_defined = self.defined != 0;
    }

    fn scc(&mut self) -> bool {
        if !self.w.scc_defined {
            self.defined = 0;
        }
        self.w.scc
    }
}

/// 32-bit result, condition code where the closure gives one.
#[inline(always)]
fn two32(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u32, u32) -> (u32, Option<bool>)) {
    let a = cx.s32(i, i.src[0]);
    let b = cx.s32(i, i.src[1]);
    let (value, scc) = f(a, b);
    cx.set_s32(i, i.dst, value);
    if let Some(scc) = scc {
        cx.set_scc(scc);
    }
}

#[inline(always)]
fn two64(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u64, u64) -> u64) {
    let a = cx.s64(i, i.src[0]);
    let b = cx.s64(i, i.src[1]);
    let value = f(a, b);
    cx.set_s64(i, i.dst, value);
    cx.set_scc(value != 0);
}

/// A 64-bit value and a 32-bit one.
#[inline(always)]
fn shift64(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u64, u32) -> u64) {
    let a = cx.s64(i, i.src[0]);
    let b = cx.s32(i, i.src[1]);
    let value = f(a, b);
    cx.set_s64(i, i.dst, value);
    cx.set_scc(value != 0);
}

#[inline(always)]
fn logic32(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u32, u32) -> u32) {
    two32(cx, i, |a, b| {
        let value = f(a, b);
        (value, Some(value != 0))
    });
}

#[inline(always)]
fn one32(cx: &mut Cx<'_>, i: &Inst, with_scc: bool, f: impl Fn(u32) -> u32) {
    let value = f(cx.s32(i, i.src[0]));
    cx.set_s32(i, i.dst, value);
    if with_scc {
        cx.set_scc(value != 0);
    }
}

#[inline(always)]
fn one64(cx: &mut Cx<'_>, i: &Inst, with_scc: bool, f: impl Fn(u64) -> u64) {
    let value = f(cx.s64(i, i.src[0]));
    cx.set_s64(i, i.dst, value);
    if with_scc {
        cx.set_scc(value != 0);
    }
}

/// A 64-bit source and a 32-bit result.
#[inline(always)]
fn narrow(cx: &mut Cx<'_>, i: &Inst, with_scc: bool, f: impl Fn(u64) -> u32) {
    let value = f(cx.s64(i, i.src[0]));
    cx.set_s32(i, i.dst, value);
    if with_scc {
        cx.set_scc(value != 0);
    }
}

#[inline(always)]
fn compare(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u32, u32) -> bool) {
    let a = cx.s32(i, i.src[0]);
    let b = cx.s32(i, i.src[1]);
    cx.set_scc(f(a, b));
}

#[inline(always)]
fn compare_k(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u32, i32) -> bool) {
    let a = cx.s32(i, i.dst);
    cx.set_scc(f(a, i.imm));
}

/// A scalar float operation.
#[inline(always)]
fn float1(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(f32) -> f32) {
    let a = f32::from_bits(cx.s32(i, i.src[0]));
    let value = cx.flush_scalar(f(cx.flush_scalar_in(a)));
    cx.set_s32(i, i.dst, value.to_bits());
}

#[inline(always)]
fn float2(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(f64, f64) -> f64) {
    let a = f32::from_bits(cx.s32(i, i.src[0]));
    let b = f32::from_bits(cx.s32(i, i.src[1]));
    let exact = f(f64::from(cx.flush_scalar_in(a)), f64::from(cx.flush_scalar_in(b)));
    let value = cx.flush_scalar(round_f64_to_f32(exact, cx.w.mode.round_32));
    cx.set_s32(i, i.dst, value.to_bits());
}

#[inline(always)]
fn float_compare(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(f32, f32) -> bool) {
    let a = f32::from_bits(cx.s32(i, i.src[0]));
    let b = f32::from_bits(cx.s32(i, i.src[1]));
    let (a, b) = (cx.flush_scalar_in(a), cx.flush_scalar_in(b));
    cx.set_scc(f(a, b));
}

impl Cx<'_> {
    fn flush_scalar_in(&self, value: f32) -> f32 {
        if self.w.mode.flush_32_in { crate::numeric::flush_f32(value) } else { value }
    }

    fn flush_scalar(&self, value: f32) -> f32 {
        if self.w.mode.flush_32_out { crate::numeric::flush_f32(value) } else { value }
    }
}

/// An or. Masks of lanes are put together by an or with exec: the bits that matter are then defined, whatever the other operand held. As
/// definedness is kept by register, not by bit, one defined operand makes the result so.
fn or(cx: &mut Cx<'_>, i: &Inst, wide: bool) {
    let read = |cx: &mut Cx<'_>, n: usize| if wide { cx.s64(i, i.src[n]) } else { u64::from(cx.s32(i, i.src[n])) };
    let a = read(cx, 0);
    let first = std::mem::replace(&mut cx.defined, u64::MAX);
    let b = read(cx, 1);
    cx.defined |= first;
    if wide {
        cx.set_s64(i, i.dst, a | b);
    } else {
        cx.set_s32(i, i.dst, (a | b) as u32);
    }
    cx.set_scc(a | b != 0);
}

/// Saves exec and computes a new one from it and the source.
#[inline(always)]
fn saveexec(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u64, u64) -> u64) {
    let source = cx.mask(i, i.src[0]);
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the execution mask");
    }
    let old = cx.w.exec;
    let new = f(source, old) & lanes_mask(cx);
    cx.set_mask(i, i.dst, old);
    cx.w.set_exec(new);
    cx.set_scc(new != 0);
}

/// Computes a new exec and writes it to the destination too.
#[inline(always)]
fn wrexec(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u64, u64) -> u64) {
    let source = cx.mask(i, i.src[0]);
    let new = f(source, cx.w.exec) & lanes_mask(cx);
    cx.w.set_exec(new);
    cx.set_mask(i, i.dst, new);
    cx.set_scc(new != 0);
}

fn lanes_mask(cx: &Cx<'_>) -> u64 {
    if cx.w.wave32 { u64::from(u32::MAX) } else { u64::MAX }
}

pub(super) fn branch_to(cx: &mut Cx<'_>, i: &Inst) {
    cx.next = u64::from(i.pc).wrapping_add(4).wrapping_add((i64::from(i.imm) * 4) as u64);
    cx.flow = Flow::Jump;
}

/// A conditional branch.
#[inline(always)]
fn branch_if(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(&mut Cx<'_>) -> bool) {
    let taken = f(cx);
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the condition of a branch");
    }
    if taken {
        branch_to(cx, i);
    }
}

fn check_vcc(cx: &mut Cx<'_>, i: &Inst) -> u64 {
    cx.mask(i, Opnd::S(sreg::VCC))
}

/// The address after the instruction, as programs see it.
pub(super) fn return_address(cx: &Cx<'_>, i: &Inst) -> u64 {
    cx.env.image + u64::from(i.pc + i.size)
}

pub(super) fn jump(cx: &mut Cx<'_>, i: &Inst, address: u64) {
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the target of a jump");
    }
    cx.next = address.wrapping_sub(cx.env.image);
    cx.flow = Flow::Jump;
}

fn sign_bits(value: u64, width: u32) -> u32 {
    // Leading bits equal to the sign; all of them gives -1.
    let negative = value >> (width - 1) & 1 != 0;
    let flipped = if negative { !value } else { value };
    let flipped = if width == 64 { flipped } else { flipped & 0xffff_ffff };
    if flipped == 0 { u32::MAX } else { flipped.leading_zeros() - (64 - width) }
}

fn quadmask(value: u64) -> u64 {
    (0..16).fold(0, |mask, quad| mask | u64::from(value >> (quad * 4) & 15 != 0) << quad)
}

fn whole_quads(value: u64) -> u64 {
    (0..16).fold(0, |mask, quad| mask | if value >> (quad * 4) & 15 != 0 { 15 << (quad * 4) } else { 0 })
}

fn bfe(value: u32, field: u32, signed: bool) -> u32 {
    let (offset, width) = (field & 31, field >> 16 & 0x7f);
    if width == 0 {
        return 0;
    }
    let shifted = if signed { ((value as i32) >> offset) as u32 } else { value >> offset };
    // A field over the end of the register is shorter.
    let width = width.min(32 - offset);
    let up = 32 - width;
    if signed { ((shifted << up) as i32 >> up) as u32 } else { shifted << up >> up }
}

fn bfe64(value: u64, field: u32, signed: bool) -> u64 {
    let (offset, width) = (field & 63, field >> 16 & 0x7f);
    if width == 0 {
        return 0;
    }
    let shifted = if signed { ((value as i64) >> offset) as u64 } else { value >> offset };
    let up = 64 - width.min(64 - offset);
    if signed { ((shifted << up) as i64 >> up) as u64 } else { shifted << up >> up }
}

fn bit_field64(cx: &mut Cx<'_>, i: &Inst, signed: bool) {
    let field = cx.s32(i, i.src[1]);
    // Compilers widen a number of 32 bits by it, whatever the register above holds.
    let in_lower = (field & 63) + (field >> 16 & 0x7f) <= 32;
    let value = match i.src[0] {
        lower @ Opnd::S(_) if in_lower => u64::from(cx.s32(i, lower)),
        whole => cx.s64(i, whole),
    };
    let value = bfe64(value, field, signed);
    cx.set_s64(i, i.dst, value);
    cx.set_scc(value != 0);
}

fn getreg(cx: &mut Cx<'_>, i: &Inst) {
    let (id, offset, size) = hwreg(i);
    cx.hazard_hardware_register(i, id, false);
    let value = match id {
        // MODE, as the generation lays it out.
        1 => cx.w.mode.bits,
        // HW_ID and its relatives: where the wave runs; this machine has one place.
        4 | 23 | 24 => 0,
        // GPR_ALLOC, LDS_ALLOC
        5 | 6 => 0,
        // IB_STS and the trap registers: nothing happens in them here.
        2 | 3 | 7 => 0,
        // XCC_ID
        20 => 0,
        29 => cx.env.started.elapsed().as_nanos() as u32,
        30 => (cx.env.started.elapsed().as_nanos() >> 32) as u32,
        _ => {
            cx.unsupported(i, format!("hardware register {id}"));
            return;
        }
    };
    let mask = if size == 32 { u32::MAX } else { (1 << size) - 1 };
    cx.set_s32(i, i.dst, value >> offset & mask);
}

/// Register, first bit, number of bits.
fn hwreg(i: &Inst) -> (u32, u32, u32) {
    let field = i.imm as u32 & 0xffff;
    (field & 63, field >> 6 & 31, (field >> 11) + 1)
}

fn setreg(cx: &mut Cx<'_>, i: &Inst) {
    let (id, offset, size) = hwreg(i);
    let value = cx.s32(i, i.src[0]);
    cx.hazard_hardware_register(i, id, true);
    match id {
        1 => {
            let mask = (if size == 32 { u32::MAX } else { (1 << size) - 1 }) << offset;
            let bits = cx.w.mode.bits & !mask | value << offset & mask;
            cx.w.mode = super::state::Mode::from_bits(bits);
        }
        // Trap status, priorities: no effect on results.
        2 | 3 | 7 | 25 => {}
        _ => cx.unsupported(i, format!("writes of hardware register {id}")),
    }
}

fn trap(cx: &mut Cx<'_>, i: &Inst) {
    let lane = cx.w.exec.trailing_zeros().min(63);
    let thread = u32::from(cx.w.id) * cx.w.lanes + lane;
    cx.flow = Flow::Fail(crate::error::Error::Trap {
        kernel: cx.env.kernel.to_owned(),
        program: cx.g.id,
        thread: [thread, 0, 0],
        location: cx.env.location(i.pc),
    });
}

/// The register numbered by m0 beyond the operand's own.
fn relative(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd) -> Opnd {
    let index = cx.s32(i, Opnd::S(sreg::M0));
    cx.hazard_m0(i);
    moved(cx, i, opnd, index)
}

fn moved(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd, index: u32) -> Opnd {
    match opnd {
        Opnd::S(r) if u32::from(r).saturating_add(index) < 104 => Opnd::S(r + index as u8),
        _ => {
            cx.fault(i, format!("m0 is {index}: the indexed scalar register does not exist"));
            Opnd::Null
        }
    }
}

pub(super) const TABLE: &[Entry] = &[
    // Arithmetic.
    ("s_add_u32", Class::Scalar, |c, i| two32(c, i, |a, b| (a.wrapping_add(b), Some(a.checked_add(b).is_none())))),
    ("s_sub_u32", Class::Scalar, |c, i| two32(c, i, |a, b| (a.wrapping_sub(b), Some(a < b)))),
    ("s_add_i32", Class::Scalar, |c, i| {
        two32(c, i, |a, b| (a.wrapping_add(b), Some((a as i32).checked_add(b as i32).is_none())))
    }),
    ("s_sub_i32", Class::Scalar, |c, i| {
        two32(c, i, |a, b| (a.wrapping_sub(b), Some((a as i32).checked_sub(b as i32).is_none())))
    }),
    ("s_addc_u32", Class::Scalar, |c, i| {
        let carry = u64::from(c.scc());
        two32(c, i, |a, b| {
            let sum = u64::from(a) + u64::from(b) + carry;
            (sum as u32, Some(sum >> 32 != 0))
        });
    }),
    ("s_subb_u32", Class::Scalar, |c, i| {
        let borrow = u64::from(c.scc());
        two32(c, i, |a, b| (a.wrapping_sub(b).wrapping_sub(borrow as u32), Some(u64::from(b) + borrow > u64::from(a))));
    }),
    ("s_add_u64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s64(i, i.src[1]));
        c.set_s64(i, i.dst, a.wrapping_add(b));
    }),
    ("s_sub_u64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s64(i, i.src[1]));
        c.set_s64(i, i.dst, a.wrapping_sub(b));
    }),
    ("s_mul_u64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s64(i, i.src[1]));
        c.set_s64(i, i.dst, a.wrapping_mul(b));
    }),
    ("s_min_i32", Class::Scalar, |c, i| {
        two32(c, i, |a, b| ((a as i32).min(b as i32) as u32, Some((a as i32) < b as i32)))
    }),
    ("s_min_u32", Class::Scalar, |c, i| two32(c, i, |a, b| (a.min(b), Some(a < b)))),
    ("s_max_i32", Class::Scalar, |c, i| {
        two32(c, i, |a, b| ((a as i32).max(b as i32) as u32, Some(a as i32 > b as i32)))
    }),
    ("s_max_u32", Class::Scalar, |c, i| two32(c, i, |a, b| (a.max(b), Some(a > b)))),
    ("s_mul_i32", Class::Scalar, |c, i| two32(c, i, |a, b| (a.wrapping_mul(b), None))),
    ("s_mul_hi_u32", Class::Scalar, |c, i| two32(c, i, |a, b| (((u64::from(a) * u64::from(b)) >> 32) as u32, None))),
    ("s_mul_hi_i32", Class::Scalar, |c, i| {
        two32(c, i, |a, b| (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32, None))
    }),
    ("s_absdiff_i32", Class::Scalar, |c, i| logic32(c, i, |a, b| (a as i32).wrapping_sub(b as i32).unsigned_abs())),
    ("s_lshl1_add_u32", Class::Scalar, |c, i| two32(c, i, |a, b| shift_add(a, b, 1))),
    ("s_lshl2_add_u32", Class::Scalar, |c, i| two32(c, i, |a, b| shift_add(a, b, 2))),
    ("s_lshl3_add_u32", Class::Scalar, |c, i| two32(c, i, |a, b| shift_add(a, b, 3))),
    ("s_lshl4_add_u32", Class::Scalar, |c, i| two32(c, i, |a, b| shift_add(a, b, 4))),
    ("s_abs_i32", Class::Scalar, |c, i| one32(c, i, true, |a| (a as i32).unsigned_abs())),
    ("s_addk_i32", Class::Scalar, |c, i| {
        let a = c.s32(i, i.dst) as i32;
        let (sum, overflow) = a.overflowing_add(i.imm);
        c.set_s32(i, i.dst, sum as u32);
        c.set_scc(overflow);
    }),
    ("s_mulk_i32", Class::Scalar, |c, i| {
        let a = c.s32(i, i.dst);
        c.set_s32(i, i.dst, a.wrapping_mul(i.imm as u32));
    }),
    // Logic.
    ("s_and_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| a & b)),
    ("s_and_b64", Class::Scalar, |c, i| two64(c, i, |a, b| a & b)),
    ("s_or_b32", Class::Scalar, |c, i| or(c, i, false)),
    ("s_or_b64", Class::Scalar, |c, i| or(c, i, true)),
    ("s_xor_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| a ^ b)),
    ("s_xor_b64", Class::Scalar, |c, i| two64(c, i, |a, b| a ^ b)),
    ("s_andn2_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| a & !b)),
    ("s_andn2_b64", Class::Scalar, |c, i| two64(c, i, |a, b| a & !b)),
    ("s_orn2_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| a | !b)),
    ("s_orn2_b64", Class::Scalar, |c, i| two64(c, i, |a, b| a | !b)),
    ("s_nand_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| !(a & b))),
    ("s_nand_b64", Class::Scalar, |c, i| two64(c, i, |a, b| !(a & b))),
    ("s_nor_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| !(a | b))),
    ("s_nor_b64", Class::Scalar, |c, i| two64(c, i, |a, b| !(a | b))),
    ("s_xnor_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| !(a ^ b))),
    ("s_xnor_b64", Class::Scalar, |c, i| two64(c, i, |a, b| !(a ^ b))),
    ("s_not_b32", Class::Scalar, |c, i| one32(c, i, true, |a| !a)),
    ("s_not_b64", Class::Scalar, |c, i| one64(c, i, true, |a| !a)),
    ("s_lshl_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| a << (b & 31))),
    ("s_lshl_b64", Class::Scalar, |c, i| shift64(c, i, |a, b| a << (b & 63))),
    ("s_lshr_b32", Class::Scalar, |c, i| logic32(c, i, |a, b| a >> (b & 31))),
    ("s_lshr_b64", Class::Scalar, |c, i| shift64(c, i, |a, b| a >> (b & 63))),
    ("s_ashr_i32", Class::Scalar, |c, i| logic32(c, i, |a, b| (a as i32 >> (b & 31)) as u32)),
    ("s_ashr_i64", Class::Scalar, |c, i| shift64(c, i, |a, b| (a as i64 >> (b & 63)) as u64)),
    ("s_bfm_b32", Class::Scalar, |c, i| two32(c, i, |a, b| (((1 << (a & 31)) - 1) << (b & 31), None))),
    ("s_bfm_b64", Class::Scalar, |c, i| {
        let (a, b) = (c.s32(i, i.src[0]), c.s32(i, i.src[1]));
        c.set_s64(i, i.dst, ((1_u64 << (a & 63)) - 1) << (b & 63));
    }),
    ("s_bfe_u32", Class::Scalar, |c, i| logic32(c, i, |a, b| bfe(a, b, false))),
    ("s_bfe_i32", Class::Scalar, |c, i| logic32(c, i, |a, b| bfe(a, b, true))),
    ("s_bfe_u64", Class::Scalar, |c, i| bit_field64(c, i, false)),
    ("s_bfe_i64", Class::Scalar, |c, i| bit_field64(c, i, true)),
    ("s_pack_ll_b32_b16", Class::Scalar, |c, i| two32(c, i, |a, b| (a & 0xffff | b << 16, None))),
    ("s_pack_lh_b32_b16", Class::Scalar, |c, i| two32(c, i, |a, b| (a & 0xffff | b & 0xffff_0000, None))),
    ("s_pack_hh_b32_b16", Class::Scalar, |c, i| two32(c, i, |a, b| (a >> 16 | b & 0xffff_0000, None))),
    ("s_pack_hl_b32_b16", Class::Scalar, |c, i| two32(c, i, |a, b| (a >> 16 | b << 16, None))),
    ("s_brev_b32", Class::Scalar, |c, i| one32(c, i, false, u32::reverse_bits)),
    ("s_brev_b64", Class::Scalar, |c, i| one64(c, i, false, u64::reverse_bits)),
    ("s_bcnt0_i32_b32", Class::Scalar, |c, i| one32(c, i, true, u32::count_zeros)),
    ("s_bcnt0_i32_b64", Class::Scalar, |c, i| narrow(c, i, true, u64::count_zeros)),
    ("s_bcnt1_i32_b32", Class::Scalar, |c, i| one32(c, i, true, u32::count_ones)),
    ("s_bcnt1_i32_b64", Class::Scalar, |c, i| narrow(c, i, true, u64::count_ones)),
    ("s_ff0_i32_b32", Class::Scalar, |c, i| one32(c, i, false, |a| first(u64::from(!a)))),
    ("s_ff0_i32_b64", Class::Scalar, |c, i| narrow(c, i, false, |a| first(!a))),
    ("s_ff1_i32_b32", Class::Scalar, |c, i| one32(c, i, false, |a| first(u64::from(a)))),
    ("s_ff1_i32_b64", Class::Scalar, |c, i| narrow(c, i, false, first)),
    ("s_flbit_i32_b32", Class::Scalar, |c, i| {
        one32(c, i, false, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
    }),
    ("s_flbit_i32_b64", Class::Scalar, |c, i| {
        narrow(c, i, false, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
    }),
    ("s_flbit_i32", Class::Scalar, |c, i| one32(c, i, false, |a| sign_bits(u64::from(a), 32))),
    ("s_flbit_i32_i64", Class::Scalar, |c, i| narrow(c, i, false, |a| sign_bits(a, 64))),
    ("s_sext_i32_i8", Class::Scalar, |c, i| one32(c, i, false, |a| i32::from(a as i8) as u32)),
    ("s_sext_i32_i16", Class::Scalar, |c, i| one32(c, i, false, |a| i32::from(a as i16) as u32)),
    ("s_bitset0_b32", Class::Scalar, |c, i| {
        let (old, at) = (c.s32(i, i.dst), c.s32(i, i.src[0]));
        c.set_s32(i, i.dst, old & !(1 << (at & 31)));
    }),
    ("s_bitset0_b64", Class::Scalar, |c, i| {
        let (old, at) = (c.s64(i, i.dst), c.s32(i, i.src[0]));
        c.set_s64(i, i.dst, old & !(1 << (at & 63)));
    }),
    ("s_bitset1_b32", Class::Scalar, |c, i| {
        let (old, at) = (c.s32(i, i.dst), c.s32(i, i.src[0]));
        c.set_s32(i, i.dst, old | 1 << (at & 31));
    }),
    ("s_bitset1_b64", Class::Scalar, |c, i| {
        let (old, at) = (c.s64(i, i.dst), c.s32(i, i.src[0]));
        c.set_s64(i, i.dst, old | 1 << (at & 63));
    }),
    ("s_bitreplicate_b64_b32", Class::Scalar, |c, i| {
        let a = c.s32(i, i.src[0]);
        let value = (0..32).fold(0_u64, |v, bit| v | (u64::from(a >> bit & 1) * 3) << (bit * 2));
        c.set_s64(i, i.dst, value);
    }),
    ("s_quadmask_b32", Class::Scalar, |c, i| one32(c, i, true, |a| quadmask(u64::from(a)) as u32)),
    ("s_quadmask_b64", Class::Scalar, |c, i| one64(c, i, true, quadmask)),
    ("s_wqm_b32", Class::Scalar, |c, i| one32(c, i, true, |a| whole_quads(u64::from(a)) as u32)),
    ("s_wqm_b64", Class::Scalar, |c, i| one64(c, i, true, whole_quads)),
    // Moves and selects.
    ("s_mov_b32", Class::Scalar, |c, i| one32(c, i, false, |a| a)),
    ("s_mov_b64", Class::Scalar, |c, i| one64(c, i, false, |a| a)),
    ("s_movk_i32", Class::Scalar, |c, i| c.set_s32(i, i.dst, i.imm as u32)),
    ("s_cmov_b32", Class::Scalar, |c, i| {
        if c.scc() {
            one32(c, i, false, |a| a);
        }
    }),
    ("s_cmov_b64", Class::Scalar, |c, i| {
        if c.scc() {
            one64(c, i, false, |a| a);
        }
    }),
    ("s_cmovk_i32", Class::Scalar, |c, i| {
        if c.scc() {
            c.set_s32(i, i.dst, i.imm as u32);
        }
    }),
    ("s_cselect_b32", Class::Scalar, |c, i| {
        // Only the chosen source matters.
        let chosen = if c.scc() { i.src[0] } else { i.src[1] };
        let value = c.s32(i, chosen);
        c.set_s32(i, i.dst, value);
    }),
    ("s_cselect_b64", Class::Scalar, |c, i| {
        let chosen = if c.scc() { i.src[0] } else { i.src[1] };
        let value = c.s64(i, chosen);
        c.set_s64(i, i.dst, value);
    }),
    ("s_movrels_b32", Class::Scalar, |c, i| {
        let from = relative(c, i, i.src[0]);
        let value = c.s32(i, from);
        c.set_s32(i, i.dst, value);
    }),
    ("s_movrels_b64", Class::Scalar, |c, i| {
        let from = relative(c, i, i.src[0]);
        let value = c.s64(i, from);
        c.set_s64(i, i.dst, value);
    }),
    ("s_movreld_b32", Class::Scalar, |c, i| {
        let value = c.s32(i, i.src[0]);
        let to = relative(c, i, i.dst);
        c.set_s32(i, to, value);
    }),
    ("s_movreld_b64", Class::Scalar, |c, i| {
        let value = c.s64(i, i.src[0]);
        let to = relative(c, i, i.dst);
        c.set_s64(i, to, value);
    }),
    ("s_movrelsd_2_b32", Class::Scalar, |c, i| {
        // Source and destination have an index each.
        let index = c.s32(i, Opnd::S(sreg::M0));
        let from = moved(c, i, i.src[0], index & 0x3ff);
        let to = moved(c, i, i.dst, index >> 16 & 0x3ff);
        let value = c.s32(i, from);
        c.set_s32(i, to, value);
    }),
    // Comparisons.
    ("s_cmp_eq_i32", Class::Scalar, |c, i| compare(c, i, |a, b| a == b)),
    ("s_cmp_lg_i32", Class::Scalar, |c, i| compare(c, i, |a, b| a != b)),
    ("s_cmp_gt_i32", Class::Scalar, |c, i| compare(c, i, |a, b| a as i32 > b as i32)),
    ("s_cmp_ge_i32", Class::Scalar, |c, i| compare(c, i, |a, b| a as i32 >= b as i32)),
    ("s_cmp_lt_i32", Class::Scalar, |c, i| compare(c, i, |a, b| (a as i32) < b as i32)),
    ("s_cmp_le_i32", Class::Scalar, |c, i| compare(c, i, |a, b| a as i32 <= b as i32)),
    ("s_cmp_eq_u32", Class::Scalar, |c, i| compare(c, i, |a, b| a == b)),
    ("s_cmp_lg_u32", Class::Scalar, |c, i| compare(c, i, |a, b| a != b)),
    ("s_cmp_gt_u32", Class::Scalar, |c, i| compare(c, i, |a, b| a > b)),
    ("s_cmp_ge_u32", Class::Scalar, |c, i| compare(c, i, |a, b| a >= b)),
    ("s_cmp_lt_u32", Class::Scalar, |c, i| compare(c, i, |a, b| a < b)),
    ("s_cmp_le_u32", Class::Scalar, |c, i| compare(c, i, |a, b| a <= b)),
    ("s_cmp_eq_u64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s64(i, i.src[1]));
        c.set_scc(a == b);
    }),
    ("s_cmp_lg_u64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s64(i, i.src[1]));
        c.set_scc(a != b);
    }),
    ("s_bitcmp0_b32", Class::Scalar, |c, i| compare(c, i, |a, b| a >> (b & 31) & 1 == 0)),
    ("s_bitcmp1_b32", Class::Scalar, |c, i| compare(c, i, |a, b| a >> (b & 31) & 1 == 1)),
    ("s_bitcmp0_b64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s32(i, i.src[1]));
        c.set_scc(a >> (b & 63) & 1 == 0);
    }),
    ("s_bitcmp1_b64", Class::Scalar, |c, i| {
        let (a, b) = (c.s64(i, i.src[0]), c.s32(i, i.src[1]));
        c.set_scc(a >> (b & 63) & 1 == 1);
    }),
    ("s_cmpk_eq_i32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a as i32 == k)),
    ("s_cmpk_lg_i32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a as i32 != k)),
    ("s_cmpk_gt_i32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a as i32 > k)),
    ("s_cmpk_ge_i32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a as i32 >= k)),
    ("s_cmpk_lt_i32", Class::Scalar, |c, i| compare_k(c, i, |a, k| (a as i32) < k)),
    ("s_cmpk_le_i32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a as i32 <= k)),
    // The unsigned forms do not extend the sign of their constant.
    ("s_cmpk_eq_u32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a == k as u32 & 0xffff)),
    ("s_cmpk_lg_u32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a != k as u32 & 0xffff)),
    ("s_cmpk_gt_u32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a > k as u32 & 0xffff)),
    ("s_cmpk_ge_u32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a >= k as u32 & 0xffff)),
    ("s_cmpk_lt_u32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a < k as u32 & 0xffff)),
    ("s_cmpk_le_u32", Class::Scalar, |c, i| compare_k(c, i, |a, k| a <= k as u32 & 0xffff)),
    // Scalar floats (GFX12).
    ("s_add_f32", Class::Scalar, |c, i| float2(c, i, |a, b| a + b)),
    ("s_sub_f32", Class::Scalar, |c, i| float2(c, i, |a, b| a - b)),
    ("s_mul_f32", Class::Scalar, |c, i| float2(c, i, |a, b| a * b)),
    ("s_min_num_f32", Class::Scalar, |c, i| float2(c, i, f64::min)),
    ("s_max_num_f32", Class::Scalar, |c, i| float2(c, i, f64::max)),
    ("s_minimum_f32", Class::Scalar, |c, i| float2(c, i, super::float64::minimum_f64)),
    ("s_maximum_f32", Class::Scalar, |c, i| float2(c, i, super::float64::maximum_f64)),
    ("s_fmac_f32", Class::Scalar, |c, i| scalar_fma(c, i, i.dst)),
    ("s_fmaak_f32", Class::Scalar, |c, i| scalar_fma(c, i, i.src[2])),
    ("s_fmamk_f32", Class::Scalar, |c, i| scalar_fma(c, i, i.src[2])),
    ("s_ceil_f32", Class::Scalar, |c, i| float1(c, i, f32::ceil)),
    ("s_floor_f32", Class::Scalar, |c, i| float1(c, i, f32::floor)),
    ("s_trunc_f32", Class::Scalar, |c, i| float1(c, i, f32::trunc)),
    ("s_rndne_f32", Class::Scalar, |c, i| float1(c, i, f32::round_ties_even)),
    ("s_cvt_f32_i32", Class::Scalar, |c, i| one32(c, i, false, |a| (a as i32 as f32).to_bits())),
    ("s_cvt_f32_u32", Class::Scalar, |c, i| one32(c, i, false, |a| (a as f32).to_bits())),
    ("s_cvt_i32_f32", Class::Scalar, |c, i| one32(c, i, false, |a| f32::from_bits(a) as i32 as u32)),
    ("s_cvt_u32_f32", Class::Scalar, |c, i| one32(c, i, false, |a| f32::from_bits(a) as u32)),
    ("s_cvt_f16_f32", Class::Scalar, |c, i| {
        one32(c, i, false, |a| u32::from(crate::numeric::f32_to_f16(f32::from_bits(a))))
    }),
    ("s_cvt_f32_f16", Class::Scalar, |c, i| one32(c, i, false, |a| crate::numeric::f16_to_f32(a as u16).to_bits())),
    ("s_cvt_hi_f32_f16", Class::Scalar, |c, i| {
        one32(c, i, false, |a| crate::numeric::f16_to_f32((a >> 16) as u16).to_bits());
    }),
    ("s_cvt_pk_rtz_f16_f32", Class::Scalar, |c, i| {
        two32(c, i, |a, b| {
            let half = |v: u32| {
                let value = f64::from(f32::from_bits(v));
                let overflow = crate::numeric::Overflow::Infinite;
                crate::numeric::Format::F16.encode(value, Rounding::TowardZero, overflow) as u32
            };
            (half(a) | half(b) << 16, None)
        });
    }),
    ("s_cmp_lt_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a < b)),
    ("s_cmp_eq_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a == b)),
    ("s_cmp_le_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a <= b)),
    ("s_cmp_gt_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a > b)),
    ("s_cmp_lg_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a != b && !a.is_nan() && !b.is_nan())),
    ("s_cmp_ge_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a >= b)),
    ("s_cmp_o_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| !a.is_nan() && !b.is_nan())),
    ("s_cmp_u_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a.is_nan() || b.is_nan())),
    ("s_cmp_nge_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a < b || a.is_nan() || b.is_nan())),
    ("s_cmp_nlg_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a == b || a.is_nan() || b.is_nan())),
    ("s_cmp_ngt_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a <= b || a.is_nan() || b.is_nan())),
    ("s_cmp_nle_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a > b || a.is_nan() || b.is_nan())),
    ("s_cmp_neq_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a != b)),
    ("s_cmp_nlt_f32", Class::Scalar, |c, i| float_compare(c, i, |a, b| a >= b || a.is_nan() || b.is_nan())),
    // The execution mask.
    ("s_and_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| s & e)),
    ("s_or_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| s | e)),
    ("s_xor_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| s ^ e)),
    ("s_andn2_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| s & !e)),
    ("s_orn2_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| s | !e)),
    ("s_nand_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| !(s & e))),
    ("s_nor_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| !(s | e))),
    ("s_xnor_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| !(s ^ e))),
    ("s_andn1_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| !s & e)),
    ("s_orn1_saveexec_b64", Class::Scalar, |c, i| saveexec(c, i, |s, e| !s | e)),
    ("s_and_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| s & e)),
    ("s_or_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| s | e)),
    ("s_xor_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| s ^ e)),
    ("s_andn2_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| s & !e)),
    ("s_orn2_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| s | !e)),
    ("s_nand_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| !(s & e))),
    ("s_nor_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| !(s | e))),
    ("s_xnor_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| !(s ^ e))),
    ("s_andn1_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| !s & e)),
    ("s_orn1_saveexec_b32", Class::Scalar, |c, i| saveexec(c, i, |s, e| !s | e)),
    ("s_andn1_wrexec_b64", Class::Scalar, |c, i| wrexec(c, i, |s, e| !s & e)),
    ("s_andn2_wrexec_b64", Class::Scalar, |c, i| wrexec(c, i, |s, e| s & !e)),
    ("s_andn1_wrexec_b32", Class::Scalar, |c, i| wrexec(c, i, |s, e| !s & e)),
    ("s_andn2_wrexec_b32", Class::Scalar, |c, i| wrexec(c, i, |s, e| s & !e)),
    // Control.
    ("s_branch", Class::Control, branch_to),
    ("s_cbranch_scc0", Class::Control, |c, i| branch_if(c, i, |c| !c.scc())),
    ("s_cbranch_scc1", Class::Control, |c, i| branch_if(c, i, |c| c.scc())),
    ("s_cbranch_vccz", Class::Control, |c, i| {
        let vcc = check_vcc(c, i);
        branch_if(c, i, |_| vcc == 0);
    }),
    ("s_cbranch_vccnz", Class::Control, |c, i| {
        let vcc = check_vcc(c, i);
        branch_if(c, i, |_| vcc != 0);
    }),
    ("s_cbranch_execz", Class::Control, |c, i| branch_if(c, i, |c| c.w.exec == 0)),
    ("s_cbranch_execnz", Class::Control, |c, i| branch_if(c, i, |c| c.w.exec != 0)),
    // No debugger is attached.
    ("s_cbranch_cdbgsys", Class::Control, |_, _| {}),
    ("s_cbranch_cdbguser", Class::Control, |_, _| {}),
    ("s_cbranch_cdbgsys_or_user", Class::Control, |_, _| {}),
    ("s_cbranch_cdbgsys_and_user", Class::Control, |_, _| {}),
    ("s_getpc_b64", Class::Scalar, |c, i| {
        let address = return_address(c, i);
        c.set_s64(i, i.dst, address);
    }),
    ("s_setpc_b64", Class::Control, |c, i| {
        let target = c.s64(i, i.src[0]);
        jump(c, i, target);
    }),
    ("s_swappc_b64", Class::Control, |c, i| {
        let target = c.s64(i, i.src[0]);
        let back = return_address(c, i);
        jump(c, i, target);
        c.set_s64(i, i.dst, back);
    }),
    ("s_call_b64", Class::Control, |c, i| {
        let back = return_address(c, i);
        c.set_s64(i, i.dst, back);
        branch_to(c, i);
    }),
    ("s_endpgm", Class::Control, |c, _| c.flow = Flow::End),
    ("s_endpgm_saved", Class::Control, |c, _| c.flow = Flow::End),
    // Kills the wave at a debugger's word.
    ("s_setkill", Class::Control, |c, i| {
        if i.imm & 1 != 0 {
            c.flow = Flow::End;
        }
    }),
    ("s_trap", Class::Control, trap),
    ("s_sethalt", Class::Control, |c, i| {
        if i.imm & 1 != 0 {
            c.fault(i, "the wave halts itself".to_owned());
        }
    }),
    ("s_nop", Class::Control, |c, i| c.w.ticks += (i.imm as u32) & 15),
    ("s_sleep", Class::Control, |c, _| c.flow = Flow::Yield),
    ("s_sleep_var", Class::Control, |c, _| c.flow = Flow::Yield),
    // Indexing of vector registers by m0: mode bits 0 to 2 for the sources, bit 3 for the destination.
    ("s_set_gpr_idx_on", Class::Scalar, |c, i| {
        let index = c.s32(i, i.src[0]);
        let Opnd::S(mode) = i.src[1] else { return };
        set_index(c, i, index, u32::from(mode) & 15);
        c.w.gpr_index = Some(mode & 15);
    }),
    ("s_set_gpr_idx_off", Class::Scalar, |c, _| c.w.gpr_index = None),
    ("s_set_gpr_idx_idx", Class::Scalar, |c, i| {
        let index = c.s32(i, i.src[0]);
        let mode = c.w.s[sreg::M0 as usize] >> 12 & 15;
        set_index(c, i, index, mode);
    }),
    ("s_set_gpr_idx_mode", Class::Scalar, |c, i| {
        let index = c.w.s[sreg::M0 as usize];
        set_index(c, i, index, i.imm as u32 & 15);
        if c.w.gpr_index.is_some() {
            c.w.gpr_index = Some((i.imm & 15) as u8);
        }
    }),
    // Hints and state that results do not depend on.
    ("s_setprio", Class::Control, |_, _| {}),
    ("s_clause", Class::Control, |_, _| {}),
    ("s_delay_alu", Class::Control, |_, _| {}),
    ("s_icache_inv", Class::Control, |_, _| {}),
    ("s_incperflevel", Class::Control, |_, _| {}),
    ("s_decperflevel", Class::Control, |_, _| {}),
    ("s_ttracedata", Class::Control, |_, _| {}),
    ("s_ttracedata_imm", Class::Control, |_, _| {}),
    ("s_set_inst_prefetch_distance", Class::Control, |_, _| {}),
    ("s_version", Class::Control, |_, _| {}),
    ("s_wakeup", Class::Control, |_, _| {}),
    ("s_round_mode", Class::Scalar, |c, i| {
        let bits = c.w.mode.bits & !15 | i.imm as u32 & 15;
        c.w.mode = super::state::Mode::from_bits(bits);
    }),
    ("s_setvskip", Class::Scalar, |c, i| {
        let (flags, at) = (c.s32(i, i.src[0]), c.s32(i, i.src[1]));
        let bits = c.w.mode.bits & !(1 << 28) | (flags >> (at & 31) & 1) << 28;
        c.w.mode = super::state::Mode::from_bits(bits);
    }),
    ("s_denorm_mode", Class::Scalar, |c, i| {
        let bits = c.w.mode.bits & !0xf0 | (i.imm as u32 & 15) << 4;
        c.w.mode = super::state::Mode::from_bits(bits);
    }),
    ("s_getreg_b32", Class::Scalar, getreg),
    ("s_setreg_b32", Class::Scalar, setreg),
    ("s_setreg_imm32_b32", Class::Scalar, setreg),
];

/// Index and mode in m0, where the hardware keeps them.
fn set_index(cx: &mut Cx<'_>, i: &Inst, index: u32, mode: u32) {
    let old = cx.w.s[sreg::M0 as usize];
    cx.set_s32(i, Opnd::S(sreg::M0), old & !0xf0ff | index & 0xff | mode << 12);
}

/// Executes a vector instruction with its registers moved on by the index in m0.
pub(crate) fn indexed(cx: &mut Cx<'_>, i: &Inst, mode: u8) {
    let index = (cx.w.s[sreg::M0 as usize] & 0xff) as u16;
    let moved = |opnd: Opnd, bit: u8| match opnd {
        Opnd::V(r) if mode >> bit & 1 != 0 => Opnd::V(r + index),
        other => other,
    };
    let mut inst = i.clone();
    for n in 0..3 {
        inst.src[n] = moved(i.src[n], n as u8);
    }
    inst.dst = moved(i.dst, 3);
    let highest = inst.src.iter().chain([&inst.dst]).filter_map(|opnd| match opnd {
        Opnd::V(r) => Some(usize::from(*r)),
        _ => None,
    });
    if highest.max().unwrap_or(0) + 32 > cx.w.v.len() {
        cx.fault(i, format!("m0 is {index}: the indexed vector register does not exist"));
        return;
    }
    (inst.run)(cx, &inst);
}

fn shift_add(a: u32, b: u32, shift: u32) -> (u32, Option<bool>) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    (sum as u32, Some(sum >> 32 != 0))
}

fn first(value: u64) -> u32 {
    if value == 0 { u32::MAX } else { value.trailing_zeros() }
}

fn scalar_fma(cx: &mut Cx<'_>, i: &Inst, addend: Opnd) {
    let a = f32::from_bits(cx.s32(i, i.src[0]));
    let b = f32::from_bits(cx.s32(i, i.src[1]));
    let c = f32::from_bits(cx.s32(i, addend));
    let (a, b, c) = (cx.flush_scalar_in(a), cx.flush_scalar_in(b), cx.flush_scalar_in(c));
    let value = cx.flush_scalar(crate::numeric::fma_f32(a, b, c, cx.w.mode.round_32));
    cx.set_s32(i, i.dst, value.to_bits());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields() {
        assert_eq!(bfe(0xabcd_1234, 8 | 8 << 16, false), 0x12);
        assert_eq!(bfe(0x0000_8000, 12 | 4 << 16, true), 0xffff_fff8);
        assert_eq!(bfe(0xffff_ffff, 28 | 16 << 16, false), 15);
        assert_eq!(bfe(1, 0, false), 0);
        assert_eq!(sign_bits(0xffff_ff00, 32), 24);
        assert_eq!(sign_bits(u64::from(u32::MAX), 32), u32::MAX);
        assert_eq!(sign_bits(1, 64), 63);
        assert_eq!(whole_quads(0x10), 0xf0);
        assert_eq!(quadmask(0x10f), 0b101);
    }
}
