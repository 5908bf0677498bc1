//! What programs do wrong, and many threads at once.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use tegula_runtime::{Device, Error, ForeignKernel, Launch, LaunchOptions, Result};

use crate::kernels;
use crate::support::{is_child, numbers, on_devices, on_stand_ins, output_of, test_path, text, under};

on_devices!(threads_launch_at_once);

/// Eight threads, each with its own tensors and sometimes its own stream, drop things at random while work is in flight.
/// The stand-ins watch every access.
fn threads_launch_at_once(device: &Device) -> Result<()> {
    // The interpreter takes long for a launch, and shows nothing new.
    launch_from_threads(device, if device.name() == "interp" { 160 } else { 800 })
}

on_stand_ins!(without_sanitizer ["VGPU_SANITIZE" = "0"] ten_thousand_launches_on_eight_threads);

#[test]
fn ten_thousand_launches_on_eight_threads_of_the_cpu() -> Result<()> {
    ten_thousand_launches_on_eight_threads(&Device::open("cpu")?)
}

fn ten_thousand_launches_on_eight_threads(device: &Device) -> Result<()> {
    launch_from_threads(device, 10_000)?;
    device.synchronize()
}

fn launch_from_threads(device: &Device, launches: usize) -> Result<()> {
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8u64)
            .map(|seed| {
                let done = &done;
                scope.spawn(move || -> Result<()> {
                    // A generator of numbers: xorshift.
                    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let mut random = move |n: u64| {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        state % n
                    };
                    let mut stream = device.stream()?;
                    let mut kept = Vec::new();
                    while done.fetch_add(1, Ordering::Relaxed) < launches {
                        let n = 1 + random(200) as usize;
                        let value = random(100) as f32;
                        let x = device.tensor(&vec![value; n], [n])?;
                        let mut out = device.empty::<f32>([n])?;
                        if random(2) == 0 {
                            kernels::add(&x, &x, &mut out).launch_on(&stream)?;
                        } else {
                            kernels::add(&x, &x, &mut out).launch()?;
                        }
                        match random(4) {
                            0 => drop((x, out)),
                            1 => {
                                drop(x);
                                assert_eq!(out.to_vec()?, vec![2.0 * value; n]);
                            }
                            _ => kept.push((value, out)),
                        }
                        if random(16) == 0 {
                            stream = device.stream()?;
                        }
                        if kept.len() > 20 {
                            let (value, out) = kept.swap_remove(random(20) as usize);
                            assert!(out.to_vec()?.iter().all(|v| *v == 2.0 * value));
                        }
                    }
                    for (value, out) in kept {
                        assert!(out.to_vec()?.iter().all(|v| *v == 2.0 * value));
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

/// Where the kernels have this text, as `kernels.rs:17`.
fn line_of(text: &str) -> String {
    let before = include_str!("kernels.rs").lines().take_while(|line| !line.contains(text)).count();
    format!("kernels.rs:{}", before + 1)
}

/// Where the kernel `checked` asserts.
fn assert_line() -> String {
    line_of("device_assert(")
}

#[test]
fn a_failed_assert_on_cuda_names_its_line() -> Result<()> {
    // The driver reports the place itself, and the error is that an assert failed.
    a_failed_assert_names_its_line(test_path!("a_failed_assert_on_cuda_names_its_line"), "h200", "cuda:0", "assert")
}

#[test]
fn a_failed_assert_on_hip_names_its_line() -> Result<()> {
    // The kernel prints the place, and traps.
    a_failed_assert_names_its_line(test_path!("a_failed_assert_on_hip_names_its_line"), "mi300x", "hip:0", "trapped")
}

/// A failed assert is an error of its kernel, and the line of Rust is told beside it.
fn a_failed_assert_names_its_line(path: &str, model: &str, device: &str, cause: &str) -> Result<()> {
    if !is_child() {
        let output = output_of(path, None, &[("VGPU_MODEL", model)]);
        let text = text(&output);
        assert!(output.status.success(), "{text}");
        for part in ["a value is negative", &assert_line()] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        return Ok(());
    }
    let device = Device::open(device)?;
    let mut out = device.empty::<f32>([100])?;
    kernels::checked(&numbers(&device, 100)?, &mut out).launch()?;
    assert_eq!(out.to_vec()?[99], 99.0);
    let bad = device.tensor(&[-1.0f32; 100], [100])?;
    kernels::checked(&bad, &mut out).launch()?;
    let error = device.synchronize().expect_err("a failed assert");
    assert!(matches!(error, Error::KernelFault { .. }) && error.is_fatal(), "{error}");
    assert!(error.to_string().contains("`checked`") && error.to_string().contains(cause), "{error}");
    // Nothing hangs afterwards, whatever is dropped in which order.
    assert!(out.to_vec().is_err());
    Ok(())
}

#[test]
fn a_failed_assert_on_the_cpu() -> Result<()> {
    let device = Device::open("cpu")?;
    let mut out = device.empty::<f32>([100])?;
    let bad = device.tensor(&[-1.0f32; 100], [100])?;
    let error = kernels::checked(&bad, &mut out).launch().expect_err("a failed assert");
    assert!(matches!(error, Error::KernelFault { .. }), "{error}");
    for part in ["a value is negative", assert_line().as_str()] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // The device takes work as before.
    assert!(!error.is_fatal());
    kernels::checked(&numbers(&device, 100)?, &mut out).launch()
}

/// A trap that is no assert. On AMD there is no other than that of an assert.
#[test]
fn a_trap_on_cuda_names_its_kernel() -> Result<()> {
    if !under(test_path!("a_trap_on_cuda_names_its_kernel"), &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let device = Device::open("cuda:0")?;
    let code = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry quit()\n{\n    trap;\n}\n";
    let kernel = ForeignKernel::load(&device, code, "quit", 32, 0)?;
    // SAFETY: the kernel has no parameters.
    unsafe { kernel.launch([1, 1, 1], &[], &LaunchOptions::default()) }?;
    let error = device.synchronize().expect_err("a trap");
    assert!(matches!(error, Error::KernelFault { .. }) && error.is_fatal(), "{error}");
    assert!(error.to_string().contains("`quit`") && error.to_string().contains("trapped"), "{error}");
    Ok(())
}

/// The error of a fault on a GPU says that the virtual GPU names the access. So it does, and so does the interpreter:
/// with the line of Rust and what is beside it; and both take work as before.
#[test]
fn devices_in_the_process_name_a_wild_access() -> Result<()> {
    for name in ["interp", "vgpu:sm_80", "vgpu:sm_90a", "vgpu:gfx942"] {
        let device = Device::open(name)?;
        let mut t = numbers(&device, 10)?;
        for (index, beside) in
            [(10, "at offset 40 of `p`"), (-1, "4 bytes before `p`"), (1 << 30, "no memory is allocated near")]
        {
            let beside = if name == "interp" { "outside the argument's allocation of 40 bytes" } else { beside };
            // SAFETY: none; that is the test.
            let launched = unsafe { kernels::poke_at(&mut t, index, 1.0) }.grid([1, 1, 1]);
            let error = launched.launch_on(&device.default_stream()).expect_err("a wild write");
            assert!(matches!(error, Error::KernelFault { .. }) && !error.is_fatal(), "{name}: {error}");
            for part in ["`poke_at`", name, &line_of("p.offset(index).store(value)"), beside] {
                assert!(error.to_string().contains(part), "{name}, {index}: `{part}` is not in: {error}");
            }
        }
        // SAFETY: the tensor has ten elements.
        unsafe { kernels::poke_at(&mut t, 9, -1.0) }.grid([1, 1, 1]).launch_on(&device.default_stream())?;
        assert_eq!(t.to_vec()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -1.0], "{name}");
    }
    Ok(())
}

/// Kernels on the CPU are code of the process: what an `unsafe` one does to memory that is not there ends it, as `unsafe`
/// Rust does. (Kernels without `unsafe` cannot.)
#[test]
fn a_wild_access_on_the_cpu_ends_the_process() -> Result<()> {
    if !is_child() {
        let output = output_of(test_path!("a_wild_access_on_the_cpu_ends_the_process"), None, &[]);
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{}", text(&output));
        return Ok(());
    }
    let device = Device::open("cpu")?;
    let address = tegula_lang::host::DeviceAddress(0x10);
    // SAFETY: none; that is the test.
    unsafe { kernels::poke(address, 1.0) }.grid([1, 1, 1]).launch_on(&device.default_stream())
}

#[test]
fn kernels_print_on_cuda() -> Result<()> {
    kernels_print(test_path!("kernels_print_on_cuda"), "h200", "cuda:0")
}

#[test]
fn kernels_print_on_hip() -> Result<()> {
    kernels_print(test_path!("kernels_print_on_hip"), "mi300x", "hip:0")
}

fn kernels_print(path: &str, model: &str, device: &str) -> Result<()> {
    if !is_child() {
        let output = output_of(path, None, &[("VGPU_MODEL", model)]);
        let text = text(&output);
        assert!(output.status.success(), "{text}");
        let line = "program (0, 0, 0): the sum is 320";
        assert_eq!(text.matches(line).count(), 2, "once on the CPU, once on the stand-in: {text}");
        return Ok(());
    }
    for name in ["cpu", device] {
        let device = Device::open(name)?;
        let x = device.tensor(&[5i32; 64], [64])?;
        let mut out = device.empty::<i32>([64])?;
        kernels::noisy(&x, &mut out).launch()?;
        device.synchronize()?;
    }
    Ok(())
}

on_stand_ins!(blocking ["TEGULA_LAUNCH_BLOCKING" = "1"] launches_that_wait_name_the_kernel_at_once);

/// With launches that wait, a fault is known at the launch, and is that kernel's for certain.
fn launches_that_wait_name_the_kernel_at_once(device: &Device) -> Result<()> {
    let x = numbers(device, 64)?;
    let mut out = device.empty::<f32>([64])?;
    kernels::add(&x, &x, &mut out).launch()?;
    let address = tegula_lang::host::DeviceAddress(0x10);
    // SAFETY: none; that is the test.
    let launched = unsafe { kernels::poke(address, 1.0) }.grid([1, 1, 1]).launch_on(&device.default_stream());
    let error = launched.expect_err("a wild write");
    assert!(error.to_string().contains("`poke`") && !error.to_string().contains("`add`"), "{error}");
    Ok(())
}

on_stand_ins!(dropped [] a_stream_dropped_before_its_kernel_faults);

/// The stream is gone when its kernel faults: the error comes all the same, and nothing that is dropped hangs.
fn a_stream_dropped_before_its_kernel_faults(device: &Device) -> Result<()> {
    let mut t = numbers(device, 4096)?;
    {
        let stream = device.stream()?;
        kernels::affine(2.0, 0.0, &mut t).launch_on(&stream)?;
        let address = tegula_lang::host::DeviceAddress(0x10);
        // SAFETY: none; that is the test.
        unsafe { kernels::poke(address, 1.0) }.grid([1, 1, 1]).launch_on(&stream)?;
    }
    let error = device.synchronize().expect_err("a wild write");
    assert!(matches!(error, Error::KernelFault { .. }) && error.to_string().contains("`poke`"), "{error}");
    Ok(())
}
