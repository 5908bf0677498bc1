//! Many threads at once: streams made and dropped with work in flight, memory by stream order, modules that come and go, graphs.

mod support;

use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode};
use std::ptr::null_mut;
use support::*;
use tegula_vgpu_driver::testing::under;

const THREADS: u32 = 8;
const ROUNDS: u32 = 60;

/// A small generator of reproducible numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % bound
    }
}

/// One round: y = 0, then `launches` times y += x on a stream of its own, read through another one.
fn round(numbers: &mut Numbers, shared: sys::CUmodule) {
    let own_module = numbers.below(4) == 0;
    let module = if own_module { load() } else { shared };
    let axpy = function(module, "axpy");
    let (work, other) = (stream(numbers.below(2) == 0), stream(false));
    let n = 1 + numbers.below(100);
    let launches = 1 + numbers.below(4);
    let graph = numbers.below(2) == 0;
    // SAFETY: handles and memory made here.
    unsafe {
        let (mut x, mut y, mut a, mut count) = (0, 0, 1.0_f32, n);
        ok(sys::cuMemAllocAsync(&mut x, n as usize * 4, work));
        ok(sys::cuMemAllocAsync(&mut y, n as usize * 4, work));
        ok(sys::cuMemsetD32Async(x, 2.0_f32.to_bits(), n as usize, work));
        ok(sys::cuMemsetD32Async(y, 0, n as usize, work));
        let args = &mut [argument(&mut y), argument(&mut x), argument(&mut a), argument(&mut count)];
        if graph {
            let (mut graph, mut exec) = (null_mut(), null_mut());
            ok(sys::cuStreamBeginCapture_v2(work, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED));
            ok(launch(axpy, 1, 128, work, args));
            ok(sys::cuStreamEndCapture(work, &mut graph));
            ok(sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0));
            for _ in 0..launches {
                ok(sys::cuGraphLaunch(exec, work));
            }
            ok(sys::cuGraphExecDestroy(exec));
            ok(sys::cuGraphDestroy(graph));
        } else {
            for _ in 0..launches {
                ok(launch(axpy, 1, 128, work, args));
            }
        }
        let done = event(2);
        ok(sys::cuEventRecord(done, work));
        ok(sys::cuStreamWaitEvent(other, done, 0));
        ok(sys::cuEventDestroy_v2(done));
        if own_module {
            ok(sys::cuModuleUnload(module));
        }
        ok(sys::cuMemFreeAsync(x, work));
        ok(sys::cuStreamDestroy_v2(work));
        let mut values = vec![0_u32; n as usize];
        ok(sys::cuMemcpyDtoHAsync_v2(values.as_mut_ptr().cast(), y, n as usize * 4, other));
        assert!(values.iter().all(|&bits| f32::from_bits(bits) == 2.0 * launches as f32));
        ok(sys::cuMemFreeAsync(y, other));
        ok(sys::cuStreamDestroy_v2(other));
    }
}

#[test]
fn eight_threads_at_once() {
    if !under("eight_threads_at_once", &[("VGPU_MODEL", "h200")]) {
        return;
    }
    let context = start() as usize;
    let module = load() as usize;
    let used = || {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to local variables.
        ok(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) });
        total - free
    };
    let before = used();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                // SAFETY: a handle made above.
                ok(unsafe { sys::cuCtxSetCurrent(context as sys::CUcontext) });
                let mut numbers = Numbers(u64::from(thread) * 0x9E37_79B9 + 1);
                for _ in 0..ROUNDS {
                    round(&mut numbers, module as sys::CUmodule);
                }
            });
        }
    });
    // SAFETY: a context is current.
    assert_eq!(unsafe { sys::cuCtxSynchronize() }, CUresult::CUDA_SUCCESS);
    assert_eq!(used(), before, "all memory came back");
}
