//! A softmax for [candle](https://github.com/huggingface/candle) whose work is done by a Tegula kernel, on candle's own
//! storage: the input is read where it lies, with its strides, and the output is written into the vector that candle
//! keeps. Nothing is copied.
//!
//! On CUDA the kernel is launched in candle's stream, between candle's own: see [`on_cudarc`].

#[cfg(feature = "cuda")]
mod cuda;
pub mod on_cudarc;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Error, Layout, Shape, Tensor as CandleTensor, WithDType, bail};
use tegula::prelude::*;
use tegula::runtime::Tensor as DeviceTensor;
use tegula::runtime::element::HostElement;

/// Softmax of each row. `N` is at least the row's length: a whole row is one tile.
#[kernel(defaults(N = 1024))]
fn softmax<T: Float, N: Dim>(x: &Tensor<T, 2>, y: &mut Tiles<T, (Const<1>, N)>) {
    let index = y.index();
    let v = x.tile::<(Const<1>, N)>(index).load_or(f32::NEG_INFINITY).cast::<T::Acc>();
    let e = (v - v.max::<1>().expand::<1>()).exp();
    y.store((e / e.sum::<1>().expand::<1>()).cast());
}

/// Softmax over the last axis, by Tegula.
pub fn softmax_last_dim(x: &CandleTensor) -> candle_core::Result<CandleTensor> {
    x.apply_op1_no_bwd(&SoftmaxLastDim::new()?)
}

/// Candle's operation, on the device that candle's tensor is on. Devices, and the kernels compiled for them, are the
/// process's: another operation compiles nothing anew.
pub struct SoftmaxLastDim {
    device: Device,
}

impl SoftmaxLastDim {
    /// The operation.
    pub fn new() -> candle_core::Result<Self> {
        Ok(Self { device: Device::open("cpu").map_err(Error::wrap)? })
    }

    fn run<T: Float + HostElement + WithDType>(&self, x: &[T], layout: &Layout) -> candle_core::Result<Vec<T>> {
        let (extents, strides) = rows(layout)?;
        let count = extents[0] * extents[1];
        let mut output = vec![T::zero(); count];
        if count == 0 {
            return Ok(output);
        }
        let first = x[layout.start_offset()..].as_ptr().addr() as u64;
        // SAFETY: the layout is that of the storage, so that all elements of the view lie in it; the kernel only reads
        // them, and the processor has done its work when `to_host` returns, while `x` is still borrowed.
        let x =
            unsafe { DeviceTensor::<T>::from_raw(&self.device, first, &extents, &strides, ()) }.map_err(Error::wrap)?;
        let address = output.as_mut_ptr().addr() as u64;
        // SAFETY: the vector has `count` elements, lives longer than the tensor, and is not touched before the work is
        // done.
        let y = unsafe { DeviceTensor::<T>::from_raw(&self.device, address, &extents, &[extents[1], 1], ()) };
        let mut y = y.map_err(Error::wrap)?;
        softmax::<T>(&x, &mut y).dims(dims(extents)?).launch().map_err(Error::wrap)?;
        self.device.synchronize().map_err(Error::wrap)?;
        drop(y);
        Ok(output)
    }
}

/// The sizes that the kernel is compiled for: those of a tile that holds a row.
fn dims(extents: [usize; 2]) -> candle_core::Result<softmax::Dims> {
    Ok(softmax::Dims { n: u32::try_from(extents[1].next_power_of_two()).map_err(Error::wrap)? })
}

/// The tensor as rows: the extents and strides of a matrix whose columns are the last axis.
fn rows(layout: &Layout) -> candle_core::Result<([usize; 2], [usize; 2])> {
    let (dims, strides) = (layout.dims(), layout.stride());
    let Some((&columns, outer)) = dims.split_last() else { bail!("softmax of a tensor without axes") };
    // Axes before the last fold into one where each is the next one's extent times its stride.
    let foldable = (1..outer.len()).all(|i| dims[i - 1] == 1 || strides[i - 1] == dims[i] * strides[i]);
    if !foldable {
        bail!("the rows of {layout:?} are not evenly spaced: call `contiguous` first");
    }
    let stride = match outer.len() {
        0 => columns,
        n => strides[n - 1],
    };
    Ok(([outer.iter().product(), columns], [stride, strides[outer.len()]]))
}

impl CustomOp1 for SoftmaxLastDim {
    fn name(&self) -> &'static str {
        "tegula-softmax-last-dim"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let output = match storage {
            CpuStorage::F16(x) => CpuStorage::F16(self.run(x, layout)?),
            CpuStorage::BF16(x) => CpuStorage::BF16(self.run(x, layout)?),
            CpuStorage::F32(x) => CpuStorage::F32(self.run(x, layout)?),
            CpuStorage::F64(x) => CpuStorage::F64(self.run(x, layout)?),
            other => bail!("softmax is for floating point, not {:?}", other.dtype()),
        };
        Ok((output, layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        storage: &candle_core::CudaStorage,
        layout: &Layout,
    ) -> candle_core::Result<(candle_core::CudaStorage, Shape)> {
        cuda::forward(storage, layout)
    }
}
