//! `wgmma`: missing fences, commits and waits, registers and operands touched while a product is under way.

use super::harness::{FILL, Fault, fault};
use tegula_vgpu::finding::FindingKind::*;

/// The descriptor of a tile without swizzle at `tile`.
const DESCRIPTOR: &str = "shr.u32 %r52, %r3, 4; cvt.u64.u32 %rd20, %r52; or.b64 %rd20, %rd20, 34360262656;";
/// Four accumulators of a 64x8x16 product of two tiles.
const PRODUCT: &str =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r40, %r41, %r42, %r43}, %rd20, %rd20, 1, 1, 1, 0, 0;";
/// The same with A in registers.
const IN_REGISTERS: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r40, %r41, %r42, %r43}, {%r44, %r45, %r46, %r47}, %rd20, 1, 1, 1, 0;";
const ZERO: &str = "mov.u32 %r40, 0; mov.u32 %r41, 0; mov.u32 %r42, 0; mov.u32 %r43, 0; mov.u32 %r44, 0; mov.u32 %r45, 0; mov.u32 %r46, 0; mov.u32 %r47, 0;";
const FENCE: &str = "wgmma.fence.sync.aligned;";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

pub fn faults() -> Vec<Fault> {
    let start = format!("{FILL} fence.proxy.async.shared::cta; bar.sync 0; {DESCRIPTOR} {ZERO}");
    let read = "add.u32 %r7, %r40, 1;";
    vec![
        fault(
            "accumulator read early",
            1,
            128,
            MatrixRegistersInFlight,
            format!("{start} {FENCE} {PRODUCT} {COMMIT} <<{read} {WAIT}||{WAIT} {read}>>"),
        ),
        fault(
            "accumulator written early",
            1,
            128,
            MatrixRegistersInFlight,
            format!("{start} {FENCE} {PRODUCT} {COMMIT} <<mov.u32 %r40, 1; {WAIT}||{WAIT} mov.u32 %r40, 1;>>"),
        ),
        fault(
            "no wait at all",
            1,
            128,
            MatrixRegistersInFlight,
            format!("{start} {FENCE} {PRODUCT} {COMMIT} <<||{WAIT}>> st.global.u32 [%rd5], %r40;"),
        ),
        fault(
            "group not committed",
            1,
            128,
            MatrixRegistersInFlight,
            format!("{start} {FENCE} {PRODUCT} <<||{COMMIT}>> {WAIT} {read}"),
        ),
        fault(
            "wait for one group too few",
            1,
            128,
            MatrixRegistersInFlight,
            format!("{start} {FENCE} {PRODUCT} {COMMIT} wgmma.wait_group.sync.aligned <<1||0>>; {read}"),
        ),
        fault(
            "operand registers overwritten early",
            1,
            128,
            MatrixRegistersInFlight,
            format!("{start} {FENCE} {IN_REGISTERS} {COMMIT} <<mov.u32 %r45, 1; {WAIT}||{WAIT} mov.u32 %r45, 1;>>"),
        ),
        fault("no fence", 1, 128, MatrixRegistersInFlight, format!("{start} <<||{FENCE}>> {PRODUCT} {COMMIT} {WAIT}")),
        fault(
            "no fence after registers were written again",
            1,
            128,
            MatrixRegistersInFlight,
            format!(
                "{start} {FENCE} {IN_REGISTERS} {COMMIT} {WAIT} mov.u32 %r44, 1; <<||{FENCE}>> {IN_REGISTERS} {COMMIT} {WAIT}"
            ),
        ),
        fault(
            "unfenced stores",
            1,
            128,
            MissingProxyFence,
            format!(
                "{FILL} <<||fence.proxy.async.shared::cta;>> bar.sync 0; {DESCRIPTOR} {ZERO} {FENCE} {PRODUCT} {COMMIT} {WAIT}"
            ),
        ),
        fault(
            "stores without a barrier",
            1,
            128,
            SharedRace,
            format!(
                "{FILL} fence.proxy.async.shared::cta; <<||bar.sync 0;>> {DESCRIPTOR} {ZERO} {FENCE} {PRODUCT} {COMMIT} {WAIT}"
            ),
        ),
        fault(
            "operand overwritten before the wait",
            1,
            160,
            SharedRace,
            format!(
                "{start} setp.ge.u32 %p5, %r1, 128; @%p5 bra X; {FENCE} {PRODUCT} {COMMIT} <<bar.arrive 1, 160; {WAIT}||{WAIT} bar.arrive 1, 160;>> ret; X: bar.sync 1, 160; and.b32 %r7, %r5, 127; add.u32 %r7, %r3, %r7; st.shared.u32 [%r7], %r1;"
            ),
        ),
        fault(
            "next tile loaded into an operand still read",
            1,
            128,
            SharedRace,
            format!(
                "{start} @%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0; {FENCE} {PRODUCT} {COMMIT} <<||{WAIT}>> bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4]; W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W; {WAIT}"
            ),
        ),
        fault(
            "product of a tile that has not arrived",
            1,
            128,
            AsyncNotWaited,
            format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; {start} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4]; bar.sync 0; <<||V: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra V;>> {FENCE} {PRODUCT} {COMMIT} W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W; {WAIT}"
            ),
        ),
        fault(
            "descriptor outside shared memory",
            1,
            128,
            OutOfBounds,
            format!("{start} add.u64 %rd20, %rd20, <<512||0>>; {FENCE} {PRODUCT} {COMMIT} {WAIT}"),
        ),
    ]
}
