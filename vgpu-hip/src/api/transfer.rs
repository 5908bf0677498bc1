//! Copies and fills.

use crate::abi::{Handle, Memcpy2D};
use crate::entry::{In, c_interface};
use crate::state::{live, stream};
use crate::status::{Outcome, hipError_t};
use std::ffi::{c_int, c_uchar, c_uint, c_ushort};
use tegula_vgpu_driver::copy::{Copy, Fill, Place, Side};
use tegula_vgpu_driver::op::Op;

/// Copies on the default stream, and returns when that is done.
fn now(copy: Copy) -> Outcome {
    let context = live()?;
    Ok(context.legacy_stream().copy(&context, copy)?)
}

/// Copies on a stream.
fn later(copy: Copy, on: Handle) -> Outcome {
    let stream = stream(on)?;
    // SAFETY: C promises that the source is readable.
    Ok(unsafe { stream.core.copy_async(&stream.context, copy) }?)
}

/// Where the sides of a copy lie, by its kind.
pub(crate) fn places(to: u64, from: u64, kind: c_uint) -> Outcome<(Place, Place)> {
    let host = |address| Place::Host(address as usize);
    Ok(match kind {
        0 => (host(to), host(from)),
        1 => (Place::Device(to), Place::unified(from)),
        2 => (Place::unified(to), Place::Device(from)),
        3 | 1024 => (Place::Device(to), Place::Device(from)),
        4 => (Place::unified(to), Place::unified(from)),
        _ => return Err(hipError_t::INVALID_MEMCPY_DIRECTION.into()),
    })
}

/// A copy in a row.
pub(crate) fn linear(to: u64, from: u64, bytes: usize, kind: c_uint) -> Outcome<Copy> {
    let (to, from) = places(to, from, kind)?;
    Ok(Copy::linear(to, from, bytes))
}

/// One side of a copy of rows: where, and the bytes from a row to the next.
type Rows = (u64, usize);

fn rows(to: Rows, from: Rows, width: usize, height: usize, kind: c_uint) -> Outcome<Copy> {
    let (target, source) = places(to.0, from.0, kind)?;
    let side = |place, pitch| Side { place, pitch, slice: 0 };
    Ok(Copy { from: side(source, from.1), to: side(target, to.1), width, height, depth: 1 })
}

/// The copy that C describes.
fn described(params: In<Memcpy2D>) -> Outcome<Copy> {
    params.get()?.copy(|kind, host, device| match kind {
        // Memory of the host, registered or not.
        0 | 1 => Ok(Place::Host(host)),
        2 => Ok(Place::Device(device)),
        // Managed and unified memory, told apart by their addresses.
        3 | 11 => Ok(Place::unified(device)),
        // Arrays are for textures.
        10 => Err(hipError_t::NOT_SUPPORTED.into()),
        _ => Err(hipError_t::INVALID_VALUE.into()),
    })
}

fn fill_now(fill: Fill) -> Outcome {
    let context = live()?;
    fill.check(&context.devices)?;
    Ok(context.legacy_stream().run_now(&context, Op::Fill(fill))?)
}

fn fill_later(fill: Fill, on: Handle) -> Outcome {
    let stream = stream(on)?;
    Ok(stream.core.fill_async(&stream.context, fill)?)
}

/// A fill takes the low byte of an int.
fn bytes(address: u64, value: c_int, count: usize) -> Fill {
    Fill::linear(address, (value as u32) & 0xFF, 1, count)
}

fn byte_rows(address: u64, pitch: usize, value: c_int, width: usize, height: usize) -> Fill {
    Fill { address, pitch, value: (value as u32) & 0xFF, element: 1, width, height }
}

c_interface! {
    /// Copies.
    fn hipMemcpy(to: u64, from: u64, bytes: usize, kind: c_uint) {
        now(linear(to, from, bytes, kind)?)
    }

    /// Copies, on a stream.
    fn hipMemcpyAsync(to: u64, from: u64, bytes: usize, kind: c_uint, on: Handle) {
        later(linear(to, from, bytes, kind)?, on)
    }

    /// Copies on a stream, and returns when that is done.
    fn hipMemcpyWithStream(to: u64, from: u64, bytes: usize, kind: c_uint, on: Handle) {
        let stream = stream(on)?;
        Ok(stream.core.copy(&stream.context, linear(to, from, bytes, kind)?)?)
    }

    /// Copies from the host to a device.
    fn hipMemcpyHtoD(to: u64, from: u64, bytes: usize) {
        now(linear(to, from, bytes, 1)?)
    }

    /// The same, on a stream.
    fn hipMemcpyHtoDAsync(to: u64, from: u64, bytes: usize, on: Handle) {
        later(linear(to, from, bytes, 1)?, on)
    }

    /// Copies from a device to the host.
    fn hipMemcpyDtoH(to: u64, from: u64, bytes: usize) {
        now(linear(to, from, bytes, 2)?)
    }

    /// The same, on a stream.
    fn hipMemcpyDtoHAsync(to: u64, from: u64, bytes: usize, on: Handle) {
        later(linear(to, from, bytes, 2)?, on)
    }

    /// Copies within devices' memory.
    fn hipMemcpyDtoD(to: u64, from: u64, bytes: usize) {
        now(linear(to, from, bytes, 3)?)
    }

    /// The same, on a stream.
    fn hipMemcpyDtoDAsync(to: u64, from: u64, bytes: usize, on: Handle) {
        later(linear(to, from, bytes, 3)?, on)
    }

    /// Copies between devices.
    fn hipMemcpyPeer(to: u64, to_device: c_int, from: u64, from_device: c_int, bytes: usize) {
        let _ = (to_device, from_device);
        now(linear(to, from, bytes, 3)?)
    }

    /// The same, on a stream.
    fn hipMemcpyPeerAsync(to: u64, to_device: c_int, from: u64, from_device: c_int, bytes: usize, on: Handle) {
        let _ = (to_device, from_device);
        later(linear(to, from, bytes, 3)?, on)
    }

    /// Copies rows that a structure describes.
    fn hipMemcpyParam2D(params: In<Memcpy2D>) as hipDrvMemcpy2DUnaligned {
        now(described(params)?)
    }

    /// The same, on a stream.
    fn hipMemcpyParam2DAsync(params: In<Memcpy2D>, on: Handle) {
        later(described(params)?, on)
    }

    /// Copies rows.
    fn hipMemcpy2D(
        to: u64,
        to_pitch: usize,
        from: u64,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_uint,
    ) {
        now(rows((to, to_pitch), (from, from_pitch), width, height, kind)?)
    }

    /// The same, on a stream.
    fn hipMemcpy2DAsync(
        to: u64,
        to_pitch: usize,
        from: u64,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_uint,
        on: Handle,
    ) {
        later(rows((to, to_pitch), (from, from_pitch), width, height, kind)?, on)
    }

    /// Fills with bytes.
    fn hipMemset(address: u64, value: c_int, count: usize) {
        fill_now(bytes(address, value, count))
    }

    /// The same, on a stream.
    fn hipMemsetAsync(address: u64, value: c_int, count: usize, on: Handle) {
        fill_later(bytes(address, value, count), on)
    }

    /// Fills with bytes.
    fn hipMemsetD8(address: u64, value: c_uchar, count: usize) {
        fill_now(Fill::linear(address, value.into(), 1, count))
    }

    /// The same, on a stream.
    fn hipMemsetD8Async(address: u64, value: c_uchar, count: usize, on: Handle) {
        fill_later(Fill::linear(address, value.into(), 1, count), on)
    }

    /// Fills with 16-bit values.
    fn hipMemsetD16(address: u64, value: c_ushort, count: usize) {
        fill_now(Fill::linear(address, value.into(), 2, count))
    }

    /// The same, on a stream.
    fn hipMemsetD16Async(address: u64, value: c_ushort, count: usize, on: Handle) {
        fill_later(Fill::linear(address, value.into(), 2, count), on)
    }

    /// Fills with 32-bit values.
    fn hipMemsetD32(address: u64, value: c_int, count: usize) {
        fill_now(Fill::linear(address, value as u32, 4, count))
    }

    /// The same, on a stream.
    fn hipMemsetD32Async(address: u64, value: c_int, count: usize, on: Handle) {
        fill_later(Fill::linear(address, value as u32, 4, count), on)
    }

    /// Fills rows with bytes.
    fn hipMemset2D(address: u64, pitch: usize, value: c_int, width: usize, height: usize) {
        fill_now(byte_rows(address, pitch, value, width, height))
    }

    /// The same, on a stream.
    fn hipMemset2DAsync(address: u64, pitch: usize, value: c_int, width: usize, height: usize, on: Handle) {
        fill_later(byte_rows(address, pitch, value, width, height), on)
    }
}
