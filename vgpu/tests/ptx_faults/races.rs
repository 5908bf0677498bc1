//! Accesses without an order between them, in shared and in global memory.

use super::harness::{Fault, fault};
use tegula_vgpu::finding::FindingKind::*;

pub fn faults() -> Vec<Fault> {
    let other = "xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7;";
    vec![
        fault(
            "read after write",
            1,
            64,
            SharedRace,
            format!("{other} st.shared.u32 [%r6], %r1; <<||bar.sync 0;>> ld.shared.u32 %r8, [%r7];"),
        ),
        fault(
            "write after read",
            1,
            64,
            SharedRace,
            format!(
                "{other} st.shared.u32 [%r6], %r1; bar.sync 0; ld.shared.u32 %r8, [%r7]; <<||bar.sync 0;>> st.shared.u32 [%r6], %r8;"
            ),
        ),
        fault("two values in one place", 1, 64, SharedRace, "st.shared.u32 [%r3], <<%r1||7>>;"),
        fault(
            "stmatrix and a load",
            1,
            64,
            SharedRace,
            format!(
                "{other} and.b32 %r9, %r1, 39; shl.b32 %r9, %r9, 4; and.b32 %r9, %r9, 127; and.b32 %r10, %r1, 32; shl.b32 %r10, %r10, 2; add.u32 %r9, %r9, %r10; add.u32 %r9, %r3, %r9; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {{%r1}}; <<||bar.sync 0;>> ld.shared.u32 %r8, [%r7];"
            ),
        ),
        fault(
            "barriers of other warps",
            1,
            64,
            SharedRace,
            format!(
                "{other} st.shared.u32 [%r6], %r1; shr.u32 %r9, %r1, 5; add.u32 %r9, %r9, 1; bar.sync <<%r9, 32||1, 64>>; ld.shared.u32 %r8, [%r7];"
            ),
        ),
        fault(
            "atomic and a store",
            1,
            64,
            SharedRace,
            "@%p1 st.shared.u32 [%r3+512], 0; bar.sync 0; @%p2 atom.shared.add.u32 %r8, [%r3+512], 1; @!%p2 <<st.shared.u32 [%r3+512], %r1||red.shared.add.u32 [%r3+512], %r1>>; bar.sync 0;",
        ),
        fault(
            "arrive without sync",
            1,
            64,
            SharedRace,
            format!("{other} st.shared.u32 [%r6], %r1; bar.<<arrive||sync>> 1, <<128||64>>; ld.shared.u32 %r8, [%r7];"),
        ),
        fault(
            "one buffer where there must be two",
            1,
            64,
            SharedRace,
            format!(
                "mov.u32 %r9, 0; {other} L: st.shared.u32 [%r6], %r9; bar.sync 0; ld.shared.u32 %r8, [%r7]; add.u32 %r9, %r9, 1; <<||xor.b32 %r6, %r6, 256; xor.b32 %r7, %r7, 256;>> setp.lt.u32 %p4, %r9, 4; @%p4 bra L;"
            ),
        ),
        fault(
            "two programs write one element",
            4,
            32,
            GlobalRace,
            "add.u32 %r7, %r1, %r2; mad.wide.u32 %rd8, %r2, <<0||128>>, %rd5; st.global.u32 [%rd8], %r7;",
        ),
        fault(
            "one element of overlap",
            4,
            32,
            GlobalRace,
            "add.u32 %r7, %r1, %r2; mad.wide.u32 %rd8, %r2, <<124||128>>, %rd5; st.global.u32 [%rd8], %r7;",
        ),
        fault(
            "a program reads what another writes",
            4,
            32,
            GlobalRace,
            "mad.wide.u32 %rd8, %r2, 128, %rd5; st.global.u32 [%rd8], %r1; ld.global.u32 %r7, [<<%rd5+128||%rd8>>];",
        ),
        fault(
            "two warps and global memory",
            1,
            64,
            GlobalRace,
            "st.global.u32 [%rd5], %r1; xor.b32 %r7, %r1, 32; mad.wide.u32 %rd8, %r7, 4, %rd2; <<||bar.sync 0;>> ld.global.u32 %r8, [%rd8];",
        ),
        fault(
            "atomics and a plain store",
            4,
            32,
            GlobalRace,
            "setp.eq.u32 %p4, %r2, 3; @%p4 <<st.global.u32 [%rd2], %r2||red.relaxed.gpu.global.add.u32 [%rd2], 2>>; @!%p4 red.relaxed.gpu.global.add.u32 [%rd2], 1;",
        ),
        fault(
            "overlapping vectors",
            2,
            1,
            GlobalRace,
            "mad.wide.u32 %rd8, %r2, 8, %rd2; add.u32 %r7, %r2, 1; st.global.v2.u32 [%rd8], {%r7, %r7}; <<st.global.v2.u32 [%rd2+8], {%r7, %r7};||>>",
        ),
        fault(
            "a flag without release and acquire",
            2,
            32,
            GlobalRace,
            "setp.eq.u32 %p4, %r2, 1; @%p4 bra C; st.global.u32 [%rd5], %r1; bar.warp.sync -1; <<@%p1 st.relaxed.gpu.global.u32 [%rd2+2048], 1||@%p1 st.release.gpu.global.u32 [%rd2+2048], 1>>; ret; C: ld.<<relaxed||acquire>>.gpu.global.u32 %r7, [%rd2+2048]; setp.eq.u32 %p5, %r7, 0; @%p5 bra C; ld.global.u32 %r8, [%rd5];",
        ),
        fault(
            "bulk stores of two programs to one place",
            2,
            32,
            GlobalRace,
            "st.shared.u32 [%r6], %r2; fence.proxy.async.shared::cta; bar.sync 0; mad.wide.u32 %rd8, %r2, <<0||128>>, %rd2; @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd8], [%r3], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        ),
    ]
}
