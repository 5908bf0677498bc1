//! Candle's softmax and Tegula's, on the same tensor: on the CPU, or on the first CUDA device if candle is built for it.

use candle_core::{DType, Device, Tensor};

fn main() -> candle_core::Result<()> {
    let device = Device::cuda_if_available(0)?;
    let logits = Tensor::randn(0f32, 3.0, (4, 1000), &Device::Cpu)?;
    let ours = candle_softmax::softmax_last_dim(&logits.to_device(&device)?)?.to_device(&Device::Cpu)?;
    let theirs = candle_nn::ops::softmax_last_dim(&logits)?;
    let difference = (&ours - &theirs)?.abs()?.flatten_all()?.max(0)?.to_dtype(DType::F64)?.to_scalar::<f64>()?;
    println!(
        "4 rows of 1000 on {:?}: largest difference from candle's own softmax {difference:.1e}",
        device.location()
    );
    Ok(())
}
