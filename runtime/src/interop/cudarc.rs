//! Slices and streams of cudarc as tensors and streams. Both use a device's primary context, so that addresses mean the same.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr};

use crate::backend::Location;
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::tensor::Tensor;

impl<T: HostElement + DeviceRepr + Send + Sync> Tensor<T> {
    /// A row-major tensor over the memory of a slice, which it keeps. The work that cudarc gave to the slice's stream is
    /// waited for.
    ///
    /// # Errors
    /// If the slice is of another device, or has too few elements.
    pub fn from_cudarc(device: &Device, slice: CudaSlice<T>, extents: &[usize]) -> Result<Self> {
        check(device, slice.context().ordinal(), "slice")?;
        let count = extents.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        if count.is_none_or(|n| n > slice.len()) {
            let message = format!("{} elements do not fill a tensor of extents {extents:?}", slice.len());
            return Err(Error::Tensor(message));
        }
        let stream = slice.stream().clone();
        stream.synchronize().map_err(|e| Error::Driver {
            device: device.name().into(),
            call: "cuStreamSynchronize".into(),
            message: e.to_string(),
        })?;
        let address = {
            let (address, _guard) = slice.device_ptr(&stream);
            address
        };
        let mut strides = vec![1usize; extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = strides[axis] * extents[axis].max(1);
        }
        // SAFETY: the slice is memory of this device with that many elements of `T`, nobody else has it, and it is
        // dropped with the tensor, after the work that uses it.
        unsafe { Self::from_raw(device, address, extents, &strides, slice) }
    }
}

impl Stream {
    /// A stream of cudarc as a stream of its device: work of both goes to it in the order it is given, and nothing has to
    /// be waited for between them.
    ///
    /// # Errors
    /// If the stream is of another device.
    pub fn from_cudarc(device: &Device, stream: Arc<CudaStream>) -> Result<Self> {
        check(device, stream.context().ordinal(), "stream")?;
        let handle = stream.cu_stream() as usize;
        // SAFETY: the handle is that of a stream of this device, which is kept.
        unsafe { Self::from_raw(device, handle, stream) }
    }
}

/// Fails if a device is not the CUDA device of this number.
fn check(device: &Device, ordinal: usize, what: &str) -> Result<()> {
    if device.backend().location() != Location::Cuda(ordinal as u32) {
        let message = format!("a {what} of CUDA device {ordinal} is none of {}", device.name());
        return Err(Error::Tensor(message));
    }
    Ok(())
}
