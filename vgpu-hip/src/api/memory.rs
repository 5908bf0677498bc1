//! Device memory, page-locked and managed memory, and what is known of an address.

use crate::abi::{Handle, PointerAttributes};
use crate::entry::{Out, c_interface};
use crate::state::{contexts, devices, live, stream};
use crate::status::{Outcome, hipError_t};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use tegula_vgpu::memory::{Allocation, Cursor};
use tegula_vgpu_driver::device::Device;
use tegula_vgpu_driver::error::Error;
use tegula_vgpu_driver::host::{self, Kind};

/// What pitches are multiples of.
const PITCH_ALIGN: usize = 256;

/// The allocation of device memory that an address lies in, and its device.
fn allocation(address: u64) -> Option<(usize, Arc<Allocation>)> {
    let index = Device::index_of(address)?;
    let snapshot = devices().get(index)?.memory.snapshot();
    let (found, _) = snapshot.locate(&mut Cursor::default(), address, 1).ok()?;
    snapshot.allocations().get(found).map(|allocation| (index, Arc::clone(allocation)))
}

/// Waits for all work of all devices: copies may be under way from or to host memory that goes away.
fn drain() -> Outcome {
    for context in contexts() {
        // A lost context has no work.
        if context.check().is_ok() {
            context.synchronize()?;
        }
    }
    Ok(())
}

fn allocate_host(out: Out<usize>, size: usize, kind: Kind) -> Outcome {
    out.check()?;
    live()?.forbid_in_capture()?;
    out.set(if size == 0 { 0 } else { host::allocate(size as u64, kind)? as usize })
}

fn free_host(address: usize, is: impl Fn(Kind) -> bool) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    drain()?;
    host::remove(address as u64, is).map_err(|_| hipError_t::INVALID_VALUE.into())
}

c_interface! {
    /// Free and total memory of the thread's device.
    fn hipMemGetInfo(free: Out<usize>, total: Out<usize>) {
        let memory = &live()?.device.memory;
        free.set_if_wanted(memory.capacity().saturating_sub(memory.used()) as usize);
        total.set_if_wanted(memory.capacity() as usize);
        Ok(())
    }

    /// Allocates device memory.
    fn hipMalloc(out: Out<u64>, size: usize) {
        out.check()?;
        let context = live()?;
        context.forbid_in_capture()?;
        out.set(if size == 0 { 0 } else { context.allocate("device memory", size as u64)? })
    }

    /// Allocates rows of device memory, each aligned.
    fn hipMallocPitch(out: Out<u64>, pitch: Out<usize>, width: usize, height: usize) {
        out.check()?;
        let context = live()?;
        if width == 0 || height == 0 {
            return out.set(0);
        }
        context.forbid_in_capture()?;
        let row = width.checked_next_multiple_of(PITCH_ALIGN).ok_or(hipError_t::OUT_OF_MEMORY)?;
        let size = row.checked_mul(height).ok_or(hipError_t::OUT_OF_MEMORY)?;
        pitch.set(row)?;
        out.set(context.allocate("pitched device memory", size as u64)?)
    }

    /// Frees device or managed memory, once all work is done.
    fn hipFree(address: u64) {
        let context = live()?;
        if address == 0 {
            return Ok(());
        }
        if host::find(address).is_some_and(|range| range.kind == Kind::Managed) {
            return free_host(address as usize, |kind| kind == Kind::Managed);
        }
        // Memory of any device can be freed from any thread.
        let owner = contexts().into_iter().find(|context| context.owns(address)).unwrap_or(context);
        match owner.free(address) {
            Err(Error::InvalidValue(_)) => Err(hipError_t::INVALID_VALUE.into()),
            other => Ok(other?),
        }
    }

    /// Allocates device memory for use behind what a stream has to do.
    fn hipMallocAsync(out: Out<u64>, size: usize, on: Handle) {
        out.check()?;
        let stream = stream(on)?;
        out.set(if size == 0 { 0 } else { stream.core.allocate_async(&stream.context, size as u64)? })
    }

    /// Gives device memory back when a stream comes to it.
    fn hipFreeAsync(address: u64, on: Handle) {
        let stream = stream(on)?;
        if address == 0 {
            return Err(hipError_t::INVALID_VALUE.into());
        }
        Ok(stream.core.free_async(&stream.context, address)?)
    }

    /// Allocates managed memory.
    fn hipMallocManaged(out: Out<usize>, size: usize, flags: c_uint) {
        let _ = flags;
        allocate_host(out, size, Kind::Managed)
    }

    /// Allocates page-locked memory.
    fn hipHostMalloc(out: Out<usize>, size: usize, flags: c_uint) as hipHostAlloc {
        let _ = flags;
        allocate_host(out, size, Kind::Pinned)
    }

    /// Frees page-locked memory, once all work is done.
    fn hipHostFree(address: usize) as hipFreeHost {
        free_host(address, |kind| kind == Kind::Pinned)
    }

    /// Page-locks memory of the program.
    fn hipHostRegister(start: *mut c_void, size: usize, flags: c_uint) {
        let _ = flags;
        live()?;
        let start = NonNull::new(start.cast()).filter(|_| size > 0).ok_or(hipError_t::INVALID_VALUE)?;
        // SAFETY: C promises that the memory stays until it is unregistered; unregistering waits for all work.
        Ok(unsafe { host::register(start, size) }?)
    }

    /// Ends that.
    fn hipHostUnregister(start: usize) {
        drain()?;
        Ok(host::remove(start as u64, |kind| kind == Kind::Registered)?)
    }

    /// The device's address of page-locked memory: the same.
    fn hipHostGetDevicePointer(out: Out<u64>, address: usize, flags: c_uint) {
        let _ = flags;
        host::find(address as u64).ok_or(hipError_t::INVALID_VALUE)?;
        out.set(address as u64)
    }

    /// Start and size of the allocation that an address lies in.
    fn hipMemGetAddressRange(base: Out<u64>, size: Out<usize>, address: u64) {
        let device = allocation(address).map(|(_, allocation)| (allocation.base(), allocation.size()));
        let range = device.or_else(|| host::find(address).map(|range| (range.start, range.size)));
        let (start, length) = range.ok_or(hipError_t::NOT_FOUND)?;
        base.set_if_wanted(start);
        size.set_if_wanted(length as usize);
        Ok(())
    }

    /// What is known of an address.
    fn hipPointerGetAttributes(out: Out<PointerAttributes>, address: usize) {
        const HOST: c_uint = 1;
        const DEVICE: c_uint = 2;
        const MANAGED: c_uint = 3;
        if let Some((index, _)) = allocation(address as u64) {
            return out.set(PointerAttributes {
                kind: DEVICE,
                device: index as c_int,
                device_pointer: address,
                host_pointer: 0,
                is_managed: 0,
                allocation_flags: 0,
            });
        }
        let range = host::find(address as u64).ok_or(hipError_t::INVALID_VALUE)?;
        let managed = range.kind == Kind::Managed;
        out.set(PointerAttributes {
            kind: if managed { MANAGED } else { HOST },
            device: 0,
            device_pointer: address,
            host_pointer: address,
            is_managed: managed.into(),
            allocation_flags: 0,
        })
    }
}
