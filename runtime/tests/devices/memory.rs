//! Tensors, views, copies, pinned memory and pools.

use tegula_runtime::{Device, Error, Launch, Result, Tensor};

use crate::kernels;
use crate::support::{numbers, on_devices, on_stand_ins};

on_devices!(
    values_go_there_and_back,
    views_are_read_and_written_through_strides,
    views_that_would_lie_elsewhere_are_refused,
    ranks_up_to_five,
    empty_tensors,
    kernels_take_views,
    pinned_memory,
    copies_between_tensors,
    memory_is_told,
);

fn values_go_there_and_back(device: &Device) -> Result<()> {
    macro_rules! check {
        ($($ty:ty: $values:expr;)*) => {$(
            let values: Vec<$ty> = $values.to_vec();
            assert_eq!(device.tensor(&values, [values.len()])?.to_vec()?, values);
        )*};
    }
    check! {
        bool: [true, false, true];
        i8: [-128, 0, 127];
        u16: [0, 65535, 3];
        i64: [i64::MIN, -1, i64::MAX];
        f64: [0.5, -0.0, f64::INFINITY];
        kernels::f16: [kernels::f16::from_f32(1.5), kernels::f16::from_f32(-3.0)];
        kernels::bf16: [kernels::bf16::from_f32(1.5), kernels::bf16::from_f32(-3.0)];
    }
    let zeros = device.zeros::<i32>([3, 4])?;
    assert_eq!(zeros.to_vec()?, [0; 12]);
    assert!(matches!(device.tensor(&[1i32, 2], [3]), Err(Error::Tensor(_))));
    Ok(())
}

fn views_are_read_and_written_through_strides(device: &Device) -> Result<()> {
    let t = device.tensor(&(0..24).collect::<Vec<i32>>(), [4, 6])?;
    let part = t.slice(0, 1..3)?.slice(1, 2..5)?;
    assert_eq!(part.to_vec()?, [8, 9, 10, 14, 15, 16]);
    assert_eq!(part.t()?.to_vec()?, [8, 14, 9, 15, 10, 16]);
    assert_eq!(t.select(1, 5)?.to_vec()?, [5, 11, 17, 23]);
    assert_eq!(t.select(0, 3)?.select(0, 0)?.to_vec()?, [18]);
    part.copy_from(&[-1, -2, -3, -4, -5, -6])?;
    let row = |r: usize| t.select(0, r).and_then(|row| row.to_vec());
    assert_eq!(row(0)?, [0, 1, 2, 3, 4, 5]);
    assert_eq!(row(1)?, [6, 7, -1, -2, -3, 11]);
    assert_eq!(row(2)?, [12, 13, -4, -5, -6, 17]);
    assert_eq!(part.contiguous()?.to_vec()?, [-1, -2, -3, -4, -5, -6]);
    assert!(t.slice(0, 3..5).is_err());
    assert!(t.slice(2, 0..1).is_err());
    assert!(part.reshape(&[6]).is_err());
    assert_eq!(t.reshape(&[2, 12])?.select(0, 1)?.to_vec()?[0], 12);
    Ok(())
}

/// Numbers that wrap around when they are added or multiplied give no view.
fn views_that_would_lie_elsewhere_are_refused(device: &Device) -> Result<()> {
    let t = numbers(device, 24)?.reshape(&[4, 6])?;
    let most = usize::MAX;
    for range in [0..most, 3..most, most - 1..most, 0..1 << 63, 5..5] {
        let error = t.slice(0, range.clone()).expect_err("beyond the axis").to_string();
        assert!(error.contains(&format!("{range:?}")) && error.contains("[4, 6]"), "{error}");
    }
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = t.slice(0, 3..1);
    assert!(reversed.is_err());
    for index in [4, most] {
        assert!(t.select(0, index).is_err(), "{index}");
    }
    assert!(t.select(most, 0).is_err() && t.slice(2, 0..0).is_err());
    // The product of these is 24, or 0, in 64 bits.
    let none = t.slice(0, 0..0)?;
    for extents in [&[1 << 32, 1 << 32][..], &[1 << 62, 4], &[3, (1 << 63) + 8], &[most]] {
        assert!(t.reshape(extents).is_err() && none.reshape(extents).is_err(), "{extents:?}");
    }
    assert!(t.reshape(&[24, 1, 1, 1, 1, 1]).is_err(), "six axes");
    assert_eq!(none.reshape(&[7, 0, 1 << 40])?.count(), 0);
    let error = none.reshape(&[0, 1 << 50]).expect_err("an extent that no kernel takes");
    assert!(error.to_string().contains("2^48"), "{error}");
    assert!(device.empty::<f32>([0, 1 << 50]).is_err());
    for (extents, strides) in [([1 << 47, 1 << 47], [1 << 47, 1]), ([1 << 40, 2], [1 << 40, 1]), ([2, 2], [1 << 62, 1])]
    {
        // SAFETY: nothing is made of it.
        let taken = unsafe { Tensor::<f32>::from_raw(device, t.address(), &extents, &strides, t.clone()) };
        let error = taken.expect_err("beyond all memory").to_string();
        assert!(error.contains("2^48") || error.contains("beyond all memory"), "{error}");
    }
    Ok(())
}

fn ranks_up_to_five(device: &Device) -> Result<()> {
    let scalar = device.tensor(&[7.0f32], [])?;
    assert_eq!((scalar.extents(), scalar.to_vec()?), (vec![], vec![7.0]));
    let t = device.tensor(&(0..2 * 3 * 2 * 2 * 3).collect::<Vec<i64>>(), [2, 3, 2, 2, 3])?;
    let turned = t.permute(&[4, 3, 2, 1, 0])?;
    assert_eq!(turned.extents(), [3, 2, 2, 3, 2]);
    assert_eq!(turned.permute(&[4, 3, 2, 1, 0])?.to_vec()?, t.to_vec()?);
    assert!(device.empty::<f32>([1; 6]).is_err());
    assert!(t.permute(&[0, 0, 1, 2, 3]).is_err());
    Ok(())
}

fn empty_tensors(device: &Device) -> Result<()> {
    let t = device.tensor::<f32, 2>(&[], [0, 5])?;
    assert_eq!(t.to_vec()?, [0.0f32; 0]);
    t.copy_from(&[])?;
    let full = numbers(device, 5)?;
    let none = full.slice(0, 5..5)?;
    assert_eq!(none.to_vec()?, [0.0f32; 0]);
    let mut out = device.empty::<f32>([0])?;
    kernels::add(&none, &none, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [0.0f32; 0]);
    Ok(())
}

/// Transposes and slices as arguments, at odd offsets.
fn kernels_take_views(device: &Device) -> Result<()> {
    let (m, n) = (13, 37);
    let values: Vec<f32> = (0..m * n).map(|i| i as f32).collect();
    let t = device.tensor(&values, [m, n])?;
    let mut out = device.zeros::<f32>([n, m])?;
    kernels::copy(&t.t()?, &mut out).launch()?;
    assert_eq!(out.to_vec()?, t.t()?.to_vec()?);

    let part = t.slice(0, 3..11)?.slice(1, 5..34)?;
    let room = device.zeros::<f32>([10, 40])?;
    let mut place = room.slice(0, 1..9)?.slice(1, 7..36)?;
    kernels::copy(&part, &mut place).launch()?;
    assert_eq!(place.to_vec()?, part.to_vec()?);
    let all = room.to_vec()?;
    let inside = |i: usize| (1..9).contains(&(i / 40)) && (7..36).contains(&(i % 40));
    assert!(all.iter().enumerate().all(|(i, &v)| inside(i) || v == 0.0), "written outside of the view");
    Ok(())
}

fn pinned_memory(device: &Device) -> Result<()> {
    let n = 1000;
    let stream = device.stream()?;
    let mut host = device.pinned::<f32>(n)?;
    assert!(host.as_slice()?.iter().all(|v| *v == 0.0));
    for (i, v) in host.as_mut_slice()?.iter_mut().enumerate() {
        *v = i as f32;
    }
    let mut t = device.zeros::<f32>([n])?;
    stream.upload(&host, &mut t)?;
    // Waits for the copy that reads it.
    host.as_mut_slice()?.fill(-1.0);
    kernels::affine(2.0, 1.0, &mut t).launch_on(&stream)?;
    let mut back = device.pinned::<f32>(n)?;
    stream.download(&t, &mut back)?;
    assert!(back.as_slice()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32 + 1.0));
    // Dropped while a copy may still run.
    stream.download(&t, &mut back)?;
    drop(back);
    let mut small = device.pinned::<f32>(3)?;
    assert!(stream.download(&t, &mut small).is_err());
    Ok(())
}

fn copies_between_tensors(device: &Device) -> Result<()> {
    let x = numbers(device, 300)?;
    let mut y = device.zeros::<f32>([300])?;
    y.copy_from_tensor(&x)?;
    assert_eq!(y.to_vec()?, x.to_vec()?);
    let stream = device.stream()?;
    let mut z = device.zeros::<f32>([300])?;
    stream.copy(&x, &mut z)?;
    assert_eq!(z.to_vec()?, x.to_vec()?);
    stream.fill_zero(&mut z)?;
    assert_eq!(z.to_vec()?, vec![0.0; 300]);
    let mut short = device.zeros::<f32>([299])?;
    assert!(short.copy_from_tensor(&x).is_err());
    // To another device and back, through the host.
    let there = x.to_device(&Device::open("interp")?)?;
    assert_eq!(there.to_device(device)?.to_vec()?, x.to_vec()?);
    Ok(())
}

fn memory_is_told(device: &Device) -> Result<()> {
    let before = device.memory_info()?.in_use;
    let t = device.zeros::<u8>([3 << 20])?;
    let with = device.memory_info()?;
    assert!(with.in_use >= before + (3 << 20), "{with:?}");
    assert!(with.reserved >= with.in_use, "{with:?}");
    drop(t);
    device.synchronize()?;
    assert!(device.memory_info()?.in_use < with.in_use);
    device.trim(0)?;
    Ok(())
}

on_stand_ins!(two_devices ["VGPU_DEVICES" = "2"] peers_copy_to_each_other);

/// Two devices of one driver copy to each other.
fn peers_copy_to_each_other(a: &Device) -> Result<()> {
    let b = Device::open(&a.name().replace(":0", ":1"))?;
    assert_eq!(Device::all().iter().filter(|d| d.name() == a.name() || d.name() == b.name()).count(), 2);
    let x = numbers(a, 1000)?;
    let mut y: Tensor<f32> = x.to_device(&b)?;
    kernels::affine(3.0, 0.0, &mut y).launch()?;
    // Freed while the copy back may still run.
    let z = y.to_device(a)?;
    drop(y);
    assert!(z.to_vec()?.iter().enumerate().all(|(i, v)| *v == 3.0 * i as f32));
    // Arguments of two devices, and a stream of another.
    let mut out = b.empty::<f32>([1000])?;
    let error = kernels::add(&x, &x, &mut out).launch().expect_err("two devices");
    assert!(error.to_string().contains("to_device"), "{error}");
    let error = kernels::affine(1.0, 0.0, &mut out).launch_on(&a.default_stream()).expect_err("a stream of another");
    assert!(error.to_string().contains(a.name()), "{error}");
    Ok(())
}
