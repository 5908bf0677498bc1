//! Device memory, page-locked and managed memory, and what is known of an address.

use crate::abi::{Device, DevicePtr, Handle, MemLocation};
use crate::entry::{In, Out, c_interface};
use crate::state::{CONTEXTS, current_entry, device, live, state, stream};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use tegula_vgpu::memory::{Allocation, Cursor};
use tegula_vgpu_driver::device::Device as VirtualDevice;
use tegula_vgpu_driver::host::{self, Kind};
use tegula_vgpu_driver::op::Op;

/// What pitches are multiples of.
const PITCH_ALIGN: usize = 512;

/// The allocation of device memory that an address lies in, and its device.
fn allocation(address: DevicePtr) -> Option<(usize, Arc<Allocation>)> {
    let index = VirtualDevice::index_of(address)?;
    let snapshot = state().ok()?.devices.get(index)?.memory.snapshot();
    let (found, _) = snapshot.locate(&mut Cursor::default(), address, 1).ok()?;
    snapshot.allocations().get(found).map(|allocation| (index, Arc::clone(allocation)))
}

/// Waits for all work of all contexts: copies may be under way from or to host memory that goes away.
fn drain() -> Outcome {
    for context in CONTEXTS.all() {
        // A lost context has no work.
        if context.core.check().is_ok() {
            context.core.synchronize()?;
        }
    }
    Ok(())
}

fn allocate_host(out: Out<usize>, size: usize) -> Outcome {
    out.check()?;
    live()?.core.forbid_in_capture()?;
    if size == 0 {
        return Err(CUresult::ERROR_INVALID_VALUE.into());
    }
    out.set(host::allocate(size as u64, Kind::Pinned)? as usize)
}

fn in_range(address: DevicePtr, size: usize) -> Outcome {
    let end = address.saturating_add(size as u64);
    let managed = host::find(address).filter(|range| range.kind == Kind::Managed);
    match managed {
        Some(range) if end <= range.start + range.size => Ok(()),
        _ => Err(CUresult::ERROR_INVALID_VALUE.into()),
    }
}

/// One attribute of an address, written to where C wants it.
fn attribute(data: *mut c_void, number: c_uint, address: DevicePtr) -> Outcome {
    let device = allocation(address);
    let range = host::find(address);
    if device.is_none() && range.is_none() {
        return Err(CUresult::ERROR_INVALID_VALUE.into());
    }
    let managed = range.as_ref().is_some_and(|range| range.kind == Kind::Managed);
    let index = device.as_ref().map_or(0, |(index, _)| *index);
    // Every attribute has a type of its own.
    let handle = || Out::<Handle>::at(data);
    let number32 = || Out::<c_uint>::at(data);
    match number {
        1 => handle().set(current_entry().map_or(0, |(handle, _)| handle)),
        2 => number32().set(if device.is_some() || managed { 2 } else { 1 }),
        3 => Out::<DevicePtr>::at(data).set(address),
        4 if range.is_some() => Out::<DevicePtr>::at(data).set(address),
        4 => Err(CUresult::ERROR_INVALID_VALUE.into()),
        6 => number32().set(0),
        7 => Out::<u64>::at(data).set(device.map_or(address, |(_, allocation)| allocation.base())),
        8 => number32().set(managed.into()),
        9 => Out::<c_int>::at(data).set(index as c_int),
        10 | 14 | 15 => number32().set(0),
        11 => Out::<DevicePtr>::at(data)
            .set(device.map_or_else(|| range.map_or(0, |range| range.start), |(_, allocation)| allocation.base())),
        12 => Out::<usize>::at(data)
            .set(device.map_or_else(|| range.map_or(0, |range| range.size), |(_, allocation)| allocation.size())
                as usize),
        13 => number32().set(1),
        16 => number32().set(3),
        17 => handle().set(0),
        _ => Err(CUresult::ERROR_INVALID_VALUE.into()),
    }
}

c_interface! {
    /// Free and total memory of the current context's device.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let memory = &live()?.core.device.memory;
        free.set(memory.capacity().saturating_sub(memory.used()) as usize)?;
        total.set(memory.capacity() as usize)
    }

    /// Allocates device memory.
    fn cuMemAlloc_v2(out: Out<DevicePtr>, size: usize) {
        out.check()?;
        let context = live()?;
        context.core.forbid_in_capture()?;
        out.set(context.core.allocate("device memory", size as u64)?)
    }

    /// Allocates rows of device memory, each aligned.
    fn cuMemAllocPitch_v2(out: Out<DevicePtr>, pitch: Out<usize>, width: usize, height: usize, element: c_uint) {
        out.check()?;
        pitch.check()?;
        let context = live()?;
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        context.core.forbid_in_capture()?;
        let row = width.checked_next_multiple_of(PITCH_ALIGN);
        let size = row.and_then(|row| row.checked_mul(height)).ok_or(CUresult::ERROR_OUT_OF_MEMORY)?;
        pitch.set(row.unwrap_or(0))?;
        out.set(context.core.allocate("pitched device memory", size as u64)?)
    }

    /// Frees device or managed memory, once all work is done.
    fn cuMemFree_v2(address: DevicePtr) {
        let context = live()?;
        if address == 0 {
            return Ok(());
        }
        if host::find(address).is_some_and(|range| range.kind == Kind::Managed && range.start == address) {
            drain()?;
            return Ok(host::remove(address, |kind| kind == Kind::Managed)?);
        }
        Ok(context.core.free(address)?)
    }

    /// Allocates managed memory.
    fn cuMemAllocManaged(out: Out<DevicePtr>, size: usize, flags: c_uint) {
        out.check()?;
        live()?.core.forbid_in_capture()?;
        if size == 0 || !matches!(flags, 1 | 2) {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        out.set(host::allocate(size as u64, Kind::Managed)?)
    }

    /// Start and size of the allocation that an address lies in.
    fn cuMemGetAddressRange_v2(base: Out<DevicePtr>, size: Out<usize>, address: DevicePtr) {
        live()?;
        let device = allocation(address).map(|(_, allocation)| (allocation.base(), allocation.size()));
        let range = device.or_else(|| host::find(address).map(|range| (range.start, range.size)));
        let (start, length) = range.ok_or(CUresult::ERROR_NOT_FOUND)?;
        base.set_if_wanted(start);
        size.set_if_wanted(length as usize);
        Ok(())
    }

    /// Allocates page-locked memory.
    fn cuMemHostAlloc(out: Out<usize>, size: usize, flags: c_uint) {
        if flags & !7 != 0 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        allocate_host(out, size)
    }

    /// Allocates page-locked memory.
    fn cuMemAllocHost_v2(out: Out<usize>, size: usize) {
        allocate_host(out, size)
    }

    /// Frees page-locked memory, once all work is done.
    fn cuMemFreeHost(address: usize) {
        state()?;
        drain()?;
        host::remove(address as u64, |kind| kind == Kind::Pinned).map_err(|_| CUresult::ERROR_INVALID_VALUE.into())
    }

    /// Page-locks memory of the program.
    fn cuMemHostRegister_v2(start: *mut c_void, size: usize, flags: c_uint) {
        let _ = flags;
        live()?;
        let start = NonNull::new(start.cast()).filter(|_| size > 0).ok_or(CUresult::ERROR_INVALID_VALUE)?;
        // SAFETY: C promises that the memory stays until it is unregistered; unregistering waits for all work.
        Ok(unsafe { host::register(start, size) }?)
    }

    /// Ends that.
    fn cuMemHostUnregister(start: usize) {
        state()?;
        drain()?;
        Ok(host::remove(start as u64, |kind| kind == Kind::Registered)?)
    }

    /// The device's address of page-locked memory: the same.
    fn cuMemHostGetDevicePointer_v2(out: Out<DevicePtr>, address: usize, flags: c_uint) {
        let _ = flags;
        live()?;
        host::find(address as u64).ok_or(CUresult::ERROR_INVALID_VALUE)?;
        out.set(address as DevicePtr)
    }

    /// How page-locked memory was made.
    fn cuMemHostGetFlags(out: Out<c_uint>, address: usize) {
        host::find(address as u64).ok_or(CUresult::ERROR_INVALID_VALUE)?;
        out.set(3)
    }

    /// Advice about managed memory is taken, and changes nothing.
    fn cuMemAdvise(address: DevicePtr, size: usize, advice: c_uint, ordinal: Device) {
        let _ = (advice, ordinal);
        live()?;
        in_range(address, size)
    }

    /// Advice about managed memory is taken, and changes nothing.
    fn cuMemAdvise_v2(address: DevicePtr, size: usize, advice: c_uint, location: MemLocation) {
        let _ = (advice, location);
        live()?;
        in_range(address, size)
    }

    /// Managed memory is everywhere at once.
    fn cuMemPrefetchAsync(address: DevicePtr, size: usize, ordinal: Device, to: Handle) {
        let _ = ordinal;
        let stream = stream(to)?;
        in_range(address, size)?;
        Ok(stream.core.submit(&stream.context.core, Op::Nothing).map(drop)?)
    }

    /// Managed memory is everywhere at once.
    fn cuMemPrefetchAsync_v2(address: DevicePtr, size: usize, location: MemLocation, flags: c_uint, to: Handle) {
        let _ = (location, flags);
        let stream = stream(to)?;
        in_range(address, size)?;
        Ok(stream.core.submit(&stream.context.core, Op::Nothing).map(drop)?)
    }

    /// Managed memory belongs to no stream.
    fn cuStreamAttachMemAsync(to: Handle, address: DevicePtr, size: usize, flags: c_uint) {
        let _ = flags;
        let stream = stream(to)?;
        in_range(address, size)?;
        Ok(stream.core.submit(&stream.context.core, Op::Nothing).map(drop)?)
    }

    /// One attribute of an address.
    fn cuPointerGetAttribute(data: *mut c_void, number: c_uint, address: DevicePtr) {
        state()?;
        attribute(data, number, address)
    }

    /// Several attributes of an address; zero where it has none.
    fn cuPointerGetAttributes(count: c_uint, numbers: In<c_uint>, data: In<*mut c_void>, address: DevicePtr) {
        state()?;
        let numbers = numbers.values(count as usize)?;
        for (number, data) in numbers.into_iter().zip(data.values(count as usize)?) {
            if attribute(data, number, address).is_err() {
                // The narrowest of the types: what is wider was zeroed by whoever follows the interface.
                Out::<c_uint>::at(data).set_if_wanted(0);
            }
        }
        Ok(())
    }

    /// Sets an attribute of an address. The one that can be set orders copies, which are ordered.
    fn cuPointerSetAttribute(value: *const c_void, number: c_uint, address: DevicePtr) {
        if value.is_null() || number != 6 || allocation(address).is_none() {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        Ok(())
    }

    /// A device's memory that graphs hold is not counted apart.
    fn cuDeviceGraphMemTrim(ordinal: Device) {
        device(ordinal).map(drop)
    }
}
