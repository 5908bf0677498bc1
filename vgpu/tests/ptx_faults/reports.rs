//! What a finding says, and programs that do unusual things rightly.

use super::harness::{fault, run};
use tegula_vgpu::finding::{Finding, FindingKind::*};

#[test]
fn correct_programs_are_silent() {
    let other = "xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7;";
    let clean = [
        ("producer and consumer", 1, 64, format!("@!%p2 bra C; st.shared.u32 [%r6], %r1; bar.arrive 1, 64; ret; C: {other} bar.sync 1, 64; ld.shared.u32 %r8, [%r7];")),
        ("the same value twice", 1, 64, "mov.u32 %r7, 5; st.shared.u32 [%r3], %r7; st.global.u32 [%rd2], %r7;".to_owned()),
        ("atomics", 4, 64, "st.shared.u32 [%r6], 0; atom.shared.add.u32 %r8, [%r6], 1; red.relaxed.gpu.global.add.u32 [%rd2], 1;".to_owned()),
        ("divergent lanes meet", 1, 32, "@%p3 bra A; mov.u32 %r7, 1; bra B; A: mov.u32 %r7, 2; B: bar.sync 0; shfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;".to_owned()),
        ("lanes exit before a barrier", 1, 64, "@%p3 exit; bar.sync 0;".to_owned()),
        ("release and acquire", 1, 64, "@!%p2 bra C; st.global.u32 [%rd5], %r1; bar.warp.sync -1; fence.acq_rel.gpu; @%p1 st.release.gpu.global.u32 [%rd2+2048], 1; ret; C: ld.acquire.gpu.global.u32 %r7, [%rd2+2048]; setp.eq.u32 %p4, %r7, 0; @%p4 bra C; ld.global.u32 %r8, [%rd5+-128];".to_owned()),
        // A look at the barrier, work of one's own, then the wait.
        ("peek before the wait", 1, 32, "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4]; mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @%p4 bra A; W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W; A: ld.shared.u32 %r7, [%r6];".to_owned()),
        // A phase that is over when the barrier is made passes at once.
        ("wait for the phase before the first", 1, 32, "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0; mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 1; @%p4 bra A; trap; A:".to_owned()),
        // Another warp has waited, and a barrier passes that on.
        ("a phase known to be over", 1, 64, "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0; @!%p2 bra B; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r4]; W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W; B: bar.sync 0; mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r4], 0; @%p4 bra A; trap; A:".to_owned()),
    ];
    let mut failures = Vec::new();
    for (name, grid, block, body) in clean {
        // No finding is expected of it, so that the kind does not matter.
        let program = fault(name, grid, block, Deadlock, body);
        for seed in 1..=8 {
            let (result, outcome) = run(&program, false, seed);
            if let Some(finding) = outcome.findings.first() {
                failures.push(format!("{name} (seed {seed}): {finding}"));
            }
            if let Err(error) = result {
                failures.push(format!("{name} (seed {seed}): {error}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_finding_names_both_sides() {
    let body = "xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7;\nst.shared.u32 [%r6], %r1;\nld.shared.u32 %r8, [%r7];";
    let (_, outcome) = run(&fault("race", 1, 64, SharedRace, body), true, 1);
    let finding = outcome.findings.iter().find(|finding| finding.kind == SharedRace).expect("a race");
    let other = finding.other.as_ref().expect("the other access");
    let mut texts = [finding.instruction.text.as_str(), other.instruction.text.as_str()];
    texts.sort_unstable();
    assert_eq!(texts, ["ld.shared.u32 %r8, [%r7]", "st.shared.u32 [%r6], %r1"]);
    assert_ne!(finding.agent.warp, other.agent.warp);
    let address = finding.address.as_ref().expect("an address");
    assert_eq!(address.allocation.as_deref(), Some("tile"));
    assert_eq!(address.offset % 128, i64::from(finding.agent.lane.expect("a lane")) * 4);
    // It reads back from JSON.
    let json = serde_json::to_string(finding).expect("JSON");
    assert_eq!(serde_json::from_str::<Finding>(&json).expect("a finding"), *finding);
}

#[test]
fn a_wait_that_is_not_repeated_is_named() {
    let body = "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4];\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0;\nld.shared.u32 %r7, [%r6];";
    let (_, outcome) = run(&fault("wait", 1, 32, AsyncNotWaited, body), true, 1);
    let finding = outcome.findings.iter().find(|finding| finding.kind == AsyncNotWaited).expect("a finding");
    let line = finding.instruction.location.line.expect("a line");
    assert!(finding.message.contains(&format!("the wait at {}:1 gave false", line - 1)), "{}", finding.message);
}
