//! Streams, functions of the host in them, and captures.

use crate::abi::{Device, Handle, HostFn, StreamCallback};
use crate::entry::{Out, c_interface};
use crate::state::{GRAPHS, HipStream, STREAMS, event, live, stream};
use crate::status::{Outcome, hipError_t};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use tegula_vgpu_driver::capture::{self, Mode};
use tegula_vgpu_driver::ffi::{UserData, host_function};
use tegula_vgpu_driver::op::{HostFunction, Op};

/// `hipStreamNonBlocking`.
const NON_BLOCKING: c_uint = 1;

fn create(out: Out<Handle>, flags: c_uint, priority: c_int) -> Outcome {
    out.check()?;
    let context = live()?;
    if flags > 1 {
        return Err(hipError_t::INVALID_VALUE.into());
    }
    let core = context.create_stream(flags & NON_BLOCKING == 0, priority.clamp(-1, 1));
    out.set(STREAMS.insert(Arc::new(HipStream { core, context, flags })))
}

fn mode(number: c_uint) -> Outcome<Mode> {
    Ok(match number {
        0 => Mode::Global,
        1 => Mode::ThreadLocal,
        2 => Mode::Relaxed,
        _ => return Err(hipError_t::INVALID_VALUE.into()),
    })
}

fn submit(stream: &HipStream, op: Op) -> Outcome {
    Ok(stream.core.submit(&stream.context, op).map(drop)?)
}

c_interface! {
    /// Makes a stream.
    fn hipStreamCreate(out: Out<Handle>) {
        create(out, 0, 0)
    }

    /// Makes a stream.
    fn hipStreamCreateWithFlags(out: Out<Handle>, flags: c_uint) {
        create(out, flags, 0)
    }

    /// Makes a stream with a priority, which is told back.
    fn hipStreamCreateWithPriority(out: Out<Handle>, flags: c_uint, priority: c_int) {
        create(out, flags, priority)
    }

    /// Destroys a stream once its work is done, without waiting for that.
    fn hipStreamDestroy(handle: Handle) {
        let stream = STREAMS.remove(handle).ok_or(hipError_t::INVALID_HANDLE)?;
        if let Some(capture) = stream.core.capture() {
            capture.invalidate();
        }
        stream.core.close();
        Ok(())
    }

    /// Waits for a stream's work.
    fn hipStreamSynchronize(handle: Handle) {
        let stream = stream(handle)?;
        Ok(stream.core.synchronize(&stream.context)?)
    }

    /// Whether a stream's work is done.
    fn hipStreamQuery(handle: Handle) {
        let stream = stream(handle)?;
        if stream.core.is_idle(&stream.context)? { Ok(()) } else { Err(hipError_t::NOT_READY.into()) }
    }

    /// Lets a stream wait for an event.
    fn hipStreamWaitEvent(handle: Handle, for_event: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(hipError_t::INVALID_VALUE.into());
        }
        let (stream, event) = (stream(handle)?, event(for_event)?);
        Ok(stream.core.wait(&stream.context, &event)?)
    }

    /// A stream's flags.
    fn hipStreamGetFlags(handle: Handle, out: Out<c_uint>) {
        out.set(stream(handle)?.flags)
    }

    /// A stream's priority.
    fn hipStreamGetPriority(handle: Handle, out: Out<c_int>) {
        out.set(stream(handle)?.core.priority)
    }

    /// A stream's device.
    fn hipStreamGetDevice(handle: Handle, out: Out<Device>) {
        out.set(stream(handle)?.context.device.index as Device)
    }

    /// Calls a function of the host when a stream has come to it.
    fn hipLaunchHostFunc(handle: Handle, function: HostFn, data: *mut c_void) {
        let op = Op::Host(host_function(function, data)?);
        submit(&stream(handle)?, op)
    }

    /// The same, and the function is told of the stream and its state, in a lost context as well.
    fn hipStreamAddCallback(handle: Handle, function: StreamCallback, data: *mut c_void, flags: c_uint) {
        let function = function.filter(|_| flags == 0).ok_or(hipError_t::INVALID_VALUE)?;
        let own = stream(handle)?;
        if own.core.capture().is_some() {
            return Err(hipError_t::STREAM_CAPTURE_UNSUPPORTED.into());
        }
        let data = UserData(data);
        let callback: HostFunction = Arc::new(move |fault| {
            let status = fault.map_or(hipError_t::SUCCESS, hipError_t::from);
            // SAFETY: C gave the function to be called with these, from any thread.
            unsafe { function(handle, status, data.pointer()) };
        });
        submit(&own, Op::Host(callback))
    }

    /// Records what comes to a stream from now on, instead of doing it.
    fn hipStreamBeginCapture(handle: Handle, how: c_uint) {
        let stream = stream(handle)?;
        Ok(stream.core.begin_capture(&stream.context, mode(how)?)?)
    }

    /// Ends that, and gives what was recorded.
    fn hipStreamEndCapture(handle: Handle, out: Out<Handle>) {
        out.set(0)?;
        let stream = stream(handle)?;
        if stream.core.capture().is_none() {
            return Err(hipError_t::ILLEGAL_STATE.into());
        }
        out.set(GRAPHS.insert(stream.core.end_capture()?))
    }

    /// Whether a stream records.
    fn hipStreamIsCapturing(handle: Handle, out: Out<c_uint>) {
        let capture = stream(handle)?.core.capture();
        out.set(capture.map_or(0, |capture| if capture.is_valid() { 1 } else { 2 }))
    }

    /// Exchanges how captures bind the calling thread.
    fn hipThreadExchangeStreamCaptureMode(how: Out<c_uint>) {
        let old = capture::exchange_thread_mode(mode(how.get()?)?);
        how.set(match old {
            Mode::Global => 0,
            Mode::ThreadLocal => 1,
            Mode::Relaxed => 2,
        })
    }
}
