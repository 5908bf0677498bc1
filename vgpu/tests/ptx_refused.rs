//! What the machine does not have is refused by name, with its place and the architecture that has it.

use tegula_vgpu::error::Error;
use tegula_vgpu::memory::GlobalMemory;
use tegula_vgpu::ptx::Module;

/// The refusal of an instruction that stands in line 7.
fn refusal(instruction: &str) -> String {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {{
        .reg .pred %p<4>; .reg .b16 %h<40>; .reg .b32 %r<99>; .reg .b64 %rd<40>; .reg .b128 %q<4>;
        .shared .align 1024 .b8 sm[4096];
        {instruction}
        ret;\n}}"
    );
    let memory = GlobalMemory::default();
    let module = Module::load(&text, Some("k.ptx"), &memory).expect("it parses");
    let info = module.survey("k").expect("it can be surveyed");
    assert_eq!(info.unsupported.len(), 1, "{instruction}");
    match module.prepare("k") {
        Err(Error::Unsupported { instruction: named, location, reason }) => {
            assert_eq!((location.line, location.column), (Some(7), Some(9)), "{instruction}");
            assert_eq!(location.file.as_deref(), Some("k.ptx"));
            assert_eq!(named.split(' ').next(), instruction.split(' ').next());
            reason
        }
        other => panic!("{instruction}: {other:?}"),
    }
}

#[test]
fn later_architectures() {
    for (architecture, instruction) in [
        (
            "sm_120a",
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%r0,%r1,%r2,%r3},{%r4,%r5,%r6,%r7},{%r8,%r9},{%r0,%r1,%r2,%r3},%r20,{%h0,%h1},%r21,{%h2,%h3};",
        ),
        (
            "sm_120a",
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e4m3.f32 {%r0,%r1,%r2,%r3},{%r4,%r5,%r6,%r7},{%r8,%r9},{%r0,%r1,%r2,%r3};",
        ),
        (
            "sm_120",
            "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16 {%r0,%r1},{%r4,%r5,%r6,%r7},{%r8,%r9,%r10,%r11},{%r0,%r1},%r20,0;",
        ),
        ("sm_100a", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r4];"),
        ("sm_100a", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32 {%r0, %r1}, [%r4];"),
        ("sm_100a", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r0}, [%r4];"),
        ("sm_100a", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r4], {%r0};"),
        ("sm_100", "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [%r0], %r1, %h1;"),
        (
            "sm_100a",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1, %r2, %r3, %r4, %r5}], [%r6];",
        ),
        (
            "sm_100a",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd0, {%r1, %r2, %r3, %r4, %r5}], [%r6];",
        ),
        (
            "sm_100a",
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1, %r2, %r3, %r4}], [%r6], {%h1, %h2};",
        ),
        (
            "sm_100a",
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1, %r2, %r3, %r4}], [%r6], {%h1, %h2};",
        ),
        (
            "sm_100a",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r0], [%rd0, {%r1, %r2}], [%r6];",
        ),
        ("sm_100a", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;"),
        ("sm_100", "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [%r1];"),
    ] {
        let reason = refusal(instruction);
        assert!(reason.contains(&format!("needs {architecture},")), "{instruction}: {reason}");
    }
}

#[test]
fn other_families() {
    assert!(refusal("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd0, {%r4, %r5}];").contains("textures"));
    assert!(refusal("vadd4.s32.s32.s32.add %r0, %r1, %r2, %r3;").contains("video"));
    assert!(refusal("multimem.red.relaxed.sys.global.add.u32 [%rd0], %r1;").contains("several devices"));
    assert!(refusal("frobnicate.u32 %r0, %r1;").contains("no such instruction"));
    assert!(refusal("add.frob.u32 %r0, %r1, %r2;").contains("frob"));
}
