//! What the tests share: kernels, and the driver's functions with errors as panics.

#![allow(dead_code)]

use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUevent, CUfunction, CUmodule, CUresult, CUstream};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

/// `axpy(y, x, a, n)`: y[i] += a * x[i]; `wait(flag)`: spins until a flag is set; `stray(p)`: writes where it is told; `race(p)`: all
/// blocks write one element; `quit()`: traps; `count()`: counts in a variable; `shared(p)`: has 40 KiB of shared memory.
pub const PTX: &str = include_str!("kernels.ptx");

/// The result of a call that must succeed.
#[track_caller]
pub fn ok(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// Initialises, and makes the first device's primary context current.
pub fn start() -> CUcontext {
    let mut context = null_mut();
    // SAFETY: the pointer is to a local variable.
    unsafe {
        ok(sys::cuInit(0));
        ok(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(sys::cuCtxSetCurrent(context));
    }
    context
}

/// Loads the kernels.
pub fn load() -> CUmodule {
    let text = CString::new(PTX).expect("no zero");
    let mut module = null_mut();
    // SAFETY: the text ends with zero.
    ok(unsafe { sys::cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    module
}

pub fn function(module: CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).expect("no zero");
    let mut function = null_mut();
    // SAFETY: the name ends with zero.
    ok(unsafe { sys::cuModuleGetFunction(&mut function, module, name.as_ptr()) });
    function
}

/// Launches a kernel; arguments by pointers to each.
pub fn launch(f: CUfunction, grid: u32, block: u32, stream: CUstream, args: &mut [*mut c_void]) -> CUresult {
    // SAFETY: the tests pass the arguments that the kernels take.
    unsafe { sys::cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, args.as_mut_ptr(), null_mut()) }
}

pub fn argument<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// Launches a kernel of one pointer.
pub fn launch_pointer(f: CUfunction, grid: u32, mut pointer: CUdeviceptr, stream: CUstream) -> CUresult {
    launch(f, grid, 1, stream, &mut [argument(&mut pointer)])
}

pub fn alloc(bytes: usize) -> CUdeviceptr {
    let mut address = 0;
    // SAFETY: the pointer is to a local variable.
    ok(unsafe { sys::cuMemAlloc_v2(&mut address, bytes) });
    address
}

/// Zeroed page-locked memory of one word.
pub fn pinned_word() -> *mut u32 {
    let mut pointer = null_mut();
    // SAFETY: the pointer is to a local variable.
    ok(unsafe { sys::cuMemHostAlloc(&mut pointer, 4, 0) });
    pointer.cast()
}

/// A stream; one that `blocks` waits for the legacy stream.
pub fn stream(blocks: bool) -> CUstream {
    let mut stream = null_mut();
    // SAFETY: the pointer is to a local variable.
    ok(unsafe { sys::cuStreamCreate(&mut stream, u32::from(!blocks)) });
    stream
}

pub fn event(flags: u32) -> CUevent {
    let mut event = null_mut();
    // SAFETY: the pointer is to a local variable.
    ok(unsafe { sys::cuEventCreate(&mut event, flags) });
    event
}

pub fn synchronize(stream: CUstream) -> CUresult {
    // SAFETY: any handle is checked.
    unsafe { sys::cuStreamSynchronize(stream) }
}

pub fn query(stream: CUstream) -> CUresult {
    // SAFETY: any handle is checked.
    unsafe { sys::cuStreamQuery(stream) }
}

pub fn write(address: CUdeviceptr, values: &[u32]) {
    // SAFETY: the slice is readable.
    ok(unsafe { sys::cuMemcpyHtoD_v2(address, values.as_ptr().cast(), size_of_val(values)) });
}

pub fn read(address: CUdeviceptr, count: usize) -> Vec<u32> {
    let mut values = vec![0; count];
    // SAFETY: the vector is as long as what is copied.
    ok(unsafe { sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), address, count * 4) });
    values
}
