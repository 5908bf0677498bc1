//! CUDA's driver, through cudarc.
//!
//! cudarc panics where the library or one of its functions is missing. So the library is opened here first, and every
//! function that this file calls is looked up in it, before the first call goes through cudarc.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys;
use libloading::Library;

use super::driver::{Direction, Driver, Failure, FunctionInfo, Handle, Properties, RawLaunch, Result};
use super::pool::{PoolProps, RELEASE_THRESHOLD, RESERVED, USED};
use crate::error::Error;
use crate::tensor_map::{Encoded, Tiled};

/// The oldest driver: it takes PTX 7.4, and PTX 8.0 for sm_90a.
const NEEDED: &str = "CUDA 11.4 (driver 470), for sm_90a CUDA 12.0 (driver 525)";

/// The version of the oldest driver, as the driver counts.
const NEEDED_VERSION: i32 = 11040;

/// Names of the library.
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so.1", "libcuda.so"];
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];

/// What this file calls through cudarc.
const FUNCTIONS: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemAllocHost_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// What pools need.
const POOL_FUNCTIONS: &[&str] = &[
    "cuMemPoolCreate",
    "cuMemPoolSetAttribute",
    "cuMemPoolGetAttribute",
    "cuMemPoolTrimTo",
    "cuMemAllocFromPoolAsync",
    "cuMemFreeAsync",
];

/// What the linker needs.
const LINK_FUNCTIONS: &[&str] = &["cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkDestroy"];

/// `cuTensorMapEncodeTiled`.
type EncodeTiled = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    *mut c_void,
    *const u64,
    *const u64,
    *const u32,
    *const u32,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
) -> c_int;
type ElapsedTime = unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> c_int;
type LaunchKernelEx =
    unsafe extern "C" fn(*const LaunchConfig, *mut c_void, *mut *mut c_void, *mut *mut c_void) -> c_int;

/// The driver of this process.
///
/// # Errors
/// [`Error::NoDriver`] or [`Error::DriverTooOld`].
pub fn driver() -> std::result::Result<Arc<dyn Driver>, Error> {
    static DRIVER: OnceLock<std::result::Result<Arc<Cuda>, Error>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| Cuda::load().map(Arc::new)).clone()?;
    Ok(driver)
}

/// CUDA's driver library.
struct Cuda {
    library: &'static str,
    version: i32,
    has_pools: bool,
    has_linker: bool,
    /// What `cuInit` said: a machine with the library and without a device is no broken one.
    init: Result<()>,
    // These have other names in older drivers, or are missing there.
    elapsed_time: ElapsedTime,
    launch_kernel_ex: Option<LaunchKernelEx>,
    encode_tiled: Option<EncodeTiled>,
    /// Keeps the functions above.
    _open: Library,
}

impl Cuda {
    fn load() -> std::result::Result<Self, Error> {
        // SAFETY: loading the driver runs its initialisers, which it is made for.
        let open = |name: &&'static str| unsafe { Library::new(*name) }.ok().map(|library| (*name, library));
        let Some((name, library)) = LIBRARIES.iter().find_map(open) else {
            return Err(Error::NoDriver {
                library: LIBRARIES[0].into(),
                help: "it comes with the NVIDIA driver; where that is installed, add its folder to LD_LIBRARY_PATH \
                       (containers: run with `--gpus all`)"
                    .into(),
            });
        };
        let old = |found: String| Error::DriverTooOld {
            library: name.into(),
            found,
            needed: NEEDED.into(),
            help: "install a newer NVIDIA driver".into(),
        };
        // SAFETY: the symbol is only looked up.
        let has = |symbol: &str| unsafe { library.get::<*mut c_void>(symbol.as_bytes()) }.is_ok();
        // The version first: it tells more than a missing function.
        if has("cuDriverGetVersion") {
            let version = driver_version();
            if version < NEEDED_VERSION {
                return Err(old(format!("it is of CUDA {}", display_version(version))));
            }
        }
        if let Some(missing) = FUNCTIONS.iter().find(|f| !has(f)) {
            return Err(old(format!("it has no function {missing}")));
        }
        // SAFETY: both names are of functions of this type, and the second measures as the first does.
        let elapsed_time = unsafe {
            library
                .get::<ElapsedTime>(b"cuEventElapsedTime_v2")
                .or_else(|_| library.get::<ElapsedTime>(b"cuEventElapsedTime"))
                .map(|f| *f)
                .map_err(|_| old("it has no function cuEventElapsedTime".into()))?
        };
        // SAFETY: the functions of these names have this type.
        let texts = unsafe {
            [&b"cuGetErrorName"[..], b"cuGetErrorString"].map(|name| library.get::<ErrorText>(name).map(|f| *f))
        };
        if let [Ok(name), Ok(string)] = texts {
            ERROR_TEXTS.get_or_init(|| [name, string]);
        }
        // SAFETY: the function of this name has this type.
        let launch_kernel_ex = unsafe { library.get::<LaunchKernelEx>(b"cuLaunchKernelEx") }.ok().map(|f| *f);
        // SAFETY: the function of this name has this type.
        let encode_tiled = unsafe { library.get::<EncodeTiled>(b"cuTensorMapEncodeTiled") }.ok().map(|f| *f);
        let has_all = |names: &[&str]| names.iter().all(|n| has(n));
        let (has_pools, has_linker) = (has_all(POOL_FUNCTIONS), has_all(LINK_FUNCTIONS));
        // SAFETY: no arguments that matter.
        let init = check("cuInit", unsafe { sys::cuInit(0) });
        Ok(Self {
            library: name,
            version: driver_version(),
            has_pools,
            has_linker,
            init,
            elapsed_time,
            launch_kernel_ex,
            encode_tiled,
            _open: library,
        })
    }

    fn attribute(&self, ordinal: u32, attribute: sys::CUdevice_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the driver writes one number.
        check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, ordinal as i32) })?;
        Ok(value.max(0) as u32)
    }
}

/// The driver's version, or 0.
fn driver_version() -> i32 {
    let mut version = 0;
    // SAFETY: the driver writes one number.
    let result = unsafe { sys::cuDriverGetVersion(&mut version) };
    if result == sys::CUresult::CUDA_SUCCESS { version } else { 0 }
}

fn display_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// A result of the driver's.
fn check(call: &'static str, result: sys::CUresult) -> Result<()> {
    if result == sys::CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failure(call, result as i32)) }
}

/// A result of a function called without cudarc.
fn check_code(call: &'static str, code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(failure(call, code)) }
}

/// `cuGetErrorName` and `cuGetErrorString`, taking any number: cudarc's take those that it knows.
type ErrorText = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

static ERROR_TEXTS: OnceLock<[ErrorText; 2]> = OnceLock::new();

#[cold]
fn failure(call: &'static str, code: i32) -> Failure {
    let text = |f: &ErrorText| {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver gives a constant text, or an error and no text.
        unsafe { (f(code, &mut text) == 0 && !text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy()) }
    };
    let text = match ERROR_TEXTS.get().map(|[name, string]| (text(name), text(string))) {
        Some((Some(name), Some(string))) => format!("{string} ({name})"),
        Some((Some(name), None)) => name.into_owned(),
        _ => format!("error {code}"),
    };
    Failure { call, code, text }
}

/// `CUlaunchConfig`, which has the same form in all versions.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: *mut c_void,
    attributes: *mut LaunchAttribute,
    count: c_uint,
}

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u32; 16],
}

impl LaunchAttribute {
    const COOPERATIVE: c_uint = 2;
    const CLUSTER_DIMENSION: c_uint = 4;
    const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;

    fn new(id: c_uint, values: &[u32]) -> Self {
        let mut value = [0; 16];
        value[..values.len()].copy_from_slice(values);
        Self { id, pad: [0; 4], value }
    }
}

/// Room for what the driver's assembler says.
const LOG_BYTES: usize = 8192;

/// The text of a log.
fn log_text(log: &[u8]) -> String {
    let end = log.iter().position(|b| *b == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

impl Driver for Cuda {
    fn kind(&self) -> &'static str {
        "cuda"
    }

    fn library(&self) -> &str {
        self.library
    }

    fn version(&self) -> String {
        display_version(self.version)
    }

    fn needed(&self) -> &'static str {
        NEEDED
    }

    fn count(&self) -> Result<u32> {
        self.init.clone()?;
        let mut count = 0;
        // SAFETY: the driver writes one number.
        check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut count) })?;
        Ok(count.max(0) as u32)
    }

    fn properties(&self, ordinal: u32) -> Result<Properties> {
        use sys::CUdevice_attribute as A;
        let mut name = [0 as c_char; 256];
        let mut memory = 0;
        // SAFETY: the driver writes at most as many bytes as it is told, with a zero byte at the end, and one number.
        let name = unsafe {
            check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), 255, ordinal as i32))?;
            check("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&mut memory, ordinal as i32))?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        let get = |a| self.attribute(ordinal, a);
        let (major, minor) = (
            get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        Ok(Properties {
            name,
            architecture: format!("sm_{major}{minor}"),
            memory,
            processors: get(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            max_shared: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            max_threads: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_grid: [
                get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            cooperative: get(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
            clusters: major >= 9 && self.launch_kernel_ex.is_some(),
        })
    }

    fn context(&self, ordinal: u32) -> Result<Handle> {
        let mut context = null_mut();
        // SAFETY: the driver writes one handle.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, ordinal as i32) })?;
        Ok(Handle::of(context))
    }

    fn bind(&self, context: Handle) -> Result<()> {
        // It mostly is already, and the driver is quicker to say so than to set it.
        let mut current = null_mut();
        // SAFETY: the driver writes one handle.
        check("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut current) })?;
        if Handle::of(current) == context {
            return Ok(());
        }
        // SAFETY: the context lives as long as the process.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context.pointer()) })
    }

    fn synchronize(&self) -> Result<()> {
        // SAFETY: no arguments.
        check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }

    fn memory(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the driver writes two numbers.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok((free, total))
    }

    fn create_pool(&self, ordinal: u32) -> Result<Option<Handle>> {
        let supported = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        if !self.has_pools || self.attribute(ordinal, supported)? == 0 {
            return Ok(None);
        }
        let (mut pool, mut keep) = (null_mut(), u64::MAX);
        let props = PoolProps::on_device(ordinal);
        // SAFETY: the description has the layout of the driver's; the attribute is a `u64`.
        unsafe {
            check("cuMemPoolCreate", sys::cuMemPoolCreate(&mut pool, (&raw const props).cast()))?;
            let attribute = pool_attribute(RELEASE_THRESHOLD);
            let value = (&raw mut keep).cast();
            check("cuMemPoolSetAttribute", sys::cuMemPoolSetAttribute(pool, attribute, value))?;
        }
        Ok(Some(Handle::of(pool)))
    }

    unsafe fn pool_usage(&self, pool: Handle) -> Result<(usize, usize)> {
        let get = |attribute| {
            let mut value = 0u64;
            // SAFETY: the attribute is a `u64`.
            let result = unsafe {
                sys::cuMemPoolGetAttribute(pool.pointer(), pool_attribute(attribute), (&raw mut value).cast())
            };
            check("cuMemPoolGetAttribute", result).map(|()| value as usize)
        };
        Ok((get(RESERVED)?, get(USED)?))
    }

    unsafe fn trim_pool(&self, pool: Handle, keep: usize) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuMemPoolTrimTo", unsafe { sys::cuMemPoolTrimTo(pool.pointer(), keep) })
    }

    unsafe fn allocate(&self, pool: Option<Handle>, bytes: usize, stream: Handle) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the driver writes one address.
        unsafe {
            match pool {
                Some(pool) => check(
                    "cuMemAllocFromPoolAsync",
                    sys::cuMemAllocFromPoolAsync(&mut address, bytes, pool.pointer(), stream.pointer()),
                )?,
                None => check("cuMemAlloc", sys::cuMemAlloc_v2(&mut address, bytes))?,
            }
        }
        Ok(address)
    }

    unsafe fn free(&self, pooled: bool, address: u64, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        unsafe {
            if pooled {
                check("cuMemFreeAsync", sys::cuMemFreeAsync(address, stream.pointer()))
            } else {
                check("cuMemFree", sys::cuMemFree_v2(address))
            }
        }
    }

    unsafe fn allocate_host(&self, bytes: usize) -> Result<*mut u8> {
        let mut address = null_mut();
        // SAFETY: the driver writes one address.
        check("cuMemAllocHost", unsafe { sys::cuMemAllocHost_v2(&mut address, bytes) })?;
        Ok(address.cast())
    }

    unsafe fn free_host(&self, address: *mut u8) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuMemFreeHost", unsafe { sys::cuMemFreeHost(address.cast()) })
    }

    unsafe fn copy(&self, direction: Direction, to: u64, from: u64, bytes: usize, stream: Handle) -> Result<()> {
        let stream = stream.pointer();
        // SAFETY: as the trait says.
        unsafe {
            match direction {
                Direction::ToDevice => check(
                    "cuMemcpyHtoDAsync",
                    sys::cuMemcpyHtoDAsync_v2(to, from as usize as *const c_void, bytes, stream),
                ),
                Direction::ToHost => check(
                    "cuMemcpyDtoHAsync",
                    sys::cuMemcpyDtoHAsync_v2(to as usize as *mut c_void, from, bytes, stream),
                ),
                Direction::Within => check("cuMemcpyDtoDAsync", sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream)),
            }
        }
    }

    unsafe fn copy_peer(
        &self,
        to: (u32, Handle, u64),
        from: (u32, Handle, u64),
        bytes: usize,
        stream: Handle,
    ) -> Result<()> {
        let (_, to_context, to) = to;
        let (_, from_context, from) = from;
        // SAFETY: as the trait says.
        check("cuMemcpyPeerAsync", unsafe {
            sys::cuMemcpyPeerAsync(to, to_context.pointer(), from, from_context.pointer(), bytes, stream.pointer())
        })
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(to, byte, bytes, stream.pointer()) })
    }

    fn create_stream(&self) -> Result<Handle> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = null_mut();
        // SAFETY: the driver writes one handle.
        check("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut stream, NON_BLOCKING) })?;
        Ok(Handle::of(stream))
    }

    unsafe fn destroy_stream(&self, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuStreamDestroy", unsafe { sys::cuStreamDestroy_v2(stream.pointer()) })
    }

    unsafe fn synchronize_stream(&self, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(stream.pointer()) })
    }

    unsafe fn query_stream(&self, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuStreamQuery", unsafe { sys::cuStreamQuery(stream.pointer()) })
    }

    unsafe fn wait_event(&self, stream: Handle, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(stream.pointer(), event.pointer(), 0) })
    }

    unsafe fn begin_capture(&self, stream: Handle) -> Result<()> {
        // Relaxed: kernels may be compiled and loaded meanwhile.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: as the trait says.
        check("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(stream.pointer(), mode) })
    }

    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle> {
        let mut graph = null_mut();
        // SAFETY: the driver writes one handle.
        check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(stream.pointer(), &mut graph) })?;
        Ok(Handle::of(graph))
    }

    fn create_event(&self, timing: bool) -> Result<Handle> {
        const DISABLE_TIMING: c_uint = 2;
        let mut event = null_mut();
        let flags = if timing { 0 } else { DISABLE_TIMING };
        // SAFETY: the driver writes one handle.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&mut event, flags) })?;
        Ok(Handle::of(event))
    }

    unsafe fn destroy_event(&self, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuEventDestroy", unsafe { sys::cuEventDestroy_v2(event.pointer()) })
    }

    unsafe fn record_event(&self, event: Handle, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuEventRecord", unsafe { sys::cuEventRecord(event.pointer(), stream.pointer()) })
    }

    unsafe fn query_event(&self, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuEventQuery", unsafe { sys::cuEventQuery(event.pointer()) })
    }

    unsafe fn synchronize_event(&self, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(event.pointer()) })
    }

    unsafe fn elapsed(&self, from: Handle, to: Handle) -> Result<f32> {
        let mut ms = 0.0;
        // SAFETY: as the trait says; the driver writes one number.
        check_code("cuEventElapsedTime", unsafe { (self.elapsed_time)(&mut ms, from.pointer(), to.pointer()) })?;
        Ok(ms)
    }

    unsafe fn instantiate(&self, graph: Handle) -> Result<Handle> {
        let mut exec = null_mut();
        // SAFETY: the driver writes one handle; the graph is no longer used.
        unsafe {
            let made = check("cuGraphInstantiate", sys::cuGraphInstantiateWithFlags(&mut exec, graph.pointer(), 0));
            made.and(check("cuGraphDestroy", sys::cuGraphDestroy(graph.pointer())))?;
        }
        Ok(Handle::of(exec))
    }

    unsafe fn launch_graph(&self, graph: Handle, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.pointer(), stream.pointer()) })
    }

    unsafe fn destroy_graph_exec(&self, graph: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuGraphExecDestroy", unsafe { sys::cuGraphExecDestroy(graph.pointer()) })
    }

    fn load(&self, code: &[u8]) -> Result<Handle> {
        use sys::CUjit_option as O;
        let mut module = null_mut();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [O::CU_JIT_ERROR_LOG_BUFFER, O::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        // SAFETY: the code is a cubin, or text with a zero byte at the end; the log has the room it says.
        let result = unsafe {
            sys::cuModuleLoadDataEx(&mut module, code.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        check("cuModuleLoadDataEx", result).map_err(|e| with_log(e, &log))?;
        Ok(Handle::of(module))
    }

    fn assemble(&self, ptx: &CStr) -> Result<Option<Vec<u8>>> {
        use sys::CUjit_option as O;
        if !self.has_linker {
            return Ok(None);
        }
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [O::CU_JIT_ERROR_LOG_BUFFER, O::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let (mut state, mut cubin, mut size) = (null_mut(), null_mut(), 0);
        // SAFETY: the log lives until the state is destroyed; the text ends with the zero byte that the size counts;
        // the cubin belongs to the state and is copied before that is destroyed.
        unsafe {
            let created = sys::cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut state);
            if has_no_compiler(created as i32) {
                return Ok(None);
            }
            check("cuLinkCreate", created)?;
            let bytes = ptx.to_bytes_with_nul();
            let linked = check(
                "cuLinkAddData",
                sys::cuLinkAddData_v2(
                    state,
                    sys::CUjitInputType::CU_JIT_INPUT_PTX,
                    bytes.as_ptr().cast_mut().cast(),
                    bytes.len(),
                    c"kernel.ptx".as_ptr(),
                    0,
                    null_mut(),
                    null_mut(),
                ),
            )
            .and_then(|()| check("cuLinkComplete", sys::cuLinkComplete(state, &mut cubin, &mut size)))
            .map(|()| std::slice::from_raw_parts(cubin.cast::<u8>(), size).to_vec());
            check("cuLinkDestroy", sys::cuLinkDestroy(state))?;
            match linked {
                Ok(cubin) => Ok(Some(cubin)),
                Err(e) if has_no_compiler(e.code) => Ok(None),
                Err(e) => Err(with_log(e, &log)),
            }
        }
    }

    unsafe fn unload(&self, module: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        check("cuModuleUnload", unsafe { sys::cuModuleUnload(module.pointer()) })
    }

    unsafe fn function(&self, module: Handle, name: &CStr) -> Result<Handle> {
        let mut function = null_mut();
        // SAFETY: the driver writes one handle.
        check("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&mut function, module.pointer(), name.as_ptr())
        })?;
        Ok(Handle::of(function))
    }

    unsafe fn function_info(&self, function: Handle) -> Result<FunctionInfo> {
        use sys::CUfunction_attribute as A;
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: the driver writes one number.
            let result = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function.pointer()) };
            check("cuFuncGetAttribute", result).map(|()| value.max(0) as u32)
        };
        Ok(FunctionInfo {
            registers: get(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local: get(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            shared: get(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        })
    }

    unsafe fn allow_shared(&self, function: Handle, bytes: u32) -> Result<()> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: as the trait says.
        check("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(function.pointer(), attribute, bytes as c_int) })
    }

    fn encode_tensor_map(&self, map: &Tiled) -> Result<Option<Encoded>> {
        // Copies of plain tensors: neither a convolution's channels nor every second element.
        const INTERLEAVE_NONE: c_uint = 0;
        let Some(encode) = self.encode_tiled else { return Ok(None) };
        let steps = [1u32; 5];
        let options = &map.options;
        let mut encoded = Encoded([0; 128]);
        // SAFETY: the driver writes 128 bytes, aligned as it asks, and reads as many numbers as there are axes; `Tiled`
        // has one of each for each of at most 5 axes, of strides one less.
        let code = unsafe {
            encode(
                (&raw mut encoded).cast(),
                map.data_type(),
                map.extents.len() as c_uint,
                map.address as usize as *mut c_void,
                map.extents.as_ptr(),
                map.strides.as_ptr(),
                map.box_extents.as_ptr(),
                steps.as_ptr(),
                INTERLEAVE_NONE,
                options.swizzle as c_uint,
                options.promotion as c_uint,
                options.fill as c_uint,
            )
        };
        check_code("cuTensorMapEncodeTiled", code)?;
        Ok(Some(encoded))
    }

    unsafe fn launch(&self, function: Handle, launch: &RawLaunch, params: *mut *mut c_void) -> Result<()> {
        let [x, y, z] = launch.grid;
        if !launch.cooperative && launch.cluster.is_none() && !launch.programmatic {
            // SAFETY: as the trait says.
            return check("cuLaunchKernel", unsafe {
                sys::cuLaunchKernel(
                    function.pointer(),
                    x,
                    y,
                    z,
                    launch.threads,
                    1,
                    1,
                    launch.shared,
                    launch.stream.pointer(),
                    params,
                    null_mut(),
                )
            });
        }
        let Some(launch_kernel_ex) = self.launch_kernel_ex else {
            let text = "the driver has no cuLaunchKernelEx, which came with CUDA 11.8".into();
            return Err(Failure { call: "cuLaunchKernelEx", code: 36, text });
        };
        let mut attributes = [LaunchAttribute::new(0, &[]); 3];
        let mut count = 0;
        let mut add = |id, values: &[u32]| {
            attributes[count] = LaunchAttribute::new(id, values);
            count += 1;
        };
        if launch.cooperative {
            add(LaunchAttribute::COOPERATIVE, &[1]);
        }
        if let Some(cluster) = launch.cluster {
            add(LaunchAttribute::CLUSTER_DIMENSION, &cluster);
        }
        if launch.programmatic {
            add(LaunchAttribute::PROGRAMMATIC_STREAM_SERIALIZATION, &[1]);
        }
        let config = LaunchConfig {
            grid: [x, y, z],
            block: [launch.threads, 1, 1],
            shared: launch.shared,
            stream: launch.stream.pointer(),
            attributes: attributes.as_mut_ptr(),
            count: count as c_uint,
        };
        // SAFETY: as the trait says; the configuration has the driver's layout.
        check_code("cuLaunchKernelEx", unsafe { launch_kernel_ex(&config, function.pointer(), params, null_mut()) })
    }
}

/// Whether a driver says so that it lacks the compiler for PTX, which is a library of its own.
fn has_no_compiler(code: c_int) -> bool {
    use sys::CUresult as R;
    [R::CUDA_ERROR_NOT_SUPPORTED, R::CUDA_ERROR_JIT_COMPILER_NOT_FOUND].map(|r| r as c_int).contains(&code)
}

/// The driver's name for a pool's attribute.
fn pool_attribute(attribute: u32) -> sys::CUmemPool_attribute {
    use sys::CUmemPool_attribute as A;
    match attribute {
        RELEASE_THRESHOLD => A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
        RESERVED => A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
        _ => A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
    }
}

/// A failure with what the assembler said.
fn with_log(e: Failure, log: &[u8]) -> Failure {
    let log = log_text(log);
    if log.is_empty() { e } else { Failure { text: format!("{}\n{log}", e.text), ..e } }
}
