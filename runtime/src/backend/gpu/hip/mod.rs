//! AMD's HIP, through a table of functions loaded at run time.

pub mod table;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use libloading::Library;

use super::driver::{Direction, Driver, Failure, FunctionInfo, Handle, Properties, RawLaunch, Result};
use super::pool::{PoolProps, RELEASE_THRESHOLD, RESERVED, USED};
use crate::error::Error;
use table::{Pointer, PoolTable, Table};

/// The oldest library: the layout of a device's properties is that of ROCm 6.
const NEEDED: &str = "ROCm 6.0";

/// Names of the library.
const LIBRARIES: &[&str] = &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"];

/// The driver of this process.
///
/// # Errors
/// [`Error::NoDriver`] or [`Error::DriverTooOld`].
pub fn driver() -> std::result::Result<Arc<dyn Driver>, Error> {
    static DRIVER: OnceLock<std::result::Result<Arc<Hip>, Error>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| Hip::load().map(Arc::new)).clone()?;
    Ok(driver)
}

/// HIP's library.
struct Hip {
    table: Table,
    pools: Option<PoolTable>,
    library: &'static str,
    /// What `hipInit` said: a machine with the library and without a device is no broken one.
    init: Result<()>,
    /// Keeps the functions.
    _open: Library,
}

/// `hipDeviceProp_tR0600`, as far as it is needed: offsets of fields, which an ABI fixes.
#[repr(C, align(16))]
struct RawProperties([u8; Self::ROOM]);

impl RawProperties {
    /// The structure has 1472 bytes; libraries may write more.
    const ROOM: usize = 4096;
    const NAME: usize = 0;
    const TOTAL_MEMORY: usize = 288;
    const SHARED_PER_BLOCK: usize = 296;
    const THREADS_PER_BLOCK: usize = 320;
    const GRID: usize = 336;
    const PROCESSORS: usize = 388;
    const ARCHITECTURE: usize = 1160;

    fn text(&self, at: usize) -> String {
        let field = &self.0[at..at + 256];
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    }

    fn size(&self, at: usize) -> usize {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[at..at + 8]);
        usize::from_ne_bytes(bytes)
    }

    fn int(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        i32::from_ne_bytes(bytes).max(0) as u32
    }
}

/// The offsets are those of the bindings.
#[cfg(any(test, feature = "hip-sys-check"))]
const _: () = {
    use cubecl_hip_sys::hipDeviceProp_tR0600 as P;
    use std::mem::offset_of;
    assert!(size_of::<P>() <= RawProperties::ROOM);
    assert!(offset_of!(P, name) == RawProperties::NAME);
    assert!(offset_of!(P, totalGlobalMem) == RawProperties::TOTAL_MEMORY);
    assert!(offset_of!(P, sharedMemPerBlock) == RawProperties::SHARED_PER_BLOCK);
    assert!(offset_of!(P, maxThreadsPerBlock) == RawProperties::THREADS_PER_BLOCK);
    assert!(offset_of!(P, maxGridSize) == RawProperties::GRID);
    assert!(offset_of!(P, multiProcessorCount) == RawProperties::PROCESSORS);
    assert!(offset_of!(P, gcnArchName) == RawProperties::ARCHITECTURE);
};

impl Hip {
    fn load() -> std::result::Result<Self, Error> {
        // SAFETY: loading the library runs its initialisers, which it is made for.
        let open = |name: &&'static str| unsafe { Library::new(*name) }.ok().map(|library| (*name, library));
        let Some((name, library)) = LIBRARIES.iter().find_map(open) else {
            return Err(Error::NoDriver {
                library: LIBRARIES[0].into(),
                help: "it comes with ROCm's package hip-runtime-amd; where that is installed, add its folder \
                       (/opt/rocm/lib) to LD_LIBRARY_PATH"
                    .into(),
            });
        };
        // SAFETY: the library of this name is HIP's.
        let table = unsafe { Table::load(&library) }.map_err(|missing| Error::DriverTooOld {
            library: name.into(),
            found: format!("it has no function {missing}"),
            needed: NEEDED.into(),
            help: "install a newer ROCm".into(),
        })?;
        // SAFETY: as above.
        let pools = unsafe { PoolTable::load(&library) }.ok();
        let mut this = Self { table, pools, library: name, init: Ok(()), _open: library };
        // SAFETY: no arguments that matter.
        this.init = this.check("hipInit", unsafe { (this.table.init)(0) });
        Ok(this)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failure(call, code)) }
    }

    #[cold]
    fn failure(&self, call: &'static str, code: c_int) -> Failure {
        let text = |f: unsafe extern "C" fn(c_int) -> *const c_char| {
            // SAFETY: the library gives a constant text for any number.
            unsafe {
                let text = f(code);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let text = match (text(self.table.error_name), text(self.table.error_string)) {
            (Some(name), Some(string)) => format!("{string} ({name})"),
            (Some(name), None) => name,
            _ => format!("error {code}"),
        };
        Failure { call, code, text }
    }

    /// A call that gives a handle.
    fn make(&self, call: &'static str, f: impl FnOnce(*mut Pointer) -> c_int) -> Result<Handle> {
        let mut handle = null_mut();
        self.check(call, f(&mut handle))?;
        Ok(Handle::of(handle))
    }
}

/// An address on the device, as HIP has it.
fn pointer(address: u64) -> Pointer {
    address as usize as Pointer
}

impl Driver for Hip {
    fn kind(&self) -> &'static str {
        "hip"
    }

    fn library(&self) -> &str {
        self.library
    }

    fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: the library writes one number.
        let code = unsafe { (self.table.driver_version)(&mut version) };
        if code != 0 {
            return "unknown".into();
        }
        format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
    }

    fn needed(&self) -> &'static str {
        NEEDED
    }

    fn count(&self) -> Result<u32> {
        self.init.clone()?;
        let mut count = 0;
        // SAFETY: the library writes one number.
        self.check("hipGetDeviceCount", unsafe { (self.table.device_count)(&mut count) })?;
        Ok(count.max(0) as u32)
    }

    fn properties(&self, ordinal: u32) -> Result<Properties> {
        let mut raw = Box::new(RawProperties([0; RawProperties::ROOM]));
        // SAFETY: the room is larger than the structure.
        self.check("hipGetDeviceProperties", unsafe {
            (self.table.device_properties)((&raw mut *raw).cast(), ordinal as c_int)
        })?;
        let grid = |axis: usize| raw.int(RawProperties::GRID + 4 * axis);
        Ok(Properties {
            name: raw.text(RawProperties::NAME),
            architecture: raw.text(RawProperties::ARCHITECTURE),
            memory: raw.size(RawProperties::TOTAL_MEMORY),
            processors: raw.int(RawProperties::PROCESSORS),
            max_shared: raw.size(RawProperties::SHARED_PER_BLOCK) as u32,
            max_threads: raw.int(RawProperties::THREADS_PER_BLOCK),
            max_grid: [grid(0), grid(1), grid(2)],
            // Every device that ROCm 6 supports has them.
            cooperative: true,
            clusters: false,
        })
    }

    fn context(&self, ordinal: u32) -> Result<Handle> {
        // A device's context is known by its number.
        Ok(Handle(ordinal as usize))
    }

    fn bind(&self, context: Handle) -> Result<()> {
        // SAFETY: no pointers.
        self.check("hipSetDevice", unsafe { (self.table.set_device)(context.0 as c_int) })
    }

    fn synchronize(&self) -> Result<()> {
        // SAFETY: no arguments.
        self.check("hipDeviceSynchronize", unsafe { (self.table.device_synchronize)() })
    }

    fn memory(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the library writes two numbers.
        self.check("hipMemGetInfo", unsafe { (self.table.memory_info)(&mut free, &mut total) })?;
        Ok((free, total))
    }

    fn create_pool(&self, ordinal: u32) -> Result<Option<Handle>> {
        let Some(table) = &self.pools else { return Ok(None) };
        let props = PoolProps::on_device(ordinal);
        let mut keep = u64::MAX;
        // SAFETY: the description has the layout of the library's; the attribute is a `u64`.
        unsafe {
            // Devices without pools refuse.
            let Ok(pool) = self.make("hipMemPoolCreate", |p| (table.pool_create)(p, (&raw const props).cast())) else {
                return Ok(None);
            };
            let set = (table.pool_set)(pool.pointer(), RELEASE_THRESHOLD, (&raw mut keep).cast());
            self.check("hipMemPoolSetAttribute", set)?;
            Ok(Some(pool))
        }
    }

    unsafe fn pool_usage(&self, pool: Handle) -> Result<(usize, usize)> {
        let Some(table) = &self.pools else { return Ok((0, 0)) };
        let get = |attribute| {
            let mut value = 0u64;
            // SAFETY: the attribute is a `u64`.
            let code = unsafe { (table.pool_get)(pool.pointer(), attribute, (&raw mut value).cast()) };
            self.check("hipMemPoolGetAttribute", code).map(|()| value as usize)
        };
        Ok((get(RESERVED)?, get(USED)?))
    }

    unsafe fn trim_pool(&self, pool: Handle, keep: usize) -> Result<()> {
        let Some(table) = &self.pools else { return Ok(()) };
        // SAFETY: as the trait says.
        self.check("hipMemPoolTrimTo", unsafe { (table.pool_trim)(pool.pointer(), keep) })
    }

    unsafe fn allocate(&self, pool: Option<Handle>, bytes: usize, stream: Handle) -> Result<u64> {
        // SAFETY: the library writes one address.
        let address = unsafe {
            match pool.zip(self.pools.as_ref()) {
                Some((pool, table)) => self.make("hipMallocFromPoolAsync", |address| {
                    (table.malloc_from_pool)(address, bytes, pool.pointer(), stream.pointer())
                }),
                None => self.make("hipMalloc", |address| (self.table.malloc)(address, bytes)),
            }
        }?;
        Ok(address.0 as u64)
    }

    unsafe fn free(&self, pooled: bool, address: u64, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        unsafe {
            if let (true, Some(table)) = (pooled, &self.pools) {
                self.check("hipFreeAsync", (table.free_async)(pointer(address), stream.pointer()))
            } else {
                self.check("hipFree", (self.table.free)(pointer(address)))
            }
        }
    }

    unsafe fn allocate_host(&self, bytes: usize) -> Result<*mut u8> {
        // SAFETY: the library writes one address.
        let address = self.make("hipHostMalloc", |address| unsafe { (self.table.host_malloc)(address, bytes, 0) })?;
        Ok(address.pointer())
    }

    unsafe fn free_host(&self, address: *mut u8) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipHostFree", unsafe { (self.table.host_free)(address.cast()) })
    }

    unsafe fn copy(&self, direction: Direction, to: u64, from: u64, bytes: usize, stream: Handle) -> Result<()> {
        let (to, from, stream) = (pointer(to), pointer(from), stream.pointer());
        // SAFETY: as the trait says.
        unsafe {
            match direction {
                Direction::ToDevice => {
                    self.check("hipMemcpyHtoDAsync", (self.table.copy_to_device)(to, from, bytes, stream))
                }
                Direction::ToHost => {
                    self.check("hipMemcpyDtoHAsync", (self.table.copy_to_host)(to, from, bytes, stream))
                }
                Direction::Within => {
                    self.check("hipMemcpyDtoDAsync", (self.table.copy_within)(to, from, bytes, stream))
                }
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
        let ((to_device, _, to), (from_device, _, from)) = (to, from);
        // SAFETY: as the trait says.
        self.check("hipMemcpyPeerAsync", unsafe {
            (self.table.copy_peer)(
                pointer(to),
                to_device as c_int,
                pointer(from),
                from_device as c_int,
                bytes,
                stream.pointer(),
            )
        })
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipMemsetD8Async", unsafe { (self.table.fill)(pointer(to), byte, bytes, stream.pointer()) })
    }

    fn create_stream(&self) -> Result<Handle> {
        const NON_BLOCKING: c_uint = 1;
        // SAFETY: the library writes one handle.
        self.make("hipStreamCreateWithFlags", |s| unsafe { (self.table.stream_create)(s, NON_BLOCKING) })
    }

    unsafe fn destroy_stream(&self, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipStreamDestroy", unsafe { (self.table.stream_destroy)(stream.pointer()) })
    }

    unsafe fn synchronize_stream(&self, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipStreamSynchronize", unsafe { (self.table.stream_synchronize)(stream.pointer()) })
    }

    unsafe fn query_stream(&self, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipStreamQuery", unsafe { (self.table.stream_query)(stream.pointer()) })
    }

    unsafe fn wait_event(&self, stream: Handle, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipStreamWaitEvent", unsafe { (self.table.stream_wait)(stream.pointer(), event.pointer(), 0) })
    }

    unsafe fn begin_capture(&self, stream: Handle) -> Result<()> {
        // Kernels may be compiled and loaded meanwhile.
        const RELAXED: c_uint = 2;
        // SAFETY: as the trait says.
        self.check("hipStreamBeginCapture", unsafe { (self.table.begin_capture)(stream.pointer(), RELAXED) })
    }

    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle> {
        // SAFETY: the library writes one handle.
        self.make("hipStreamEndCapture", |graph| unsafe { (self.table.end_capture)(stream.pointer(), graph) })
    }

    fn create_event(&self, timing: bool) -> Result<Handle> {
        const DISABLE_TIMING: c_uint = 2;
        let flags = if timing { 0 } else { DISABLE_TIMING };
        // SAFETY: the library writes one handle.
        self.make("hipEventCreateWithFlags", |event| unsafe { (self.table.event_create)(event, flags) })
    }

    unsafe fn destroy_event(&self, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipEventDestroy", unsafe { (self.table.event_destroy)(event.pointer()) })
    }

    unsafe fn record_event(&self, event: Handle, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipEventRecord", unsafe { (self.table.event_record)(event.pointer(), stream.pointer()) })
    }

    unsafe fn query_event(&self, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipEventQuery", unsafe { (self.table.event_query)(event.pointer()) })
    }

    unsafe fn synchronize_event(&self, event: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipEventSynchronize", unsafe { (self.table.event_synchronize)(event.pointer()) })
    }

    unsafe fn elapsed(&self, from: Handle, to: Handle) -> Result<f32> {
        let mut ms = 0.0;
        // SAFETY: as the trait says; the library writes one number.
        let code = unsafe { (self.table.event_elapsed)(&mut ms, from.pointer(), to.pointer()) };
        self.check("hipEventElapsedTime", code)?;
        Ok(ms)
    }

    unsafe fn instantiate(&self, graph: Handle) -> Result<Handle> {
        // SAFETY: the library writes one handle, and needs no log; the graph is no longer used.
        unsafe {
            let exec = self.make("hipGraphInstantiate", |exec| {
                (self.table.graph_instantiate)(exec, graph.pointer(), null_mut(), null_mut(), 0)
            });
            self.check("hipGraphDestroy", (self.table.graph_destroy)(graph.pointer())).and(exec)
        }
    }

    unsafe fn launch_graph(&self, graph: Handle, stream: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipGraphLaunch", unsafe { (self.table.graph_launch)(graph.pointer(), stream.pointer()) })
    }

    unsafe fn destroy_graph_exec(&self, graph: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipGraphExecDestroy", unsafe { (self.table.graph_exec_destroy)(graph.pointer()) })
    }

    fn load(&self, code: &[u8]) -> Result<Handle> {
        // SAFETY: a code object tells its own length.
        self.make("hipModuleLoadData", |module| unsafe { (self.table.module_load)(module, code.as_ptr().cast()) })
    }

    fn assemble(&self, _ptx: &CStr) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    unsafe fn unload(&self, module: Handle) -> Result<()> {
        // SAFETY: as the trait says.
        self.check("hipModuleUnload", unsafe { (self.table.module_unload)(module.pointer()) })
    }

    unsafe fn function(&self, module: Handle, name: &CStr) -> Result<Handle> {
        // SAFETY: the library writes one handle.
        self.make("hipModuleGetFunction", |function| unsafe {
            (self.table.module_function)(function, module.pointer(), name.as_ptr())
        })
    }

    unsafe fn function_info(&self, function: Handle) -> Result<FunctionInfo> {
        const SHARED: c_uint = 1;
        const LOCAL: c_uint = 3;
        const REGISTERS: c_uint = 4;
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: the library writes one number.
            let code = unsafe { (self.table.function_attribute)(&mut value, attribute, function.pointer()) };
            self.check("hipFuncGetAttribute", code).map(|()| value.max(0) as u32)
        };
        Ok(FunctionInfo { registers: get(REGISTERS)?, local: get(LOCAL)?, shared: get(SHARED)? })
    }

    unsafe fn allow_shared(&self, _function: Handle, _bytes: u32) -> Result<()> {
        // All of it can be asked for at launch.
        Ok(())
    }

    unsafe fn launch(&self, function: Handle, launch: &RawLaunch, params: *mut *mut c_void) -> Result<()> {
        let [x, y, z] = launch.grid;
        let (threads, shared, stream) = (launch.threads, launch.shared, launch.stream.pointer());
        if launch.cluster.is_some() {
            const INVALID_CONFIGURATION: c_int = 9;
            return Err(self.failure("hipModuleLaunchKernel", INVALID_CONFIGURATION));
        }
        // Whether a launch may begin early is an offer that HIP does not take.
        // SAFETY: as the trait says.
        unsafe {
            if launch.cooperative {
                let f = self.table.launch_cooperative;
                let code = f(function.pointer(), x, y, z, threads, 1, 1, shared, stream, params);
                self.check("hipModuleLaunchCooperativeKernel", code)
            } else {
                let f = self.table.launch;
                let code = f(function.pointer(), x, y, z, threads, 1, 1, shared, stream, params, null_mut());
                self.check("hipModuleLaunchKernel", code)
            }
        }
    }
}
