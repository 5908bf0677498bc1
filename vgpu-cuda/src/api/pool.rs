//! Memory pools and stream-ordered allocation.

use crate::abi::{DevicePtr, Handle, MemAccessDesc, MemLocation, MemPoolProps};
use crate::entry::{In, Out, c_interface};
use crate::state::{POOLS, Pool, device, lock, state, stream};
use crate::status::{CUresult, Failure, Outcome};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex};

fn pool(handle: Handle) -> Outcome<Arc<Pool>> {
    POOLS.get(handle).ok_or_else(|| CUresult::ERROR_INVALID_VALUE.into())
}

fn invalid() -> Failure {
    CUresult::ERROR_INVALID_VALUE.into()
}

/// An attribute's value where nothing set it.
fn default_attribute(pool: &Pool, number: c_uint) -> Outcome<u64> {
    let used = || Ok::<_, Failure>(state()?.devices[pool.device].memory.used());
    match number {
        // Reuse is allowed in every way.
        1..=3 => Ok(1),
        // Nothing is kept: memory goes back at once.
        4 => Ok(0),
        // Memory in use, now and at most, is that of the device.
        5..=8 => used(),
        _ => Err(invalid()),
    }
}

c_interface! {
    /// Allocates device memory for use behind what a stream has to do.
    fn cuMemAllocAsync(out: Out<DevicePtr>, size: usize, on: Handle) {
        out.check()?;
        let stream = stream(on)?;
        out.set(stream.core.allocate_async(&stream.context.core, size as u64)?)
    }

    /// The same, from a pool.
    fn cuMemAllocFromPoolAsync(out: Out<DevicePtr>, size: usize, from: Handle, on: Handle) {
        out.check()?;
        let (stream, pool) = (stream(on)?, pool(from)?);
        let device = &stream.context.core.device;
        if pool.device != device.index {
            return Err(CUresult::ERROR_NOT_SUPPORTED.into());
        }
        if pool.max_size != 0 && size > pool.max_size {
            return Err(CUresult::ERROR_OUT_OF_MEMORY.into());
        }
        out.set(stream.core.allocate_async(&stream.context.core, size as u64)?)
    }

    /// Gives device memory back when a stream comes to it.
    fn cuMemFreeAsync(address: DevicePtr, on: Handle) {
        let stream = stream(on)?;
        Ok(stream.core.free_async(&stream.context.core, address)?)
    }

    /// Makes a pool.
    fn cuMemPoolCreate(out: Out<Handle>, props: In<MemPoolProps>) {
        out.check()?;
        let props = props.get()?;
        // Pinned memory of a device.
        if props.alloc_type != 1 || props.location.kind != 1 {
            return Err(CUresult::ERROR_NOT_SUPPORTED.into());
        }
        let device = device(props.location.id)?.index;
        out.set(POOLS.insert(Arc::new(Pool { device, attributes: Mutex::default(), max_size: props.max_size })))
    }

    /// Destroys a pool. Allocations from it stay.
    fn cuMemPoolDestroy(handle: Handle) {
        let own = pool(handle)?;
        if state()?.pools[own.device].default == handle {
            return Err(CUresult::ERROR_NOT_PERMITTED.into());
        }
        POOLS.remove(handle);
        Ok(())
    }

    /// Nothing is kept that could be trimmed.
    fn cuMemPoolTrimTo(handle: Handle, keep: usize) {
        let _ = keep;
        pool(handle).map(drop)
    }

    /// An attribute of a pool.
    fn cuMemPoolGetAttribute(handle: Handle, number: c_uint, value: *mut c_void) {
        let pool = pool(handle)?;
        let own = lock(&pool.attributes).get(&number).copied();
        let current = match own {
            Some(own) => own,
            None => default_attribute(&pool, number)?,
        };
        // The first three are ints.
        match number {
            1..=3 => Out::<c_uint>::at(value).set(current as c_uint),
            _ => Out::<u64>::at(value).set(current),
        }
    }

    /// Sets an attribute of a pool; it is told back.
    fn cuMemPoolSetAttribute(handle: Handle, number: c_uint, value: *mut c_void) {
        let pool = pool(handle)?;
        let new = match number {
            1..=3 => Out::<c_uint>::at(value).get()?.into(),
            4 => Out::<u64>::at(value).get()?,
            // The most in use can only be reset, and is not kept.
            6 | 8 => return if Out::<u64>::at(value).get()? == 0 { Ok(()) } else { Err(invalid()) },
            _ => return Err(invalid()),
        };
        lock(&pool.attributes).insert(number, new);
        Ok(())
    }

    /// Who can access a pool: peers that are enabled.
    fn cuMemPoolSetAccess(handle: Handle, map: In<MemAccessDesc>, count: usize) {
        let own = pool(handle)?;
        for desc in map.values(count)? {
            let viewer = device(desc.location.id)?;
            let peer = device(own.device as i32)?;
            match desc.flags {
                0 => drop(viewer.disable_peer(peer)),
                3 if viewer.index != peer.index => drop(viewer.enable_peer(peer)),
                3 => {}
                _ => return Err(invalid()),
            }
        }
        Ok(())
    }

    /// Whether a device can access a pool: its own can.
    fn cuMemPoolGetAccess(out: Out<c_uint>, handle: Handle, location: In<MemLocation>) {
        let own = pool(handle)?;
        let viewer = device(location.get()?.id)?;
        let peer = device(own.device as i32)?;
        out.set(if viewer.index == peer.index || viewer.sees(peer) { 3 } else { 0 })
    }
}
