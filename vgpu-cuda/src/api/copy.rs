//! Copies in one to three dimensions, and fills.

use crate::abi::{DevicePtr, Handle, Memcpy2D, Memcpy3D, Memcpy3DSide};
use crate::entry::{In, c_interface};
use crate::state::{live, stream};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_uchar, c_uint, c_ushort};
use tegula_vgpu_driver::abi::offset;
use tegula_vgpu_driver::copy::{Copy, Fill, Place, Side};

/// Copies on the legacy stream, and returns when that is done.
fn now(copy: Copy) -> Outcome {
    let context = live()?;
    Ok(context.core.legacy_stream().copy(&context.core, copy)?)
}

/// Copies on a stream.
fn later(copy: Copy, to: Handle) -> Outcome {
    let stream = stream(to)?;
    // SAFETY: C promises that the source is readable.
    Ok(unsafe { stream.core.copy_async(&stream.context.core, copy) }?)
}

fn linear(to: Place, from: Place, bytes: usize) -> Copy {
    Copy::linear(to, from, bytes)
}

fn place(kind: c_uint, host: usize, device: DevicePtr) -> Outcome<Place> {
    match kind {
        1 => Ok(Place::Host(host)),
        2 => Ok(Place::Device(device)),
        4 => Ok(Place::unified(device)),
        // Arrays are for textures.
        3 => Err(CUresult::ERROR_NOT_SUPPORTED.into()),
        _ => Err(CUresult::ERROR_INVALID_VALUE.into()),
    }
}

fn copy_2d(params: In<Memcpy2D>) -> Outcome<Copy> {
    params.get()?.copy(place)
}

fn side_3d(side: &Memcpy3DSide, params: &Memcpy3D) -> Outcome<Side> {
    let pitch = if side.pitch == 0 { params.width_in_bytes } else { side.pitch };
    let rows = if side.height == 0 { params.height } else { side.height };
    let slice = pitch.checked_mul(rows).ok_or(CUresult::ERROR_INVALID_VALUE)?;
    let place = place(side.memory_type, side.host, side.device)?;
    let first = offset(side.x_in_bytes, side.y, side.z, pitch, slice)?;
    Ok(Side { place: place.offset(first), pitch, slice })
}

/// The copy that C describes.
pub(crate) fn copy_3d(params: In<Memcpy3D>) -> Outcome<Copy> {
    let params = params.get()?;
    let (from, to) = (side_3d(&params.src, &params)?, side_3d(&params.dst, &params)?);
    Ok(Copy { from, to, width: params.width_in_bytes, height: params.height, depth: params.depth })
}

/// Fills on the legacy stream, and returns when that is done.
fn fill_now(fill: Fill) -> Outcome {
    let context = live()?;
    fill.check(&context.core.devices)?;
    Ok(context.core.legacy_stream().run_now(&context.core, tegula_vgpu_driver::op::Op::Fill(fill))?)
}

fn fill_later(fill: Fill, to: Handle) -> Outcome {
    let stream = stream(to)?;
    Ok(stream.core.fill_async(&stream.context.core, fill)?)
}

fn fill_2d(address: DevicePtr, pitch: usize, value: u32, element: usize, width: usize, height: usize) -> Fill {
    Fill { address, pitch, value, element, width, height }
}

c_interface! {
    /// Copies between places that are seen from their addresses.
    fn cuMemcpy(to: DevicePtr, from: DevicePtr, bytes: usize) {
        now(linear(Place::unified(to), Place::unified(from), bytes))
    }

    /// The same, on a stream.
    fn cuMemcpyAsync(to: DevicePtr, from: DevicePtr, bytes: usize, on: Handle) {
        later(linear(Place::unified(to), Place::unified(from), bytes), on)
    }

    /// Copies from the host to a device.
    fn cuMemcpyHtoD_v2(to: DevicePtr, from: usize, bytes: usize) {
        now(linear(Place::Device(to), Place::Host(from), bytes))
    }

    /// The same, on a stream.
    fn cuMemcpyHtoDAsync_v2(to: DevicePtr, from: usize, bytes: usize, on: Handle) {
        later(linear(Place::Device(to), Place::Host(from), bytes), on)
    }

    /// Copies from a device to the host.
    fn cuMemcpyDtoH_v2(to: usize, from: DevicePtr, bytes: usize) {
        now(linear(Place::Host(to), Place::Device(from), bytes))
    }

    /// The same, on a stream.
    fn cuMemcpyDtoHAsync_v2(to: usize, from: DevicePtr, bytes: usize, on: Handle) {
        later(linear(Place::Host(to), Place::Device(from), bytes), on)
    }

    /// Copies within devices' memory.
    fn cuMemcpyDtoD_v2(to: DevicePtr, from: DevicePtr, bytes: usize) {
        now(linear(Place::Device(to), Place::Device(from), bytes))
    }

    /// The same, on a stream.
    fn cuMemcpyDtoDAsync_v2(to: DevicePtr, from: DevicePtr, bytes: usize, on: Handle) {
        later(linear(Place::Device(to), Place::Device(from), bytes), on)
    }

    /// Copies between devices.
    fn cuMemcpyPeer(to: DevicePtr, to_context: Handle, from: DevicePtr, from_context: Handle, bytes: usize) {
        let _ = (to_context, from_context);
        now(linear(Place::Device(to), Place::Device(from), bytes))
    }

    /// The same, on a stream.
    fn cuMemcpyPeerAsync(
        to: DevicePtr,
        to_context: Handle,
        from: DevicePtr,
        from_context: Handle,
        bytes: usize,
        on: Handle,
    ) {
        let _ = (to_context, from_context);
        later(linear(Place::Device(to), Place::Device(from), bytes), on)
    }

    /// Copies rows.
    fn cuMemcpy2D_v2(params: In<Memcpy2D>) as cuMemcpy2DUnaligned_v2 {
        now(copy_2d(params)?)
    }

    /// The same, on a stream.
    fn cuMemcpy2DAsync_v2(params: In<Memcpy2D>, on: Handle) {
        later(copy_2d(params)?, on)
    }

    /// Copies a box.
    fn cuMemcpy3D_v2(params: In<Memcpy3D>) as cuMemcpy3DPeer {
        now(copy_3d(params)?)
    }

    /// The same, on a stream.
    fn cuMemcpy3DAsync_v2(params: In<Memcpy3D>, on: Handle) as cuMemcpy3DPeerAsync {
        later(copy_3d(params)?, on)
    }

    /// Fills with bytes.
    fn cuMemsetD8_v2(address: DevicePtr, value: c_uchar, count: usize) {
        fill_now(Fill::linear(address, value.into(), 1, count))
    }

    /// Fills with 16-bit values.
    fn cuMemsetD16_v2(address: DevicePtr, value: c_ushort, count: usize) {
        fill_now(Fill::linear(address, value.into(), 2, count))
    }

    /// Fills with 32-bit values.
    fn cuMemsetD32_v2(address: DevicePtr, value: c_uint, count: usize) {
        fill_now(Fill::linear(address, value, 4, count))
    }

    /// Fills with bytes, on a stream.
    fn cuMemsetD8Async(address: DevicePtr, value: c_uchar, count: usize, on: Handle) {
        fill_later(Fill::linear(address, value.into(), 1, count), on)
    }

    /// Fills with 16-bit values, on a stream.
    fn cuMemsetD16Async(address: DevicePtr, value: c_ushort, count: usize, on: Handle) {
        fill_later(Fill::linear(address, value.into(), 2, count), on)
    }

    /// Fills with 32-bit values, on a stream.
    fn cuMemsetD32Async(address: DevicePtr, value: c_uint, count: usize, on: Handle) {
        fill_later(Fill::linear(address, value, 4, count), on)
    }

    /// Fills rows with bytes.
    fn cuMemsetD2D8_v2(address: DevicePtr, pitch: usize, value: c_uchar, width: usize, height: usize) {
        fill_now(fill_2d(address, pitch, value.into(), 1, width, height))
    }

    /// Fills rows with 16-bit values.
    fn cuMemsetD2D16_v2(address: DevicePtr, pitch: usize, value: c_ushort, width: usize, height: usize) {
        fill_now(fill_2d(address, pitch, value.into(), 2, width, height))
    }

    /// Fills rows with 32-bit values.
    fn cuMemsetD2D32_v2(address: DevicePtr, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill_now(fill_2d(address, pitch, value, 4, width, height))
    }

    /// Fills rows with bytes, on a stream.
    fn cuMemsetD2D8Async(address: DevicePtr, pitch: usize, value: c_uchar, width: usize, height: usize, on: Handle) {
        fill_later(fill_2d(address, pitch, value.into(), 1, width, height), on)
    }

    /// Fills rows with 16-bit values, on a stream.
    fn cuMemsetD2D16Async(address: DevicePtr, pitch: usize, value: c_ushort, width: usize, height: usize, on: Handle) {
        fill_later(fill_2d(address, pitch, value.into(), 2, width, height), on)
    }

    /// Fills rows with 32-bit values, on a stream.
    fn cuMemsetD2D32Async(address: DevicePtr, pitch: usize, value: c_uint, width: usize, height: usize, on: Handle) {
        fill_later(fill_2d(address, pitch, value, 4, width, height), on)
    }
}
