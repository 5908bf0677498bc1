//! Events.

use crate::abi::Handle;
use crate::entry::{Out, c_interface};
use crate::state::{EVENTS, event, live, stream};
use crate::status::{Outcome, hipError_t};
use std::ffi::c_uint;
use std::sync::Arc;
use tegula_vgpu_driver::event::Event;

/// `hipEventDisableTiming`.
const DISABLE_TIMING: c_uint = 2;

fn create(out: Out<Handle>, flags: c_uint) -> Outcome {
    out.check()?;
    live()?;
    out.set(EVENTS.insert(Arc::new(Event::new(flags & DISABLE_TIMING == 0))))
}

fn record(to_record: Handle, on: Handle) -> Outcome {
    let (event, stream) = (event(to_record)?, stream(on)?);
    Ok(stream.core.record(&stream.context, &event)?)
}

c_interface! {
    /// Makes an event.
    fn hipEventCreate(out: Out<Handle>) {
        create(out, 0)
    }

    /// Makes an event. Of the flags only the one about time matters.
    fn hipEventCreateWithFlags(out: Out<Handle>, flags: c_uint) {
        create(out, flags)
    }

    /// Destroys an event; who waits for it goes on waiting.
    fn hipEventDestroy(handle: Handle) {
        EVENTS.remove(handle).map(drop).ok_or_else(|| hipError_t::INVALID_HANDLE.into())
    }

    /// Makes an event happen when a stream has come to it.
    fn hipEventRecord(handle: Handle, on: Handle) {
        record(handle, on)
    }

    /// The same.
    fn hipEventRecordWithFlags(handle: Handle, on: Handle, flags: c_uint) {
        let _ = flags;
        record(handle, on)
    }

    /// Whether an event has happened.
    fn hipEventQuery(handle: Handle) {
        let (event, context) = (event(handle)?, live()?);
        if !event.is_complete()? {
            return Err(hipError_t::NOT_READY.into());
        }
        Ok(context.check()?)
    }

    /// Waits for an event.
    fn hipEventSynchronize(handle: Handle) {
        let (event, context) = (event(handle)?, live()?);
        event.synchronize()?;
        Ok(context.check()?)
    }

    /// Milliseconds between two events: of the host's time, not of a device's.
    fn hipEventElapsedTime(out: Out<f32>, start: Handle, end: Handle) {
        let time = event(start)?.elapsed(&*event(end)?)?;
        out.set(time)
    }
}
