//! Barriers and collective operations that not all their threads reach, or that they reach apart.

use super::harness::{FILL, Fault, fault};
use tegula_vgpu::finding::FindingKind::*;

pub fn faults() -> Vec<Fault> {
    vec![
        fault(
            "barrier in a branch",
            1,
            32,
            BarrierDivergence,
            "@%p3 bra A; <<bar.sync 0;||>> bra B; A: <<bar.sync 0;||>> B: <<||bar.sync 0;>>",
        ),
        fault("guarded barrier", 1, 32, BarrierDivergence, "<<@%p3||>> bar.sync 0;"),
        fault(
            "barrier with two counts",
            1,
            64,
            BarrierDivergence,
            "@%p2 bra A; bar.sync 1, 64; bra B; A: bar.sync 1, <<96||64>>; B:",
        ),
        fault("barrier that a warp never reaches", 1, 64, Deadlock, "<<@%p2||>> bar.sync 1, 64;"),
        fault(
            "warps wait for each other",
            1,
            64,
            Deadlock,
            "@%p2 bra A; bar.sync 1, 64; bra B; A: bar.sync <<2||1>>, 64; B:",
        ),
        fault(
            "loops of different lengths around a barrier",
            1,
            64,
            Deadlock,
            "shr.u32 %r7, %r1, 5; add.u32 %r7, <<%r7||0>>, 2; L: bar.sync 1, 64; sub.u32 %r7, %r7, 1; setp.ne.u32 %p4, %r7, 0; @%p4 bra L;",
        ),
        fault(
            "shuffle in a branch",
            1,
            32,
            WarpDivergence,
            "@%p3 bra A; bar.warp.sync <<-1||0xFFFF0000>>; bra B; A: shfl.sync.bfly.b32 %r7, %r1, 1, 31, <<-1||0xFFFF>>; B:",
        ),
        fault(
            "shuffle from a lane outside",
            1,
            32,
            WarpDivergence,
            "@!%p3 bra A; shfl.sync.idx.b32 %r7, %r1, <<20||10>>, 31, 0xFFFF; A:",
        ),
        fault(
            "lane outside its own mask",
            1,
            32,
            WarpDivergence,
            "shfl.sync.bfly.b32 %r7, %r1, 1, 31, <<0xFFFF||-1>>;",
        ),
        fault(
            "vote in a branch",
            1,
            32,
            WarpDivergence,
            "@%p3 bra A; bar.warp.sync <<-1||0xFFFF0000>>; bra B; A: vote.sync.ballot.b32 %r7, %p1, <<-1||0xFFFF>>; B:",
        ),
        fault(
            "matrix load in a branch",
            1,
            32,
            WarpDivergence,
            format!(
                "{FILL} bar.warp.sync -1; <<@%p3 bra A; bar.warp.sync -1; bra B; A:||>> ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r8}}, [%r3]; B:"
            ),
        ),
        fault(
            "guarded matrix product",
            1,
            32,
            WarpDivergence,
            "mov.u32 %r7, 0; <<@%p3||>> mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {%r7, %r7}, {%r7}, {%r7, %r7, %r7, %r7};",
        ),
    ]
}
