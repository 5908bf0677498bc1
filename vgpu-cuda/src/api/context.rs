//! Contexts, the stack of current ones, their limits, and access to peers.

use crate::abi::{Device, Handle};
use crate::entry::{Out, c_interface};
use crate::state::{CudaContext, context, current, current_entry, device, event, live, lock, state, with_stack};
use crate::status::{CUresult, Outcome};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// Destroys a context and takes it off the calling thread's stack.
fn destroy(handle: Handle) -> Outcome {
    let context = context(handle)?;
    if context.primary {
        return Err(CUresult::ERROR_INVALID_CONTEXT.into());
    }
    with_stack(|stack| {
        if stack.last().is_some_and(|(top, _)| *top == handle) {
            stack.pop();
        }
    });
    context.destroy(handle);
    Ok(())
}

fn create(out: Out<Handle>, flags: c_uint, ordinal: Device) -> Outcome {
    out.check()?;
    let (handle, context) = CudaContext::create(device(ordinal)?, false, flags)?;
    with_stack(|stack| stack.push((handle, context)));
    out.set(handle)
}

/// The values that a context's limits have before they are set.
fn default_limit(number: c_uint) -> Option<usize> {
    Some(match number {
        // Stack of a thread, the buffer of printf, the heap.
        0 => 1024,
        1 => 7 << 20,
        2 => 8 << 20,
        // Launches from kernels: their depth and number.
        3 => 2,
        4 => 2048,
        // Granularity of L2 fetches, persisting L2.
        5 => 64,
        6 => 0,
        _ => return None,
    })
}

/// The context with a handle, or the current one for none.
fn or_current(handle: Handle) -> Outcome<std::sync::Arc<CudaContext>> {
    if handle == 0 { current() } else { context(handle) }
}

c_interface! {
    /// Makes a context and makes it current.
    fn cuCtxCreate_v2(out: Out<Handle>, flags: c_uint, ordinal: Device) {
        create(out, flags, ordinal)
    }

    /// The same, with affinities, which there are none of.
    fn cuCtxCreate_v3(out: Out<Handle>, params: *const c_void, count: c_int, flags: c_uint, ordinal: Device) {
        if !params.is_null() && count > 0 {
            return Err(CUresult::ERROR_NOT_SUPPORTED.into());
        }
        create(out, flags, ordinal)
    }

    /// The same, with parameters for sharing with graphics, which there is none of.
    fn cuCtxCreate_v4(out: Out<Handle>, params: *const c_void, flags: c_uint, ordinal: Device) {
        if !params.is_null() {
            return Err(CUresult::ERROR_NOT_SUPPORTED.into());
        }
        create(out, flags, ordinal)
    }

    /// Waits for a context's work and destroys it.
    fn cuCtxDestroy_v2(handle: Handle) {
        destroy(handle)
    }

    /// The current context, or null.
    fn cuCtxGetCurrent(out: Out<Handle>) {
        state()?;
        out.set(with_stack(|stack| stack.last().map_or(0, |(handle, _)| *handle)))
    }

    /// Makes a context current in place of the one that is; null for none.
    fn cuCtxSetCurrent(handle: Handle) {
        let next = if handle == 0 { None } else { Some((handle, context(handle)?)) };
        with_stack(|stack| {
            stack.pop();
            stack.extend(next);
        });
        state().map(drop)
    }

    /// Makes a context current until it is popped.
    fn cuCtxPushCurrent_v2(handle: Handle) {
        let context = context(handle)?;
        with_stack(|stack| stack.push((handle, context)));
        Ok(())
    }

    /// Takes the current context off the stack.
    fn cuCtxPopCurrent_v2(out: Out<Handle>) {
        state()?;
        let (handle, _) = with_stack(Vec::pop).ok_or(CUresult::ERROR_INVALID_CONTEXT)?;
        out.set_if_wanted(handle);
        Ok(())
    }

    /// The current context's device.
    fn cuCtxGetDevice(out: Out<Device>) {
        out.set(current()?.core.device.index as Device)
    }

    /// A context's device.
    fn cuCtxGetDevice_v2(out: Out<Device>, handle: Handle) {
        out.set(or_current(handle)?.core.device.index as Device)
    }

    /// A number of the context's own.
    fn cuCtxGetId(handle: Handle, out: Out<u64>) {
        let handle = if handle == 0 { current_entry().ok_or(CUresult::ERROR_INVALID_CONTEXT)?.0 } else { handle };
        context(handle)?;
        out.set(handle as u64)
    }

    /// Waits for the current context's work.
    fn cuCtxSynchronize() {
        Ok(live()?.core.synchronize()?)
    }

    /// Waits for a context's work.
    fn cuCtxSynchronize_v2(handle: Handle) {
        Ok(or_current(handle)?.core.synchronize()?)
    }

    /// The flags of the current context.
    fn cuCtxGetFlags(out: Out<c_uint>) {
        out.set(current()?.flags.load(Relaxed))
    }

    /// Sets the flags of the current context.
    fn cuCtxSetFlags(flags: c_uint) {
        current()?.flags.store(flags, Relaxed);
        Ok(())
    }

    /// The version of the interface that a context was made for.
    fn cuCtxGetApiVersion(handle: Handle, out: Out<c_uint>) {
        or_current(handle)?;
        out.set(3020)
    }

    /// One of the context's limits.
    fn cuCtxGetLimit(out: Out<usize>, number: c_uint) {
        let context = live()?;
        let default = default_limit(number).ok_or(CUresult::ERROR_UNSUPPORTED_LIMIT)?;
        let value = lock(&context.limits).get(&number).copied();
        out.set(value.unwrap_or(default))
    }

    /// Sets one of the context's limits. Kernels are not held to it.
    fn cuCtxSetLimit(number: c_uint, value: usize) {
        let context = live()?;
        default_limit(number).ok_or(CUresult::ERROR_UNSUPPORTED_LIMIT)?;
        lock(&context.limits).insert(number, value);
        Ok(())
    }

    /// The preferred split of cache and shared memory.
    fn cuCtxGetCacheConfig(out: Out<c_uint>) {
        out.set(live()?.cache_config.load(Relaxed))
    }

    /// Sets the preferred split of cache and shared memory.
    fn cuCtxSetCacheConfig(config: c_uint) {
        live()?.cache_config.store(config, Relaxed);
        Ok(())
    }

    /// The width of shared memory's banks, which is fixed.
    fn cuCtxGetSharedMemConfig(out: Out<c_uint>) {
        live()?;
        out.set(1)
    }

    /// It stays fixed.
    fn cuCtxSetSharedMemConfig(config: c_uint) {
        let _ = config;
        live().map(drop)
    }

    /// The priorities that streams can have. They are told back; threads of the host have none.
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        live()?;
        least.set_if_wanted(0);
        greatest.set_if_wanted(-5);
        Ok(())
    }

    /// Clears what persists in L2: nothing.
    fn cuCtxResetPersistingL2Cache() {
        live().map(drop)
    }

    /// Records an event behind all work of a context.
    fn cuCtxRecordEvent(handle: Handle, to_record: Handle) {
        let (context, event) = (or_current(handle)?, event(to_record)?);
        Ok(context.core.legacy_stream().record(&context.core, &event)?)
    }

    /// Lets the current context's kernels reach the memory of another one's device.
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) {
        if flags != 0 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        Ok(live()?.core.device.enable_peer(&context(peer)?.core.device)?)
    }

    /// Takes that back.
    fn cuCtxDisablePeerAccess(peer: Handle) {
        Ok(live()?.core.device.disable_peer(&context(peer)?.core.device)?)
    }
}
