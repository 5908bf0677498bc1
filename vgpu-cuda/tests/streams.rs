//! Streams are threads: what runs beside what, what waits for what, and what is left behind in flight.

mod support;

use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use support::*;
use tegula_vgpu_driver::testing::under;

const MODEL: (&str, &str) = ("VGPU_MODEL", "h200");

/// Lets a kernel that waits for the flag go on.
fn release(flag: *mut u32) {
    // SAFETY: page-locked memory of a word, which the kernel reads as a whole.
    unsafe { AtomicU32::from_ptr(flag) }.store(1, Ordering::SeqCst);
}

#[test]
fn streams_run_beside_each_other_and_the_host() {
    if !under("streams_run_beside_each_other_and_the_host", &[MODEL]) {
        return;
    }
    start();
    let module = load();
    let (wait, count) = (function(module, "wait"), function(module, "count"));
    let (first, second) = (stream(false), stream(false));
    let flag = pinned_word();
    ok(launch_pointer(wait, 1, flag as u64, first));
    // The first stream cannot be done before the flag is set, and the second one is.
    ok(launch(count, 1, 1, second, &mut []));
    ok(synchronize(second));
    assert_eq!(query(first), CUresult::CUDA_ERROR_NOT_READY);
    release(flag);
    ok(synchronize(first));
    ok(query(first));
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_only() {
    if !under("the_legacy_stream_waits_for_blocking_streams_only", &[MODEL]) {
        return;
    }
    start();
    let module = load();
    let (wait, count) = (function(module, "wait"), function(module, "count"));
    let (blocking, free) = (stream(true), stream(false));
    let (first, second) = (pinned_word(), pinned_word());
    ok(launch_pointer(wait, 1, first as u64, free));
    ok(launch(count, 1, 1, null_mut(), &mut []));
    ok(synchronize(null_mut()));
    assert_eq!(query(free), CUresult::CUDA_ERROR_NOT_READY);

    ok(launch_pointer(wait, 1, second as u64, blocking));
    ok(launch(count, 1, 1, null_mut(), &mut []));
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(query(null_mut()), CUresult::CUDA_ERROR_NOT_READY, "the legacy stream is behind the blocking one");
    // What comes to another blocking stream now is behind the legacy one.
    let third = stream(true);
    ok(launch(count, 1, 1, third, &mut []));
    assert_eq!(query(third), CUresult::CUDA_ERROR_NOT_READY);
    release(second);
    ok(synchronize(third));
    ok(query(null_mut()));
    assert_eq!(query(free), CUresult::CUDA_ERROR_NOT_READY);
    release(first);
    // SAFETY: a context is current.
    ok(unsafe { sys::cuCtxSynchronize() });
}

#[test]
fn events_order_streams_and_tell_time() {
    if !under("events_order_streams_and_tell_time", &[MODEL]) {
        return;
    }
    start();
    let module = load();
    let wait = function(module, "wait");
    let (first, second) = (stream(false), stream(false));
    let (before, after, untimed) = (event(0), event(0), event(2));
    let flag = pinned_word();
    // SAFETY: handles made above.
    unsafe {
        ok(sys::cuEventQuery(before));
        ok(sys::cuEventRecord(before, first));
        ok(launch_pointer(wait, 1, flag as u64, first));
        ok(sys::cuEventRecord(after, first));
        ok(sys::cuStreamWaitEvent(second, after, 0));
        assert_eq!(query(second), CUresult::CUDA_ERROR_NOT_READY);
        assert_eq!(sys::cuEventQuery(after), CUresult::CUDA_ERROR_NOT_READY);
        let mut time = -1.0;
        assert_eq!(sys::cuEventElapsedTime_v2(&mut time, before, after), CUresult::CUDA_ERROR_NOT_READY);
        std::thread::sleep(std::time::Duration::from_millis(10));
        release(flag);
        ok(synchronize(second));
        ok(sys::cuEventElapsedTime_v2(&mut time, before, after));
        assert!(time >= 9.0, "{time} ms");
        ok(sys::cuEventRecord(untimed, first));
        ok(sys::cuEventSynchronize(untimed));
        assert_eq!(sys::cuEventElapsedTime_v2(&mut time, before, untimed), CUresult::CUDA_ERROR_INVALID_HANDLE);
        ok(sys::cuEventDestroy_v2(after));
        assert_eq!(sys::cuEventQuery(after), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
}

unsafe extern "C" fn add_ten(data: *mut c_void) {
    // SAFETY: the test passes a counter.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(10, Ordering::SeqCst);
}

#[test]
fn host_functions_run_in_order() {
    if !under("host_functions_run_in_order", &[MODEL]) {
        return;
    }
    start();
    let wait = function(load(), "wait");
    let (own, flag) = (stream(false), pinned_word());
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    ok(launch_pointer(wait, 1, flag as u64, own));
    // SAFETY: the counter lives for ever.
    ok(unsafe { sys::cuLaunchHostFunc(own, Some(add_ten), (&raw const COUNTER).cast_mut().cast()) });
    assert_eq!(COUNTER.load(Ordering::SeqCst), 0);
    release(flag);
    ok(synchronize(own));
    assert_eq!(COUNTER.load(Ordering::SeqCst), 10);
}

#[test]
fn what_is_destroyed_in_flight_ends_well() {
    if !under("what_is_destroyed_in_flight_ends_well", &[MODEL]) {
        return;
    }
    start();
    let module = load();
    let (wait, axpy) = (function(module, "wait"), function(module, "axpy"));
    let own = stream(false);
    let (flag, done) = (pinned_word(), event(2));
    let (mut x, mut y) = (alloc(256), alloc(256));
    write(x, &[1.0_f32.to_bits(); 64]);
    write(y, &[2.0_f32.to_bits(); 64]);
    ok(launch_pointer(wait, 1, flag as u64, own));
    ok(launch(
        axpy,
        1,
        64,
        own,
        &mut [argument(&mut y), argument(&mut x), argument(&mut 3.0_f32), argument(&mut 64_u32)],
    ));
    // SAFETY: handles made above.
    unsafe {
        ok(sys::cuEventRecord(done, own));
        ok(sys::cuModuleUnload(module));
        ok(sys::cuStreamDestroy_v2(own));
        assert_eq!(query(own), CUresult::CUDA_ERROR_INVALID_HANDLE);
        assert_eq!(sys::cuEventQuery(done), CUresult::CUDA_ERROR_NOT_READY);
        release(flag);
        ok(sys::cuEventSynchronize(done));
        assert_eq!(read(y, 64), [5.0_f32.to_bits(); 64]);
        // Freeing waits for the kernel that uses the memory.
        let again = stream(false);
        let wait = function(load(), "wait");
        *flag = 0;
        ok(launch_pointer(wait, 1, flag as u64, again));
        let other = std::thread::spawn({
            let flag = flag as usize;
            move || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                release(flag as *mut u32);
            }
        });
        ok(sys::cuMemFree_v2(x));
        ok(query(again));
        other.join().expect("it sets the flag");
        // A context that is given up with work in flight.
        *flag = 0;
        ok(launch_pointer(wait, 1, flag as u64, again));
        release(flag);
        ok(sys::cuDevicePrimaryCtxRelease_v2(0));
        assert_eq!(sys::cuCtxSynchronize(), CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
}

#[test]
fn a_graph_is_captured_over_two_streams() {
    if !under("a_graph_is_captured_over_two_streams", &[MODEL]) {
        return;
    }
    start();
    let module = load();
    let count = function(module, "count");
    let (first, second) = (stream(false), stream(false));
    let (fork, join) = (event(2), event(2));
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let counter = || {
        let (mut address, mut size) = (0, 0);
        // SAFETY: the name ends with zero.
        ok(unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut size, module, c"counter".as_ptr()) });
        assert_eq!(size, 4);
        read(address, 1)[0]
    };
    assert_eq!(counter(), 5);
    // SAFETY: handles made above.
    unsafe {
        ok(sys::cuStreamBeginCapture_v2(first, mode));
        ok(launch(count, 1, 1, first, &mut []));
        ok(sys::cuEventRecord(fork, first));
        assert_eq!(sys::cuEventQuery(fork), CUresult::CUDA_ERROR_CAPTURED_EVENT);
        ok(sys::cuStreamWaitEvent(second, fork, 0));
        ok(launch(count, 1, 1, second, &mut []));
        let mut graph = null_mut();
        // The second stream's kernel is not joined yet.
        ok(sys::cuEventRecord(join, second));
        assert_eq!(sys::cuStreamEndCapture(second, &mut graph), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        assert_eq!(sys::cuStreamEndCapture(first, &mut graph), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

        ok(sys::cuStreamBeginCapture_v2(first, mode));
        ok(launch(count, 1, 1, first, &mut []));
        ok(sys::cuEventRecord(fork, first));
        ok(sys::cuStreamWaitEvent(second, fork, 0));
        ok(launch(count, 1, 1, second, &mut []));
        assert_eq!(sys::cuStreamEndCapture(first, &mut graph), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

        ok(sys::cuStreamBeginCapture_v2(first, mode));
        ok(launch(count, 1, 1, first, &mut []));
        ok(sys::cuEventRecord(fork, first));
        ok(sys::cuStreamWaitEvent(second, fork, 0));
        ok(launch(count, 1, 1, second, &mut []));
        ok(sys::cuEventRecord(join, second));
        ok(sys::cuStreamWaitEvent(first, join, 0));
        ok(launch(count, 1, 1, first, &mut []));
        ok(sys::cuStreamEndCapture(first, &mut graph));
        assert_eq!(counter(), 5, "capturing does nothing");

        let mut nodes = 0;
        ok(sys::cuGraphGetNodes(graph, null_mut(), &mut nodes));
        let mut edges = 0;
        ok(sys::cuGraphGetEdges_v2(graph, null_mut(), null_mut(), null_mut(), &mut edges));
        assert_eq!((nodes, edges), (3, 3));
        let mut exec = null_mut();
        ok(sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuGraphLaunch(exec, first));
        ok(sys::cuGraphLaunch(exec, second));
        ok(sys::cuGraphExecDestroy(exec));
        ok(sys::cuCtxSynchronize());
        assert_eq!(counter(), 11);
        // Calls that wait are refused meanwhile, and spoil the capture.
        ok(sys::cuStreamBeginCapture_v2(first, mode));
        assert_eq!(synchronize(first), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(sys::cuStreamEndCapture(first, &mut graph), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}
