//! Arguments, their classes, and options of launches.

use tegula_runtime::{Device, Error, Launch, LaunchOptions, Result, Tensor};

use crate::kernels;
use crate::support::{numbers, on_devices, on_stand_ins, test_path, under};

on_devices!(
    sizes_and_options,
    nineteen_arguments,
    sizes_1_3_16_and_17_make_two_kernels,
    a_parameter_that_is_not_specialised,
    in_place_is_allowed_and_overlaps_are_not,
    elements_that_repeat_are_read_and_not_written,
    outputs_agree_on_the_number_of_programs,
    ranks_and_grids_are_checked,
    kernels_without_tensors,
);

fn sizes_and_options(device: &Device) -> Result<()> {
    for n in [1, 5, 64, 100, 257] {
        for (b, warps) in [(32, 1), (64, 4), (128, 2)] {
            let x = numbers(device, n)?;
            let mut out = device.empty::<f32>([n])?;
            kernels::add(&x, &x, &mut out).dims(kernels::add::Dims { b }).warps(warps).stages(2).launch()?;
            assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32), "{n} {b} {warps}");
        }
    }
    Ok(())
}

fn nineteen_arguments(device: &Device) -> Result<()> {
    let n = 150;
    let x: Vec<_> = (0..9).map(|_| numbers(device, n)).collect::<Result<_>>()?;
    let mut out = device.empty::<f32>([n])?;
    let call = kernels::nineteen(
        &x[0], &x[1], &x[2], &x[3], &x[4], &x[5], &x[6], &x[7], &x[8], 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7, -8, 9, &mut out,
    );
    call.launch()?;
    // 1 + 2 + … + 6, and three without a factor.
    assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 24.0 * i as f32 + 8.0));
    Ok(())
}

/// Kernels that the device has made. Tests of one process share its devices, so that only those in one of their own count.
fn made(device: &Device) -> usize {
    if crate::support::is_child() { device.compilations() } else { 0 }
}

fn sizes_1_3_16_and_17_make_two_kernels(device: &Device) -> Result<()> {
    let before = made(device);
    for n in [1usize, 3, 16, 17, 1, 3, 16, 17] {
        let x = numbers(device, n)?;
        let mut out = device.empty::<f32>([n])?;
        kernels::add(&x, &x, &mut out).dims(kernels::add::Dims { b: 16 }).launch()?;
        assert_eq!(out.to_vec()?.len(), n);
    }
    let kernels = made(device) - before;
    assert!(kernels <= 2, "{kernels} kernels");
    // A number given at launch: those that are multiples of 16, and the others.
    let before = made(device);
    let x = device.tensor(&[5i32; 64], [64])?;
    let mut out = device.empty::<i32>([64])?;
    for n in [1, 3, 16, 17, 32, -48] {
        kernels::shift(&x, n, &mut out).launch()?;
        assert_eq!(out.to_vec()?, [5 + n; 64]);
    }
    let kernels = made(device) - before;
    assert!(kernels <= 2, "{kernels} kernels");
    Ok(())
}

fn a_parameter_that_is_not_specialised(device: &Device) -> Result<()> {
    let before = made(device);
    let x = device.tensor(&[5i32; 64], [64])?;
    let mut out = device.empty::<i32>([64])?;
    for seed in [1, 3, 16, 17, 32, -48] {
        kernels::seeded(&x, seed, &mut out).launch()?;
        assert_eq!(out.to_vec()?, [5 + seed; 64]);
    }
    let kernels = made(device) - before;
    assert!(kernels <= 1, "{kernels} kernels");
    Ok(())
}

fn in_place_is_allowed_and_overlaps_are_not(device: &Device) -> Result<()> {
    let t = numbers(device, 100)?;
    // The same view is read and written: every program reads what it writes.
    let mut same = t.clone();
    kernels::add(&t, &t, &mut same).launch()?;
    assert!(t.to_vec()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32));
    // Separate parts of one tensor.
    let (x, mut out) = (t.slice(0, 0..50)?, t.slice(0, 50..100)?);
    kernels::add(&x, &x, &mut out).launch()?;
    assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 4.0 * i as f32));
    // Columns, whose ranges of addresses overlap and whose elements do not.
    let m = device.tensor(&[1.0f32; 80], [8, 10])?;
    let (left, mut right) = (m.slice(1, 0..5)?, m.slice(1, 5..10)?);
    kernels::copy(&left, &mut right).launch()?;
    // Parts that share elements.
    let (x, mut out) = (t.slice(0, 0..60)?, t.slice(0, 40..100)?);
    let error = kernels::add(&x, &x, &mut out).launch().expect_err("they share elements");
    for part in ["add", "`out`", "`x`", "share"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    Ok(())
}

/// A row as a matrix of which all rows are the same memory.
fn elements_that_repeat_are_read_and_not_written(device: &Device) -> Result<()> {
    let row = numbers(device, 20)?;
    // SAFETY: all elements lie in the row, which the view keeps.
    let mut rows = unsafe { Tensor::<f32>::from_raw(device, row.address(), &[9, 20], &[0, 1], row.clone()) }?;
    let mut out = device.empty::<f32>([9, 20])?;
    kernels::copy(&rows, &mut out).launch()?;
    assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == (i % 20) as f32));
    let error = kernels::copy(&out, &mut rows).launch().expect_err("nine programs write one row");
    for part in ["copy", "`out`", "same memory", "strides of 0"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    Ok(())
}

fn outputs_agree_on_the_number_of_programs(device: &Device) -> Result<()> {
    let x = numbers(device, 130)?;
    // Three programs each: the last tiles are of different sizes.
    let (mut double, mut square) = (device.empty::<f32>([130])?, device.empty::<f32>([129])?);
    kernels::both(&x, &mut double, &mut square).launch()?;
    assert_eq!((double.to_vec()?[129], square.to_vec()?[128]), (258.0, 16384.0));
    let mut short = square.slice(0, 0..128)?;
    let error = kernels::both(&x, &mut double, &mut short).launch().expect_err("three programs and two");
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    for part in ["`both`", "outputs double and square", "3 and 2 programs"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // Both outputs in the same memory.
    let (mut one, mut other) = (double.slice(0, 0..100)?, double.slice(0, 30..130)?);
    let error = kernels::both(&x, &mut one, &mut other).launch().expect_err("they share elements");
    assert!(error.to_string().contains("both written"), "{error}");
    Ok(())
}

fn ranks_and_grids_are_checked(device: &Device) -> Result<()> {
    // What was launched before makes no difference.
    let (line, mut place) = (numbers(device, 20)?, device.empty::<f32>([20])?);
    kernels::add(&line, &line, &mut place).launch()?;
    let x = device.zeros::<f32>([4, 5])?;
    let mut out = device.empty::<f32>([20])?;
    let error = kernels::add(&x, &x, &mut out).launch().expect_err("rank 2 for rank 1");
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    assert!(error.to_string().contains("rank 2") && error.to_string().contains("`x`"), "{error}");
    let x = numbers(device, 20)?;
    let error = kernels::add(&x, &x, &mut out).grid([1, 1, 1]).launch().expect_err("a grid too many");
    assert!(error.to_string().contains("grid"), "{error}");
    Ok(())
}

fn kernels_without_tensors(device: &Device) -> Result<()> {
    kernels::nothing().grid([3, 1, 1]).launch_on(&device.default_stream())?;
    device.synchronize()?;
    let error = kernels::nothing().grid([3, 1, 1]).launch().expect_err("no device");
    assert!(error.to_string().contains("launch_on"), "{error}");
    let error = kernels::nothing().launch_on(&device.default_stream()).expect_err("no grid");
    assert!(error.to_string().contains(".grid("), "{error}");
    Ok(())
}

/// Devices in this process run a few programs at a time, each wherever there is room.
#[test]
fn options_that_need_a_gpu() -> Result<()> {
    for name in ["cpu", "interp"] {
        let device = Device::open(name)?;
        let x = numbers(&device, 256)?;
        let mut out = device.empty::<f32>([256])?;
        let (plain, stream) = (LaunchOptions::default(), device.stream()?);
        for (options, part) in [
            (plain.clone().cooperative(), "a cooperative launch all of its 4"),
            (plain.clone().cluster([2, 1, 1]), "no clusters"),
        ] {
            let error = kernels::add(&x, &x, &mut out).launch_with(&options).expect_err("as a GPU would");
            assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
            assert!(error.to_string().contains("`add`") && error.to_string().contains(part), "{error}");
            assert!(error.to_string().contains(name), "{error}");
            // Also in a graph, which would be launched later.
            let captured = stream.capture(|s| kernels::add(&x, &x, &mut out).launch_with(&options.clone().stream(s)));
            assert!(captured.is_err());
        }
        // One program waits for nobody, and a launch that may begin early need not.
        let mut one = out.slice(0, 0..64)?;
        kernels::add(&x, &x, &mut one).launch_with(&plain.clone().cooperative())?;
        kernels::add(&x, &x, &mut out).launch_with(&plain.programmatic())?;
        assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32));
    }
    Ok(())
}

on_stand_ins!(options [] cooperative_launches, dependent_launches, clusters);

fn cooperative_launches(device: &Device) -> Result<()> {
    let x = numbers(device, 256)?;
    let mut out = device.empty::<f32>([256])?;
    kernels::add(&x, &x, &mut out).launch_with(&LaunchOptions::default().cooperative())?;
    assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32));
    // More programs than can run at the same time.
    let many = device.default_stream();
    let options = LaunchOptions::default().cooperative().stream(&many);
    let error = kernels::nothing().grid([1_000_000, 1, 1]).launch_with(&options).expect_err("too many");
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    assert!(error.to_string().contains("1000000") && error.to_string().contains("launch fewer"), "{error}");
    Ok(())
}

/// Each kernel reads what the one before it wrote, and may begin before that one has ended.
fn dependent_launches(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    let options = LaunchOptions::default().programmatic().stream(&stream);
    let x = numbers(device, 500)?;
    let (mut y, mut z) = (device.zeros::<f32>([500])?, device.zeros::<f32>([500])?);
    for _ in 0..3 {
        kernels::add(&x, &x, &mut y).launch_with(&options)?;
        kernels::add(&y, &x, &mut z).launch_with(&options)?;
        kernels::affine(2.0, 1.0, &mut z).launch_with(&options)?;
        kernels::affine(0.0, 0.0, &mut y).launch_with(&options)?;
    }
    stream.synchronize()?;
    assert!(z.to_vec()?.iter().enumerate().all(|(i, v)| *v == 6.0 * i as f32 + 1.0));
    assert_eq!(y.to_vec()?, vec![0.0; 500]);
    // In a graph as well.
    let graph = stream.capture(|s| {
        let options = LaunchOptions::default().programmatic().stream(s);
        kernels::add(&x, &x, &mut y).launch_with(&options)?;
        kernels::add(&y, &x, &mut z).launch_with(&options)
    })?;
    graph.replay(&stream)?;
    assert!(z.to_vec()?.iter().enumerate().all(|(i, v)| *v == 3.0 * i as f32));
    Ok(())
}

fn clusters(device: &Device) -> Result<()> {
    let x = numbers(device, 256)?;
    let mut out = device.empty::<f32>([256])?;
    let launched = kernels::add(&x, &x, &mut out).launch_with(&LaunchOptions::default().cluster([2, 1, 1]));
    if device.name().starts_with("hip") {
        let error = launched.expect_err("AMD has none");
        assert!(matches!(error, Error::InvalidLaunch { .. }) && error.to_string().contains("no clusters"), "{error}");
        return Ok(());
    }
    launched?;
    assert!(out.to_vec()?.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32));
    // Four programs in clusters of three.
    let options = LaunchOptions::default().cluster([3, 1, 1]);
    let error = kernels::add(&x, &x, &mut out).launch_with(&options).expect_err("clusters that do not fit");
    assert!(matches!(error, Error::InvalidLaunch { .. }) && error.to_string().contains("[3, 1, 1]"), "{error}");
    Ok(())
}

/// On a device whose kernels do not wait for one another, a launch that may begin early is an ordinary one.
#[test]
fn dependent_launches_before_sm_90() -> Result<()> {
    if under(test_path!("dependent_launches_before_sm_90"), &[("VGPU_MODEL", "a100")]) {
        dependent_launches(&Device::open("cuda:0")?)?;
    }
    Ok(())
}
