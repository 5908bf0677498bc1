//! Asynchronous copies, bulk copies and memory barriers that are not waited for, waited for wrongly, or counted wrongly.

use super::harness::{FILL, Fault, fault};
use tegula_vgpu::finding::FindingKind::*;

/// One arrival on the barrier, which all threads then know.
const BARRIER: &str = "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0;";
const EXPECT: &str = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512;";
const BULK: &str = "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4];";
const TRY: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;";
const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W;";
const FENCE: &str = "fence.proxy.async.shared::cta; bar.sync 0;";
const STORE: &str = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 2048;";
const COMMIT: &str = "cp.async.bulk.commit_group;";

pub fn copies() -> Vec<Fault> {
    let copy = "cp.async.ca.shared.global [%r6], [%rd4], 4;";
    let commit = "cp.async.commit_group;";
    let load = "ld.shared.u32 %r7, [%r6];";
    vec![
        fault(
            "copy without a wait",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} {commit} <<||cp.async.wait_group 0;>> {load}"),
        ),
        fault(
            "wait for too few groups",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} {commit} cp.async.wait_group <<1||0>>; {load}"),
        ),
        fault(
            "wait for too few of three groups",
            1,
            32,
            AsyncNotWaited,
            format!(
                "{copy} {commit} cp.async.ca.shared.global [%r6+128], [%rd4+128], 4; {commit} cp.async.ca.shared.global [%r6+256], [%rd4+256], 4; {commit} cp.async.wait_group <<2||1>>; ld.shared.u32 %r7, [%r6+128]; cp.async.wait_all;"
            ),
        ),
        fault(
            "wait without a commit",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} <<||{commit}>> cp.async.wait_group 0; {load}"),
        ),
        fault(
            "store into a destination",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} <<||cp.async.wait_all;>> st.shared.u32 [%r6], %r1; cp.async.wait_all;"),
        ),
        fault(
            "two copies to one place",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} <<||cp.async.wait_all;>> {copy} cp.async.wait_all;"),
        ),
        fault(
            "copy waited for, but no barrier",
            1,
            64,
            SharedRace,
            format!(
                "{copy} cp.async.wait_all; xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7; bar.sync 0; ld.shared.u32 %r8, [%r7]; bar.sync 0; {copy} cp.async.wait_all; <<||bar.sync 0;>> ld.shared.u32 %r8, [%r7];"
            ),
        ),
        fault(
            "copy into a buffer still read",
            1,
            64,
            SharedRace,
            format!(
                "st.shared.u32 [%r6], %r1; xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7; bar.sync 0; ld.shared.u32 %r8, [%r7]; <<||bar.sync 0;>> {copy} cp.async.wait_all;"
            ),
        ),
        fault(
            "arrival of copies not waited for",
            1,
            32,
            AsyncNotWaited,
            format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 32; bar.sync 0; {copy} cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r4]; <<||{WAIT}>> {load}"
            ),
        ),
    ]
}

pub fn bulk_copies() -> Vec<Fault> {
    let load = "ld.shared.u32 %r7, [%r6];";
    vec![
        fault(
            "bulk copy without a wait",
            1,
            32,
            AsyncNotWaited,
            format!("{BARRIER} {EXPECT} {BULK} <<{load} {WAIT}||{WAIT} {load}>>"),
        ),
        fault(
            "wait that is not repeated",
            1,
            32,
            AsyncNotWaited,
            format!("{BARRIER} {EXPECT} {BULK} {TRY} <<||@!%p4 bra W;>> {load}"),
        ),
        fault(
            "wait that goes on when it fails",
            1,
            32,
            AsyncNotWaited,
            format!("{BARRIER} {EXPECT} {BULK} {TRY} @%p4 bra A; nanosleep.u32 100; <<||bra W;>> A: {load}"),
        ),
        fault(
            "test that is not repeated",
            1,
            32,
            AsyncNotWaited,
            format!(
                "{BARRIER} {EXPECT} {BULK} W: mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r4], 0; <<||@!%p4 bra W;>> {load}"
            ),
        ),
        fault(
            "wait by a state that is not repeated",
            1,
            32,
            AsyncNotWaited,
            format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 32; bar.sync 0; @%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r4], 512; {BULK} bar.sync 0; mbarrier.arrive.shared::cta.b64 %rd8, [%r4]; W: mbarrier.try_wait.shared::cta.b64 %p4, [%r4], %rd8; <<||@!%p4 bra W;>> {load}"
            ),
        ),
        fault(
            "wait for the wrong parity",
            1,
            32,
            AsyncNotWaited,
            format!(
                "{BARRIER} {EXPECT} {BULK} W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], <<1||0>>; @!%p4 bra W; {load}"
            ),
        ),
        fault(
            "parity that does not flip",
            1,
            32,
            AsyncNotWaited,
            format!(
                "{BARRIER} mov.u32 %r8, 0; mov.u32 %r9, 0; L: {EXPECT} {BULK} W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r8; @!%p4 bra W; {load} bar.sync 0; <<||xor.b32 %r8, %r8, 1;>> add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 3; @%p5 bra L;"
            ),
        ),
        fault(
            "too many bytes expected",
            1,
            32,
            Deadlock,
            format!(
                "{BARRIER} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], <<528||512>>; {BULK} {WAIT} {load}"
            ),
        ),
        fault(
            "too few bytes expected",
            1,
            32,
            Deadlock,
            format!(
                "{BARRIER} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], <<256||512>>; {BULK} {WAIT} {load}"
            ),
        ),
        fault(
            "no bytes expected",
            1,
            32,
            AsyncNotWaited,
            format!("{BARRIER} <<@%p1 mbarrier.arrive.shared::cta.b64 _, [%r4];||{EXPECT}>> {BULK} {WAIT} {load}"),
        ),
        fault("end before the copy", 1, 32, UnfinishedAsync, format!("{BARRIER} {EXPECT} {BULK} <<||{WAIT}>>")),
        fault(
            "bulk copy over data in use",
            1,
            64,
            SharedRace,
            format!("{BARRIER} st.shared.u32 [%r6], %r1; <<||bar.sync 0;>> {EXPECT} {BULK} {WAIT}"),
        ),
        fault(
            "bulk store without a proxy fence",
            1,
            32,
            MissingProxyFence,
            format!(
                "{FILL} <<||fence.proxy.async.shared::cta;>> bar.sync 0; {STORE} {COMMIT} cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "proxy fence of the wrong thread",
            1,
            64,
            MissingProxyFence,
            format!(
                "{FILL} <<bar.sync 0; @!%p2 bra A; fence.proxy.async.shared::cta; A:||fence.proxy.async.shared::cta; bar.sync 0;>> setp.eq.u32 %p5, %r1, 32; @%p5 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 2048; {COMMIT} cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "bulk store without a barrier",
            1,
            64,
            SharedRace,
            format!(
                "{FILL} fence.proxy.async.shared::cta; <<||bar.sync 0;>> setp.eq.u32 %p5, %r1, 32; @%p5 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 2048; {COMMIT} cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "source overwritten",
            1,
            64,
            AsyncSourceOverwritten,
            format!(
                "{FILL} {FENCE} {STORE} {COMMIT} <<||cp.async.bulk.wait_group.read 0;>> bar.sync 0; setp.eq.u32 %p5, %r1, 32; @%p5 st.shared.u32 [%r3], %r1; bar.sync 0; cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "bulk store without a commit",
            1,
            32,
            AsyncSourceOverwritten,
            format!(
                "{FILL} {FENCE} {STORE} <<||{COMMIT}>> cp.async.bulk.wait_group.read 0; bar.sync 0; st.shared.u32 [%r6], %r1;"
            ),
        ),
        fault(
            "wait for too few bulk groups",
            1,
            32,
            AsyncSourceOverwritten,
            format!(
                "{FILL} {FENCE} {STORE} {COMMIT} cp.async.bulk.wait_group.read <<1||0>>; bar.sync 0; st.shared.u32 [%r6], %r1; cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "end before a bulk store has read its source",
            1,
            32,
            UnfinishedAsync,
            format!("{FILL} {FENCE} {STORE} {COMMIT} <<||cp.async.bulk.wait_group.read 0;>>"),
        ),
        fault(
            "load into the source of a store",
            1,
            32,
            AsyncSourceOverwritten,
            format!(
                "{BARRIER} {FILL} {FENCE} {STORE} {COMMIT} <<||cp.async.bulk.wait_group.read 0;>> bar.sync 0; {EXPECT} {BULK} {WAIT} cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "not a tensor map",
            1,
            1,
            BadDescriptor,
            format!(
                "mov.u64 %rd8, map; cvta.param.u64 %rd8, %rd8; {BARRIER} {EXPECT} mov.u32 %r7, 0; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [<<%rd1||%rd8>>, {{%r7, %r7}}], [%r4]; {WAIT}"
            ),
        ),
        fault(
            "tensor map of another rank",
            1,
            1,
            BadDescriptor,
            format!(
                "mov.u64 %rd8, map; cvta.param.u64 %rd8, %rd8; {BARRIER} {EXPECT} mov.u32 %r7, 0; cp.async.bulk.tensor.<<1d||2d>>.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd8, {{<<%r7||%r7, %r7>>}}], [%r4]; {WAIT}"
            ),
        ),
    ]
}

pub fn memory_barriers() -> Vec<Fault> {
    vec![
        fault(
            "wait for arrivals that is not repeated",
            1,
            64,
            SharedRace,
            format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 32; bar.sync 0; @!%p2 bra W; st.shared.u32 [%r6], %r1; mbarrier.arrive.shared::cta.b64 _, [%r4]; ret; {TRY} <<||@!%p4 bra W;>> ld.shared.u32 %r7, [%r6+-128];"
            ),
        ),
        fault(
            "arrival before the writes",
            1,
            64,
            SharedRace,
            format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 32; bar.sync 0; @!%p2 bra W; <<mbarrier.arrive.shared::cta.b64 _, [%r4]; st.shared.u32 [%r6], %r1;||st.shared.u32 [%r6], %r1; mbarrier.arrive.shared::cta.b64 _, [%r4];>> ret; {WAIT} ld.shared.u32 %r7, [%r6+-128];"
            ),
        ),
        fault(
            "arrival forgotten",
            1,
            32,
            Deadlock,
            format!("@%p1 mbarrier.init.shared::cta.b64 [%r4], <<2||1>>; bar.sync 0; {EXPECT} {BULK} {WAIT}"),
        ),
        fault(
            "one arrival too many",
            1,
            32,
            BarrierObject,
            format!("{BARRIER} {EXPECT} <<@%p1 mbarrier.arrive.shared::cta.b64 _, [%r4];||>> {BULK} {WAIT}"),
        ),
        fault(
            "barrier not initialised",
            1,
            1,
            BarrierObject,
            "<<||mbarrier.init.shared::cta.b64 [%r4], 1;>> mbarrier.arrive.shared::cta.b64 _, [%r4];",
        ),
        fault(
            "barrier used before others know of it",
            1,
            64,
            BarrierObject,
            "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; <<||bar.sync 0;>> setp.eq.u32 %p5, %r1, 32; @%p5 mbarrier.arrive.shared::cta.b64 _, [%r4];",
        ),
        fault(
            "barrier invalidated twice",
            1,
            1,
            BarrierObject,
            "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.inval.shared::cta.b64 [%r4]; <<||mbarrier.init.shared::cta.b64 [%r4], 1;>> mbarrier.inval.shared::cta.b64 [%r4];",
        ),
        fault(
            "barrier invalidated under a copy",
            1,
            32,
            BarrierObject,
            format!("{BARRIER} {EXPECT} {BULK} <<||{WAIT}>> @%p1 mbarrier.inval.shared::cta.b64 [%r4];"),
        ),
        fault("bulk copy on no barrier", 1, 32, BarrierObject, format!("<<||{BARRIER} {EXPECT}>> {BULK} <<||{WAIT}>>")),
        fault(
            "wait for a barrier that nobody arrives on",
            1,
            32,
            Deadlock,
            format!("{BARRIER} <<||@%p1 mbarrier.arrive.shared::cta.b64 _, [%r4];>> {WAIT}"),
        ),
    ]
}
