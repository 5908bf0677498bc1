//! Operations across lanes, and moves between vector and scalar registers.

use super::operand::{Ty, U32, op1};
use super::registers::Width;
use super::state::Lanes;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::{ACC, Inst, Opnd, sreg};

/// One lane of a vector register, or a scalar.
fn lane_of(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd, lane: usize) -> u32 {
    cx.hazard_exec(i, 4);
    match opnd {
        Opnd::V(r) => {
            // The lane is read whether it executes or not.
            let exec = std::mem::replace(&mut cx.w.exec, 1 << lane);
            cx.check_v(i, r);
            cx.w.exec = exec;
            if cx.w.v_defined[r as usize] >> lane & 1 == 0 {
                cx.defined = 0;
            } else if cx.defined >> lane & 1 != 0 {
                cx.defined = u64::MAX;
            }
            cx.w.v[r as usize][lane]
        }
        other => cx.s32(i, other),
    }
}

fn readfirstlane(cx: &mut Cx<'_>, i: &Inst) {
    let exec = cx.w.exec;
    let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
    let value = lane_of(cx, i, i.src[0], lane);
    cx.set_s32(i, i.dst, value);
}

fn lane_select(cx: &mut Cx<'_>, i: &Inst) -> usize {
    let select = cx.s32(i, i.src[1]);
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the lane number");
    }
    (select % cx.w.lanes) as usize
}

fn readlane(cx: &mut Cx<'_>, i: &Inst) {
    let lane = lane_select(cx, i);
    let value = lane_of(cx, i, i.src[0], lane);
    cx.set_s32(i, i.dst, value);
}

fn writelane(cx: &mut Cx<'_>, i: &Inst) {
    let lane = lane_select(cx, i);
    let value = cx.s32(i, i.src[0]);
    if let Opnd::V(r) = i.dst {
        cx.set_v32(i, r, &[value; 64], 1 << lane);
    }
}

/// Counts the lanes below each one that have their bit set; `high` for the upper half of the mask.
fn mbcnt(cx: &mut Cx<'_>, i: &Inst, high: bool) {
    let mask = U32::load(cx, i, 0);
    let base = U32::load(cx, i, 1);
    let out = std::array::from_fn(|lane| {
        let below = match (lane, high) {
            (0..32, false) => (1_u32 << lane) - 1,
            (_, false) => u32::MAX,
            (0..32, true) => 0,
            (_, true) => (1_u32 << (lane - 32)) - 1,
        };
        (mask[lane] & below).count_ones().wrapping_add(base[lane])
    });
    U32::store(cx, i, &out);
}

fn swap(cx: &mut Cx<'_>, i: &Inst) {
    let (Opnd::V(a), Opnd::V(b)) = (i.dst, i.src[0]) else { return };
    let exec = cx.w.exec;
    let first = cx.v32(i, i.dst, Width::B32);
    let defined_first = cx.defined;
    cx.defined = u64::MAX;
    let second = cx.v32(i, i.src[0], Width::B32);
    cx.set_v32(i, a, &second, exec);
    cx.defined = defined_first;
    cx.set_v32(i, b, &first, exec);
}

fn swap16(cx: &mut Cx<'_>, i: &Inst) {
    let (Opnd::V(a), Opnd::V(b)) = (i.dst, i.src[0]) else { return };
    let exec = cx.w.exec;
    let (shift_a, shift_b) = (u32::from(i.op_sel >> 3 & 1) * 16, u32::from(i.op_sel & 1) * 16);
    let first = cx.v32(i, i.dst, Width::B32);
    let second = cx.v32(i, i.src[0], Width::B32);
    let put = |old: u32, shift: u32, half: u32| old & !(0xffff << shift) | (half & 0xffff) << shift;
    let new_a = std::array::from_fn(|l| put(first[l], shift_a, second[l] >> shift_b));
    cx.set_v32(i, a, &new_a, exec);
    let base = if a == b { new_a } else { second };
    cx.set_v32(i, b, &std::array::from_fn(|l| put(base[l], shift_b, first[l] >> shift_a)), exec);
}

/// Exchanges rows between two registers (GFX950): odd groups of `rows` lanes of the first with even ones of the second.
fn permlane_swap(cx: &mut Cx<'_>, i: &Inst, rows: usize) {
    let (Opnd::V(a), Opnd::V(b)) = (i.dst, i.src[0]) else { return };
    let first = cx.v32(i, i.dst, Width::B32);
    let second = cx.v32(i, i.src[0], Width::B32);
    let (da, db) = (cx.w.v_defined[a as usize], cx.w.v_defined[b as usize]);
    let exec = cx.w.exec;
    let (mut new_a, mut new_b) = (first, second);
    let (mut def_a, mut def_b) = (da, db);
    let move_bit = |to: &mut u64, at: usize, from: u64, lane: usize| *to = *to & !(1 << at) | (from >> lane & 1) << at;
    for lane in (0..64).filter(|lane| lane / rows % 2 == 1) {
        let other = lane - rows;
        new_a[lane] = second[other];
        new_b[other] = first[lane];
        move_bit(&mut def_a, lane, db, other);
        move_bit(&mut def_b, other, da, lane);
    }
    cx.defined = def_a;
    cx.set_v32(i, a, &new_a, exec);
    cx.defined = def_b;
    cx.set_v32(i, b, &new_b, exec);
}

/// Any lane of the same row of 16, or of the row beside it, by selectors in two scalars, or in vectors (`v_permlane16_var`).
fn permlane16(cx: &mut Cx<'_>, i: &Inst, cross: bool, variable: bool) {
    let source = cx.v32(i, i.src[0], Width::B32);
    let selectors: Lanes = if variable {
        U32::load(cx, i, 1)
    } else {
        let (low, high) = (cx.s32(i, i.src[1]), cx.s32(i, i.src[2]));
        std::array::from_fn(|lane| (if lane & 8 == 0 { low } else { high }) >> ((lane & 7) * 4) & 15)
    };
    let (fetch_inactive, zero) = (i.op_sel & 1 != 0, i.op_sel & 2 != 0);
    let exec = cx.w.exec;
    let Opnd::V(r) = i.dst else { return };
    let mut mask = exec;
    let mut out = [0; 64];
    for lane in 0..64 {
        let row = if cross { (lane & 48) ^ 16 } else { lane & 48 };
        let from = row | (selectors[lane] & 15) as usize;
        if fetch_inactive || exec >> from & 1 != 0 {
            out[lane] = source[from];
        } else if !zero {
            mask &= !(1 << lane);
        }
    }
    cx.defined = u64::MAX;
    cx.set_v32(i, r, &out, mask);
}

/// A vector register numbered by m0 beyond the operand's own.
fn relative(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd) -> Opnd {
    let index = cx.s32(i, Opnd::S(sreg::M0));
    moved(cx, i, opnd, index)
}

/// Source and destination, each with its own index in m0.
fn relative2(cx: &mut Cx<'_>, i: &Inst) -> (Opnd, Opnd) {
    let index = cx.s32(i, Opnd::S(sreg::M0));
    (moved(cx, i, i.src[0], index & 0x3ff), moved(cx, i, i.dst, index >> 16 & 0x3ff))
}

fn moved(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd, index: u32) -> Opnd {
    match opnd {
        Opnd::V(r) if r < ACC && u32::from(r) + index < cx.env.program.vgprs => Opnd::V(r + index as u16),
        _ => {
            cx.fault(i, format!("m0 is {index}: the indexed vector register does not exist"));
            Opnd::None
        }
    }
}

fn move_relative(cx: &mut Cx<'_>, i: &Inst, source: bool, destination: bool) {
    let from = if source { relative(cx, i, i.src[0]) } else { i.src[0] };
    let to = if destination { relative(cx, i, i.dst) } else { i.dst };
    let values = cx.v32(i, from, Width::B32);
    let exec = cx.w.exec;
    if let Opnd::V(r) = to {
        cx.set_v32(i, r, &values, exec);
    }
}

/// Moves, or exchanges, registers that m0 numbers.
fn move_relative2(cx: &mut Cx<'_>, i: &Inst, exchange: bool) {
    let (from, to) = relative2(cx, i);
    let exec = cx.w.exec;
    let (Opnd::V(source), Opnd::V(destination)) = (from, to) else { return };
    let values = cx.v32(i, from, Width::B32);
    if exchange {
        let first = std::mem::replace(&mut cx.defined, u64::MAX);
        let back = cx.v32(i, to, Width::B32);
        cx.set_v32(i, source, &back, exec);
        cx.defined = first;
    }
    cx.set_v32(i, destination, &values, exec);
}

pub(super) const TABLE: &[Entry] = &[
    ("v_readfirstlane_b32", Class::Warp, readfirstlane),
    ("v_readlane_b32", Class::Warp, readlane),
    ("v_writelane_b32", Class::Warp, writelane),
    ("v_mbcnt_lo_u32_b32", Class::Warp, |c, i| mbcnt(c, i, false)),
    ("v_mbcnt_hi_u32_b32", Class::Warp, |c, i| mbcnt(c, i, true)),
    ("v_swap_b32", Class::Move, swap),
    ("v_swap_b16", Class::Move, swap16),
    ("v_permlane16_swap_b32", Class::Warp, |c, i| permlane_swap(c, i, 16)),
    ("v_permlane32_swap_b32", Class::Warp, |c, i| permlane_swap(c, i, 32)),
    ("v_permlane16_b32", Class::Warp, |c, i| permlane16(c, i, false, false)),
    ("v_permlanex16_b32", Class::Warp, |c, i| permlane16(c, i, true, false)),
    ("v_permlane16_var_b32", Class::Warp, |c, i| permlane16(c, i, false, true)),
    ("v_permlanex16_var_b32", Class::Warp, |c, i| permlane16(c, i, true, true)),
    ("v_permlane64_b32", Class::Warp, |c, i| {
        // Swaps the halves of a wave of 64; in waves of 32 it does nothing.
        let source = c.v32(i, i.src[0], Width::B32);
        let wave32 = c.w.wave32;
        c.put(i, 0, &std::array::from_fn(|lane| source[if wave32 { lane } else { lane ^ 32 }]));
    }),
    ("v_accvgpr_read_b32", Class::Move, |c, i| op1::<U32, U32>(c, i, |a| a)),
    ("v_accvgpr_write_b32", Class::Move, |c, i| op1::<U32, U32>(c, i, |a| a)),
    ("v_accvgpr_mov_b32", Class::Move, |c, i| op1::<U32, U32>(c, i, |a| a)),
    ("v_movrels_b32", Class::Move, |c, i| move_relative(c, i, true, false)),
    ("v_movreld_b32", Class::Move, |c, i| move_relative(c, i, false, true)),
    ("v_movrelsd_b32", Class::Move, |c, i| move_relative(c, i, true, true)),
    ("v_movrelsd_2_b32", Class::Move, |c, i| move_relative2(c, i, false)),
    ("v_swaprel_b32", Class::Move, |c, i| move_relative2(c, i, true)),
];
