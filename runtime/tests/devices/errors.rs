//! Every kind of error of drivers and devices, each with its way out: on stand-ins, and on libraries made for it.

use std::path::Path;
use std::process::Command;

use tegula_lang::host::DeviceAddress;
use tegula_runtime::{Device, Error, Launch, Result};

use crate::kernels;
use crate::support::{is_child, numbers, output_of, test_path, text, under};

/// Runs the calling test under a library made of `fake_cuda.c` with this behaviour. True in the process that has it.
fn under_fake(path: &str, behaviour: &str) -> bool {
    if is_child() {
        return true;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("libcuda.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/devices/fake_cuda.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"])
        .arg(format!("-D{behaviour}"))
        .arg("-o")
        .arg(&library)
        .arg(&source)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "cc, with which Rust links as well, compiles a C file");
    let output = output_of(path, Some(folder.path()), &[]);
    assert!(output.status.success() && text(&output).contains("1 passed"), "{}", text(&output));
    false
}

#[track_caller]
fn check(error: &Error, parts: &[&str]) {
    for part in parts {
        assert!(error.to_string().contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn no_driver() {
    if !is_child() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = output_of(test_path!("no_driver"), Some(folder.path()), &[]);
        assert!(output.status.success(), "{}", text(&output));
        return;
    }
    for (device, library) in [("cuda:0", "libcuda.so.1"), ("hip:0", "libamdhip64.so")] {
        match Device::open(device) {
            Err(error @ Error::NoDriver { .. }) => check(&error, &[library, "LD_LIBRARY_PATH"]),
            // A machine that has one.
            other => drop(other),
        }
    }
    // Whatever else there is, there is the CPU.
    assert!(Device::best().is_ok());
    assert!(Device::all().iter().any(|d| d.name() == "cpu"));
}

#[test]
fn unknown_names() {
    for (name, help) in [("cpv", "did you mean `cpu`?"), ("cuda:x", "`cuda:0`"), ("vgpu:sm_81", "vgpu:sm_80")] {
        let error = Device::open(name).expect_err("no such device");
        assert!(matches!(error, Error::UnknownDevice { .. }), "{error}");
        check(&error, &[name, help]);
    }
}

#[test]
fn driver_too_old() {
    if under_fake(test_path!("driver_too_old"), "OLD") {
        let error = Device::open("cuda:0").expect_err("CUDA 10.2");
        assert!(matches!(error, Error::DriverTooOld { .. }), "{error}");
        check(&error, &["10.2", "11.4", "install a newer"]);
    }
}

#[test]
fn driver_without_a_function() {
    if under_fake(test_path!("driver_without_a_function"), "INCOMPLETE") {
        let error = Device::open("cuda:0").expect_err("a function is missing");
        assert!(matches!(error, Error::DriverTooOld { .. }), "{error}");
        check(&error, &["cuStreamBeginCapture_v2", "install a newer"]);
    }
}

#[test]
fn no_device() {
    if under_fake(test_path!("no_device"), "NO_DEVICE") {
        let error = Device::open("cuda:0").expect_err("no device");
        assert!(matches!(error, Error::NoDevice { count: 0, .. }), "{error}");
        check(&error, &["cuda:0", "nvidia-smi", "CUDA_VISIBLE_DEVICES"]);
        assert_eq!(Device::best().map(|d| d.name().to_owned()), Ok("cpu".to_owned()));
    }
}

#[test]
fn no_device_of_this_number() {
    if under(test_path!("no_device_of_this_number"), &[("VGPU_MODEL", "a100"), ("VGPU_DEVICES", "2")]) {
        let error = Device::open("cuda:2").expect_err("two devices");
        assert!(matches!(error, Error::NoDevice { count: 2, .. }), "{error}");
        check(&error, &["cuda:0", "cuda:1"]);
    }
}

#[test]
fn unsupported_architecture() {
    if under_fake(test_path!("unsupported_architecture"), "TURING") {
        let error = Device::open("cuda:0").expect_err("sm_75");
        assert!(matches!(error, Error::UnsupportedArchitecture { .. }), "{error}");
        check(&error, &["sm_75", "sm_80"]);
    }
}

#[test]
fn device_lost() -> Result<()> {
    if under_fake(test_path!("device_lost"), "LOST") {
        let device = Device::open("cuda:0")?;
        let error = device.synchronize().expect_err("the device is lost");
        assert!(matches!(error, Error::DeviceLost { .. }) && error.is_fatal(), "{error}");
        check(&error, &["cuda:0", "uncorrectable ECC", "restart"]);
    }
    Ok(())
}

#[test]
fn out_of_memory_and_recovery_on_cuda() -> Result<()> {
    let variables = [("VGPU_MODEL", "h200"), ("VGPU_MEMORY", "64M")];
    if under(test_path!("out_of_memory_and_recovery_on_cuda"), &variables) {
        out_of_memory_and_recovery(&Device::open("cuda:0")?)?;
    }
    Ok(())
}

#[test]
fn out_of_memory_and_recovery_on_hip() -> Result<()> {
    let variables = [("VGPU_MODEL", "mi300x"), ("VGPU_MEMORY", "64M")];
    if under(test_path!("out_of_memory_and_recovery_on_hip"), &variables) {
        out_of_memory_and_recovery(&Device::open("hip:0")?)?;
    }
    Ok(())
}

/// The device has 64 MiB.
fn out_of_memory_and_recovery(device: &Device) -> Result<()> {
    let mut tensors = Vec::new();
    let error = loop {
        match device.zeros::<f32>([2 << 20]) {
            Ok(t) => tensors.push(t),
            Err(e) => break e,
        }
        assert!(tensors.len() <= 8, "more than there is");
    };
    let Error::OutOfMemory { asked, free: Some(free), .. } = &error else { panic!("{error}") };
    assert!(*asked == 8 << 20 && *free < 8 << 20, "{error}");
    check(&error, &["8388608", "drop tensors"]);
    assert!(!error.is_fatal());
    // What is there still works, and what is dropped is there again.
    let had = tensors.len();
    let mut t = tensors.pop().expect("there were some");
    // Code takes memory as well.
    tensors.pop();
    kernels::affine(1.0, 2.0, &mut t).launch()?;
    assert_eq!(t.to_vec()?[17], 2.0);
    drop(t);
    tensors.clear();
    for _ in 1..had {
        tensors.push(device.zeros::<f32>([2 << 20])?);
    }
    // A block that takes all of it, after blocks of other sizes.
    tensors.clear();
    drop(device.zeros::<f32>([(had - 1) * (2 << 20)])?);
    Ok(())
}

#[test]
fn out_of_host_memory() {
    let device = Device::open("cpu").expect("the CPU");
    let error = device.empty::<f64>([1 << 58]).expect_err("more than an address space");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let error = device.empty::<f64>([usize::MAX / 4]).expect_err("more than can be counted");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
}

#[test]
fn launches_that_no_device_takes() -> Result<()> {
    if !under(test_path!("launches_that_no_device_takes"), &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let device = Device::open("cuda:0")?;
    let error = kernels::nothing().grid([1, 70_000, 1]).launch_on(&device.default_stream()).expect_err("too many");
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    check(&error, &["nothing", "70000", "65535", "axis 1"]);
    // The device works as before.
    let x = numbers(&device, 10)?;
    let mut out = device.empty::<f32>([10])?;
    kernels::add(&x, &x, &mut out).launch()?;
    assert_eq!(out.to_vec()?[9], 18.0);
    Ok(())
}

#[test]
fn a_fault_on_cuda_names_its_kernel() -> Result<()> {
    if under(test_path!("a_fault_on_cuda_names_its_kernel"), &[("VGPU_MODEL", "h200")]) {
        a_fault_names_its_kernel(&Device::open("cuda:0")?)?;
    }
    Ok(())
}

#[test]
fn a_fault_on_hip_names_its_kernel() -> Result<()> {
    if under(test_path!("a_fault_on_hip_names_its_kernel"), &[("VGPU_MODEL", "mi300x")]) {
        a_fault_names_its_kernel(&Device::open("hip:0")?)?;
    }
    Ok(())
}

fn a_fault_names_its_kernel(device: &Device) -> Result<()> {
    let t = numbers(device, 10)?;
    // SAFETY: none; that is the test.
    unsafe { kernels::poke(DeviceAddress(0x10), 1.0) }.grid([1, 1, 1]).launch_on(&device.default_stream())?;
    let error = device.synchronize().expect_err("a wild write");
    assert!(matches!(error, Error::KernelFault { .. }) && error.is_fatal(), "{error}");
    check(&error, &["`poke`", device.name(), "context is lost", "vgpu:"]);
    // Everything after it says so, and nothing hangs or crashes.
    assert!(t.to_vec().is_err());
    assert!(device.zeros::<f32>([4]).is_err());
    drop(t);
    Ok(())
}
