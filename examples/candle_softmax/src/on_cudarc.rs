//! The softmax on cudarc's slices and stream, which are candle's on CUDA. Kernels of both are in one stream: they run one
//! after the other, and nothing waits on the host.

use std::sync::Arc;

use candle_core::{Error, Layout};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use tegula::prelude::*;
use tegula::runtime::element::HostElement;
use tegula::runtime::{LaunchOptions, Stream, Tensor as DeviceTensor};

use crate::{dims, rows, softmax};

/// Launches the softmax of each row of `x`, which has this layout, into `y`, row after row. It returns at once.
///
/// # Errors
/// If the layout's rows are not evenly spaced, `y` is too short, or the device fails.
pub fn softmax_last_dim<T: Float + HostElement>(
    stream: &Arc<CudaStream>,
    x: &CudaSlice<T>,
    layout: &Layout,
    y: &mut CudaSlice<T>,
) -> candle_core::Result<()> {
    let (extents, strides) = rows(layout)?;
    let count = extents[0] * extents[1];
    if count == 0 {
        return Ok(());
    }
    if y.len() < count || x.len() <= layout.start_offset() + last(extents, strides) {
        candle_core::bail!("slices of {} and {} elements do not hold {layout:?}", x.len(), y.len());
    }
    let device = Device::open(&format!("cuda:{}", stream.context().ordinal())).map_err(Error::wrap)?;
    let ours = Stream::from_cudarc(&device, stream.clone()).map_err(Error::wrap)?;
    // cudarc lets the stream wait for what others did with the slices, and notes when they are dropped again that it used
    // them.
    let (from, _reads) = x.device_ptr(stream);
    let (to, _writes) = y.device_ptr_mut(stream);
    let from = from + (layout.start_offset() * size_of::<T>()) as u64;
    // SAFETY: the elements lie in the slices, which was checked; cudarc frees slices in the order of the stream, behind
    // the kernel.
    let tensors = unsafe {
        DeviceTensor::<T>::from_raw_unmanaged(&device, from, &extents, &strides)
            .and_then(|x| Ok((x, DeviceTensor::<T>::from_raw_unmanaged(&device, to, &extents, &[extents[1], 1])?)))
    };
    let (x, mut y) = tensors.map_err(Error::wrap)?;
    let options = LaunchOptions::default().stream(&ours);
    softmax::<T>(&x, &mut y).dims(dims(extents)?).launch_with(&options).map_err(Error::wrap)
}

/// The last element of a matrix, counted from the first.
fn last(extents: [usize; 2], strides: [usize; 2]) -> usize {
    (extents[0] - 1) * strides[0] + (extents[1] - 1) * strides[1]
}
