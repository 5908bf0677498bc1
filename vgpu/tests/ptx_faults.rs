//! Seeded faults: small programs with one mistake each, and the finding that it must give; and real kernels with one instruction
//! taken out. Programs without the mistake are silent.

mod support;

use tegula_vgpu::error::Error;
use tegula_vgpu::finding::FindingKind::{self, *};
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::{Element, Model, Module, TensorMap};

/// What all programs start with: `%rd1` is `data` (4096 bytes, the first 2048 of them written), `%rd2` is `out` (4096 zero bytes),
/// `%rd3` was freed; `%rd4` and `%rd5` are the thread's own words of `data` and `out`, `%r6` that of `tile`.
const PRELUDE: &str = "
.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u64 gone, .param .align 64 .b8 map[128]) {
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .b32 %r<64>;
.reg .b64 %rd<24>;
.shared .align 1024 .b8 tile[4096];
.shared .align 8 .b64 bar;
.local .align 4 .b8 mine[16];
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [out];
ld.param.u64 %rd3, [gone];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, tile;
mov.u32 %r4, bar;
mad.wide.u32 %rd4, %r1, 4, %rd1;
mad.wide.u32 %rd5, %r1, 4, %rd2;
shl.b32 %r5, %r1, 2;
add.u32 %r6, %r3, %r5;
setp.eq.u32 %p1, %r1, 0;
setp.lt.u32 %p2, %r1, 32;
setp.lt.u32 %p3, %r1, 16;
";

/// Threads 0 to 31 write the first 2048 bytes of `tile`, 64 bytes each, and fence them.
const FILL: &str = "
shl.b32 %r50, %r1, 6;
add.u32 %r50, %r3, %r50;
mov.u32 %r51, 0;
@%p2 st.shared.v4.u32 [%r50], {%r51, %r51, %r51, %r51};
@%p2 st.shared.v4.u32 [%r50+16], {%r51, %r51, %r51, %r51};
@%p2 st.shared.v4.u32 [%r50+32], {%r51, %r51, %r51, %r51};
@%p2 st.shared.v4.u32 [%r50+48], {%r51, %r51, %r51, %r51};
";

/// Four accumulators of a 64x8x16 product of two tiles without swizzle.
const PRODUCT: &str = "
shr.u32 %r52, %r3, 4;
cvt.u64.u32 %rd20, %r52;
or.b64 %rd20, %rd20, 34360262656;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r40, %r41, %r42, %r43}, %rd20, %rd20, 1, 1, 1, 0, 0;
";

/// Zeroes the accumulators.
const ZERO: &str = "mov.u32 %r40, 0;\nmov.u32 %r41, 0;\nmov.u32 %r42, 0;\nmov.u32 %r43, 0;\n";

fn run(body: &str, grid: u32, block: u32, seed: u64) -> (Result<(), Error>, Outcome) {
    let memory = GlobalMemory::default();
    let data = memory.allocate("data", 4096, Fill::Poison).expect("memory");
    let out = memory.allocate("out", 4096, Fill::Zero).expect("memory");
    let gone = memory.allocate("gone", 4096, Fill::Zero).expect("memory");
    memory.write(data, &[0; 2048]).expect("in bounds");
    memory.free(gone).expect("allocated");
    let map = TensorMap::tiled(data, Element::F32, &[32, 16], &[128], &[32, 4]).encode().expect("a map");
    let text = format!("{PRELUDE}{body}\nret;\n}}");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let mut launch = Launch::new("k").grid([grid, 1, 1]).block([block, 1, 1]).seed(seed);
    launch.args = vec![Argument::pointer(data), Argument::pointer(out), Argument::pointer(gone), Argument::bytes(map)];
    module.launch_on(&memory, &launch, &Model::H200, None)
}

/// A program with a mistake: name, grid, block, body, and the finding.
type Fault = (&'static str, u32, u32, String, FindingKind);

fn fault(name: &'static str, grid: u32, block: u32, kind: FindingKind, body: impl Into<String>) -> Fault {
    (name, grid, block, body.into(), kind)
}

fn bounds() -> Vec<Fault> {
    vec![
        fault("read behind the end", 1, 1, OutOfBounds, "ld.global.u32 %r7, [%rd1+4096];"),
        fault("read before the start", 1, 1, OutOfBounds, "ld.global.u32 %r7, [%rd1+-4];"),
        fault("off by one in a loop", 1, 1024, OutOfBounds, "st.global.u32 [%rd5+4], %r1;"),
        fault("null pointer", 1, 1, OutOfBounds, "mov.u64 %rd8, 0; ld.global.u32 %r7, [%rd8+8];"),
        fault(
            "index that overflows",
            1,
            1,
            OutOfBounds,
            "mov.u32 %r7, 0x80000000; mul.wide.s32 %rd8, %r7, 4; add.u64 %rd8, %rd8, %rd2; st.global.u32 [%rd8], %r1;",
        ),
        fault("freed memory", 1, 1, UseAfterFree, "ld.global.u32 %r7, [%rd3];"),
        fault(
            "write to freed memory",
            1,
            32,
            UseAfterFree,
            "mad.wide.u32 %rd8, %r1, 4, %rd3; st.global.u32 [%rd8], %r1;",
        ),
        fault("atomic on freed memory", 1, 1, UseAfterFree, "atom.global.add.u32 %r7, [%rd3], 1;"),
        fault("shared memory", 1, 1, OutOfBounds, "st.shared.u32 [%r3+4104], %r1;"),
        fault(
            "shared memory through a generic address",
            1,
            1,
            OutOfBounds,
            "mov.u64 %rd8, tile; cvta.shared.u64 %rd8, %rd8; st.u32 [%rd8+8192], %r1;",
        ),
        fault("local memory", 1, 1, OutOfBounds, "st.local.u32 [mine+16], %r1;"),
        fault("parameters", 1, 1, OutOfBounds, "ld.param.u32 %r7, [data+1024];"),
        fault("atomic behind the end", 1, 1, OutOfBounds, "red.global.add.u32 [%rd2+4096], 1;"),
        fault(
            "source of an asynchronous copy",
            1,
            1,
            OutOfBounds,
            "cp.async.ca.shared.global [%r3], [%rd1+4096], 4; cp.async.wait_all;",
        ),
        fault(
            "rows of ldmatrix",
            1,
            32,
            OutOfBounds,
            "add.u32 %r7, %r3, 8192; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];",
        ),
    ]
}

fn alignment() -> Vec<Fault> {
    vec![
        fault("word", 1, 1, Misaligned, "ld.global.u32 %r7, [%rd1+2];"),
        fault("vector", 1, 1, Misaligned, "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd1+8];"),
        fault("double in shared memory", 1, 1, Misaligned, "st.shared.u64 [%r3+4], %rd1;"),
        fault("atomic", 1, 1, Misaligned, "atom.global.add.u32 %r7, [%rd2+1], 1;"),
        fault(
            "row of ldmatrix",
            1,
            32,
            Misaligned,
            format!(
                "{FILL} bar.warp.sync -1; add.u32 %r7, %r3, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r8}}, [%r7];"
            ),
        ),
        fault(
            "asynchronous copy",
            1,
            1,
            Misaligned,
            "cp.async.cg.shared.global [%r3+8], [%rd1], 16; cp.async.wait_all;",
        ),
        fault(
            "size of a bulk copy",
            1,
            1,
            Misaligned,
            "mbarrier.init.shared::cta.b64 [%r4], 1; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 20, [%r4];",
        ),
    ]
}

fn initialisation() -> Vec<Fault> {
    vec![
        fault("global memory", 1, 1, UninitializedRead, "ld.global.u32 %r7, [%rd1+2048];"),
        fault(
            "half a word",
            1,
            1,
            UninitializedRead,
            "mov.u16 %h1, 1; st.global.u16 [%rd1+2048], %h1; ld.global.u32 %r7, [%rd1+2048];",
        ),
        fault("atomic", 1, 1, UninitializedRead, "atom.global.add.u32 %r7, [%rd1+2048], 1;"),
        fault("shared memory", 1, 1, UninitializedRead, "ld.shared.u32 %r7, [%r3];"),
        fault(
            "some rows of ldmatrix",
            1,
            32,
            UninitializedRead,
            "@%p3 st.shared.u32 [%r6], %r1; bar.warp.sync -1; and.b32 %r7, %r1, 7; shl.b32 %r7, %r7, 4; add.u32 %r7, %r3, %r7; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];",
        ),
        fault(
            "source of an asynchronous copy",
            1,
            1,
            UninitializedRead,
            "cp.async.ca.shared.global [%r3], [%rd1+2048], 4; cp.async.wait_all;",
        ),
        fault(
            "source of a bulk store",
            1,
            1,
            UninitializedRead,
            "fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        ),
        fault("register", 1, 1, UninitializedRegister, "add.u32 %r7, %r30, 1;"),
        fault("register of some lanes", 1, 32, UninitializedRegister, "@%p3 mov.u32 %r30, 1; add.u32 %r7, %r30, 1;"),
        fault("predicate", 1, 1, UninitializedRegister, "selp.u32 %r7, 1, 2, %p8;"),
        fault("guard", 1, 1, UninitializedRegister, "@%p8 mov.u32 %r7, 1;"),
    ]
}

fn races() -> Vec<Fault> {
    let other = "xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7;";
    vec![
        fault(
            "read after write",
            1,
            64,
            SharedRace,
            format!("{other} st.shared.u32 [%r6], %r1; ld.shared.u32 %r8, [%r7];"),
        ),
        fault(
            "write after read",
            1,
            64,
            SharedRace,
            format!(
                "{other} st.shared.u32 [%r6], %r1; bar.sync 0; ld.shared.u32 %r8, [%r7]; st.shared.u32 [%r6], %r8;"
            ),
        ),
        fault("two values in one place", 1, 64, SharedRace, "st.shared.u32 [%r3], %r1;"),
        fault(
            "stmatrix and a load",
            1,
            64,
            SharedRace,
            format!(
                "{other} and.b32 %r9, %r1, 39; shl.b32 %r9, %r9, 4; and.b32 %r9, %r9, 127; and.b32 %r10, %r1, 32; shl.b32 %r10, %r10, 2; add.u32 %r9, %r9, %r10; add.u32 %r9, %r3, %r9; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {{%r1}}; ld.shared.u32 %r8, [%r7];"
            ),
        ),
        fault(
            "barriers of other warps",
            1,
            64,
            SharedRace,
            format!(
                "{other} st.shared.u32 [%r6], %r1; shr.u32 %r9, %r1, 5; add.u32 %r9, %r9, 1; bar.sync %r9, 32; ld.shared.u32 %r8, [%r7];"
            ),
        ),
        fault(
            "atomic and a store",
            1,
            64,
            SharedRace,
            "@%p2 atom.shared.add.u32 %r8, [%r3+512], 1; @!%p2 st.shared.u32 [%r3+512], %r1; bar.sync 0;",
        ),
        fault(
            "arrive without sync",
            1,
            64,
            SharedRace,
            format!("{other} st.shared.u32 [%r6], %r1; bar.arrive 1, 128; ld.shared.u32 %r8, [%r7];"),
        ),
        fault("two programs write one element", 4, 32, GlobalRace, "add.u32 %r7, %r1, %r2; st.global.u32 [%rd5], %r7;"),
        fault(
            "a program reads what another writes",
            4,
            32,
            GlobalRace,
            "mad.wide.u32 %rd8, %r2, 128, %rd5; st.global.u32 [%rd8], %r1; ld.global.u32 %r7, [%rd5+128];",
        ),
        fault(
            "two warps and global memory",
            1,
            64,
            GlobalRace,
            "st.global.u32 [%rd5], %r1; xor.b32 %r7, %r1, 32; mad.wide.u32 %rd8, %r7, 4, %rd2; ld.global.u32 %r8, [%rd8];",
        ),
        fault(
            "atomics and a plain store",
            4,
            32,
            GlobalRace,
            "setp.eq.u32 %p4, %r2, 3; @%p4 st.global.u32 [%rd2], %r2; @!%p4 red.relaxed.gpu.global.add.u32 [%rd2], 1;",
        ),
        fault(
            "overlapping vectors",
            2,
            1,
            GlobalRace,
            "mad.wide.u32 %rd8, %r2, 8, %rd2; add.u32 %r7, %r2, 1; st.global.v2.u32 [%rd8], {%r7, %r7}; st.global.v2.u32 [%rd2+8], {%r7, %r7};",
        ),
    ]
}

fn asynchrony() -> Vec<Fault> {
    let copy = "cp.async.ca.shared.global [%r6], [%rd4], 4;";
    let barrier = "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0;";
    let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 512, [%r4];";
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], 0; @!%p4 bra W;";
    let store = "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 2048; cp.async.bulk.commit_group;";
    vec![
        fault(
            "copy without a wait",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} cp.async.commit_group; ld.shared.u32 %r7, [%r6];"),
        ),
        fault(
            "wait for too few groups",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r7, [%r6];"),
        ),
        fault(
            "wait without a commit",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} cp.async.wait_group 0; ld.shared.u32 %r7, [%r6];"),
        ),
        fault(
            "store into a destination",
            1,
            32,
            AsyncNotWaited,
            format!("{copy} st.shared.u32 [%r6], %r1; cp.async.wait_all;"),
        ),
        fault("two copies to one place", 1, 32, AsyncNotWaited, format!("{copy} {copy} cp.async.wait_all;")),
        fault(
            "copy waited for, but no barrier",
            1,
            64,
            SharedRace,
            format!(
                "{copy} cp.async.wait_all; bar.sync 1; {copy} cp.async.wait_all; xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7; mov.u32 %r9, 0; ld.shared.u32 %r8, [%r7];"
            ),
        ),
        fault(
            "bulk copy without a wait",
            1,
            32,
            AsyncNotWaited,
            format!(
                "{barrier} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 {bulk} ld.shared.u32 %r7, [%r6]; {wait}"
            ),
        ),
        fault(
            "too many bytes expected",
            1,
            32,
            Deadlock,
            format!("{barrier} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 528; @%p1 {bulk} {wait}"),
        ),
        fault(
            "too few bytes expected",
            1,
            32,
            Deadlock,
            format!("{barrier} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 256; @%p1 {bulk} {wait}"),
        ),
        fault(
            "arrival forgotten",
            1,
            32,
            Deadlock,
            format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 2; bar.sync 0; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 {bulk} {wait}"
            ),
        ),
        fault(
            "one arrival too many",
            1,
            32,
            BarrierObject,
            format!(
                "{barrier} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r4]; @%p1 {bulk} {wait}"
            ),
        ),
        fault("barrier not initialised", 1, 1, BarrierObject, "mbarrier.arrive.shared::cta.b64 _, [%r4];"),
        fault(
            "barrier invalidated twice",
            1,
            1,
            BarrierObject,
            "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.inval.shared::cta.b64 [%r4]; mbarrier.inval.shared::cta.b64 [%r4];",
        ),
        fault("bulk copy on no barrier", 1, 1, BarrierObject, bulk),
        fault(
            "end before the copy",
            1,
            1,
            UnfinishedAsync,
            format!(
                "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; {bulk}"
            ),
        ),
        fault(
            "bulk copy out of bounds",
            1,
            1,
            OutOfBounds,
            format!(
                "mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; add.u64 %rd1, %rd1, 3840; {bulk} {wait}"
            ),
        ),
        fault(
            "bulk copy over data in use",
            1,
            64,
            SharedRace,
            format!(
                "{barrier} st.shared.u32 [%r6], %r1; @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512; @%p1 {bulk} {wait}"
            ),
        ),
        fault(
            "bulk store without a proxy fence",
            1,
            32,
            MissingProxyFence,
            format!("{FILL} bar.sync 0; @%p1 {store} cp.async.bulk.wait_group 0;"),
        ),
        fault(
            "bulk store without a barrier",
            1,
            64,
            SharedRace,
            format!(
                "{FILL} fence.proxy.async.shared::cta; setp.eq.u32 %p5, %r1, 32; @%p5 {store} cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "source overwritten",
            1,
            64,
            AsyncSourceOverwritten,
            format!(
                "{FILL} fence.proxy.async.shared::cta; bar.sync 0; @%p1 {store} bar.sync 0; setp.eq.u32 %p5, %r1, 32; @%p5 st.shared.u32 [%r3], %r1; bar.sync 0; cp.async.bulk.wait_group 0;"
            ),
        ),
        fault(
            "not a tensor map",
            1,
            1,
            BadDescriptor,
            "mbarrier.init.shared::cta.b64 [%r4], 1; mov.u32 %r7, 0; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r7, %r7}], [%r4];",
        ),
        fault(
            "tensor map of another rank",
            1,
            1,
            BadDescriptor,
            "mbarrier.init.shared::cta.b64 [%r4], 1; mov.u32 %r7, 0; mov.u64 %rd8, map; cvta.param.u64 %rd8, %rd8; cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd8, {%r7}], [%r4];",
        ),
        fault(
            "accumulator read early",
            1,
            128,
            MatrixRegistersInFlight,
            format!(
                "{FILL} fence.proxy.async.shared::cta; bar.sync 0; {ZERO} wgmma.fence.sync.aligned; {PRODUCT} wgmma.commit_group.sync.aligned; add.u32 %r7, %r40, 1; wgmma.wait_group.sync.aligned 0;"
            ),
        ),
        fault(
            "accumulator written early",
            1,
            128,
            MatrixRegistersInFlight,
            format!(
                "{FILL} fence.proxy.async.shared::cta; bar.sync 0; {ZERO} wgmma.fence.sync.aligned; {PRODUCT} wgmma.commit_group.sync.aligned; mov.u32 %r40, 1; wgmma.wait_group.sync.aligned 0;"
            ),
        ),
        fault(
            "wgmma without a fence",
            1,
            128,
            MatrixRegistersInFlight,
            format!(
                "{FILL} fence.proxy.async.shared::cta; bar.sync 0; {ZERO} {PRODUCT} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            ),
        ),
        fault(
            "wgmma of unfenced stores",
            1,
            128,
            MissingProxyFence,
            format!(
                "{FILL} bar.sync 0; {ZERO} wgmma.fence.sync.aligned; {PRODUCT} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            ),
        ),
        fault(
            "operand overwritten before the wait",
            1,
            160,
            SharedRace,
            format!(
                "{FILL} fence.proxy.async.shared::cta; bar.sync 0; setp.ge.u32 %p5, %r1, 128; @%p5 bra X; {ZERO} wgmma.fence.sync.aligned; {PRODUCT} wgmma.commit_group.sync.aligned; bar.arrive 1, 160; wgmma.wait_group.sync.aligned 0; ret; X: bar.sync 1, 160; and.b32 %r7, %r5, 127; add.u32 %r7, %r3, %r7; st.shared.u32 [%r7], %r1;"
            ),
        ),
    ]
}

fn divergence() -> Vec<Fault> {
    vec![
        fault("barrier in a branch", 1, 32, BarrierDivergence, "@%p3 bra A; bar.sync 0; bra B; A: bar.sync 0; B:"),
        fault("guarded barrier", 1, 32, BarrierDivergence, "@%p3 bar.sync 0;"),
        fault(
            "barrier with two counts",
            1,
            64,
            BarrierDivergence,
            "@%p2 bra A; bar.sync 1, 64; bra B; A: bar.sync 1, 96; B:",
        ),
        fault("barrier that a warp never reaches", 1, 64, Deadlock, "@%p2 bar.sync 1, 64;"),
        fault("warps wait for each other", 1, 64, Deadlock, "@%p2 bra A; bar.sync 1, 64; bra B; A: bar.sync 2, 64; B:"),
        fault(
            "shuffle in a branch",
            1,
            32,
            WarpDivergence,
            "@%p3 bra A; bar.warp.sync -1; bra B; A: shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1; B:",
        ),
        fault(
            "shuffle from a lane outside",
            1,
            32,
            WarpDivergence,
            "@!%p3 bra A; shfl.sync.idx.b32 %r7, %r1, 20, 31, 0xFFFF; A:",
        ),
        fault("lane outside its own mask", 1, 32, WarpDivergence, "shfl.sync.bfly.b32 %r7, %r1, 1, 31, 0xFFFF;"),
        fault(
            "matrix load in a branch",
            1,
            32,
            WarpDivergence,
            format!(
                "{FILL} bar.warp.sync -1; @%p3 bra A; bar.warp.sync -1; bra B; A: ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r8}}, [%r3]; B:"
            ),
        ),
        fault(
            "guarded matrix product",
            1,
            32,
            WarpDivergence,
            "mov.u32 %r7, 0; @%p3 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {%r7, %r7}, {%r7}, {%r7, %r7, %r7, %r7};",
        ),
    ]
}

#[test]
fn every_seeded_fault_is_found() {
    let faults: Vec<_> = [bounds(), alignment(), initialisation(), races(), asynchrony(), divergence()].concat();
    println!("{} faults", faults.len());
    let mut failures = Vec::new();
    for (name, grid, block, body, kind) in &faults {
        for seed in 1..=3 {
            let (result, outcome) = run(body, *grid, *block, seed);
            if !outcome.findings.iter().any(|finding| finding.kind == *kind) {
                let kinds: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
                failures.push(format!("{name} (seed {seed}): {kinds:?} instead of {kind:?}; {result:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn programs_without_the_fault_are_silent() {
    let other = "xor.b32 %r7, %r5, 128; add.u32 %r7, %r3, %r7;";
    let clean = [
        ("bounds", 1, 1024, "st.global.u32 [%rd5], %r1;".to_owned()),
        ("barrier", 1, 64, format!("{other} st.shared.u32 [%r6], %r1; bar.sync 0; ld.shared.u32 %r8, [%r7]; bar.sync 0; st.shared.u32 [%r6], %r8;")),
        ("named barriers", 1, 64, format!("{other} st.shared.u32 [%r6], %r1; bar.sync 3, 64; ld.shared.u32 %r8, [%r7];")),
        ("producer and consumer", 1, 64, format!("@!%p2 bra C; st.shared.u32 [%r6], %r1; bar.arrive 1, 64; ret; C: {other} bar.sync 1, 64; ld.shared.u32 %r8, [%r7];")),
        ("the same value twice", 2, 64, "mov.u32 %r7, 5; st.shared.u32 [%r3], %r7; st.global.u32 [%rd2], %r7;".to_owned()),
        ("atomics", 4, 64, "atom.shared.add.u32 %r8, [%r4], 1; red.relaxed.gpu.global.add.u32 [%rd2], 1;".replace("[%r4]", "[%r6]").replace("atom.shared", "st.shared.u32 [%r6], 0; atom.shared")),
        ("divergent lanes meet", 1, 32, "@%p3 bra A; mov.u32 %r7, 1; bra B; A: mov.u32 %r7, 2; B: bar.sync 0; shfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;".to_owned()),
        ("half a warp shuffles", 1, 32, "@!%p3 bra A; shfl.sync.bfly.b32 %r7, %r1, 1, 31, 0xFFFF; A:".to_owned()),
        ("lanes exit before a barrier", 1, 64, "@%p3 exit; bar.sync 0;".to_owned()),
        ("copy", 1, 64, format!("{other} cp.async.ca.shared.global [%r6], [%rd4], 4; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r8, [%r7];")),
        ("release and acquire", 1, 64, "@!%p2 bra C; st.global.u32 [%rd5], %r1; bar.warp.sync -1; fence.acq_rel.gpu; @%p1 st.release.gpu.global.u32 [%rd2+2048], 1; ret; C: ld.acquire.gpu.global.u32 %r7, [%rd2+2048]; setp.eq.u32 %p4, %r7, 0; @%p4 bra C; ld.global.u32 %r8, [%rd5+-128];".to_owned()),
        ("wgmma", 1, 128, format!("{FILL} fence.proxy.async.shared::cta; bar.sync 0; {ZERO} wgmma.fence.sync.aligned; {PRODUCT} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %r7, %r40, 1;")),
    ];
    let mut failures = Vec::new();
    for (name, grid, block, body) in &clean {
        // The atomics' memory must be written first.
        for seed in 1..=8 {
            let (result, outcome) = run(body, *grid, *block, seed);
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
    let (_, outcome) = run(body, 1, 64, 1);
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
    assert_eq!(serde_json::from_str::<tegula_vgpu::finding::Finding>(&json).expect("a finding"), *finding);
}
