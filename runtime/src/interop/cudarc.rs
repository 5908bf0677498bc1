//! Slices of cudarc as tensors. Both use a device's primary context, so that addresses mean the same.

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr};

use crate::backend::Location;
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

impl<T: HostElement + DeviceRepr + Send + Sync> Tensor<T> {
    /// A row-major tensor over the memory of a slice, which it keeps. The work that cudarc gave to the slice's stream is
    /// waited for.
    ///
    /// # Errors
    /// If the slice is of another device, or has too few elements.
    pub fn from_cudarc(device: &Device, slice: CudaSlice<T>, extents: &[usize]) -> Result<Self> {
        let ordinal = slice.context().ordinal();
        if device.backend().location() != Location::Cuda(ordinal as u32) {
            let message = format!("a slice of CUDA device {ordinal} is not memory of {}", device.name());
            return Err(Error::Tensor(message));
        }
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
