//! The softmax in a stream of cudarc, on CUDA's stand-in: values equal candle's own on the CPU, without copies and without
//! waiting.

use candle_core::{DType, Device, Layout, Shape, Tensor};
use candle_softmax::on_cudarc::softmax_last_dim;
use cudarc::driver::CudaContext;

#[test]
fn equal_to_candle_in_a_stream_of_cudarc() -> candle_core::Result<()> {
    if !tegula_vgpu_driver::testing::under("equal_to_candle_in_a_stream_of_cudarc", &[("VGPU_MODEL", "h200")]) {
        return Ok(());
    }
    let context = CudaContext::new(0).expect("the stand-in has a device");
    for stream in [context.new_stream().expect("a stream"), context.default_stream()] {
        for (shape, transpose) in [(&[3, 7][..], false), (&[2, 3, 65], false), (&[40, 6], true), (&[1031], false)] {
            let x = Tensor::randn(0f32, 4.0, shape, &Device::Cpu)?;
            let values = x.flatten_all()?.to_vec1::<f32>()?;
            let x = if transpose { x.t()? } else { x };
            let input = stream.clone_htod(&values).expect("a copy");
            let mut output = stream.alloc_zeros::<f32>(values.len()).expect("memory");
            softmax_last_dim(&stream, &input, x.layout(), &mut output)?;
            // Freed behind the kernel, in the order of the stream.
            drop(input);
            let found = Tensor::from_vec(stream.clone_dtoh(&output).expect("a copy"), x.shape(), &Device::Cpu)?;
            let theirs = candle_nn::ops::softmax_last_dim(&x.contiguous()?)?;
            let difference =
                (found - theirs)?.abs()?.flatten_all()?.max(0)?.to_dtype(DType::F64)?.to_scalar::<f64>()?;
            assert!(difference <= 1e-6, "{shape:?}: {difference:e}");
        }
    }
    let stream = context.default_stream();
    let short = stream.clone_htod(&[1.0f32; 5]).expect("a copy");
    let mut output = stream.alloc_zeros::<f32>(6).expect("memory");
    let layout = Layout::contiguous(Shape::from((2, 3)));
    assert!(softmax_last_dim(&stream, &short, &layout, &mut output).is_err());
    Ok(())
}
