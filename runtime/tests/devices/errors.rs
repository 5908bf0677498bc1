//! Every kind of error of drivers and devices, each with its way out: on stand-ins, and on libraries made for it.

use std::path::Path;
use std::process::Command;

use tegula_codegen::target::Architecture;
use tegula_ir::text::parse_function;
use tegula_lang::host::DeviceAddress;
use tegula_runtime::{Device, Error, ForeignKernel, Launch, LaunchOptions, Result, compiler};

use crate::kernels;
use crate::support::{is_child, numbers, on_stand_ins, output_of, test_path, text};

/// A driver made for tests: its library, and the source it is made from.
type Fake = (&'static str, &'static str);
const CUDA: Fake = ("libcuda.so.1", "fake_cuda.c");
const HIP: Fake = ("libamdhip64.so", "fake_hip.c");

/// Runs the calling test under a driver with this behaviour. True in the process that has it.
fn under_fake(path: &str, (library, source): Fake, behaviour: &str) -> bool {
    if is_child() {
        return true;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let soname = format!("-Wl,-soname,{library}");
    let library = folder.path().join(library);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/devices").join(source);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", &soname])
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
    let all = "there are: cuda:N, hip:N, cpu, interp, vgpu:";
    for (name, help) in [
        ("cpv", "did you mean `cpu`?"),
        ("vgpu:sm_81", "did you mean `vgpu:sm_80`?"),
        ("vgpu:", all),
        ("vgpu", all),
        ("", all),
        ("CPU", all),
        ("cpu:0", all),
        ("cuda", "such as `cuda:0`"),
        ("cuda:", "such as `cuda:0`"),
        ("cuda:x", "such as `cuda:0`"),
        ("cuda:-1", "such as `cuda:0`"),
        // Not a second name of the device `cuda:0`.
        ("cuda:+0", "such as `cuda:0`"),
        ("cuda:00", "such as `cuda:0`"),
        ("hip:4294967296", "such as `hip:0`"),
    ] {
        let error = Device::open(name).expect_err("no such device");
        assert!(matches!(error, Error::UnknownDevice { .. }), "{error}");
        check(&error, &[&format!("`{name}`"), help]);
    }
}

#[test]
fn driver_too_old() {
    if under_fake(test_path!("driver_too_old"), CUDA, "OLD") {
        let error = Device::open("cuda:0").expect_err("CUDA 10.2");
        assert!(matches!(error, Error::DriverTooOld { .. }), "{error}");
        check(&error, &["10.2", "11.4", "install a newer"]);
    }
}

#[test]
fn driver_without_a_function() {
    if under_fake(test_path!("driver_without_a_function"), CUDA, "INCOMPLETE") {
        let error = Device::open("cuda:0").expect_err("a function is missing");
        assert!(matches!(error, Error::DriverTooOld { .. }), "{error}");
        check(&error, &["cuStreamBeginCapture_v2", "install a newer"]);
    }
}

#[test]
fn hip_without_a_function() {
    if under_fake(test_path!("hip_without_a_function"), HIP, "INCOMPLETE") {
        let error = Device::open("hip:0").expect_err("a function is missing");
        assert!(matches!(error, Error::DriverTooOld { .. }), "{error}");
        check(&error, &["libamdhip64.so", "hipStreamBeginCapture", "ROCm 6.0", "install a newer"]);
    }
}

#[test]
fn no_device() {
    if under_fake(test_path!("no_device"), CUDA, "NO_DEVICE") {
        check_no_device("cuda:0", &["nvidia-smi", "CUDA_VISIBLE_DEVICES"]);
    }
}

#[test]
fn no_hip_device() {
    if under_fake(test_path!("no_hip_device"), HIP, "NO_DEVICE") {
        check_no_device("hip:0", &["rocminfo", "HIP_VISIBLE_DEVICES"]);
    }
}

fn check_no_device(name: &str, help: &[&str]) {
    let error = Device::open(name).expect_err("no device");
    assert!(matches!(error, Error::NoDevice { count: 0, .. }), "{error}");
    check(&error, &[name]);
    check(&error, help);
    assert_eq!(Device::best().map(|d| d.name().to_owned()), Ok("cpu".to_owned()));
}

on_stand_ins!(two_devices ["VGPU_DEVICES" = "2"] no_device_of_this_number);

fn no_device_of_this_number(device: &Device) -> Result<()> {
    let name = |n: u32| device.name().replace(":0", &format!(":{n}"));
    let error = Device::open(&name(2)).expect_err("two devices");
    assert!(matches!(error, Error::NoDevice { count: 2, .. }), "{error}");
    check(&error, &[&name(0), &name(1)]);
    Ok(())
}

#[test]
fn unsupported_architecture() {
    if under_fake(test_path!("unsupported_architecture"), CUDA, "TURING") {
        let error = Device::open("cuda:0").expect_err("sm_75");
        assert!(matches!(error, Error::UnsupportedArchitecture { .. }), "{error}");
        check(&error, &["sm_75", "sm_80"]);
    }
}

#[test]
fn unsupported_hip_architecture() {
    if under_fake(test_path!("unsupported_hip_architecture"), HIP, "VEGA") {
        let error = Device::open("hip:0").expect_err("gfx906");
        assert!(matches!(error, Error::UnsupportedArchitecture { .. }), "{error}");
        check(&error, &["gfx906", "gfx90a"]);
    }
}

#[test]
fn device_lost() -> Result<()> {
    if under_fake(test_path!("device_lost"), CUDA, "LOST") {
        check_lost("cuda:0")?;
    }
    Ok(())
}

#[test]
fn hip_device_lost() -> Result<()> {
    if under_fake(test_path!("hip_device_lost"), HIP, "LOST") {
        check_lost("hip:0")?;
    }
    Ok(())
}

fn check_lost(name: &str) -> Result<()> {
    let error = Device::open(name)?.synchronize().expect_err("the device is lost");
    assert!(matches!(error, Error::DeviceLost { .. }) && error.is_fatal(), "{error}");
    check(&error, &[name, "uncorrectable ECC", "restart"]);
    Ok(())
}

on_stand_ins!(little_memory ["VGPU_MEMORY" = "64M"] out_of_memory_and_recovery);

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
    check(&error, &["cannot allocate 8388608 bytes", &format!("({free} are free)"), "drop tensors"]);
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
    assert!(!error.is_fatal());
    let error = device.empty::<f64>([usize::MAX / 4]).expect_err("more than can be counted");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    works_as_before(&device).expect("there is memory for small tensors");
}

on_stand_ins!(faults [] launches_that_no_device_takes, too_much_of_what_a_program_has, a_fault_names_its_kernel);

fn launches_that_no_device_takes(device: &Device) -> Result<()> {
    // NVIDIA has 16 bits for the second axis of a grid, both have 31 for the first.
    let (grid, parts) = match device.name() {
        "cuda:0" => ([1, 70_000, 1], ["70000", "65535", "axis 1"]),
        _ => ([1 << 31, 1, 1], ["2147483648", "2147483647", "axis 0"]),
    };
    let error = kernels::nothing().grid(grid).launch_on(&device.default_stream()).expect_err("too many");
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    check(&error, &["nothing", "larger tiles"]);
    check(&error, &parts);
    works_as_before(device)
}

fn works_as_before(device: &Device) -> Result<()> {
    let x = numbers(device, 10)?;
    let mut out = device.empty::<f32>([10])?;
    kernels::add(&x, &x, &mut out).launch()?;
    assert_eq!(out.to_vec()?[9], 18.0);
    Ok(())
}

/// Kernels of Tegula's own are refused when they are compiled (wound 17); code of others, when it is loaded or launched.
fn too_much_of_what_a_program_has(device: &Device) -> Result<()> {
    let function = parse_function("kernel @k() num_warps(1) {\n  return\n}", "k.tile").expect("valid text");
    let architecture = Architecture::by_name(device.target()).expect("the device's own");
    let code = compiler::gpu_artifact(&function, architecture)?.code;
    let most = architecture.max_shared_bytes;
    let threads = architecture.warp_size;
    let error = ForeignKernel::load(device, &code, "k", threads, most + 1).expect_err("more than there is");
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    check(&error, &["`k`", &(most + 1).to_string(), &most.to_string(), "shared memory", device.name()]);
    // All of it can be had.
    let kernel = ForeignKernel::load(device, &code, "k", threads, most)?;
    // SAFETY: the kernel has no parameters, and does nothing.
    unsafe { kernel.launch([4, 1, 1], &[], &LaunchOptions::default()) }?;
    device.synchronize()?;
    let kernel = ForeignKernel::load(device, &code, "k", 4096, 0)?;
    // SAFETY: as above.
    let launched = unsafe { kernel.launch([1, 1, 1], &[], &LaunchOptions::default()) };
    let error = launched.expect_err("more threads than there are");
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    check(&error, &["`k`", "4096 threads", "1024", "fewer warps"]);
    let error = ForeignKernel::load(device, &code, "other", threads, 0).expect_err("no such entry");
    assert!(matches!(error, Error::Compile { .. }), "{error}");
    check(&error, &["`other`", "no entry"]);
    let error = ForeignKernel::load(device, b"not code", "k", threads, 0).expect_err("no code");
    assert!(matches!(error, Error::Compile { .. }), "{error}");
    works_as_before(device)
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
