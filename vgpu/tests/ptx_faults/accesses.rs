//! Single accesses: bounds, alignment, memory and registers that nobody wrote.

use super::harness::{FILL, Fault, fault};
use tegula_vgpu::finding::FindingKind::*;

pub fn bounds() -> Vec<Fault> {
    let expect = "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512;";
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W;";
    vec![
        fault("read behind the end", 1, 1, OutOfBounds, "ld.global.u32 %r7, [%rd1+<<4096||2044>>];"),
        fault("read before the start", 1, 1, OutOfBounds, "ld.global.u32 %r7, [%rd1+<<-4||4>>];"),
        fault("one thread too far", 1, 1024, OutOfBounds, "st.global.u32 [%rd5+<<4||0>>], %r1;"),
        fault(
            "one iteration too many",
            1,
            1,
            OutOfBounds,
            "mov.u32 %r7, 0; L: mad.wide.u32 %rd8, %r7, 4, %rd2; st.global.u32 [%rd8], %r1; add.u32 %r7, %r7, 1; setp.<<le||lt>>.u32 %p4, %r7, 1024; @%p4 bra L;",
        ),
        fault("null pointer", 1, 1, OutOfBounds, "mov.u64 %rd8, <<0||%rd1>>; ld.global.u32 %r7, [%rd8+8];"),
        fault(
            "index that overflows",
            1,
            1,
            OutOfBounds,
            "mov.u32 %r7, <<0x80000000||3>>; mul.wide.s32 %rd8, %r7, 4; add.u64 %rd8, %rd8, %rd2; st.global.u32 [%rd8], %r1;",
        ),
        fault("freed memory", 1, 1, UseAfterFree, "ld.global.u32 %r7, [<<%rd3||%rd1>>];"),
        fault(
            "write to freed memory",
            1,
            32,
            UseAfterFree,
            "mad.wide.u32 %rd8, %r1, 4, <<%rd3||%rd2>>; st.global.u32 [%rd8], %r1;",
        ),
        fault("atomic on freed memory", 1, 1, UseAfterFree, "atom.global.add.u32 %r7, [<<%rd3||%rd2>>], 1;"),
        fault("shared memory", 1, 1, OutOfBounds, "st.shared.u32 [%r3+<<4104||4092>>], %r1;"),
        fault(
            "shared memory through a generic address",
            1,
            1,
            OutOfBounds,
            "mov.u64 %rd8, tile; cvta.shared.u64 %rd8, %rd8; st.u32 [%rd8+<<8192||0>>], %r1;",
        ),
        fault("local memory", 1, 1, OutOfBounds, "st.local.u32 [mine+<<16||12>>], %r1;"),
        fault("parameters", 1, 1, OutOfBounds, "ld.param.u32 %r7, [data+<<1024||4>>];"),
        fault("atomic behind the end", 1, 1, OutOfBounds, "red.global.add.u32 [%rd2+<<4096||4092>>], 1;"),
        fault(
            "vector behind the end",
            1,
            256,
            OutOfBounds,
            "mad.wide.u32 %rd8, %r1, 16, %rd2; st.global.v4.u32 [%rd8+<<16||0>>], {%r1, %r1, %r1, %r1};",
        ),
        fault(
            "source of an asynchronous copy",
            1,
            1,
            OutOfBounds,
            "cp.async.ca.shared.global [%r3], [%rd1+<<4096||2044>>], 4; cp.async.wait_all;",
        ),
        fault(
            "rows of ldmatrix",
            1,
            32,
            OutOfBounds,
            format!(
                "{FILL} bar.warp.sync -1; add.u32 %r7, %r3, <<8192||0>>; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r8}}, [%r7];"
            ),
        ),
        fault(
            "rows of stmatrix",
            1,
            32,
            OutOfBounds,
            "shl.b32 %r7, %r1, 4; add.u32 %r7, %r7, <<4096||0>>; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r7], {%r1, %r1, %r1, %r1};",
        ),
        fault(
            "source of a bulk copy",
            1,
            1,
            OutOfBounds,
            format!(
                "{expect} add.u64 %rd1, %rd1, <<3840||1024>>; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4]; {wait}"
            ),
        ),
        fault(
            "destination of a bulk store",
            1,
            32,
            OutOfBounds,
            format!(
                "{FILL} fence.proxy.async.shared::cta; bar.sync 0; @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2+<<3072||2048>>], [%r3], 2048; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "box of a tensor copy behind the end of shared memory",
            1,
            1,
            OutOfBounds,
            format!(
                "{expect} mov.u32 %r7, 0; mov.u64 %rd8, map; cvta.param.u64 %rd8, %rd8; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+<<3968||3584>>], [%rd8, {{%r7, %r7}}], [%r4]; {wait}"
            ),
        ),
    ]
}

pub fn alignment() -> Vec<Fault> {
    let bulk = |source: &str, bytes: &str| {
        format!(
            "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 32; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [{source}], {bytes}, [%r4]; W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W;"
        )
    };
    vec![
        fault("word", 1, 1, Misaligned, "ld.global.u32 %r7, [%rd1+<<2||4>>];"),
        fault("vector", 1, 1, Misaligned, "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd1+<<8||16>>];"),
        fault("vector in shared memory", 1, 1, Misaligned, "st.shared.v2.u32 [%r3+<<4||8>>], {%r1, %r1};"),
        fault("double in shared memory", 1, 1, Misaligned, "st.shared.u64 [%r3+<<4||8>>], %rd1;"),
        fault("atomic", 1, 1, Misaligned, "atom.global.add.u32 %r7, [%rd2+<<1||4>>], 1;"),
        fault(
            "row of ldmatrix",
            1,
            32,
            Misaligned,
            format!(
                "{FILL} bar.warp.sync -1; add.u32 %r7, %r3, <<8||16>>; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r8}}, [%r7];"
            ),
        ),
        fault(
            "asynchronous copy",
            1,
            1,
            Misaligned,
            "cp.async.cg.shared.global [%r3+<<8||16>>], [%rd1], 16; cp.async.wait_all;",
        ),
        fault("size of a bulk copy", 1, 1, Misaligned, bulk("%rd1", "<<20||32>>")),
        fault("source of a bulk copy", 1, 1, Misaligned, bulk("%rd1+<<8||16>>", "32")),
        fault(
            "destination of a tensor copy",
            1,
            1,
            Misaligned,
            "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; mov.u32 %r7, 0; mov.u64 %rd8, map; cvta.param.u64 %rd8, %rd8; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+<<64||128>>], [%rd8, {%r7, %r7}], [%r4]; W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W;",
        ),
        fault("memory barrier", 1, 1, Misaligned, "mbarrier.init.shared::cta.b64 [%r3+<<4||8>>], 1;"),
    ]
}

pub fn initialisation() -> Vec<Fault> {
    vec![
        fault("global memory", 1, 1, UninitializedRead, "ld.global.u32 %r7, [%rd1+<<2048||2044>>];"),
        fault(
            "half a word",
            1,
            1,
            UninitializedRead,
            "mov.u16 %h1, 1; st.global.u16 [%rd1+2048], %h1; <<||st.global.u16 [%rd1+2050], %h1;>> ld.global.u32 %r7, [%rd1+2048];",
        ),
        fault("atomic", 1, 1, UninitializedRead, "atom.global.add.u32 %r7, [%rd1+<<2048||2044>>], 1;"),
        fault("shared memory", 1, 1, UninitializedRead, "<<||st.shared.u32 [%r3], %r1;>> ld.shared.u32 %r7, [%r3];"),
        fault(
            "some rows of ldmatrix",
            1,
            32,
            UninitializedRead,
            "<<@%p3||>> st.shared.u32 [%r6], %r1; bar.warp.sync -1; and.b32 %r7, %r1, 7; shl.b32 %r7, %r7, 4; add.u32 %r7, %r3, %r7; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];",
        ),
        fault(
            "source of an asynchronous copy",
            1,
            1,
            UninitializedRead,
            "cp.async.ca.shared.global [%r3], [%rd1+<<2048||0>>], 4; cp.async.wait_all;",
        ),
        fault(
            "source of a bulk store",
            1,
            1,
            UninitializedRead,
            "<<||st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r1};>> fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        ),
        // Of a vector only what is used counts as read.
        fault(
            "last part of a vector",
            1,
            1,
            UninitializedRead,
            "st.shared.v2.u32 [%r3], {%r1, %r1}; st.shared.u32 [%r3+8], %r1; ld.shared.v4.u32 {%r40, %r41, %r42, %r43}, [%r3]; add.u32 %r7, %r40, %r41; add.u32 %r8, %r42, <<%r43||%r7>>;",
        ),
        fault("register", 1, 1, UninitializedRegister, "<<||mov.u32 %r30, 0;>> add.u32 %r7, %r30, 1;"),
        fault(
            "register of some lanes",
            1,
            32,
            UninitializedRegister,
            "<<@%p3||>> mov.u32 %r30, 1; add.u32 %r7, %r30, 1;",
        ),
        // What nothing writes is padding where vectors are packed.
        fault(
            "packed register of some lanes",
            1,
            32,
            UninitializedRegister,
            "mov.u32 %r31, 7; <<@%p3||>> mov.u32 %r32, 7; prmt.b32 %r8, %r31, %r33, 0x3340; prmt.b32 %r7, %r8, %r32, 0x5410;",
        ),
        fault("predicate", 1, 1, UninitializedRegister, "selp.u32 %r7, 1, 2, <<%p8||%p1>>;"),
        fault("guard", 1, 1, UninitializedRegister, "@<<%p8||%p1>> mov.u32 %r7, 1;"),
        fault(
            "accumulator of a product",
            1,
            32,
            UninitializedRegister,
            "mov.u32 %r7, 0; <<||mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;>> mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {%r7, %r7}, {%r7}, {%r10, %r11, %r12, %r13};",
        ),
    ]
}
