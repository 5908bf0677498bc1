//! The operation on candle's own CUDA devices: values equal those of candle's CPU and of candle's own CUDA kernel, work of
//! both is in one stream, and nothing is copied. `test-cuda` runs this on the stand-in of the CUDA driver.
#![cfg(feature = "cuda")]

use candle_core::{DType, Device, Result, Tensor};
use candle_softmax::softmax_last_dim;

/// Candle's two kinds of device: work in the stream of the thread, and in a stream of its own.
fn devices() -> Result<[Device; 2]> {
    Ok([Device::new_cuda(0)?, Device::new_cuda_with_stream(0)?])
}

/// The largest difference of two tensors, which are brought to the host.
fn largest_difference(a: &Tensor, b: &Tensor) -> Result<f64> {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    let host = |t: &Tensor| t.to_device(&Device::Cpu)?.to_dtype(DType::F64);
    (host(a)? - host(b)?)?.abs()?.flatten_all()?.max(0)?.to_scalar()
}

#[test]
fn equal_to_candle_on_the_cpu_and_on_cuda() -> Result<()> {
    for cuda in devices()? {
        for shape in [&[1, 1][..], &[3, 7], &[5, 65], &[2, 3, 100], &[1031], &[2, 1, 4, 63]] {
            for (dtype, bound) in [(DType::F32, 1e-6), (DType::F64, 1e-14), (DType::F16, 2e-3), (DType::BF16, 1e-2)] {
                let x = Tensor::randn(0f64, 4.0, shape, &Device::Cpu)?.to_dtype(dtype)?;
                let there = x.to_device(&cuda)?;
                let ours = softmax_last_dim(&there)?;
                assert!(ours.device().same_device(&cuda));
                // In double precision: candle sums the halves themselves.
                let on_cpu = candle_nn::ops::softmax_last_dim(&x.to_dtype(DType::F64)?)?.to_dtype(dtype)?;
                let difference = largest_difference(&ours, &on_cpu)?;
                assert!(difference <= bound, "{shape:?} {dtype:?}, candle on the CPU: {difference:e}");
                // `expf` of CUDA as candle calls it is the fast one.
                let on_cuda = candle_nn::ops::softmax_last_dim(&there)?;
                let difference = largest_difference(&ours, &on_cuda)?;
                assert!(difference <= bound.max(1e-6), "{shape:?} {dtype:?}, candle on CUDA: {difference:e}");
            }
        }
    }
    Ok(())
}

#[test]
fn strided_inputs_are_read_in_place() -> Result<()> {
    for cuda in devices()? {
        let x = Tensor::randn(0f32, 4.0, (6, 40), &Device::Cpu)?;
        let there = x.to_device(&cuda)?;
        for view in [Tensor::t, |x: &Tensor| x.narrow(1, 3, 20), |x: &Tensor| x.narrow(0, 2, 3)] {
            let ours = softmax_last_dim(&view(&there)?)?;
            let theirs = candle_nn::ops::softmax_last_dim(&view(&x)?.contiguous()?)?;
            assert!(largest_difference(&ours, &theirs)? <= 1e-6);
        }
    }
    Ok(())
}

/// Kernels of candle before and behind it, without a wait between them; inputs are dropped while work is in flight.
#[test]
fn it_stands_between_candles_kernels() -> Result<()> {
    for cuda in devices()? {
        let x = Tensor::randn(0f32, 4.0, (20, 33), &Device::Cpu)?;
        let there = x.to_device(&cuda)?;
        let mut results = Vec::new();
        for i in 0..20 {
            let scaled = there.affine(0.1 * f64::from(i), 1.0)?;
            results.push(softmax_last_dim(&scaled)?.affine(2.0, -1.0)?);
        }
        drop(there);
        for (i, ours) in (0..20).zip(results) {
            let theirs = candle_nn::ops::softmax_last_dim(&x.affine(0.1 * f64::from(i), 1.0)?)?.affine(2.0, -1.0)?;
            let difference = largest_difference(&ours, &theirs)?;
            assert!(difference <= 4e-6, "{i}: {difference:e}");
        }
    }
    Ok(())
}

/// On a device that has room for the input and the output, and for nothing of their size beside them.
#[test]
fn there_is_no_room_for_a_copy() -> Result<()> {
    if std::env::var_os("VGPU_MODEL").is_none() {
        eprintln!("skipped: only the memory of a virtual GPU can be made so small");
        return Ok(());
    }
    if !tegula_vgpu_driver::testing::under("there_is_no_room_for_a_copy", &[("VGPU_MEMORY", "2M")]) {
        return Ok(());
    }
    let cuda = Device::new_cuda(0)?;
    let x = Tensor::randn(0f32, 4.0, (896, 256), &Device::Cpu)?;
    let there = x.to_device(&cuda)?;
    let ours = softmax_last_dim(&there)?;
    let error = there.copy().expect_err("the two take 1.75 of 2 MiB");
    assert!(error.to_string().contains("OUT_OF_MEMORY"), "{error}");
    assert!(largest_difference(&ours, &candle_nn::ops::softmax_last_dim(&x)?)? <= 1e-6);
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    for cuda in devices()? {
        let integers = Tensor::zeros((2, 3), DType::I64, &cuda)?;
        assert!(softmax_last_dim(&integers).is_err_and(|e| e.to_string().contains("floating point")));
        let uneven = Tensor::zeros((2, 3, 4), DType::F32, &cuda)?.transpose(0, 1)?;
        assert!(softmax_last_dim(&uneven).is_err_and(|e| e.to_string().contains("contiguous")));
    }
    Ok(())
}
