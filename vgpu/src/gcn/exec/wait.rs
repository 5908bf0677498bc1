//! Waits for outstanding operations, barriers and messages.
//!
//! In strict mode a wait is all that lets an operation happen, and each generation's counters are kept apart as it has them: one for vector
//! memory and one for LDS and scalars on CDNA; loads and stores apart on RDNA 3 (`vmcnt`, `vscnt`, `lgkmcnt`); LDS and scalars apart too on
//! RDNA 4 (`loadcnt`, `storecnt`, `dscnt`, `kmcnt`, and the pairs that are awaited in one instruction). Samples, ray tracing and exports do
//! not exist here, so that waits for them do nothing; nor do waits for the vector unit (`s_waitcnt_depctr`, `s_wait_alu`), of which
//! `hazard_rdna` says what is checked.

use super::queue::Counter;
use super::state::Flow;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::{Inst, Opnd};

fn waitcnt(cx: &mut Cx<'_>, i: &Inst) {
    let bits = i.imm as u32 & 0xffff;
    let (vector, lgkm) = if cx.env.arch.is_cdna() {
        (bits & 15 | bits >> 14 << 4, bits >> 8 & 15)
    } else {
        (bits >> 10 & 63, bits >> 4 & 63)
    };
    let (all_vector, all_lgkm) = if cx.env.arch.is_cdna() { (63, 15) } else { (63, 63) };
    if vector < all_vector {
        cx.wait(Counter::Vector, vector as usize);
    }
    if lgkm < all_lgkm {
        cx.wait_lds_and_scalar(lgkm as usize);
    }
}

fn stores(cx: &mut Cx<'_>, left: usize) {
    cx.wait(Counter::Store, left);
    // With no stores outstanding, all are in the device's cache.
    if left == 0
        && let Some(shadow) = cx.env.shadow
    {
        shadow.program(cx.g.linear).release();
    }
}

/// A count from a scalar register plus an immediate: compilers only use the null register.
fn with_null(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(&mut Cx<'_>, usize)) {
    if i.dst == Opnd::Null {
        f(cx, (i.imm & 63) as usize);
    } else {
        cx.unsupported(i, "a wait for a count in a register".to_owned());
    }
}

fn count(i: &Inst) -> usize {
    (i.imm & 63) as usize
}

/// The wave arrives at a barrier: what it does from now on is after it.
fn arrive(cx: &mut Cx<'_>) {
    if cx.env.arch.is_cdna() {
        // Compilers wait for the LDS before every barrier here, and who does not is told so.
        cx.announce_lds();
    } else {
        cx.settle_lds();
    }
    if cx.env.one_compute_unit {
        cx.settle_vector_memory();
    }
    let clock = &mut cx.g.clocks[usize::from(cx.w.id)];
    cx.w.arrived = Some(clock.clone());
    cx.g.signalled += 1;
    clock.tick(cx.w.id);
}

fn barrier(cx: &mut Cx<'_>, _: &Inst) {
    arrive(cx);
    cx.flow = Flow::Barrier;
}

fn signal(cx: &mut Cx<'_>, i: &Inst) {
    // -1, the workgroup's barrier; named barriers are not used without clusters.
    if i.imm != 193 {
        cx.unsupported(i, "a barrier other than the workgroup's".to_owned());
        return;
    }
    arrive(cx);
}

/// As a signal, and tells in scc whether this wave was the first to do so since the barrier opened.
fn signal_is_first(cx: &mut Cx<'_>, i: &Inst) {
    let first = cx.g.signalled == 0;
    signal(cx, i);
    cx.set_scc(first);
}

/// The barrier's state: that it is valid, how many waves take part, and how many have signalled.
fn barrier_state(cx: &mut Cx<'_>, i: &Inst) {
    if !matches!(i.src[0], Opnd::Int(-1)) {
        cx.unsupported(i, "the state of a barrier other than the workgroup's".to_owned());
        return;
    }
    let members = cx.g.clocks.len() as u32;
    let state = 1 | (members & 127) << 4 | (cx.g.signalled & 127) << 16;
    super::scalar_memory::value(cx, i, u64::from(state));
}

fn wait_barrier(cx: &mut Cx<'_>, i: &Inst) {
    if i.imm != -1 {
        cx.unsupported(i, "a barrier other than the workgroup's".to_owned());
        return;
    }
    if cx.w.arrived.is_none() {
        cx.find(
            crate::finding::FindingKind::BarrierDivergence,
            i.pc,
            None,
            None,
            None,
            "a wait at the barrier that this wave has not signalled".to_owned(),
        );
    }
    cx.flow = Flow::Barrier;
}

pub(super) const TABLE: &[Entry] = &[
    ("s_waitcnt", Class::Sync, waitcnt),
    ("s_waitcnt_vscnt", Class::Sync, |c, i| with_null(c, i, stores)),
    ("s_waitcnt_vmcnt", Class::Sync, |c, i| with_null(c, i, |c, n| c.wait(Counter::Vector, n))),
    ("s_waitcnt_lgkmcnt", Class::Sync, |c, i| with_null(c, i, |c, n| c.wait_lds_and_scalar(n))),
    ("s_waitcnt_expcnt", Class::Sync, |_, _| {}),
    ("s_waitcnt_depctr", Class::Sync, |_, _| {}),
    ("s_wait_alu", Class::Sync, |_, _| {}),
    ("s_wait_event", Class::Sync, |_, _| {}),
    ("s_wait_idle", Class::Sync, |c, _| c.drain()),
    ("s_wait_loadcnt", Class::Sync, |c, i| c.wait(Counter::Vector, count(i))),
    ("s_wait_storecnt", Class::Sync, |c, i| stores(c, count(i))),
    ("s_wait_dscnt", Class::Sync, |c, i| c.wait(Counter::Lds, count(i))),
    ("s_wait_kmcnt", Class::Sync, |c, i| c.wait_scalar(count(i))),
    ("s_wait_samplecnt", Class::Sync, |_, _| {}),
    ("s_wait_bvhcnt", Class::Sync, |_, _| {}),
    ("s_wait_expcnt", Class::Sync, |_, _| {}),
    ("s_wait_loadcnt_dscnt", Class::Sync, |c, i| {
        let bits = i.imm as u32 & 0xffff;
        c.wait(Counter::Vector, (bits >> 8 & 63) as usize);
        c.wait(Counter::Lds, (bits & 63) as usize);
    }),
    ("s_wait_storecnt_dscnt", Class::Sync, |c, i| {
        let bits = i.imm as u32 & 0xffff;
        stores(c, (bits >> 8 & 63) as usize);
        c.wait(Counter::Lds, (bits & 63) as usize);
    }),
    ("s_barrier", Class::Sync, barrier),
    ("s_barrier_signal", Class::Sync, signal),
    ("s_barrier_signal_isfirst", Class::Sync, signal_is_first),
    ("s_get_barrier_state", Class::Scalar, barrier_state),
    ("s_barrier_wait", Class::Sync, wait_barrier),
    ("s_barrier_leave", Class::Sync, |_, _| {}),
    // Of the messages without an answer none matters here: interrupts go to the host, releases of registers to other waves.
    ("s_sendmsg", Class::Sync, |c, i| c.hazard_m0(i)),
    ("s_sendmsghalt", Class::Sync, |c, _| c.flow = Flow::End),
];
