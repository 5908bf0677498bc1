//! What the tests share: the library's functions by their names, as a C program would load them.

#![allow(dead_code, non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `axpy(y, x, a, n)`: y[i] += a * x[i]; `wait(flag)`: spins until a flag is set; `stray(p)`: writes where it is told; `race(p)`: all
/// groups write one element; `count()`: counts in a variable; `shared(p, i)`: has 40 KiB of LDS.
pub const CODE: &[u8] = include_bytes!("kernels.gfx942.hsaco");

pub const SUCCESS: u32 = 0;
pub const INVALID_VALUE: u32 = 1;
pub const OUT_OF_MEMORY: u32 = 2;
pub const INVALID_CONFIGURATION: u32 = 9;
pub const NO_BINARY: u32 = 209;
pub const INVALID_HANDLE: u32 = 400;
pub const NOT_FOUND: u32 = 500;
pub const NOT_READY: u32 = 600;
pub const ILLEGAL_ADDRESS: u32 = 700;
pub const PEER_NOT_ENABLED: u32 = 705;
pub const NOT_SUPPORTED: u32 = 801;

pub type Handle = *mut c_void;
pub type Args = *mut *mut c_void;

macro_rules! functions {
    ($($name:ident($($ty:ty),*);)*) => {
        /// The functions that the tests call.
        pub struct Hip {
            $(pub $name: unsafe extern "C" fn($($ty),*) -> u32,)*
            pub hipGetErrorName: unsafe extern "C" fn(u32) -> *const c_char,
            pub hipGetErrorString: unsafe extern "C" fn(u32) -> *const c_char,
        }

        impl Hip {
            /// Loads the library by the name that the loader looks for.
            pub fn load() -> Self {
                // SAFETY: loading runs no code of the library; the types are those of the interface. The library is never unloaded.
                unsafe {
                    let library = Box::leak(Box::new(libloading::Library::new("libamdhip64.so").expect("the library")));
                    Self {
                        $($name: *library.get(concat!(stringify!($name), "\0").as_bytes()).expect(stringify!($name)),)*
                        hipGetErrorName: *library.get(b"hipGetErrorName\0").expect("hipGetErrorName"),
                        hipGetErrorString: *library.get(b"hipGetErrorString\0").expect("hipGetErrorString"),
                    }
                }
            }
        }
    };
}

functions! {
    hipInit(c_uint);
    hipGetDeviceCount(*mut c_int);
    hipSetDevice(c_int);
    hipGetDevicePropertiesR0600(*mut c_void, c_int);
    hipDeviceGetAttribute(*mut c_int, c_uint, c_int);
    hipDeviceSynchronize();
    hipDeviceReset();
    hipGetLastError();
    hipModuleLoadData(*mut Handle, *const c_void);
    hipModuleUnload(Handle);
    hipModuleGetFunction(*mut Handle, Handle, *const c_char);
    hipModuleGetGlobal(*mut u64, *mut usize, Handle, *const c_char);
    hipFuncGetAttribute(*mut c_int, c_uint, Handle);
    hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, Handle, c_int, usize);
    hipModuleLaunchKernel(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, Args, Args);
    hipMalloc(*mut u64, usize);
    hipFree(u64);
    hipMallocAsync(*mut u64, usize, Handle);
    hipFreeAsync(u64, Handle);
    hipHostMalloc(*mut *mut c_void, usize, c_uint);
    hipHostFree(*mut c_void);
    hipMemcpy(*mut c_void, *const c_void, usize, c_uint);
    hipMemcpyHtoDAsync(u64, *const c_void, usize, Handle);
    hipMemcpyDtoHAsync(*mut c_void, u64, usize, Handle);
    hipMemcpyDtoD(u64, u64, usize);
    hipMemset(u64, c_int, usize);
    hipMemsetD32Async(u64, c_int, usize, Handle);
    hipMemGetInfo(*mut usize, *mut usize);
    hipStreamCreateWithFlags(*mut Handle, c_uint);
    hipStreamDestroy(Handle);
    hipStreamSynchronize(Handle);
    hipStreamQuery(Handle);
    hipStreamWaitEvent(Handle, Handle, c_uint);
    hipStreamBeginCapture(Handle, c_uint);
    hipStreamEndCapture(Handle, *mut Handle);
    hipEventCreateWithFlags(*mut Handle, c_uint);
    hipEventRecord(Handle, Handle);
    hipEventSynchronize(Handle);
    hipEventQuery(Handle);
    hipEventElapsedTime(*mut f32, Handle, Handle);
    hipGraphInstantiate(*mut Handle, Handle, *mut Handle, *mut c_char, usize);
    hipMallocPitch(*mut u64, *mut usize, usize, usize);
    hipMemcpy2D(*mut c_void, usize, *const c_void, usize, usize, usize, c_uint);
    hipMemcpyParam2D(*const c_void);
    hipMemcpyPeer(u64, c_int, u64, c_int, usize);
    hipDeviceCanAccessPeer(*mut c_int, c_int, c_int);
    hipDeviceEnablePeerAccess(c_int, c_uint);
    hipDeviceDisablePeerAccess(c_int);
    hipGraphCreate(*mut Handle, c_uint);
    hipGraphAddKernelNode(*mut Handle, Handle, *const Handle, usize, *const c_void);
    hipGraphAddMemsetNode(*mut Handle, Handle, *const Handle, usize, *const c_void);
    hipGraphAddMemcpyNode1D(*mut Handle, Handle, *const Handle, usize, *mut c_void, *const c_void, usize, c_uint);
    hipCreateTextureObject();
    hipMallocArray();
    hipIpcGetMemHandle();
    hipMemAddressReserve();
    hipDeviceGetDefaultMemPool();
    hipStreamWaitValue32();
    hipGraphLaunch(Handle, Handle);
    hipGraphDestroy(Handle);
    hipGraphExecDestroy(Handle);
}

/// The result of a call that must succeed.
#[track_caller]
pub fn ok(result: u32) {
    assert_eq!(result, SUCCESS);
}

pub fn argument<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

impl Hip {
    pub fn module(&self) -> Handle {
        let mut module = null_mut();
        // SAFETY: a whole code object.
        ok(unsafe { (self.hipModuleLoadData)(&mut module, CODE.as_ptr().cast()) });
        module
    }

    pub fn function(&self, module: Handle, name: &str) -> Handle {
        let name = std::ffi::CString::new(name).expect("no zero");
        let mut function = null_mut();
        // SAFETY: the name ends with zero.
        ok(unsafe { (self.hipModuleGetFunction)(&mut function, module, name.as_ptr()) });
        function
    }

    pub fn stream(&self, blocks: bool) -> Handle {
        let mut stream = null_mut();
        // SAFETY: the pointer is to a local variable.
        ok(unsafe { (self.hipStreamCreateWithFlags)(&mut stream, u32::from(!blocks)) });
        stream
    }

    pub fn event(&self) -> Handle {
        let mut event = null_mut();
        // SAFETY: the pointer is to a local variable.
        ok(unsafe { (self.hipEventCreateWithFlags)(&mut event, 0) });
        event
    }

    pub fn alloc(&self, bytes: usize) -> u64 {
        let mut address = 0;
        // SAFETY: the pointer is to a local variable.
        ok(unsafe { (self.hipMalloc)(&mut address, bytes) });
        address
    }

    /// Zeroed page-locked memory of one word.
    pub fn pinned_word(&self) -> *mut u32 {
        let mut pointer = null_mut();
        // SAFETY: the pointer is to a local variable.
        ok(unsafe { (self.hipHostMalloc)(&mut pointer, 4, 0) });
        pointer.cast()
    }

    pub fn write(&self, address: u64, values: &[u32]) {
        // SAFETY: the slice is readable.
        ok(unsafe { (self.hipMemcpy)(address as *mut c_void, values.as_ptr().cast(), size_of_val(values), 1) });
    }

    pub fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let mut values = vec![0_u32; count];
        // SAFETY: the vector is as long as what is copied.
        ok(unsafe { (self.hipMemcpy)(values.as_mut_ptr().cast(), address as *const c_void, count * 4, 2) });
        values
    }

    /// Launches a kernel; arguments by pointers to each.
    pub fn launch(&self, f: Handle, grid: u32, block: u32, stream: Handle, args: &mut [*mut c_void]) -> u32 {
        // SAFETY: the tests pass the arguments that the kernels take.
        unsafe { (self.hipModuleLaunchKernel)(f, grid, 1, 1, block, 1, 1, 0, stream, args.as_mut_ptr(), null_mut()) }
    }

    /// Launches a kernel of one pointer.
    pub fn launch_pointer(&self, f: Handle, grid: u32, mut pointer: u64, stream: Handle) -> u32 {
        self.launch(f, grid, 1, stream, &mut [argument(&mut pointer)])
    }
}
