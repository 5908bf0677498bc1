//! Tensor maps and foreign code: boxes of tensors copied by the hardware, in a kernel written as PTX.

use tegula_runtime::tensor_map::{Fill, MapOptions, Swizzle, TensorMapError};
use tegula_runtime::{Device, Error, ForeignArgument, ForeignKernel, LaunchOptions, Result, TensorMap};

use crate::support::{numbers, on_devices, test_path, under};

/// Copies the box of 8 rows of 16 words at a column and row to shared memory by the tensor map, and from there, as it
/// lies, to the output.
const PTX: &str = "
.version 8.3
.target sm_90a
.address_size 64
.visible .entry box_of(.param .align 64 .b8 map[128], .param .u32 column, .param .u32 row, .param .u64 out) {
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    .shared .align 1024 .b8 tile[512];
    .shared .align 8 .b8 barrier[8];
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    ld.param.u32 %r1, [column];
    ld.param.u32 %r2, [row];
    ld.param.u64 %rd2, [out];
    cvta.to.global.u64 %rd2, %rd2;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, tile;
    mov.u32 %r5, barrier;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r5], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 512;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%rd1, {%r1, %r2}], [%r5];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
    @!%p2 bra WAIT;
    mov.u32 %r6, %r3;
COPY:
    setp.ge.u32 %p3, %r6, 128;
    @%p3 bra DONE;
    shl.b32 %r7, %r6, 2;
    add.u32 %r7, %r7, %r4;
    ld.shared.u32 %r8, [%r7];
    mad.wide.u32 %rd3, %r6, 4, %rd2;
    st.global.u32 [%rd3], %r8;
    add.u32 %r6, %r6, 32;
    bra COPY;
DONE:
    ret;
}";

/// The extents of the box that the kernel copies.
const BOX: [usize; 2] = [8, 16];

#[test]
fn boxes_are_copied_by_tensor_maps() -> Result<()> {
    if !under(test_path!("boxes_are_copied_by_tensor_maps"), &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let device = Device::open("cuda:0")?;
    let kernel = ForeignKernel::load(&device, PTX.as_bytes(), "box_of", 32, 0)?;
    // A view that begins in the middle: 20 rows of 24 columns out of rows of 32.
    let whole = numbers(&device, 32 * 32)?.reshape(&[32, 32])?;
    let view = whole.slice(0, 4..24)?.slice(1, 8..32)?;
    let run = |options: MapOptions, column: i32, row: i32| -> Result<Vec<f32>> {
        let out = device.zeros::<f32>(BOX)?;
        let map = TensorMap::new(&view, &BOX, options)?;
        let args = [(&map).into(), ForeignArgument::value(column), ForeignArgument::value(row), (&out).into()];
        let stream = device.stream()?;
        // SAFETY: these are the kernel's parameters; it writes a box of words, which is what the output has.
        unsafe { kernel.launch([1, 1, 1], &args, &LaunchOptions::default().stream(&stream)) }?;
        // The map may go while the kernel runs.
        drop(map);
        out.to_vec()
    };
    let expected = |column: i32, row: i32, outside: f32| -> Vec<f32> {
        let at = |i: i32| {
            let (r, c) = (row + i / 16, column + i % 16);
            let inside = (0..20).contains(&r) && (0..24).contains(&c);
            if inside { ((r + 4) * 32 + c + 8) as f32 } else { outside }
        };
        (0..128).map(at).collect()
    };
    for (column, row) in [(0, 0), (8, 12), (16, 15), (-3, -2), (100, 0)] {
        assert_eq!(run(MapOptions::default(), column, row)?, expected(column, row, 0.0), "({column}, {row})");
    }
    let filled = run(MapOptions { fill: Fill::Nan, ..MapOptions::default() }, 16, 15)?;
    for (found, expected) in filled.iter().zip(expected(16, 15, f32::NAN)) {
        assert!(found == &expected || (found.is_nan() && expected.is_nan()), "{found} {expected}");
    }
    // Swizzled, the pieces of four words of each row of 64 bytes are in another order.
    let swizzled = run(MapOptions { swizzle: Swizzle::B64, ..MapOptions::default() }, 0, 0)?;
    let plain = expected(0, 0, 0.0);
    let piece = |p: usize| p ^ (p >> 3 & 3);
    assert!((0..128).all(|i| swizzled[piece(i / 4) * 4 + i % 4] == plain[i]), "{swizzled:?}");
    assert_ne!(swizzled, plain);
    // A map is made once.
    let maps = [(); 2].map(|()| TensorMap::new(&view, &BOX, MapOptions::default()));
    let [one, other] = maps.map(|map| map.map(|map| std::ptr::from_ref(map.bytes()) as usize));
    assert_eq!(one?, other?);
    Ok(())
}

#[test]
fn what_the_driver_would_refuse_is_named() -> Result<()> {
    use TensorMapError as E;
    if !under(test_path!("what_the_driver_would_refuse_is_named"), &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let device = Device::open("cuda:0")?;
    let t = device.zeros::<f32>([64, 64])?;
    let map = |extents: &[usize], options: MapOptions| TensorMap::new(&t, extents, options).expect_err("refused");
    let plain = MapOptions::default();
    let is = |error: Error, expected: E| assert_eq!(error, Error::TensorMap(expected));
    is(map(&[8], plain), E::BoxRank { box_extents: vec![8], rank: 2 });
    is(map(&[8, 0], plain), E::Box { axis: 1, extent: 0 });
    is(map(&[257, 16], plain), E::Box { axis: 0, extent: 257 });
    is(map(&[8, 3], plain), E::InnerBytes { bytes: 12 });
    let swizzle = MapOptions { swizzle: Swizzle::B32, ..plain };
    is(map(&[8, 16], swizzle), E::Swizzle { bytes: 64, span: 32 });
    let refused = |t: &tegula_runtime::Tensor<f32>| TensorMap::new(t, &[8, 16], plain).expect_err("refused");
    is(refused(&t.t()?), E::InnerStride { stride: 64 });
    let moved = t.slice(1, 1..64)?;
    is(refused(&moved), E::Address { address: t.address() + 4 });
    is(refused(&device.zeros::<f32>([8, 15])?), E::Stride { axis: 0, bytes: 60 });
    is(refused(&t.slice(0, 3..3)?), E::Extent { axis: 0, extent: 0 });
    let words = device.zeros::<i32>([64, 64])?;
    let error = TensorMap::new(&words, &[8, 16], MapOptions { fill: Fill::Nan, ..plain }).expect_err("no NaN");
    assert!(error.to_string().contains("i32"), "{error}");
    let scalar = device.zeros::<f32>([])?;
    is(TensorMap::new(&scalar, &[], plain).expect_err("no axes"), E::NoAxes);
    // An axis of one element has any stride.
    let row = device.zeros::<f32>([1, 15])?;
    TensorMap::new(&row, &[1, 16], plain)?;
    // All ranks, and element types of all sizes.
    for extents in [&[64][..], &[3, 64], &[2, 3, 64], &[2, 2, 3, 64], &[2, 2, 2, 3, 64]] {
        let box_extents = [1, 1, 1, 1, 16];
        let box_extents = &box_extents[5 - extents.len()..];
        TensorMap::new(&device.zeros::<u8>(extents)?, box_extents, plain)?;
        TensorMap::new(&device.zeros::<i16>(extents)?, box_extents, plain)?;
        TensorMap::new(&device.zeros::<u64>(extents)?, box_extents, plain)?;
    }
    Ok(())
}

on_devices!(devices_without_tensor_maps_say_so);

fn devices_without_tensor_maps_say_so(device: &Device) -> Result<()> {
    let made = TensorMap::new(&device.zeros::<f32>([8, 16])?, &BOX, MapOptions::default());
    if device.name() == "cuda:0" {
        return made.map(drop);
    }
    let error = made.expect_err("there are none");
    assert!(matches!(error, Error::TensorMap(TensorMapError::Unsupported { .. })), "{error}");
    assert!(error.to_string().contains(device.name()) && error.to_string().contains("sm_90"), "{error}");
    if !device.name().starts_with("hip") {
        let error = ForeignKernel::load(device, PTX.as_bytes(), "box_of", 32, 0).expect_err("no foreign code");
        assert!(matches!(error, Error::Compile { .. }), "{error}");
    }
    Ok(())
}
