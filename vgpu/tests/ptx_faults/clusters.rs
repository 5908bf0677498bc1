//! Clusters: shared memory of other programs, their barriers and their ends.

use super::harness::{Fault, fault};
use tegula_vgpu::finding::FindingKind::*;

/// The rank, the other one, and the thread's word in its shared memory.
const OTHER: &str = "mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1; mapa.shared::cluster.u32 %r22, %r6, %r21;";
const ALL: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
const LOAD: &str = "ld.shared::cluster.u32 %r7, [%r22];";

pub fn faults() -> Vec<Fault> {
    vec![
        fault(
            "remote read without the cluster's barrier",
            2,
            32,
            SharedRace,
            format!("{OTHER} st.shared.u32 [%r6], %r1; <<bar.sync 0;||{ALL}>> {LOAD} {ALL}"),
        )
        .clustered(),
        fault(
            "remote write without the cluster's barrier",
            2,
            32,
            SharedRace,
            format!(
                "{OTHER} add.u32 %r8, %r1, %r20; st.shared.u32 [%r6], %r8; <<bar.sync 0;||{ALL}>> st.shared::cluster.u32 [%r22], %r1; {ALL}"
            ),
        )
        .clustered(),
        fault(
            "read of a program that has ended",
            2,
            32,
            UseAfterFree,
            format!(
                "{OTHER} st.shared.u32 [%r6], %r1; {ALL} setp.eq.u32 %p4, %r20, 0; @%p4 bra E; mov.u32 %r8, 0; L: add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 4000; @%p5 bra L; {LOAD} E: <<||{ALL}>>"
            ),
        )
        .clustered(),
        fault(
            "remote arrival before the barrier is known",
            2,
            32,
            BarrierObject,
            format!(
                "{OTHER} mapa.shared::cluster.u32 %r23, %r4, %r21; @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; <<bar.sync 0;||{ALL}>> @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r23]; {ALL}"
            ),
        )
        .clustered(),
        fault(
            "multicast that one program does not expect",
            2,
            32,
            Deadlock,
            format!(
                "{OTHER} @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; {ALL} <<@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 1024;||@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512;>> setp.eq.u32 %p4, %r20, 0; and.pred %p4, %p4, %p1; mov.u16 %h1, 3; @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1], 512, [%r4], %h1; W: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0; @!%p5 bra W; ld.shared.u32 %r8, [%r6]; {ALL}"
            ),
        )
        .clustered(),
        fault(
            "arrival at the cluster's barrier twice",
            2,
            32,
            BarrierDivergence,
            "barrier.cluster.arrive.aligned; <<barrier.cluster.arrive.aligned;||>> barrier.cluster.wait.aligned;",
        )
        .clustered(),
        fault(
            "asynchronous store not waited for",
            2,
            32,
            AsyncNotWaited,
            format!(
                "{OTHER} mapa.shared::cluster.u32 %r23, %r4, %r21; @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; {ALL} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r22], %r1, [%r23]; {ALL} <<ld.shared.u32 %r8, [%r6];||>> W: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0; @!%p5 bra W; ld.shared.u32 %r8, [%r6]; {ALL}"
            ),
        )
        .clustered(),
        fault(
            "asynchronous reduction of which half is expected",
            2,
            32,
            AsyncNotWaited,
            format!(
                "{OTHER} mapa.shared::cluster.u32 %r23, %r4, %r21; st.shared.u32 [%r6], 0; @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; {ALL} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], <<64||128>>; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r22], %r1, [%r23]; W: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0; @!%p5 bra W; ld.shared.u32 %r8, [%r6]; {ALL}"
            ),
        )
        .clustered(),
    ]
}
