//! Memory shared with other libraries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::{CudaContext, DevicePtr, DevicePtrMut};
use tegula_runtime::{Device, Error, Launch, Result, Stream, Tensor};

use crate::kernels;
use crate::support::{numbers, on_devices, test_path, under};

on_devices!(dlpack_there_and_back, dlpack_that_does_not_fit, raw_memory_is_freed_by_its_owner);

fn dlpack_there_and_back(device: &Device) -> Result<()> {
    let t = numbers(device, 60)?.reshape(&[6, 10])?;
    let part = t.slice(0, 1..5)?.t()?;
    let shared = part.to_dlpack()?;
    let view = shared.validate().expect("a valid tensor");
    assert_eq!(view.shape(), [10, 4]);
    assert_eq!(view.strides(), Some(&[1, 10][..]));
    assert_eq!(view.data_ptr() as u64, part.address());
    // SAFETY: the tensor is of this device, and all work on it is done.
    let mut back = unsafe { Tensor::<f32>::from_dlpack(device, shared) }?;
    drop(part);
    assert_eq!(back.to_vec()?, t.slice(0, 1..5)?.t()?.to_vec()?);
    // It is the same memory.
    kernels::copy(&device.zeros::<f32>([10, 4])?, &mut back).launch()?;
    assert_eq!(t.slice(0, 1..5)?.to_vec()?, [0.0; 40]);
    assert_eq!(t.select(0, 5)?.to_vec()?[0], 50.0);
    Ok(())
}

fn dlpack_that_does_not_fit(device: &Device) -> Result<()> {
    let t = numbers(device, 8)?;
    // SAFETY: nothing is imported.
    let error = unsafe { Tensor::<i32>::from_dlpack(device, t.to_dlpack()?) }.expect_err("other elements");
    assert!(error.to_string().contains("type f32, and i32 is asked for"), "{error}");
    for (there, fits) in [("cpu", device.name() == "interp"), ("interp", device.name() == "cpu")] {
        if there == device.name() {
            continue;
        }
        // SAFETY: host memory in both cases, or nothing is imported.
        let taken = unsafe { Tensor::<f32>::from_dlpack(&Device::open(there)?, t.to_dlpack()?) };
        assert_eq!(taken.is_ok(), fits, "{} to {there}", device.name());
        if let Err(error) = taken {
            let text = format!("of {} is not memory of {there}", device.name());
            assert!(error.to_string().contains(&text), "{error}");
        }
    }
    Ok(())
}

/// Tells when it is dropped.
struct Owner {
    dropped: Arc<AtomicBool>,
    _memory: Tensor<f32>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

fn raw_memory_is_freed_by_its_owner(device: &Device) -> Result<()> {
    let dropped = Arc::new(AtomicBool::new(false));
    let memory = numbers(device, 100)?;
    let address = memory.address() + 40;
    let owner = Owner { dropped: dropped.clone(), _memory: memory };
    // SAFETY: every second element from the tenth on lies in the owner's tensor.
    let mut view = unsafe { Tensor::<f32>::from_raw(device, address, &[45], &[2], owner) }?;
    assert_eq!(view.to_vec()?[44], 98.0);
    kernels::affine(0.0, 7.0, &mut view).launch()?;
    let part = view.slice(0, 3..5)?;
    drop(view);
    assert!(!dropped.load(Ordering::SeqCst));
    assert_eq!(part.to_vec()?, [7.0, 7.0]);
    drop(part);
    assert!(dropped.load(Ordering::SeqCst));
    // SAFETY: nothing is made of these.
    unsafe {
        assert!(Tensor::<f32>::from_raw(device, address + 1, &[1], &[1], ()).is_err());
        assert!(Tensor::<f32>::from_raw(device, address, &[1], &[1, 1], ()).is_err());
        assert!(Tensor::<f32>::from_raw(device, address, &[1 << 60], &[1], ()).is_err());
    }
    Ok(())
}

#[test]
fn slices_of_cudarc() -> Result<()> {
    if !under(test_path!("slices_of_cudarc"), &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let device = Device::open("cuda:0")?;
    let context = CudaContext::new(0).expect("the stand-in has a device");
    let stream = context.new_stream().expect("a stream");
    let values: Vec<f32> = (0..120).map(|i| i as f32).collect();
    let slice = stream.clone_htod(&values).expect("a copy");
    let t = Tensor::from_cudarc(&device, slice, &[10, 12])?;
    assert_eq!(t.t()?.to_vec()?[1], 12.0);
    let mut out = device.empty::<f32>([10, 12])?;
    kernels::copy(&t, &mut out).launch()?;
    drop(t);
    assert_eq!(out.to_vec()?, values);
    let short = stream.clone_htod(&values).expect("a copy");
    assert!(matches!(Tensor::from_cudarc(&device, short, &[11, 12]), Err(Error::Tensor(_))));
    let other = stream.clone_htod(&values).expect("a copy");
    assert!(Tensor::from_cudarc(&Device::open("cpu")?, other, &[120]).is_err());
    Ok(())
}

/// Work of cudarc and of Tegula on one stream and on the same memory: nothing is copied, and nothing waits but the last
/// copy to the host.
#[test]
fn streams_of_cudarc() -> Result<()> {
    if !under(test_path!("streams_of_cudarc"), &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let device = Device::open("cuda:0")?;
    let context = CudaContext::new(0).expect("the stand-in has a device");
    for theirs in [context.new_stream().expect("a stream"), context.default_stream()] {
        let ours = Stream::from_cudarc(&device, theirs.clone())?;
        let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let input = theirs.clone_htod(&values).expect("a copy");
        let mut output = theirs.alloc_zeros::<f32>(1000).expect("memory");
        {
            let (from, _reads) = input.device_ptr(&theirs);
            let (to, _writes) = output.device_ptr_mut(&theirs);
            // SAFETY: both slices have 1000 elements, and are freed in the order of the stream that the work is in.
            let (x, mut y) = unsafe {
                (
                    Tensor::<f32>::from_raw_unmanaged(&device, from, &[1000], &[1])?,
                    Tensor::<f32>::from_raw_unmanaged(&device, to, &[1000], &[1])?,
                )
            };
            kernels::add(&x, &x, &mut y).launch_on(&ours)?;
            kernels::affine(3.0, 1.0, &mut y).launch_on(&ours)?;
        }
        drop(input);
        let found = theirs.clone_dtoh(&output).expect("a copy");
        assert!(found.iter().enumerate().all(|(i, v)| *v == 6.0 * i as f32 + 1.0));
        drop(ours);
        theirs.synchronize().expect("the stream is cudarc's still");
    }
    assert!(Stream::from_cudarc(&Device::open("cpu")?, context.default_stream()).is_err());
    Ok(())
}
