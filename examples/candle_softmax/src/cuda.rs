//! Candle's operation on its CUDA storage.

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDType;
use candle_core::{CudaStorage, DType, Layout, Shape, bail};
use tegula::prelude::*;
use tegula::runtime::element::HostElement;

use crate::on_cudarc::softmax_last_dim;

/// The softmax over the last axis, in the device's stream.
pub(crate) fn forward(storage: &CudaStorage, layout: &Layout) -> candle_core::Result<(CudaStorage, Shape)> {
    let output = match storage.dtype() {
        DType::F16 => run::<f16>(storage, layout)?,
        DType::BF16 => run::<bf16>(storage, layout)?,
        DType::F32 => run::<f32>(storage, layout)?,
        DType::F64 => run::<f64>(storage, layout)?,
        other => bail!("softmax is for floating point, not {other:?}"),
    };
    Ok((output, layout.shape().clone()))
}

fn run<T>(storage: &CudaStorage, layout: &Layout) -> candle_core::Result<CudaStorage>
where
    T: Float + HostElement + CudaDType + cudarc::driver::DeviceRepr,
{
    let device = storage.device();
    // SAFETY: the kernel writes all elements before anyone reads them.
    let mut output = unsafe { device.alloc::<T>(layout.shape().elem_count()) }?;
    softmax_last_dim(&device.cuda_stream(), storage.as_cuda_slice::<T>()?, layout, &mut output)?;
    Ok(CudaStorage::wrap_cuda_slice(output, device.clone()))
}
