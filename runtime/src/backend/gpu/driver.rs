//! What the GPU backend asks of a vendor's driver: one call each, with raw handles. CUDA and HIP differ in names and in
//! what they lack, hardly in meaning.

use std::ffi::{CStr, c_void};
use std::fmt;

use crate::tensor_map::{Encoded, Tiled};

/// A driver's handle of something: a context, stream, event, module, function, graph or pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Handle(pub usize);

impl Handle {
    /// The handle as the driver has it.
    pub fn pointer<T>(self) -> *mut T {
        self.0 as *mut T
    }

    /// A handle of the driver's.
    pub fn of<T>(pointer: *mut T) -> Self {
        Self(pointer as usize)
    }
}

/// The driver's result.
pub type Result<T> = std::result::Result<T, Failure>;

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The driver's function.
    pub call: &'static str,
    /// The driver's number for what happened.
    pub code: i32,
    /// What the driver says, with its name for the number.
    pub text: String,
}

impl Failure {
    /// What happened.
    pub fn cause(&self) -> Cause {
        Cause::of(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.text)
    }
}

/// What happened, as far as it makes a difference. The numbers are those of CUDA, which HIP shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// No memory is left.
    OutOfMemory,
    /// There is no device.
    NoDevice,
    /// The driver cannot take code this new.
    TooOld,
    /// The code is broken or for another architecture.
    BadCode,
    /// There is nothing of this name.
    NotFound,
    /// The launch asks for more than there is.
    Limits,
    /// The work is not done.
    NotReady,
    /// A kernel did something wrong; the context is lost.
    Fault,
    /// The device is gone.
    Lost,
    /// Anything else.
    Other,
}

impl Cause {
    /// The cause behind a number of the driver's.
    pub fn of(code: i32) -> Self {
        match code {
            2 => Self::OutOfMemory,
            100 | 101 => Self::NoDevice,
            // Driver mismatch and unsupported PTX.
            35 | 36 | 222 | 803 | 804 => Self::TooOld,
            // Invalid image, no binary, invalid PTX or source, missing library.
            200 | 209 | 218 | 300 | 302 => Self::BadCode,
            500 => Self::NotFound,
            // Invalid configuration, out of resources, cooperative launch too large, invalid cluster size.
            9 | 701 | 720 | 912 | 1054 => Self::Limits,
            600 => Self::NotReady,
            // Illegal address, time-out, assert, stack, instruction, alignment, address space, program counter, launch
            // failure, and what follows from them.
            53 | 700 | 702 | 709 | 710 | 714..=719 | 721 => Self::Fault,
            // Unavailable, uncorrectable ECC, NVLink, contained faults.
            46 | 214 | 220 | 226 | 227 => Self::Lost,
            _ => Self::Other,
        }
    }
}

/// What is known of a device.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Properties {
    /// Marketing name.
    pub name: String,
    /// Architecture: `sm_90` or `gfx942`.
    pub architecture: String,
    /// Bytes of memory.
    pub memory: usize,
    /// Multiprocessors or compute units.
    pub processors: u32,
    /// Most bytes of shared memory that a program may ask for.
    pub max_shared: u32,
    /// Most threads of a program.
    pub max_threads: u32,
    /// Most programs on each axis.
    pub max_grid: [u32; 3],
    /// Whether all programs of a launch can be made to run at the same time.
    pub cooperative: bool,
    /// Whether there are clusters.
    pub clusters: bool,
}

/// A launch, in the driver's terms.
#[derive(Clone, Copy, Debug)]
pub struct RawLaunch {
    /// Programs on each axis.
    pub grid: [u32; 3],
    /// Threads of a program.
    pub threads: u32,
    /// Bytes of shared memory besides what the code declares.
    pub shared: u32,
    /// The stream.
    pub stream: Handle,
    /// All programs at the same time.
    pub cooperative: bool,
    /// Programs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// May begin before the launch before it has ended.
    pub programmatic: bool,
}

/// The direction of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From host to device.
    ToDevice,
    /// From device to host.
    ToHost,
    /// Within a device.
    Within,
}

/// What is known of a function on the device.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FunctionInfo {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's local memory: spilled registers and arrays.
    pub local: u32,
    /// Bytes of shared memory that the code declares.
    pub shared: u32,
}

/// A vendor's driver. Calls without a context say so; the others work on the context that [`Driver::bind`] made the
/// thread's own.
///
/// # Safety of the calls
/// Handles come from the same driver and were not destroyed; addresses and lengths lie in memory of the kind that the
/// call names; what is given to a stream stays alive until the stream has come there.
#[allow(clippy::missing_safety_doc, reason = "the trait's documentation says it for all of them")]
pub trait Driver: Send + Sync {
    /// The name of devices: `cuda` or `hip`.
    fn kind(&self) -> &'static str;

    /// The library, for messages.
    fn library(&self) -> &str;

    /// The driver's version, for people and for keys of caches.
    fn version(&self) -> String;

    /// The oldest driver that takes what Tegula gives it.
    fn needed(&self) -> &'static str;

    /// Number of devices. Needs no context.
    fn count(&self) -> Result<u32>;

    /// What is known of a device. Needs no context.
    fn properties(&self, ordinal: u32) -> Result<Properties>;

    /// The device's primary context, which lives as long as the process. Needs no context.
    fn context(&self, ordinal: u32) -> Result<Handle>;

    /// Makes a context the thread's own.
    fn bind(&self, context: Handle) -> Result<()>;

    /// Waits for all work of the context.
    fn synchronize(&self) -> Result<()>;

    /// Free and total bytes of memory.
    fn memory(&self) -> Result<(usize, usize)>;

    /// Makes a pool that keeps what is freed; `None` where the device has no pools.
    fn create_pool(&self, ordinal: u32) -> Result<Option<Handle>>;

    /// Bytes that the pool took from the system, and of these in use.
    unsafe fn pool_usage(&self, pool: Handle) -> Result<(usize, usize)>;

    /// Gives back what is not in use, down to `keep` bytes.
    unsafe fn trim_pool(&self, pool: Handle, keep: usize) -> Result<()>;

    /// Allocates in the order of a stream from a pool, or for all streams without one.
    unsafe fn allocate(&self, pool: Option<Handle>, bytes: usize, stream: Handle) -> Result<u64>;

    /// Frees in the order of a stream what came from a pool, or at once what did not.
    unsafe fn free(&self, pooled: bool, address: u64, stream: Handle) -> Result<()>;

    /// Allocates pinned host memory.
    unsafe fn allocate_host(&self, bytes: usize) -> Result<*mut u8>;

    /// Frees pinned host memory.
    unsafe fn free_host(&self, address: *mut u8) -> Result<()>;

    /// Copies in the order of a stream.
    unsafe fn copy(&self, direction: Direction, to: u64, from: u64, bytes: usize, stream: Handle) -> Result<()>;

    /// Copies between devices, given as number and context, in the order of a stream of the bound context.
    unsafe fn copy_peer(
        &self,
        to: (u32, Handle, u64),
        from: (u32, Handle, u64),
        bytes: usize,
        stream: Handle,
    ) -> Result<()>;

    /// Sets bytes in the order of a stream.
    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize, stream: Handle) -> Result<()>;

    /// Makes a stream that does not wait for the process's default one.
    fn create_stream(&self) -> Result<Handle>;

    /// Destroys a stream once its work is done.
    unsafe fn destroy_stream(&self, stream: Handle) -> Result<()>;

    /// Waits for a stream.
    unsafe fn synchronize_stream(&self, stream: Handle) -> Result<()>;

    /// Fails with [`Cause::NotReady`] if there is work to do.
    unsafe fn query_stream(&self, stream: Handle) -> Result<()>;

    /// Lets a stream wait for an event.
    unsafe fn wait_event(&self, stream: Handle, event: Handle) -> Result<()>;

    /// From now on the stream's work is noted.
    unsafe fn begin_capture(&self, stream: Handle) -> Result<()>;

    /// Ends that; gives the graph.
    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle>;

    /// Makes an event, which measures time if asked to.
    fn create_event(&self, timing: bool) -> Result<Handle>;

    /// Destroys an event.
    unsafe fn destroy_event(&self, event: Handle) -> Result<()>;

    /// Records an event.
    unsafe fn record_event(&self, event: Handle, stream: Handle) -> Result<()>;

    /// Fails with [`Cause::NotReady`] if it has not happened.
    unsafe fn query_event(&self, event: Handle) -> Result<()>;

    /// Waits for an event.
    unsafe fn synchronize_event(&self, event: Handle) -> Result<()>;

    /// Milliseconds between events.
    unsafe fn elapsed(&self, from: Handle, to: Handle) -> Result<f32>;

    /// Makes a graph ready to launch; the graph itself is destroyed.
    unsafe fn instantiate(&self, graph: Handle) -> Result<Handle>;

    /// Launches a graph.
    unsafe fn launch_graph(&self, graph: Handle, stream: Handle) -> Result<()>;

    /// Destroys a graph that was made ready.
    unsafe fn destroy_graph_exec(&self, graph: Handle) -> Result<()>;

    /// Loads code; PTX ends with a zero byte. The text of a failure has the driver's log.
    fn load(&self, code: &[u8]) -> Result<Handle>;

    /// Machine code from PTX by the driver's linker; `None` where the driver has none.
    fn assemble(&self, ptx: &CStr) -> Result<Option<Vec<u8>>>;

    /// Unloads code.
    unsafe fn unload(&self, module: Handle) -> Result<()>;

    /// A function of a module.
    unsafe fn function(&self, module: Handle, name: &CStr) -> Result<Handle>;

    /// What is known of a function.
    unsafe fn function_info(&self, function: Handle) -> Result<FunctionInfo>;

    /// Lets launches of a function ask for this much shared memory.
    unsafe fn allow_shared(&self, function: Handle, bytes: u32) -> Result<()>;

    /// A tensor map; `None` where the driver makes none.
    fn encode_tensor_map(&self, map: &Tiled) -> Result<Option<Encoded>> {
        let _ = map;
        Ok(None)
    }

    /// Launches; `params` points to one pointer to a value for each of the function's parameters.
    unsafe fn launch(&self, function: Handle, launch: &RawLaunch, params: *mut *mut c_void) -> Result<()>;
}
