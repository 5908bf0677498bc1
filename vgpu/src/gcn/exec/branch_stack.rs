//! Branches of GFX9 that keep the lanes of the other side on a stack in scalar registers: forks push, joins pop.
//!
//! An entry is four registers: the mask, and the address to go on at. The stack's depth is in the three top bits of the mode register.

use super::salu::{branch_to, jump, return_address};
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::exec::state::Mode;
use crate::gcn::inst::{Inst, Opnd};

/// Where the depth stands in the mode register.
const DEPTH: u32 = 29;

fn set_depth(cx: &mut Cx<'_>, depth: u32) {
    cx.w.mode = Mode::from_bits(cx.w.mode.bits & !(7 << DEPTH) | (depth & 7) << DEPTH);
}

fn entry(depth: u32) -> [Opnd; 2] {
    [Opnd::S((depth * 4) as u8), Opnd::S((depth * 4 + 2) as u8)]
}

/// Branches with the lanes of a mask. Where both sides have lanes, the smaller goes first, so that the stack never gets deep.
fn fork(cx: &mut Cx<'_>, i: &Inst, target: u64, take: impl Fn(&mut Cx<'_>)) {
    let mask = cx.s64(i, i.src[0]);
    if cx.defined == 0 {
        cx.find_undefined(i, 1, "the condition of a branch");
    }
    let exec = cx.w.exec;
    let (pass, fail) = (mask & exec, !mask & exec);
    if pass == exec {
        return take(cx);
    }
    if fail == exec {
        return;
    }
    let depth = cx.w.mode.bits >> DEPTH;
    if depth == 7 {
        return cx.fault(i, "the stack of branches is full".to_owned());
    }
    let smaller_passes = pass.count_ones() <= fail.count_ones();
    let (now, later, at) = if smaller_passes { (pass, fail, return_address(cx, i)) } else { (fail, pass, target) };
    let [mask, address] = entry(depth);
    cx.set_s64(i, mask, later);
    cx.set_s64(i, address, at);
    set_depth(cx, depth + 1);
    cx.w.set_exec(now);
    if smaller_passes {
        take(cx);
    }
}

/// Goes on with the other side, or with both when the stack is as deep as the operand says.
fn join(cx: &mut Cx<'_>, i: &Inst) {
    let bottom = cx.s32(i, i.src[0]);
    let depth = cx.w.mode.bits >> DEPTH;
    if depth == bottom {
        return;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return cx.fault(i, "a join without a fork: the stack of branches is empty".to_owned());
    };
    set_depth(cx, depth);
    let [mask, address] = entry(depth);
    let (lanes, at) = (cx.s64(i, mask), cx.s64(i, address));
    cx.w.set_exec(lanes);
    jump(cx, i, at);
}

pub(super) const TABLE: &[Entry] = &[
    ("s_cbranch_i_fork", Class::Control, |c, i| {
        let target = return_address(c, i).wrapping_add((i64::from(i.imm) * 4) as u64);
        fork(c, i, target, |c| branch_to(c, i));
    }),
    ("s_cbranch_g_fork", Class::Control, |c, i| {
        let target = c.s64(i, i.src[1]);
        fork(c, i, target, |c| jump(c, i, target));
    }),
    ("s_cbranch_join", Class::Control, join),
];
