//! The scalar unit, instruction by instruction: results and the condition code, on pairs of values that find the edges.

use crate::asm::{Result, Source, run};

/// What a case computes from s[20:21], s[22:23] and the condition code before: the result's two words, and the condition code after, where
/// the instruction says something about it.
type Reference = fn(u64, u64, bool) -> (u64, Option<bool>);

const PAIRS: [(u64, u64); 8] = [
    (0, 0),
    (1, 0xffff_ffff_ffff_ffff),
    (0x8000_0000_8000_0000, 0x1f),
    (0x7fff_ffff_7fff_ffff, 0x0000_0001_0000_0001),
    (0xdead_beef_1234_5678, 0x0004_0008_0008_0004),
    (0x0000_0000_ffff_0000, 0x000c_0010_0010_000c),
    (0xffff_fff0_0000_00f0, 0x8000_0000_0000_0003),
    (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210),
];

fn w(a: u64) -> u32 {
    a as u32
}

fn i(a: u64) -> i32 {
    a as i32
}

/// A 32-bit result whose condition code tells whether it is not zero.
fn nz(value: u32) -> (u64, Option<bool>) {
    (u64::from(value), Some(value != 0))
}

fn nz64(value: u64) -> (u64, Option<bool>) {
    (value, Some(value != 0))
}

fn plain(value: u32) -> (u64, Option<bool>) {
    (u64::from(value), None)
}

fn with(value: u32, scc: bool) -> (u64, Option<bool>) {
    (u64::from(value), Some(scc))
}

fn only(scc: bool) -> (u64, Option<bool>) {
    (0, Some(scc))
}

fn field32(value: u32, field: u32, signed: bool) -> u32 {
    let (offset, width) = (field & 31, field >> 16 & 0x7f);
    if width == 0 {
        return 0;
    }
    let width = width.min(32 - offset);
    let raw = value >> offset & (((1_u64 << width) - 1) as u32);
    if signed && raw >> (width - 1) & 1 != 0 { raw | !(((1_u64 << width) - 1) as u32) } else { raw }
}

fn field64(value: u64, field: u32, signed: bool) -> u64 {
    let (offset, width) = (field & 63, field >> 16 & 0x7f);
    if width == 0 {
        return 0;
    }
    let width = width.min(64 - offset);
    let mask = ((1_u128 << width) - 1) as u64;
    let raw = value >> offset & mask;
    if signed && raw >> (width - 1) & 1 != 0 { raw | !mask } else { raw }
}

fn whole_quads(value: u64) -> u64 {
    (0..16).filter(|quad| value >> (quad * 4) & 15 != 0).fold(0, |all, quad| all | 15 << (quad * 4))
}

fn quads(value: u64) -> u64 {
    (0..16).filter(|quad| value >> (quad * 4) & 15 != 0).fold(0, |all, quad| all | 1 << quad)
}

fn none_or(found: bool, at: u32) -> (u64, Option<bool>) {
    plain(if found { at } else { u32::MAX })
}

/// Bits from the top that equal the sign, without it.
fn sign_run(value: u64, bits: u32) -> u32 {
    let sign = value >> (bits - 1) & 1;
    (0..bits).find(|n| value >> (bits - 1 - n) & 1 != sign).unwrap_or(u32::MAX)
}

#[rustfmt::skip]
const CASES: &[(&str, Reference)] = &[
    ("s_add_u32 s24, s20, s22", |a, b, _| with(w(a).wrapping_add(w(b)), w(a).checked_add(w(b)).is_none())),
    ("s_sub_u32 s24, s20, s22", |a, b, _| with(w(a).wrapping_sub(w(b)), w(b) > w(a))),
    ("s_add_i32 s24, s20, s22", |a, b, _| with(w(a).wrapping_add(w(b)), i(a).checked_add(i(b)).is_none())),
    ("s_sub_i32 s24, s20, s22", |a, b, _| with(w(a).wrapping_sub(w(b)), i(a).checked_sub(i(b)).is_none())),
    ("s_addc_u32 s24, s20, s22", |a, b, c| {
        let sum = u64::from(w(a)) + u64::from(w(b)) + u64::from(c);
        with(sum as u32, sum >> 32 != 0)
    }),
    ("s_subb_u32 s24, s20, s22", |a, b, c| {
        let difference = i64::from(w(a)) - i64::from(w(b)) - i64::from(c);
        with(difference as u32, difference < 0)
    }),
    ("s_min_i32 s24, s20, s22", |a, b, _| with(i(a).min(i(b)) as u32, i(a) < i(b))),
    ("s_min_u32 s24, s20, s22", |a, b, _| with(w(a).min(w(b)), w(a) < w(b))),
    ("s_max_i32 s24, s20, s22", |a, b, _| with(i(a).max(i(b)) as u32, i(a) > i(b))),
    ("s_max_u32 s24, s20, s22", |a, b, _| with(w(a).max(w(b)), w(a) > w(b))),
    ("s_cselect_b32 s24, s20, s22", |a, b, c| plain(if c { w(a) } else { w(b) })),
    ("s_cselect_b64 s[24:25], s[20:21], s[22:23]", |a, b, c| (if c { a } else { b }, None)),
    ("s_and_b32 s24, s20, s22", |a, b, _| nz(w(a & b))),
    ("s_and_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(a & b)),
    ("s_or_b32 s24, s20, s22", |a, b, _| nz(w(a | b))),
    ("s_or_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(a | b)),
    ("s_xor_b32 s24, s20, s22", |a, b, _| nz(w(a ^ b))),
    ("s_xor_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(a ^ b)),
    ("s_andn2_b32 s24, s20, s22", |a, b, _| nz(w(a & !b))),
    ("s_andn2_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(a & !b)),
    ("s_orn2_b32 s24, s20, s22", |a, b, _| nz(w(a | !b))),
    ("s_orn2_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(a | !b)),
    ("s_nand_b32 s24, s20, s22", |a, b, _| nz(w(!(a & b)))),
    ("s_nand_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(!(a & b))),
    ("s_nor_b32 s24, s20, s22", |a, b, _| nz(w(!(a | b)))),
    ("s_nor_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(!(a | b))),
    ("s_xnor_b32 s24, s20, s22", |a, b, _| nz(w(!(a ^ b)))),
    ("s_xnor_b64 s[24:25], s[20:21], s[22:23]", |a, b, _| nz64(!(a ^ b))),
    ("s_lshl_b32 s24, s20, s22", |a, b, _| nz(w(a) << (b & 31))),
    ("s_lshl_b64 s[24:25], s[20:21], s22", |a, b, _| nz64(a << (b & 63))),
    ("s_lshr_b32 s24, s20, s22", |a, b, _| nz(w(a) >> (b & 31))),
    ("s_lshr_b64 s[24:25], s[20:21], s22", |a, b, _| nz64(a >> (b & 63))),
    ("s_ashr_i32 s24, s20, s22", |a, b, _| nz((i(a) >> (b & 31)) as u32)),
    ("s_ashr_i64 s[24:25], s[20:21], s22", |a, b, _| nz64((a as i64 >> (b & 63)) as u64)),
    ("s_bfm_b32 s24, s20, s22", |a, b, _| plain((((1_u64 << (a & 31)) - 1) << (b & 31)) as u32)),
    ("s_bfm_b64 s[24:25], s20, s22", |a, b, _| ((((1_u128 << (a & 63)) - 1) << (b & 63)) as u64, None)),
    ("s_mul_i32 s24, s20, s22", |a, b, _| plain(w(a).wrapping_mul(w(b)))),
    ("s_mul_hi_u32 s24, s20, s22", |a, b, _| plain(((u64::from(w(a)) * u64::from(w(b))) >> 32) as u32)),
    ("s_mul_hi_i32 s24, s20, s22", |a, b, _| plain(((i64::from(i(a)) * i64::from(i(b))) >> 32) as u32)),
    ("s_bfe_u32 s24, s20, s22", |a, b, _| nz(field32(w(a), w(b), false))),
    ("s_bfe_i32 s24, s20, s22", |a, b, _| nz(field32(w(a), w(b), true))),
    ("s_bfe_u64 s[24:25], s[20:21], s22", |a, b, _| nz64(field64(a, w(b), false))),
    ("s_bfe_i64 s[24:25], s[20:21], s22", |a, b, _| nz64(field64(a, w(b), true))),
    ("s_absdiff_i32 s24, s20, s22", |a, b, _| nz(i(a).wrapping_sub(i(b)).unsigned_abs())),
    ("s_lshl1_add_u32 s24, s20, s22", |a, b, _| add_shifted(a, b, 1)),
    ("s_lshl2_add_u32 s24, s20, s22", |a, b, _| add_shifted(a, b, 2)),
    ("s_lshl3_add_u32 s24, s20, s22", |a, b, _| add_shifted(a, b, 3)),
    ("s_lshl4_add_u32 s24, s20, s22", |a, b, _| add_shifted(a, b, 4)),
    ("s_pack_ll_b32_b16 s24, s20, s22", |a, b, _| plain(w(a) & 0xffff | w(b) << 16)),
    ("s_pack_lh_b32_b16 s24, s20, s22", |a, b, _| plain(w(a) & 0xffff | w(b) & 0xffff_0000)),
    ("s_pack_hh_b32_b16 s24, s20, s22", |a, b, _| plain(w(a) >> 16 | w(b) & 0xffff_0000)),
    ("s_mov_b32 s24, s20", |a, _, _| plain(w(a))),
    ("s_mov_b64 s[24:25], s[20:21]", |a, _, _| (a, None)),
    ("s_cmov_b32 s24, s20", |a, _, c| plain(if c { w(a) } else { 0 })),
    ("s_cmov_b64 s[24:25], s[20:21]", |a, _, c| (if c { a } else { 0 }, None)),
    ("s_not_b32 s24, s20", |a, _, _| nz(!w(a))),
    ("s_not_b64 s[24:25], s[20:21]", |a, _, _| nz64(!a)),
    ("s_wqm_b32 s24, s20", |a, _, _| nz(w(whole_quads(u64::from(w(a)))))),
    ("s_wqm_b64 s[24:25], s[20:21]", |a, _, _| nz64(whole_quads(a))),
    ("s_quadmask_b32 s24, s20", |a, _, _| nz(w(quads(u64::from(w(a)))))),
    ("s_quadmask_b64 s[24:25], s[20:21]", |a, _, _| nz64(quads(a))),
    ("s_brev_b32 s24, s20", |a, _, _| plain(w(a).reverse_bits())),
    ("s_brev_b64 s[24:25], s[20:21]", |a, _, _| (a.reverse_bits(), None)),
    ("s_bcnt0_i32_b32 s24, s20", |a, _, _| nz(w(a).count_zeros())),
    ("s_bcnt0_i32_b64 s24, s[20:21]", |a, _, _| nz(a.count_zeros())),
    ("s_bcnt1_i32_b32 s24, s20", |a, _, _| nz(w(a).count_ones())),
    ("s_bcnt1_i32_b64 s24, s[20:21]", |a, _, _| nz(a.count_ones())),
    ("s_ff0_i32_b32 s24, s20", |a, _, _| none_or(w(a) != u32::MAX, w(a).trailing_ones())),
    ("s_ff0_i32_b64 s24, s[20:21]", |a, _, _| none_or(a != u64::MAX, a.trailing_ones())),
    ("s_ff1_i32_b32 s24, s20", |a, _, _| none_or(w(a) != 0, w(a).trailing_zeros())),
    ("s_ff1_i32_b64 s24, s[20:21]", |a, _, _| none_or(a != 0, a.trailing_zeros())),
    ("s_flbit_i32_b32 s24, s20", |a, _, _| none_or(w(a) != 0, w(a).leading_zeros())),
    ("s_flbit_i32_b64 s24, s[20:21]", |a, _, _| none_or(a != 0, a.leading_zeros())),
    ("s_flbit_i32 s24, s20", |a, _, _| plain(sign_run(a & 0xffff_ffff, 32))),
    ("s_flbit_i32_i64 s24, s[20:21]", |a, _, _| plain(sign_run(a, 64))),
    ("s_sext_i32_i8 s24, s20", |a, _, _| plain(i32::from(a as i8) as u32)),
    ("s_sext_i32_i16 s24, s20", |a, _, _| plain(i32::from(a as i16) as u32)),
    ("s_mov_b32 s24, -1\n s_bitset0_b32 s24, s20", |a, _, _| plain(!(1_u32 << (a & 31)))),
    ("s_bitset1_b32 s24, s20", |a, _, _| plain(1_u32 << (a & 31))),
    ("s_bitset1_b64 s[24:25], s20", |a, _, _| (1 << (a & 63), None)),
    ("s_mov_b64 s[24:25], -1\n s_bitset0_b64 s[24:25], s20", |a, _, _| (!(1 << (a & 63)), None)),
    ("s_abs_i32 s24, s20", |a, _, _| nz(i(a).wrapping_abs() as u32)),
    ("s_bitreplicate_b64_b32 s[24:25], s20", |a, _, _| {
        ((0..32).fold(0, |all, bit| all | ((a >> bit & 1) * 3) << (bit * 2)), None)
    }),
    ("s_movk_i32 s24, 0x8123", |_, _, _| plain(0xffff_8123)),
    ("s_cmovk_i32 s24, 0x8123", |_, _, c| plain(if c { 0xffff_8123 } else { 0 })),
    ("s_mov_b32 s24, s20\n s_addk_i32 s24, 0x7fff", |a, _, _| {
        with(w(a).wrapping_add(0x7fff), i(a).checked_add(0x7fff).is_none())
    }),
    ("s_mov_b32 s24, s20\n s_mulk_i32 s24, 0xfffd", |a, _, _| plain(w(a).wrapping_mul(-3_i32 as u32))),
    ("s_cmp_eq_i32 s20, s22", |a, b, _| only(i(a) == i(b))),
    ("s_cmp_lg_i32 s20, s22", |a, b, _| only(i(a) != i(b))),
    ("s_cmp_gt_i32 s20, s22", |a, b, _| only(i(a) > i(b))),
    ("s_cmp_ge_i32 s20, s22", |a, b, _| only(i(a) >= i(b))),
    ("s_cmp_lt_i32 s20, s22", |a, b, _| only(i(a) < i(b))),
    ("s_cmp_le_i32 s20, s22", |a, b, _| only(i(a) <= i(b))),
    ("s_cmp_eq_u32 s20, s22", |a, b, _| only(w(a) == w(b))),
    ("s_cmp_lg_u32 s20, s22", |a, b, _| only(w(a) != w(b))),
    ("s_cmp_gt_u32 s20, s22", |a, b, _| only(w(a) > w(b))),
    ("s_cmp_ge_u32 s20, s22", |a, b, _| only(w(a) >= w(b))),
    ("s_cmp_lt_u32 s20, s22", |a, b, _| only(w(a) < w(b))),
    ("s_cmp_le_u32 s20, s22", |a, b, _| only(w(a) <= w(b))),
    ("s_cmp_eq_u64 s[20:21], s[22:23]", |a, b, _| only(a == b)),
    ("s_cmp_lg_u64 s[20:21], s[22:23]", |a, b, _| only(a != b)),
    ("s_bitcmp0_b32 s20, s22", |a, b, _| only(w(a) >> (b & 31) & 1 == 0)),
    ("s_bitcmp1_b32 s20, s22", |a, b, _| only(w(a) >> (b & 31) & 1 == 1)),
    ("s_bitcmp0_b64 s[20:21], s22", |a, b, _| only(a >> (b & 63) & 1 == 0)),
    ("s_bitcmp1_b64 s[20:21], s22", |a, b, _| only(a >> (b & 63) & 1 == 1)),
    ("s_cmpk_eq_i32 s20, 0xfff0", |a, _, _| only(i(a) == -16)),
    ("s_cmpk_lg_i32 s20, 0xf0", |a, _, _| only(i(a) != 0xf0)),
    ("s_cmpk_gt_i32 s20, 0xfff0", |a, _, _| only(i(a) > -16)),
    ("s_cmpk_ge_i32 s20, 0xf0", |a, _, _| only(i(a) >= 0xf0)),
    ("s_cmpk_lt_i32 s20, 0xfff0", |a, _, _| only(i(a) < -16)),
    ("s_cmpk_le_i32 s20, 0xf0", |a, _, _| only(i(a) <= 0xf0)),
    ("s_cmpk_eq_u32 s20, 0xf0", |a, _, _| only(w(a) == 0xf0)),
    ("s_cmpk_lg_u32 s20, 0xf0", |a, _, _| only(w(a) != 0xf0)),
    ("s_cmpk_gt_u32 s20, 0xfff0", |a, _, _| only(w(a) > 0xfff0)),
    ("s_cmpk_ge_u32 s20, 0xfff0", |a, _, _| only(w(a) >= 0xfff0)),
    ("s_cmpk_lt_u32 s20, 0xfff0", |a, _, _| only(w(a) < 0xfff0)),
    ("s_cmpk_le_u32 s20, 0xfff0", |a, _, _| only(w(a) <= 0xfff0)),
    ("s_mov_b32 m0, 2\n s_nop 0\n s_movrels_b64 s[24:25], s[18:19]", |a, _, _| (a, None)),
    ("s_mov_b32 m0, 2\n s_nop 0\n s_movreld_b32 s22, s20", |a, _, _| plain(w(a))),
    ("s_mov_b32 m0, 4\n s_nop 0\n s_movreld_b64 s[20:21], s[22:23]", |_, b, _| (b, None)),
    ("s_cbranch_scc0 .Lnot%\n s_mov_b32 s24, 7\n .Lnot%:", |_, _, c| plain(if c { 7 } else { 0 })),
    ("s_cbranch_execz .Lnone%\n s_mov_b32 s24, 7\n .Lnone%:", |_, _, _| plain(7)),
    ("s_cbranch_execnz .Lsome%\n s_mov_b32 s24, 7\n .Lsome%:", |_, _, _| plain(0)),
    ("s_mov_b64 vcc, s[20:21]\n s_cbranch_vccnz .Lvcc%\n s_mov_b32 s24, 7\n .Lvcc%:", |a, _, _| plain(if a == 0 { 7 } else { 0 })),
    ("s_setprio 3\n s_sethalt 0\n s_dcache_inv\n s_dcache_wb\n s_icache_inv\n s_nop 15\n s_nop 15", |_, _, _| plain(0)),
    ("s_getreg_b32 s24, hwreg(HW_REG_MODE, 4, 4)\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2\n s_nop 1\n s_getreg_b32 s25, hwreg(HW_REG_MODE, 0, 2)\n s_mov_b32 s26, 0\n s_nop 1\n s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s26", |_, _, _| (0xc | 2 << 32, None)),
    ("s_call_b64 s[26:27], .Lcallee%\n s_branch .Lback%\n .Lcallee%:\n s_mov_b32 s24, 9\n s_setpc_b64 s[26:27]\n .Lback%:", |_, _, _| plain(9)),
];

fn add_shifted(a: u64, b: u64, by: u32) -> (u64, Option<bool>) {
    let sum = (u64::from(w(a)) << by) + u64::from(w(b));
    with(sum as u32, sum >> 32 != 0)
}

/// `op` with the execution mask: s[24:25] gets the mask before, which becomes what the reference says.
type MaskReference = fn(u64, u64) -> u64;

#[rustfmt::skip]
const MASKS: &[(&str, MaskReference)] = &[
    ("s_and_saveexec_b64", |s, e| s & e),
    ("s_or_saveexec_b64", |s, e| s | e),
    ("s_xor_saveexec_b64", |s, e| s ^ e),
    ("s_andn2_saveexec_b64", |s, e| s & !e),
    ("s_orn2_saveexec_b64", |s, e| s | !e),
    ("s_nand_saveexec_b64", |s, e| !(s & e)),
    ("s_nor_saveexec_b64", |s, e| !(s | e)),
    ("s_xnor_saveexec_b64", |s, e| !(s ^ e)),
    ("s_andn1_saveexec_b64", |s, e| !s & e),
    ("s_orn1_saveexec_b64", |s, e| !s | e),
];

#[test]
fn every_instruction_on_every_pair() -> Result<()> {
    for (number, &(a, b)) in PAIRS.iter().enumerate() {
        for scc in [false, true] {
            let mut body = format!(
                "s_load_dwordx2 s[6:7], s[0:1], 0x0
                 v_mov_b32 v9, 0
                 s_waitcnt lgkmcnt(0)
                 s_mov_b64 exec, 1
                 s_mov_b32 s30, {}\n",
                u32::from(scc)
            );
            for (case, (asm, _)) in CASES.iter().enumerate() {
                let asm = asm.replace('%', &case.to_string());
                body += &format!(
                    "s_mov_b32 s18, 0\n s_mov_b32 s19, 0\n s_mov_b32 s20, {:#x}\n s_mov_b32 s21, {:#x}
                     s_mov_b32 s22, {:#x}\n s_mov_b32 s23, {:#x}\n s_mov_b64 s[24:25], 0
                     s_cmp_lg_u32 s30, 0\n {asm}\n s_cselect_b32 s26, 1, 0
                     v_mov_b32 v10, s24\n v_mov_b32 v11, s25\n v_mov_b32 v12, s26
                     global_store_dwordx3 v9, v[10:12], s[6:7]
                     s_add_u32 s6, s6, 12\n s_addc_u32 s7, s7, 0\n s_nop 1\n",
                    a as u32,
                    a >> 32,
                    b as u32,
                    b >> 32,
                );
            }
            for (op, _) in MASKS {
                body += &format!(
                    "s_mov_b32 s20, {:#x}\n s_mov_b32 s21, {:#x}\n s_mov_b32 s22, {:#x}\n s_mov_b32 s23, {:#x}
                     s_mov_b64 exec, s[22:23]\n {op} s[24:25], s[20:21]\n s_cselect_b32 s26, 1, 0\n s_mov_b64 s[28:29], exec
                     s_mov_b64 exec, 1\n v_mov_b32 v10, s24\n v_mov_b32 v11, s25\n v_mov_b32 v12, s28\n v_mov_b32 v13, s29
                     v_mov_b32 v14, s26\n global_store_dwordx4 v9, v[10:13], s[6:7]\n global_store_dword v9, v14, s[6:7] offset:16
                     s_add_u32 s6, s6, 20\n s_addc_u32 s7, s7, 0\n s_nop 1\n",
                    a as u32, a >> 32, b as u32, b >> 32
                );
            }
            let directives = ".amdhsa_float_denorm_mode_32 0";
            let results = CASES.len() * 3 + MASKS.len() * 5;
            let source = Source { directives, ..Source::new(&body, 1) };
            let Some((out, outcome)) = run(source, 64, &[], results)? else { return Ok(()) };
            assert!(outcome.is_clean(), "{}", outcome.findings[0]);
            for (case, (asm, reference)) in CASES.iter().enumerate() {
                let got = &out[case * 3..][..3];
                let (value, condition) = reference(a, b, scc);
                let expected = [value as u32, (value >> 32) as u32, u32::from(condition.unwrap_or(scc))];
                assert_eq!(got, expected, "`{asm}` on pair {number} ({a:#x}, {b:#x}), scc {scc}");
            }
            for (n, (op, reference)) in MASKS.iter().enumerate() {
                let got = &out[CASES.len() * 3 + n * 5..][..5];
                let mask = reference(a, b);
                let expected = [b as u32, (b >> 32) as u32, mask as u32, (mask >> 32) as u32, u32::from(mask != 0)];
                assert_eq!(got, expected, "`{op}` on pair {number} ({a:#x}, {b:#x})");
            }
        }
    }
    Ok(())
}
