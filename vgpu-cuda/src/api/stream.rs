//! Streams, functions of the host in them, and captures.

use crate::abi::{Device, Handle, HostFn, StreamCallback};
use crate::api::graph;
use crate::entry::{In, Out, c_interface};
use crate::state::{CONTEXTS, CudaStream, STREAMS, event, live, stream};
use crate::status::{CUresult, Failure, Outcome};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use tegula_vgpu_driver::capture::{self, Mode};
use tegula_vgpu_driver::ffi::{UserData, host_function};
use tegula_vgpu_driver::op::{HostFunction, Op};

/// Priorities go from 0 to this.
const GREATEST_PRIORITY: c_int = -5;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

fn create(out: Out<Handle>, flags: c_uint, priority: c_int) -> Outcome {
    out.check()?;
    let context = live()?;
    if flags > 1 {
        return Err(CUresult::ERROR_INVALID_VALUE.into());
    }
    let core = context.core.create_stream(flags & NON_BLOCKING == 0, priority.clamp(GREATEST_PRIORITY, 0));
    out.set(STREAMS.insert(Arc::new(CudaStream { core, context, flags })))
}

fn mode(number: c_uint) -> Outcome<Mode> {
    Ok(match number {
        0 => Mode::Global,
        1 => Mode::ThreadLocal,
        2 => Mode::Relaxed,
        _ => return Err(CUresult::ERROR_INVALID_VALUE.into()),
    })
}

fn submit(stream: &CudaStream, op: Op) -> Outcome {
    Ok(stream.core.submit(&stream.context.core, op).map(drop)?)
}

c_interface! {
    /// Makes a stream.
    fn cuStreamCreate(out: Out<Handle>, flags: c_uint) {
        create(out, flags, 0)
    }

    /// Makes a stream with a priority, which is told back.
    fn cuStreamCreateWithPriority(out: Out<Handle>, flags: c_uint, priority: c_int) {
        create(out, flags, priority)
    }

    /// Destroys a stream once its work is done, without waiting for that.
    fn cuStreamDestroy(handle: Handle) as cuStreamDestroy_v2 {
        let stream = STREAMS.remove(handle).ok_or(CUresult::ERROR_INVALID_HANDLE)?;
        if let Some(capture) = stream.core.capture() {
            capture.invalidate();
        }
        stream.core.close();
        Ok(())
    }

    /// Waits for a stream's work.
    fn cuStreamSynchronize(handle: Handle) {
        let stream = stream(handle)?;
        Ok(stream.core.synchronize(&stream.context.core)?)
    }

    /// Whether a stream's work is done.
    fn cuStreamQuery(handle: Handle) {
        let stream = stream(handle)?;
        if stream.core.is_idle(&stream.context.core)? { Ok(()) } else { Err(CUresult::ERROR_NOT_READY.into()) }
    }

    /// Lets a stream wait for an event.
    fn cuStreamWaitEvent(handle: Handle, for_event: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(CUresult::ERROR_INVALID_VALUE.into());
        }
        let (stream, event) = (stream(handle)?, event(for_event)?);
        Ok(stream.core.wait(&stream.context.core, &event)?)
    }

    /// A stream's flags.
    fn cuStreamGetFlags(handle: Handle, out: Out<c_uint>) {
        out.set(stream(handle)?.flags)
    }

    /// A stream's priority.
    fn cuStreamGetPriority(handle: Handle, out: Out<c_int>) {
        out.set(stream(handle)?.core.priority)
    }

    /// A number of the stream's own.
    fn cuStreamGetId(handle: Handle, out: Out<u64>) {
        out.set(stream(handle)?.core.id())
    }

    /// A stream's context.
    fn cuStreamGetCtx(handle: Handle, out: Out<Handle>) {
        let stream = stream(handle)?;
        out.set(CONTEXTS.find(&stream.context).ok_or(CUresult::ERROR_CONTEXT_IS_DESTROYED)?)
    }

    /// A stream's device.
    fn cuStreamGetDevice(handle: Handle, out: Out<Device>) {
        out.set(stream(handle)?.context.core.device.index as Device)
    }

    /// Calls a function of the host when a stream has come to it.
    fn cuLaunchHostFunc(handle: Handle, function: HostFn, data: *mut c_void) {
        let op = Op::Host(host_function(function, data)?);
        submit(&stream(handle)?, op)
    }

    /// The same, and the function is told of the stream and its state, in a lost context as well.
    fn cuStreamAddCallback(handle: Handle, function: StreamCallback, data: *mut c_void, flags: c_uint) {
        let function = function.filter(|_| flags == 0).ok_or(CUresult::ERROR_INVALID_VALUE)?;
        let own = stream(handle)?;
        if own.core.capture().is_some() {
            return Err(CUresult::ERROR_STREAM_CAPTURE_UNSUPPORTED.into());
        }
        let data = UserData(data);
        let callback: HostFunction = Arc::new(move |fault| {
            let status = fault.map_or(CUresult::SUCCESS, CUresult::from);
            // SAFETY: C gave the function to be called with these, from any thread.
            unsafe { function(handle, status, data.pointer()) };
        });
        submit(&own, Op::Host(callback))
    }

    /// Records what comes to a stream from now on, instead of doing it.
    fn cuStreamBeginCapture(handle: Handle, how: c_uint) as cuStreamBeginCapture_v2 {
        let stream = stream(handle)?;
        Ok(stream.core.begin_capture(&stream.context.core, mode(how)?)?)
    }

    /// Ends that, and gives what was recorded.
    fn cuStreamEndCapture(handle: Handle, out: Out<Handle>) {
        out.set(0)?;
        let stream = stream(handle)?;
        if stream.core.capture().is_none() {
            return Err(CUresult::ERROR_ILLEGAL_STATE.into());
        }
        out.set(graph::adopt(stream.core.end_capture()?))
    }

    /// Whether a stream records.
    fn cuStreamIsCapturing(handle: Handle, out: Out<c_uint>) {
        let capture = stream(handle)?.core.capture();
        out.set(capture.map_or(0, |capture| if capture.is_valid() { 1 } else { 2 }))
    }

    /// Whether a stream records, and in which capture.
    fn cuStreamGetCaptureInfo(handle: Handle, status: Out<c_uint>, id: Out<u64>) {
        let (graph, none) = (Out::at(std::ptr::null_mut()), Out::at(std::ptr::null_mut()));
        // SAFETY: the same parameters and the same promise; the others are not wanted.
        let result = unsafe { cuStreamGetCaptureInfo_v2(handle, status, id, graph, none, Out::at(std::ptr::null_mut())) };
        if result == CUresult::SUCCESS { Ok(()) } else { Err(result.into()) }
    }

    /// What a stream has recorded so far.
    fn cuStreamGetCaptureInfo_v2(
        handle: Handle,
        status: Out<c_uint>,
        id: Out<u64>,
        graph: Out<Handle>,
        dependencies: Out<*const Handle>,
        count: Out<usize>,
    ) {
        let stream = stream(handle)?;
        let Some(capture) = stream.core.capture() else {
            return status.set(0);
        };
        status.set(if capture.is_valid() { 1 } else { 2 })?;
        id.set_if_wanted(capture.id());
        let own = graph::adopt(Arc::clone(capture.graph()));
        graph.set_if_wanted(own);
        let nodes = capture.dependencies(&stream.core);
        count.set_if_wanted(nodes.len());
        if !dependencies.is_null() {
            dependencies.set(graph::keep_handles(own, &nodes)?)?;
        }
        Ok(())
    }

    /// The same; edges have no data.
    fn cuStreamGetCaptureInfo_v3(
        handle: Handle,
        status: Out<c_uint>,
        id: Out<u64>,
        graph: Out<Handle>,
        dependencies: Out<*const Handle>,
        edges: Out<*const c_void>,
        count: Out<usize>,
    ) {
        edges.set_if_wanted(std::ptr::null());
        // SAFETY: the same parameters and the same promise.
        let result = unsafe { cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count) };
        if result == CUresult::SUCCESS { Ok(()) } else { Err(result.into()) }
    }

    /// Changes what the next recorded operation depends on.
    fn cuStreamUpdateCaptureDependencies(handle: Handle, nodes: In<Handle>, count: usize, flags: c_uint) {
        let stream = stream(handle)?;
        let capture = stream.core.capture().ok_or(CUresult::ERROR_ILLEGAL_STATE)?;
        let nodes = graph::indices(nodes, count)?;
        capture.update_dependencies(&stream.core, &nodes, flags & 1 == 1);
        Ok(())
    }

    /// Exchanges how captures bind the calling thread.
    fn cuThreadExchangeStreamCaptureMode(how: Out<c_uint>) {
        let old = capture::exchange_thread_mode(mode(how.get()?)?);
        how.set(match old {
            Mode::Global => 0,
            Mode::ThreadLocal => 1,
            Mode::Relaxed => 2,
        })
    }

    /// Attributes of a stream are hints: they are not kept.
    fn cuStreamSetAttribute(handle: Handle, number: c_uint, value: *const c_void) {
        let _ = number;
        if value.is_null() {
            return Err(Failure::from(CUresult::ERROR_INVALID_VALUE));
        }
        stream(handle).map(drop)
    }
}
