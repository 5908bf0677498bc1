//! Events.

use crate::abi::Handle;
use crate::entry::{Out, c_interface};
use crate::state::{EVENTS, event, live, stream};
use crate::status::{CUresult, Outcome};
use std::ffi::c_uint;
use std::sync::Arc;
use tegula_vgpu_driver::event::Event;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;

fn record(to_record: Handle, on: Handle) -> Outcome {
    let (event, stream) = (event(to_record)?, stream(on)?);
    Ok(stream.core.record(&stream.context.core, &event)?)
}

c_interface! {
    /// Makes an event.
    fn cuEventCreate(out: Out<Handle>, flags: c_uint) {
        out.check()?;
        live()?;
        // Events between processes, the fourth bit, are not there.
        if flags & !3 != 0 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        out.set(EVENTS.insert(Arc::new(Event::new(flags & DISABLE_TIMING == 0))))
    }

    /// Destroys an event; who waits for it goes on waiting.
    fn cuEventDestroy(handle: Handle) as cuEventDestroy_v2 {
        EVENTS.remove(handle).map(drop).ok_or_else(|| CUresult::ERROR_INVALID_HANDLE.into())
    }

    /// Makes an event happen when a stream has come to it.
    fn cuEventRecord(handle: Handle, on: Handle) {
        record(handle, on)
    }

    /// The same.
    fn cuEventRecordWithFlags(handle: Handle, on: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        record(handle, on)
    }

    /// Whether an event has happened.
    fn cuEventQuery(handle: Handle) {
        let (event, context) = (event(handle)?, live()?);
        if !event.is_complete()? {
            return Err(CUresult::ERROR_NOT_READY.into());
        }
        Ok(context.core.check()?)
    }

    /// Waits for an event.
    fn cuEventSynchronize(handle: Handle) {
        let (event, context) = (event(handle)?, live()?);
        event.synchronize()?;
        Ok(context.core.check()?)
    }

    /// Milliseconds between two events: of the host's time, not of a device's.
    fn cuEventElapsedTime(out: Out<f32>, start: Handle, end: Handle) as cuEventElapsedTime_v2 {
        let time = event(start)?.elapsed(&*event(end)?)?;
        out.set(time)
    }
}
