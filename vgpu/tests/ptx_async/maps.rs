//! Tensor maps changed on the device: `tensormap.replace`, published, and used by another copy.

use super::harness::{Run, WAIT, bytes, words};
use tegula_vgpu::ptx::{Element, Swizzle, TensorMap};

/// The map `a` copied into the tile's last 128 bytes by its first 32 threads, a word each.
const TAKE: &str = "
mad.wide.u32 %rd10, %r1, 4, %rd3; ld.u32 %r20, [%rd10]; shl.b32 %r21, %r1, 2; add.u32 %r21, %r21, 32640; add.u32 %r21, %r21, %r3;
st.shared.u32 [%r21], %r20; bar.warp.sync -1; add.u32 %r22, %r3, 32640;";

#[test]
fn fields_replaced_in_shared_memory() {
    // A map of nothing in particular becomes one of the input from its sixth row on: 12 columns, 3 rows, boxes of 8 by 4.
    let input = bytes(0..160);
    let run = Run { input: &input, output: vec![0; 256], ..Run::default() };
    let out = words(&run.with_maps(
        &format!(
            "{TAKE} @!%p1 bra S; add.u64 %rd11, %rd1, 320; mov.u64 %rd12, 64;
            tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r22], %rd11;
            tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r22], 1;
            tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r22], 0, 8;
            tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r22], 1, 4;
            tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r22], 0, 12;
            tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r22], 1, 3;
            tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r22], 0, %rd12;
            tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r22], 0, 1;
            tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r22], 1, 1;
            tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r22], 2;
            tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r22], 0;
            tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r22], 0;
            tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r22], 0;
            S: bar.warp.sync -1;
            tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2+128], [%r22], 128;
            add.u64 %rd13, %rd2, 128; fence.proxy.tensormap::generic.acquire.gpu [%rd13], 128;
            @!%p1 bra F; mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd13, {{6, 0}}], [%r4];
            F: bar.sync 0; {WAIT}
            shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, %r3; ld.shared.u32 %r11, [%r10];
            mad.wide.u32 %rd10, %r1, 4, %rd2; st.global.u32 [%rd10], %r11;"
        ),
        |_, output| {
            let mut map = TensorMap::tiled(output, Element::F16, &[64, 64], &[128], &[64, 2]);
            map.swizzle = Swizzle::B128;
            map.fill_nan = true;
            vec![map]
        },
    ));
    for (index, &word) in out[..32].iter().enumerate() {
        let (x, y) = (6 + index % 8, index / 8);
        let expected = if x < 12 && y < 3 { 80 + y * 16 + x } else { 0 };
        assert_eq!(word as usize, expected, "{x}, {y}");
    }
}

#[test]
fn an_address_replaced_in_global_memory() {
    let input = bytes(0..64);
    let run = Run { input: &input, output: vec![0; 256], ..Run::default() };
    let out = words(&run.with_maps(
        &format!(
            "mad.wide.u32 %rd10, %r1, 4, %rd3; ld.u32 %r20, [%rd10]; mad.wide.u32 %rd11, %r1, 4, %rd2; st.global.u32 [%rd11+128], %r20;
            bar.sync 0; @!%p1 bra F; add.u64 %rd12, %rd1, 128; add.u64 %rd13, %rd2, 128;
            tensormap.replace.tile.global_address.global.b1024.b64 [%rd13], %rd12;
            fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [%rd13], 128;
            mbarrier.init.shared::cta.b64 [%r4], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
            cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd13, {{0}}], [%r4];
            F: bar.sync 0; {WAIT}
            shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, %r3; ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd11], %r11;"
        ),
        |input, _| vec![TensorMap::tiled(input, Element::S32, &[32], &[], &[32])],
    ));
    assert_eq!(out[..32], (32..64).collect::<Vec<u32>>());
}
