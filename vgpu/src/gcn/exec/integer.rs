//! Integer and logic operations of the vector unit.

use super::operand::{F32Bits, I16, I16Keep, I32, I64, Ty, U16, U16Keep, U32, U64, op1, op2, op3};
use super::registers::Width;
use super::state::Lanes;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::{Inst, Opnd};

/// Sums or differences that saturate when the instruction's clamp bit is set.
#[inline(always)]
fn clamped(cx: &mut Cx<'_>, i: &Inst, wrap: impl Fn(u32, u32) -> u32, saturate: impl Fn(u32, u32) -> u32) {
    if i.clamp { op2::<U32, U32, U32>(cx, i, saturate) } else { op2::<U32, U32, U32>(cx, i, wrap) }
}

#[inline(always)]
fn clamped_i32(cx: &mut Cx<'_>, i: &Inst, wrap: impl Fn(i32, i32) -> i32, saturate: impl Fn(i32, i32) -> i32) {
    if i.clamp { op2::<I32, I32, I32>(cx, i, saturate) } else { op2::<I32, I32, I32>(cx, i, wrap) }
}

#[inline(always)]
fn clamped_u16(cx: &mut Cx<'_>, i: &Inst, wrap: impl Fn(u16, u16) -> u16, saturate: impl Fn(u16, u16) -> u16) {
    if i.clamp { op2::<U16, U16, U16>(cx, i, saturate) } else { op2::<U16, U16, U16>(cx, i, wrap) }
}

#[inline(always)]
fn clamped_i16(cx: &mut Cx<'_>, i: &Inst, wrap: impl Fn(i16, i16) -> i16, saturate: impl Fn(i16, i16) -> i16) {
    if i.clamp {
        op2::<I16Keep, I16Keep, I16Keep>(cx, i, saturate)
    } else {
        op2::<I16Keep, I16Keep, I16Keep>(cx, i, wrap)
    }
}

/// An addition or subtraction with carry out, and in where `carry` is asked for. The closure gives the exact result.
#[inline(always)]
fn carry(cx: &mut Cx<'_>, i: &Inst, with_carry: bool, f: impl Fn(i64, i64, i64) -> i64) {
    let a = <U32 as super::operand::Ty>::load(cx, i, 0);
    let b = <U32 as super::operand::Ty>::load(cx, i, 1);
    let incoming = if with_carry { cx.mask(i, i.src[2]) } else { 0 };
    let mut out = [0; 64];
    let mut mask = 0_u64;
    for lane in 0..64 {
        let value = f(i64::from(a[lane]), i64::from(b[lane]), (incoming >> lane & 1) as i64);
        let overflow = !(0..=0xffff_ffff).contains(&value);
        mask |= u64::from(overflow) << lane;
        out[lane] = if i.clamp && overflow { if value < 0 { 0 } else { u32::MAX } } else { value as u32 };
    }
    <U32 as super::operand::Ty>::store(cx, i, &out);
    let active = cx.exec();
    // A scalar destination holds a mask of lanes: of those that execute.
    cx.defined |= !active;
    let known = cx.defined == u64::MAX;
    cx.defined = if known { u64::MAX } else { 0 };
    cx.set_mask(i, i.sdst, mask & active);
}

/// A 64-bit multiply-add with the carry out as a mask.
#[inline(always)]
fn mad64(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u32, u32, u64) -> (u64, bool)) {
    use super::operand::Ty;
    let a = U32::load(cx, i, 0);
    let b = U32::load(cx, i, 1);
    // The low half of the result does not depend on the high half of the addend, which compilers leave undefined when they want no more.
    let low_defined = match i.src[2] {
        Opnd::V(r) => cx.defined & cx.w.v_defined[r as usize],
        _ => cx.defined,
    };
    let c = U64::load(cx, i, 2);
    let mut out = [0; 64];
    let mut mask = 0_u64;
    for lane in 0..64 {
        let (value, overflow) = f(a[lane], b[lane], c[lane]);
        out[lane] = value;
        mask |= u64::from(overflow) << lane;
    }
    let all_defined = std::mem::replace(&mut cx.defined, low_defined);
    cx.put(i, 0, &out.map(|v| v as u32));
    cx.defined = all_defined;
    cx.put(i, 1, &out.map(|v| (v >> 32) as u32));
    let active = cx.exec();
    cx.defined = if all_defined & active == active { u64::MAX } else { 0 };
    cx.set_mask(i, i.sdst, mask & active);
}

fn i24(value: u32) -> i32 {
    (value << 8) as i32 >> 8
}

fn u24(value: u32) -> u32 {
    value & 0xff_ffff
}

fn med3<T: Ord>(a: T, b: T, c: T) -> T {
    let mut all = [a, b, c];
    all.sort();
    let [_, middle, _] = all;
    middle
}

/// Sum of absolute differences of the four bytes; `mask` leaves out bytes of `b` that are zero.
fn sad_u8(a: u32, b: u32, masked: bool) -> u32 {
    (0..4)
        .map(|byte| ((a >> (byte * 8)) as u8, (b >> (byte * 8)) as u8))
        .filter(|&(_, b)| !masked || b != 0)
        .map(|(a, b)| u32::from(a.abs_diff(b)))
        .sum()
}

/// `v_perm_b32`: each selector byte picks one of eight bytes, a sign, zero or all ones.
fn perm(high: u32, low: u32, selectors: u32) -> u32 {
    let bytes = u64::from(high) << 32 | u64::from(low);
    let pick = |selector: u32| -> u32 {
        match selector & 0xff {
            s @ 0..=7 => (bytes >> (s * 8)) as u32 & 0xff,
            s @ 8..=11 => {
                if bytes >> ((s - 8) * 16 + 15) & 1 != 0 {
                    0xff
                } else {
                    0
                }
            }
            12 => 0,
            _ => 0xff,
        }
    };
    (0..4).fold(0, |out, byte| out | pick(selectors >> (byte * 8)) << (byte * 8))
}

fn bfe_u32(value: u32, offset: u32, width: u32) -> u32 {
    let (offset, width) = (offset & 31, width & 31);
    value >> offset & ((1 << width) - 1)
}

fn bfe_i32(value: u32, offset: u32, width: u32) -> u32 {
    let (offset, width) = (offset & 31, width & 31);
    if width == 0 {
        return 0;
    }
    // A field over the end of the register keeps the sign it has there.
    let shifted = (value as i32) >> offset;
    let up = 32 - width.min(32 - offset);
    (((shifted as u32) << up) as i32 >> up) as u32
}

/// Quad sums of absolute differences: four windows over eight bytes.
fn qsad(a: u64, b: u32, masked: bool) -> [u32; 4] {
    std::array::from_fn(|window| sad_u8((a >> (window * 8)) as u32, b, masked))
}

fn saturate_i16(value: i32) -> i16 {
    value.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}

fn saturate_u16(value: u32) -> u16 {
    value.min(0xffff) as u16
}

/// Any function of three bits, by its truth table (`v_bitop3`).
fn bitop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8).fold(0, |out, row| {
        if table >> row & 1 == 0 {
            return out;
        }
        let term = |bits: u32, wanted: bool| if wanted { bits } else { !bits };
        out | term(a, row & 4 != 0) & term(b, row & 2 != 0) & term(c, row & 1 != 0)
    })
}

/// The truth table is spread over the fields of the modifiers that such an operation has no use for: negation of the sources is
/// bits 0 to 2, absolute values bits 3 to 5, the output modifier bits 6 and 7.
fn bitop3_table(i: &Inst) -> u32 {
    u32::from(i.bitop3)
}

/// Four masked sums of absolute differences, each added to a word of the third operand.
fn mqsad_wide(cx: &mut Cx<'_>, i: &Inst) {
    let a = U64::load(cx, i, 0);
    let b = U32::load(cx, i, 1);
    let sums: [Lanes; 4] = std::array::from_fn(|n| {
        let addend = cx.v32(i, i.src[2].plus(n as u16), Width::B32);
        std::array::from_fn(|lane| addend[lane].wrapping_add(sad_u8((a[lane] >> (n * 8)) as u32, b[lane], true)))
    });
    for (n, row) in sums.iter().enumerate() {
        cx.put(i, n as u16, row);
    }
}

pub(super) const TABLE: &[Entry] = &[
    ("v_mov_b32", Class::Move, |c, i| op1::<U32, U32>(c, i, |a| a)),
    ("v_mov_b64", Class::Move, |c, i| op1::<U64, U64>(c, i, |a| a)),
    ("v_mov_b16", Class::Move, |c, i| op1::<U16, U16>(c, i, |a| a)),
    ("v_nop", Class::Move, |_, _| {}),
    ("v_clrexcp", Class::Move, |_, _| {}),
    ("v_pipeflush", Class::Move, |_, _| {}),
    ("v_not_b32", Class::Integer, |c, i| op1::<U32, U32>(c, i, |a| !a)),
    ("v_not_b16", Class::Integer, |c, i| op1::<U16, U16>(c, i, |a| !a)),
    ("v_bfrev_b32", Class::Integer, |c, i| op1::<U32, U32>(c, i, u32::reverse_bits)),
    ("v_ffbh_u32", Class::Integer, |c, i| op1::<U32, U32>(c, i, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })),
    ("v_ffbl_b32", Class::Integer, |c, i| {
        op1::<U32, U32>(c, i, |a| if a == 0 { u32::MAX } else { a.trailing_zeros() })
    }),
    ("v_ffbh_i32", Class::Integer, |c, i| {
        op1::<U32, U32>(c, i, |a| {
            let flipped = if a >> 31 != 0 { !a } else { a };
            if flipped == 0 { u32::MAX } else { flipped.leading_zeros() }
        });
    }),
    ("v_sat_pk_u8_i16", Class::Integer, |c, i| {
        op1::<U32, U16>(c, i, |a| {
            let byte = |v: u32| (v as u16 as i16).clamp(0, 255) as u16;
            byte(a) | byte(a >> 16) << 8
        });
    }),
    ("v_cndmask_b32", Class::Move, |c, i| {
        let mask = c.mask(i, i.src[2]);
        use super::operand::Ty;
        // Only what is chosen has to be defined.
        let before = c.defined;
        let a = F32Bits::load(c, i, 0);
        let defined_a = c.defined;
        c.defined = before;
        let b = F32Bits::load(c, i, 1);
        c.defined = c.defined & mask | defined_a & !mask;
        let out = std::array::from_fn(|lane| if mask >> lane & 1 != 0 { b[lane] } else { a[lane] });
        F32Bits::store(c, i, &out);
    }),
    ("v_cndmask_b16", Class::Move, |c, i| {
        use super::operand::{F16Bits, Ty};
        let mask = c.mask(i, i.src[2]);
        let before = c.defined;
        let a = F16Bits::load(c, i, 0);
        let defined_a = c.defined;
        c.defined = before;
        let b = F16Bits::load(c, i, 1);
        c.defined = c.defined & mask | defined_a & !mask;
        let out = std::array::from_fn(|lane| if mask >> lane & 1 != 0 { b[lane] } else { a[lane] });
        F16Bits::store(c, i, &out);
    }),
    // Addition and subtraction.
    ("v_add_u32", Class::Integer, |c, i| clamped(c, i, u32::wrapping_add, u32::saturating_add)),
    ("v_sub_u32", Class::Integer, |c, i| clamped(c, i, u32::wrapping_sub, u32::saturating_sub)),
    ("v_subrev_u32", Class::Integer, |c, i| clamped(c, i, |a, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a))),
    ("v_add_i32", Class::Integer, |c, i| clamped_i32(c, i, i32::wrapping_add, i32::saturating_add)),
    ("v_sub_i32", Class::Integer, |c, i| clamped_i32(c, i, i32::wrapping_sub, i32::saturating_sub)),
    ("v_add_u16", Class::Integer, |c, i| clamped_u16(c, i, u16::wrapping_add, u16::saturating_add)),
    ("v_sub_u16", Class::Integer, |c, i| clamped_u16(c, i, u16::wrapping_sub, u16::saturating_sub)),
    ("v_subrev_u16", Class::Integer, |c, i| clamped_u16(c, i, |a, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a))),
    ("v_add_i16", Class::Integer, |c, i| clamped_i16(c, i, i16::wrapping_add, i16::saturating_add)),
    ("v_sub_i16", Class::Integer, |c, i| clamped_i16(c, i, i16::wrapping_sub, i16::saturating_sub)),
    ("v_add_co_u32", Class::Integer, |c, i| carry(c, i, false, |a, b, _| a + b)),
    ("v_sub_co_u32", Class::Integer, |c, i| carry(c, i, false, |a, b, _| a - b)),
    ("v_subrev_co_u32", Class::Integer, |c, i| carry(c, i, false, |a, b, _| b - a)),
    ("v_addc_co_u32", Class::Integer, |c, i| carry(c, i, true, |a, b, k| a + b + k)),
    ("v_subb_co_u32", Class::Integer, |c, i| carry(c, i, true, |a, b, k| a - b - k)),
    ("v_subbrev_co_u32", Class::Integer, |c, i| carry(c, i, true, |a, b, k| b - a - k)),
    ("v_add3_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.wrapping_add(b).wrapping_add(d))),
    ("v_lshl_add_u32", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| (a << (b & 31)).wrapping_add(d))
    }),
    ("v_add_lshl_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.wrapping_add(b) << (d & 31))),
    ("v_xad_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| (a ^ b).wrapping_add(d))),
    ("v_lshl_add_u64", Class::Integer, |c, i| {
        op3::<U64, U32, U64, U64>(c, i, |a, b, d| (a << (b & 7)).wrapping_add(d))
    }),
    // Multiplication.
    ("v_mul_lo_u32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, u32::wrapping_mul)),
    ("v_mul_hi_u32", Class::Integer, |c, i| {
        op2::<U32, U32, U32>(c, i, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)
    }),
    ("v_mul_hi_i32", Class::Integer, |c, i| {
        op2::<I32, I32, I32>(c, i, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32)
    }),
    ("v_mul_i32_i24", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| i24(a).wrapping_mul(i24(b)) as u32)),
    ("v_mul_hi_i32_i24", Class::Integer, |c, i| {
        op2::<U32, U32, U32>(c, i, |a, b| ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as u32);
    }),
    ("v_mul_u32_u24", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| u24(a).wrapping_mul(u24(b)))),
    ("v_mul_hi_u32_u24", Class::Integer, |c, i| {
        op2::<U32, U32, U32>(c, i, |a, b| ((u64::from(u24(a)) * u64::from(u24(b))) >> 32) as u32);
    }),
    ("v_mad_i32_i24", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| (i24(a).wrapping_mul(i24(b)) as u32).wrapping_add(d));
    }),
    ("v_mad_u32_u24", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| u24(a).wrapping_mul(u24(b)).wrapping_add(d));
    }),
    ("v_mad_u64_u32", Class::Integer, |c, i| {
        mad64(c, i, |a, b, d| (u64::from(a) * u64::from(b)).overflowing_add(d));
    }),
    ("v_mad_i64_i32", Class::Integer, |c, i| {
        mad64(c, i, |a, b, d| {
            let product = i64::from(a as i32) * i64::from(b as i32);
            let (sum, overflow) = product.overflowing_add(d as i64);
            (sum as u64, overflow)
        });
    }),
    ("v_mul_lo_u16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, u16::wrapping_mul)),
    ("v_mad_u16", Class::Integer, |c, i| {
        op3::<U16Keep, U16Keep, U16Keep, U16Keep>(c, i, |a, b, d| {
            let exact = u32::from(a) * u32::from(b) + u32::from(d);
            if i.clamp { saturate_u16(exact) } else { exact as u16 }
        });
    }),
    ("v_mad_i16", Class::Integer, |c, i| {
        op3::<I16Keep, I16Keep, I16Keep, I16Keep>(c, i, |a, b, d| {
            let exact = i32::from(a) * i32::from(b) + i32::from(d);
            if i.clamp { saturate_i16(exact) } else { exact as i16 }
        });
    }),
    ("v_mad_legacy_u16", Class::Integer, |c, i| {
        op3::<U16, U16, U16, U16>(c, i, |a, b, d| a.wrapping_mul(b).wrapping_add(d));
    }),
    ("v_mad_legacy_i16", Class::Integer, |c, i| {
        op3::<I16, I16, I16, I16>(c, i, |a, b, d| a.wrapping_mul(b).wrapping_add(d));
    }),
    ("v_mad_u32_u16", Class::Integer, |c, i| {
        op3::<U16, U16, U32, U32>(c, i, |a, b, d| (u32::from(a) * u32::from(b)).wrapping_add(d));
    }),
    ("v_mad_i32_i16", Class::Integer, |c, i| {
        op3::<I16, I16, I32, I32>(c, i, |a, b, d| (i32::from(a) * i32::from(b)).wrapping_add(d));
    }),
    // Minimum, maximum, median.
    ("v_min_i32", Class::Integer, |c, i| op2::<I32, I32, I32>(c, i, i32::min)),
    ("v_max_i32", Class::Integer, |c, i| op2::<I32, I32, I32>(c, i, i32::max)),
    ("v_min_u32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, u32::min)),
    ("v_max_u32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, u32::max)),
    ("v_min_i16", Class::Integer, |c, i| op2::<I16, I16, I16>(c, i, i16::min)),
    ("v_max_i16", Class::Integer, |c, i| op2::<I16, I16, I16>(c, i, i16::max)),
    ("v_min_u16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, u16::min)),
    ("v_max_u16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, u16::max)),
    ("v_min3_i32", Class::Integer, |c, i| op3::<I32, I32, I32, I32>(c, i, |a, b, d| a.min(b).min(d))),
    ("v_max3_i32", Class::Integer, |c, i| op3::<I32, I32, I32, I32>(c, i, |a, b, d| a.max(b).max(d))),
    ("v_med3_i32", Class::Integer, |c, i| op3::<I32, I32, I32, I32>(c, i, med3)),
    ("v_min3_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.min(b).min(d))),
    ("v_max3_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.max(b).max(d))),
    ("v_med3_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, med3)),
    ("v_min3_i16", Class::Integer, |c, i| op3::<I16Keep, I16Keep, I16Keep, I16Keep>(c, i, |a, b, d| a.min(b).min(d))),
    ("v_max3_i16", Class::Integer, |c, i| op3::<I16Keep, I16Keep, I16Keep, I16Keep>(c, i, |a, b, d| a.max(b).max(d))),
    ("v_med3_i16", Class::Integer, |c, i| op3::<I16Keep, I16Keep, I16Keep, I16Keep>(c, i, med3)),
    ("v_min3_u16", Class::Integer, |c, i| op3::<U16Keep, U16Keep, U16Keep, U16Keep>(c, i, |a, b, d| a.min(b).min(d))),
    ("v_max3_u16", Class::Integer, |c, i| op3::<U16Keep, U16Keep, U16Keep, U16Keep>(c, i, |a, b, d| a.max(b).max(d))),
    ("v_med3_u16", Class::Integer, |c, i| op3::<U16Keep, U16Keep, U16Keep, U16Keep>(c, i, med3)),
    ("v_maxmin_i32", Class::Integer, |c, i| op3::<I32, I32, I32, I32>(c, i, |a, b, d| a.max(b).min(d))),
    ("v_minmax_i32", Class::Integer, |c, i| op3::<I32, I32, I32, I32>(c, i, |a, b, d| a.min(b).max(d))),
    ("v_maxmin_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.max(b).min(d))),
    ("v_minmax_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.min(b).max(d))),
    // Logic.
    ("v_and_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| a & b)),
    ("v_or_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| a | b)),
    ("v_xor_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| a ^ b)),
    ("v_xnor_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| !(a ^ b))),
    ("v_and_b16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, |a, b| a & b)),
    ("v_or_b16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, |a, b| a | b)),
    ("v_xor_b16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, |a, b| a ^ b)),
    ("v_and_or_b32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a & b | d)),
    ("v_or3_b32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a | b | d)),
    ("v_xor3_b32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a ^ b ^ d)),
    ("v_bitop3_b32", Class::Integer, |c, i| {
        let table = bitop3_table(i);
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| bitop3(a, b, d, table));
    }),
    ("v_bitop3_b16", Class::Integer, |c, i| {
        let table = bitop3_table(i);
        op3::<U16, U16, U16, U16>(c, i, |a, b, d| bitop3(u32::from(a), u32::from(b), u32::from(d), table) as u16);
    }),
    // Shifts.
    ("v_lshlrev_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| b << (a & 31))),
    ("v_lshrrev_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| b >> (a & 31))),
    ("v_ashrrev_i32", Class::Integer, |c, i| op2::<U32, I32, I32>(c, i, |a, b| b >> (a & 31))),
    ("v_lshlrev_b16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, |a, b| b << (a & 15))),
    ("v_lshrrev_b16", Class::Integer, |c, i| op2::<U16, U16, U16>(c, i, |a, b| b >> (a & 15))),
    ("v_ashrrev_i16", Class::Integer, |c, i| op2::<U16, I16, I16>(c, i, |a, b| b >> (a & 15))),
    ("v_lshlrev_b64", Class::Integer, |c, i| op2::<U32, U64, U64>(c, i, |a, b| b << (a & 63))),
    ("v_lshrrev_b64", Class::Integer, |c, i| op2::<U32, U64, U64>(c, i, |a, b| b >> (a & 63))),
    ("v_ashrrev_i64", Class::Integer, |c, i| op2::<U32, I64, I64>(c, i, |a, b| b >> (a & 63))),
    ("v_lshl_or_b32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a << (b & 31) | d)),
    ("v_alignbit_b32", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| ((u64::from(a) << 32 | u64::from(b)) >> (d & 31)) as u32);
    }),
    ("v_alignbyte_b32", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| ((u64::from(a) << 32 | u64::from(b)) >> ((d & 3) * 8)) as u32);
    }),
    // Fields and bytes.
    ("v_bfe_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, bfe_u32)),
    ("v_bfe_i32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, bfe_i32)),
    ("v_bfi_b32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a & b | !a & d)),
    ("v_bfm_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| ((1 << (a & 31)) - 1) << (b & 31))),
    ("v_bcnt_u32_b32", Class::Integer, |c, i| op2::<U32, U32, U32>(c, i, |a, b| a.count_ones().wrapping_add(b))),
    ("v_perm_b32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, perm)),
    ("v_lerp_u8", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| {
            (0..4).fold(0, |out, byte| {
                let at = byte * 8;
                let sum = (a >> at & 0xff) + (b >> at & 0xff) + (d >> at & 1);
                out | (sum >> 1 & 0xff) << at
            })
        });
    }),
    ("v_sad_u8", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| sad_u8(a, b, false).wrapping_add(d))),
    ("v_sad_hi_u8", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| (sad_u8(a, b, false) << 16).wrapping_add(d));
    }),
    ("v_msad_u8", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| sad_u8(a, b, true).wrapping_add(d))),
    ("v_sad_u16", Class::Integer, |c, i| {
        op3::<U32, U32, U32, U32>(c, i, |a, b, d| {
            let low = (a & 0xffff).abs_diff(b & 0xffff);
            (a >> 16).abs_diff(b >> 16).wrapping_add(low).wrapping_add(d)
        });
    }),
    ("v_sad_u32", Class::Integer, |c, i| op3::<U32, U32, U32, U32>(c, i, |a, b, d| a.abs_diff(b).wrapping_add(d))),
    ("v_qsad_pk_u16_u8", Class::Integer, |c, i| {
        op3::<U64, U32, U64, U64>(c, i, |a, b, d| pack_sad(qsad(a, b, false), d))
    }),
    ("v_mqsad_pk_u16_u8", Class::Integer, |c, i| {
        op3::<U64, U32, U64, U64>(c, i, |a, b, d| pack_sad(qsad(a, b, true), d))
    }),
    ("v_mqsad_u32_u8", Class::Integer, mqsad_wide),
    ("v_prng_b32", Class::Integer, |c, i| {
        op1::<U32, U32>(c, i, |a| a << 1 ^ if a >> 31 != 0 { 197 } else { 0 });
    }),
    ("v_ashr_pk_i8_i32", Class::Integer, |c, i| {
        op3::<I32, I32, U32, U16>(c, i, |a, b, d| {
            let byte = |v: i32| u16::from((v >> (d & 31)).clamp(-128, 127) as u8);
            byte(a) | byte(b) << 8
        });
    }),
    ("v_ashr_pk_u8_i32", Class::Integer, |c, i| {
        op3::<I32, I32, U32, U16>(c, i, |a, b, d| {
            let byte = |v: i32| (v >> (d & 31)).clamp(0, 255) as u16;
            byte(a) | byte(b) << 8
        });
    }),
    // Dot products with 32-bit accumulators in the short encoding.
    ("v_dot2c_i32_i16", Class::Integer, |c, i| {
        op3::<U32, U32, I32, I32>(c, i, |a, b, d| super::packed::dot_i16(a, b).wrapping_add(d));
    }),
    ("v_dot4c_i32_i8", Class::Integer, |c, i| {
        op3::<U32, U32, I32, I32>(c, i, |a, b, d| super::packed::dot_bytes(a, b, true, true).wrapping_add(d));
    }),
    ("v_dot8c_i32_i4", Class::Integer, |c, i| {
        op3::<U32, U32, I32, I32>(c, i, |a, b, d| super::packed::dot_nibbles(a, b, true, true).wrapping_add(d));
    }),
];

fn pack_sad(sums: [u32; 4], addend: u64) -> u64 {
    sums.iter().enumerate().fold(0, |out, (window, &sum)| {
        let value = (addend >> (window * 16)) as u16;
        out | u64::from(value.saturating_add(sum as u16)) << (window * 16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_fields() {
        assert_eq!(perm(0x7766_5544, 0x3322_1100, 0x0700_0403), 0x7700_4433);
        assert_eq!(perm(0x8000_0000, 0, 0x0d0c_0b08), 0xff00_ff00);
        assert_eq!(bfe_u32(0x1234_5678, 4, 8), 0x67);
        assert_eq!(bfe_i32(0x0000_0f00, 8, 4), u32::MAX);
        assert_eq!(bfe_i32(0x8000_0000, 28, 8), 0xffff_fff8);
        assert_eq!(bfe_i32(5, 0, 0), 0);
        assert_eq!(sad_u8(0x0102_0304, 0x0403_0201, false), 8);
        assert_eq!(sad_u8(0x0102_0304, 0x0003_0201, true), 1 + 1 + 3);
        assert_eq!(bitop3(0b1100, 0b1010, 0b1111, 0x80) & 0xf, 0b1000);
    }
}
