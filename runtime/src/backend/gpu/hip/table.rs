//! The functions of AMD's HIP library that the runtime calls, loaded at run time.
//!
//! The crates that bind HIP ask at build time which ROCm is installed, and then have that version's functions, which a
//! program for whatever it meets when it runs cannot do with. These signatures are compared with those of such a crate,
//! `cubecl-hip-sys`, wherever the tests are built, and with the feature `hip-sys-check`. Where ROCm is installed that
//! is its version; otherwise the newest one that the crate knows.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

/// A pointer that HIP gives: a stream, event, module, function, graph, pool or address.
pub type Pointer = *mut c_void;

macro_rules! table {
    ($(#[$about:meta])* $table:ident, $check:ident: $($(#[$doc:meta])* $field:ident = $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $result:ty;)*) => {
        $(#[$about])*
        pub struct $table {
            $($(#[$doc])* pub $field: unsafe extern "C" fn($($ty),*) -> $result,)*
        }

        impl $table {
            /// Looks up all functions.
            ///
            /// # Errors
            /// The name of the first that is missing.
            ///
            /// # Safety
            /// The library's functions of these names are HIP's, and it stays loaded.
            pub unsafe fn load(library: &Library) -> Result<Self, &'static str> {
                // SAFETY: as the caller says; the types are those of HIP's headers.
                $(let $field = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }
                    .map(|f| *f)
                    .map_err(|_| stringify!($name))?;)*
                Ok(Self { $($field),* })
            }
        }

        /// Compiles only if the bindings of `cubecl-hip-sys` have functions of these names that take as many
        /// parameters, each of the same size and kind, and give results of the same size and kind.
        #[cfg(any(test, feature = "hip-sys-check"))]
        mod $check {
            use super::*;

            $(
                #[allow(dead_code, non_snake_case, clippy::too_many_arguments, reason = "as the bindings have it")]
                unsafe fn $name($($arg: $ty),*) -> $result {
                    // SAFETY: never called.
                    unsafe { same(cubecl_hip_sys::$name($(same($arg)),*)) }
                }
            )*
        }
    };
}

/// What a parameter or result is, as far as the way it is passed goes.
#[cfg(any(test, feature = "hip-sys-check"))]
trait Kind {
    /// Whether it is a pointer.
    const IS_POINTER: bool = false;
}

#[cfg(any(test, feature = "hip-sys-check"))]
mod kinds {
    use super::Kind;

    impl<T> Kind for *mut T {
        const IS_POINTER: bool = true;
    }
    impl<T> Kind for *const T {
        const IS_POINTER: bool = true;
    }
    impl Kind for i32 {}
    impl Kind for u32 {}
    impl Kind for u8 {}
    impl Kind for usize {}
    impl Kind for u64 {}
}

/// The same value under another type of the same size and kind: both are pointers, or neither is.
#[cfg(any(test, feature = "hip-sys-check"))]
unsafe fn same<A: Kind, B: Kind>(value: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>() && A::IS_POINTER == B::IS_POINTER) };
    // SAFETY: the sizes are the same; the caller vouches for the rest.
    unsafe { std::mem::transmute_copy(&value) }
}

table! {
    /// The functions, each looked up when the library was loaded.
    Table, check:
    /// Starts the library.
    init = hipInit(flags: c_uint) -> c_int;
    /// The driver's version.
    driver_version = hipDriverGetVersion(version: *mut c_int) -> c_int;
    /// A name for a result.
    error_name = hipGetErrorName(code: c_int) -> *const c_char;
    /// A text for a result.
    error_string = hipGetErrorString(code: c_int) -> *const c_char;
    /// Number of devices.
    device_count = hipGetDeviceCount(count: *mut c_int) -> c_int;
    /// Makes a device the thread's own.
    set_device = hipSetDevice(device: c_int) -> c_int;
    /// What is known of a device, in the layout of ROCm 6.
    device_properties = hipGetDevicePropertiesR0600(properties: *mut c_void, device: c_int) -> c_int;
    /// Waits for the device.
    device_synchronize = hipDeviceSynchronize() -> c_int;
    /// Free and total bytes.
    memory_info = hipMemGetInfo(free: *mut usize, total: *mut usize) -> c_int;
    /// Allocates.
    malloc = hipMalloc(address: *mut Pointer, bytes: usize) -> c_int;
    /// Frees.
    free = hipFree(address: Pointer) -> c_int;
    /// Allocates pinned host memory.
    host_malloc = hipHostMalloc(address: *mut Pointer, bytes: usize, flags: c_uint) -> c_int;
    /// Frees it.
    host_free = hipHostFree(address: Pointer) -> c_int;
    /// Copies to the device.
    copy_to_device = hipMemcpyHtoDAsync(to: Pointer, from: *const c_void, bytes: usize, stream: Pointer) -> c_int;
    /// Copies to the host.
    copy_to_host = hipMemcpyDtoHAsync(to: Pointer, from: Pointer, bytes: usize, stream: Pointer) -> c_int;
    /// Copies within the device.
    copy_within = hipMemcpyDtoDAsync(to: Pointer, from: Pointer, bytes: usize, stream: Pointer) -> c_int;
    /// Copies between devices.
    copy_peer = hipMemcpyPeerAsync(
        to: Pointer,
        to_device: c_int,
        from: *const c_void,
        from_device: c_int,
        bytes: usize,
        stream: Pointer,
    ) -> c_int;
    /// Sets bytes.
    fill = hipMemsetD8Async(to: Pointer, value: u8, bytes: usize, stream: Pointer) -> c_int;
    /// Makes a stream.
    stream_create = hipStreamCreateWithFlags(stream: *mut Pointer, flags: c_uint) -> c_int;
    /// Destroys a stream.
    stream_destroy = hipStreamDestroy(stream: Pointer) -> c_int;
    /// Waits for a stream.
    stream_synchronize = hipStreamSynchronize(stream: Pointer) -> c_int;
    /// Whether a stream has work.
    stream_query = hipStreamQuery(stream: Pointer) -> c_int;
    /// Lets a stream wait for an event.
    stream_wait = hipStreamWaitEvent(stream: Pointer, event: Pointer, flags: c_uint) -> c_int;
    /// Begins a capture.
    begin_capture = hipStreamBeginCapture(stream: Pointer, mode: c_uint) -> c_int;
    /// Ends a capture.
    end_capture = hipStreamEndCapture(stream: Pointer, graph: *mut Pointer) -> c_int;
    /// Makes an event.
    event_create = hipEventCreateWithFlags(event: *mut Pointer, flags: c_uint) -> c_int;
    /// Destroys an event.
    event_destroy = hipEventDestroy(event: Pointer) -> c_int;
    /// Records an event.
    event_record = hipEventRecord(event: Pointer, stream: Pointer) -> c_int;
    /// Whether an event has happened.
    event_query = hipEventQuery(event: Pointer) -> c_int;
    /// Waits for an event.
    event_synchronize = hipEventSynchronize(event: Pointer) -> c_int;
    /// Milliseconds between events.
    event_elapsed = hipEventElapsedTime(ms: *mut f32, from: Pointer, to: Pointer) -> c_int;
    /// Makes a graph ready.
    graph_instantiate = hipGraphInstantiate(
        exec: *mut Pointer,
        graph: Pointer,
        node: *mut Pointer,
        log: *mut c_char,
        bytes: usize,
    ) -> c_int;
    /// Launches a graph.
    graph_launch = hipGraphLaunch(exec: Pointer, stream: Pointer) -> c_int;
    /// Destroys a graph.
    graph_destroy = hipGraphDestroy(graph: Pointer) -> c_int;
    /// Destroys a graph that was made ready.
    graph_exec_destroy = hipGraphExecDestroy(exec: Pointer) -> c_int;
    /// Loads a code object.
    module_load = hipModuleLoadData(module: *mut Pointer, image: *const c_void) -> c_int;
    /// Unloads it.
    module_unload = hipModuleUnload(module: Pointer) -> c_int;
    /// A function of a module.
    module_function = hipModuleGetFunction(function: *mut Pointer, module: Pointer, name: *const c_char) -> c_int;
    /// An attribute of a function.
    function_attribute = hipFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: Pointer) -> c_int;
    /// Launches.
    launch = hipModuleLaunchKernel(
        function: Pointer,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: Pointer,
        params: *mut Pointer,
        extra: *mut Pointer,
    ) -> c_int;
    /// Launches with all programs at the same time.
    launch_cooperative = hipModuleLaunchCooperativeKernel(
        function: Pointer,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: Pointer,
        params: *mut Pointer,
    ) -> c_int;
}

table! {
    /// The functions of memory pools, which not every library has.
    PoolTable, check_pools:
    /// Makes a pool.
    pool_create = hipMemPoolCreate(pool: *mut Pointer, props: *const c_void) -> c_int;
    /// Sets an attribute of a pool.
    pool_set = hipMemPoolSetAttribute(pool: Pointer, attribute: c_uint, value: *mut c_void) -> c_int;
    /// An attribute of a pool.
    pool_get = hipMemPoolGetAttribute(pool: Pointer, attribute: c_uint, value: *mut c_void) -> c_int;
    /// Gives memory of a pool back.
    pool_trim = hipMemPoolTrimTo(pool: Pointer, keep: usize) -> c_int;
    /// Allocates from a pool, in the order of a stream.
    malloc_from_pool = hipMallocFromPoolAsync(address: *mut Pointer, bytes: usize, pool: Pointer, stream: Pointer) -> c_int;
    /// Frees in the order of a stream.
    free_async = hipFreeAsync(address: Pointer, stream: Pointer) -> c_int;
}
