//! DLPack, the form in which array libraries hand tensors to each other.

use dlpark::allocation::dynamic::Allocation;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use tegula_ir::types::ScalarType;

use crate::backend::Location;
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

impl<T: HostElement> Tensor<T> {
    /// The tensor for another library, without a copy; it keeps the memory until that library drops it. Waits for the
    /// device's work, so that the library may use any stream.
    ///
    /// # Errors
    /// If the device failed, or memory is out.
    pub fn to_dlpack(&self) -> Result<Managed<DLManagedTensorVersioned>> {
        self.device().synchronize()?;
        let any = self.any();
        let rank = any.extents().len();
        let full = |e: dlpark::allocation::Error| Error::Tensor(e.to_string());
        let mut allocation = Allocation::<DLManagedTensorVersioned>::allocate(2 * rank).map_err(full)?;
        allocation.extra_mut()[..rank].copy_from_slice(any.extents());
        allocation.extra_mut()[rank..].copy_from_slice(any.strides());
        let mut tensor = allocation.initialize(Box::new(any.clone()), rank).map_err(full)?;
        let extra = tensor.extra_mut();
        let (extents, strides) = extra.split_at_mut(rank);
        let (extents, strides) = (extents.as_mut_ptr(), strides.as_mut_ptr());
        let raw = tensor.tensor_mut();
        raw.shape = extents;
        raw.strides = strides;
        tensor.set_data(self.address() as usize as *mut _);
        tensor.set_device(device(any.device.backend().location()));
        tensor.set_dtype(dtype(T::TYPE));
        // SAFETY: all fields are set; extents and strides lie in the tensor's own allocation; the memory is kept by the
        // handle in its context.
        Ok(unsafe { tensor.finish() })
    }

    /// A tensor over the memory of another library's, without a copy; that is dropped when the tensor, and the work that
    /// uses it, are gone.
    ///
    /// # Safety
    /// The memory is that of the device it names, and the work of the other library on it is done or ordered before
    /// this device's.
    ///
    /// # Errors
    /// If it is on another device, has other elements, has a negative stride, or may only be read.
    pub unsafe fn from_dlpack(device: &Device, tensor: Managed<DLManagedTensorVersioned>) -> Result<Self> {
        if tensor.flags().contains(DlpackFlags::READ_ONLY) {
            return Err(Error::Tensor("the tensor may only be read, and ours are written: copy it first".into()));
        }
        // SAFETY: as the caller promises.
        unsafe { import(device, tensor) }
    }

    /// The same for the form of a tensor without a version, which older libraries give.
    ///
    /// # Safety
    /// As [`Tensor::from_dlpack`].
    ///
    /// # Errors
    /// As [`Tensor::from_dlpack`].
    pub unsafe fn from_dlpack_legacy(device: &Device, tensor: Managed<DLManagedTensor>) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { import(device, tensor) }
    }
}

/// See [`Tensor::from_dlpack`].
unsafe fn import<T: HostElement, M: ManagedTensorBase + 'static>(to: &Device, tensor: Managed<M>) -> Result<Tensor<T>> {
    let bad = |e: dlpark::tensor::Error| Error::Tensor(format!("not a valid DLPack tensor: {e}"));
    let (address, extents, strides) = {
        let view = tensor.validate().map_err(bad)?;
        let here = device(to.backend().location());
        let there = view.device();
        // Pinned memory is the host's as well.
        let pinned = here == DLDevice::CPU && matches!(there.device_type.0, CUDA_HOST | ROCM_HOST);
        if here != there && !pinned {
            let (there, to) = (device_name(there), to.name());
            let message = format!("a tensor of {there} is not memory of {to}: open its own device, or copy it first");
            return Err(Error::Tensor(message));
        }
        let (found, wanted) = (view.dtype(), dtype(T::TYPE));
        if found != wanted {
            let message =
                format!("the tensor has elements of type {}, and {} is asked for", dtype_name(found), T::TYPE);
            return Err(Error::Tensor(message));
        }
        let sizes = |values: &[i64]| -> Result<Vec<usize>> {
            let all: Option<Vec<usize>> = values.iter().map(|&v| usize::try_from(v).ok()).collect();
            all.ok_or_else(|| Error::Tensor(format!("extents or strides {values:?} are negative: copy it first")))
        };
        let strides = view.strides_or_compact().map_err(bad)?;
        (view.data_ptr() as u64 + view.byte_offset(), sizes(view.shape())?, sizes(&strides)?)
    };
    // SAFETY: as the caller promises; the elements lie where the validated description says.
    unsafe { Tensor::from_raw(to, address, &extents, &strides, tensor) }
}

const CUDA_HOST: u32 = 3;
const ROCM: u32 = 10;
const ROCM_HOST: u32 = 11;

fn device(location: Location) -> DLDevice {
    match location {
        Location::Host => DLDevice::CPU,
        Location::Cuda(n) => DLDevice::cuda(n as i32),
        Location::Hip(n) => DLDevice { device_type: DLDeviceType(ROCM), device_id: n as i32 },
    }
}

/// What people call a device of DLPack.
fn device_name(device: DLDevice) -> String {
    let n = device.device_id;
    match device.device_type {
        DLDeviceType::CPU => "cpu".into(),
        DLDeviceType::CUDA => format!("cuda:{n}"),
        DLDeviceType(ROCM) => format!("hip:{n}"),
        DLDeviceType(other) => format!("DLPack device type {other}, number {n}"),
    }
}

/// What people call an element type of DLPack.
fn dtype_name(found: DLDataType) -> String {
    let ours = ScalarType::ALL.iter().find(|&&elem| elem.memory_bytes().is_some() && dtype(elem) == found);
    ours.map_or_else(
        || format!("{} of DLPack with {} bits and {} lanes", found.code.0, found.bits, found.lanes),
        ToString::to_string,
    )
}

/// DLPack's name for an element type.
fn dtype(elem: ScalarType) -> DLDataType {
    // Numbers of DLPack's `DLDataTypeCode`.
    const BOOL: u8 = 6;
    let code = match elem {
        ScalarType::F8E4M3 => 10,
        ScalarType::F8E4M3Fnuz => 11,
        ScalarType::F8E5M2 => 12,
        ScalarType::F8E5M2Fnuz => 13,
        ScalarType::BF16 => 4,
        t if t.is_float() => 2,
        ScalarType::Bool => BOOL,
        t if t.is_signed_int() => 0,
        _ => 1,
    };
    let bits = if code == BOOL { 8 } else { elem.bits() as u8 };
    DLDataType { code: DLDataTypeCode(code), bits, lanes: 1 }
}
