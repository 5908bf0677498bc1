//! The process's devices, contexts and handles.

use crate::abi::Handle;
use crate::status::{CUresult, Failure, Outcome};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tegula_vgpu_driver::code::{Kernel, Module};
use tegula_vgpu_driver::context::Context;
use tegula_vgpu_driver::device::Device;
use tegula_vgpu_driver::event::Event;
use tegula_vgpu_driver::graph::{Exec, Graph};
use tegula_vgpu_driver::handle::Table;
use tegula_vgpu_driver::settings::Settings;
use tegula_vgpu_driver::stream::Stream;

/// A lock whose holder panicked is taken nevertheless.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `cuInit` makes.
#[derive(Debug)]
pub struct State {
    /// The devices.
    pub devices: Arc<[Arc<Device>]>,
    /// Their primary contexts.
    pub primaries: Vec<Mutex<Primary>>,
    /// Their memory pools.
    pub pools: Vec<Pools>,
}

/// A device's primary context.
#[derive(Debug, Default)]
pub struct Primary {
    /// The context and its handle, while somebody holds it.
    pub context: Option<(Handle, Arc<CudaContext>)>,
    /// Who holds it.
    pub count: usize,
    /// The flags for the next one.
    pub flags: u32,
}

/// A device's default pool, and the one that allocations come from.
#[derive(Debug)]
pub struct Pools {
    /// The default one.
    pub default: Handle,
    /// The one that is set.
    pub current: AtomicUsize,
}

/// A context.
#[derive(Debug)]
pub struct CudaContext {
    /// What it does.
    pub core: Arc<Context>,
    /// Whether it is the device's primary one.
    pub primary: bool,
    /// As it was made, or set since.
    pub flags: AtomicU32,
    /// Limits by number.
    pub limits: Mutex<HashMap<u32, usize>>,
    /// The preferred split of cache and shared memory; told back only.
    pub cache_config: AtomicU32,
}

/// A stream with what it belongs to.
#[derive(Debug)]
pub struct CudaStream {
    /// What it does.
    pub core: Arc<Stream>,
    /// Its context.
    pub context: Arc<CudaContext>,
    /// As it was made.
    pub flags: u32,
}

/// A module with the handles of its kernels.
#[derive(Debug)]
pub struct CudaModule {
    /// What it does.
    pub core: Arc<Module>,
    /// Handles of the kernels that were asked for.
    pub functions: Mutex<HashMap<String, Handle>>,
}

/// A graph with the handles of its nodes.
#[derive(Debug)]
pub struct CudaGraph {
    /// What it is.
    pub core: Arc<Graph>,
    /// Handles of the nodes that were asked for.
    pub nodes: Mutex<HashMap<usize, Handle>>,
}

/// A node of a graph.
#[derive(Debug)]
pub struct CudaNode {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Its number there.
    pub index: usize,
}

/// A memory pool. Memory is given back to the device at once, so that it is little more than its attributes.
#[derive(Debug)]
pub struct Pool {
    /// The device.
    pub device: usize,
    /// Attributes by number.
    pub attributes: Mutex<HashMap<u32, u64>>,
    /// The most bytes; 0 without a bound.
    pub max_size: usize,
}

/// Contexts by handle.
pub static CONTEXTS: Table<CudaContext> = Table::new(1);
/// Streams by handle.
pub static STREAMS: Table<CudaStream> = Table::new(2);
/// Events by handle.
pub static EVENTS: Table<Event> = Table::new(3);
/// Modules and libraries by handle.
pub static MODULES: Table<CudaModule> = Table::new(4);
/// Kernels by handle.
pub static FUNCTIONS: Table<Kernel> = Table::new(5);
/// Graphs by handle.
pub static GRAPHS: Table<CudaGraph> = Table::new(6);
/// Nodes by handle.
pub static NODES: Table<CudaNode> = Table::new(7);
/// Executable graphs by handle.
pub static EXECS: Table<Exec> = Table::new(8);
/// Memory pools by handle.
pub static POOLS: Table<Pool> = Table::new(9);

static STATE: OnceLock<State> = OnceLock::new();

thread_local! {
    /// The contexts of the thread, the current one last.
    static STACK: RefCell<Vec<(Handle, Arc<CudaContext>)>> = const { RefCell::new(Vec::new()) };
}

/// Makes the state, once.
pub fn initialize() -> Outcome {
    let state = STATE.get_or_init(|| {
        let devices: Arc<[Arc<Device>]> = Device::all(Settings::get(), true).into();
        let pools = devices.iter().map(|device| {
            let pool = Pool { device: device.index, attributes: Mutex::default(), max_size: 0 };
            let default = POOLS.insert(Arc::new(pool));
            Pools { default, current: AtomicUsize::new(default) }
        });
        let pools = pools.collect();
        let primaries = devices.iter().map(|_| Mutex::default()).collect();
        State { devices, primaries, pools }
    });
    if state.devices.is_empty() { Err(CUresult::ERROR_NO_DEVICE.into()) } else { Ok(()) }
}

/// The state; fails before `cuInit`.
pub fn state() -> Outcome<&'static State> {
    STATE.get().ok_or_else(|| CUresult::ERROR_NOT_INITIALIZED.into())
}

/// A device by number.
pub fn device(ordinal: i32) -> Outcome<&'static Arc<Device>> {
    let index = usize::try_from(ordinal).ok();
    index.and_then(|index| state().ok()?.devices.get(index)).ok_or_else(|| match state() {
        Ok(_) => CUresult::ERROR_INVALID_DEVICE.into(),
        Err(failure) => failure,
    })
}

impl CudaContext {
    /// A context of a device, and its handle.
    pub fn create(device: &Arc<Device>, primary: bool, flags: u32) -> Outcome<(Handle, Arc<Self>)> {
        let core = Context::new(Arc::clone(device), Arc::clone(&state()?.devices));
        let context = Arc::new(Self {
            core,
            primary,
            flags: AtomicU32::new(flags),
            limits: Mutex::default(),
            cache_config: AtomicU32::new(0),
        });
        Ok((CONTEXTS.insert(Arc::clone(&context)), context))
    }

    /// Waits for its work and gives back what it holds.
    pub fn destroy(self: &Arc<Self>, handle: Handle) {
        CONTEXTS.remove(handle);
        self.core.destroy();
        STREAMS.retain(|stream| !Arc::ptr_eq(&stream.context, self));
    }
}

/// The current context and its handle, if there is one.
pub fn current_entry() -> Option<(Handle, Arc<CudaContext>)> {
    STACK.with_borrow(|stack| stack.last().cloned())
}

/// The current context.
pub fn current() -> Outcome<Arc<CudaContext>> {
    state()?;
    current_entry().map(|(_, context)| context).ok_or_else(|| CUresult::ERROR_INVALID_CONTEXT.into())
}

/// The current context, if it is neither lost nor destroyed.
pub fn live() -> Outcome<Arc<CudaContext>> {
    let context = current()?;
    context.core.check()?;
    Ok(context)
}

/// Changes the thread's contexts.
pub fn with_stack<R>(f: impl FnOnce(&mut Vec<(Handle, Arc<CudaContext>)>) -> R) -> R {
    STACK.with_borrow_mut(f)
}

/// A context by handle.
pub fn context(handle: Handle) -> Outcome<Arc<CudaContext>> {
    state()?;
    CONTEXTS.get(handle).ok_or_else(|| CUresult::ERROR_INVALID_CONTEXT.into())
}

fn missing() -> Failure {
    CUresult::ERROR_INVALID_HANDLE.into()
}

/// A stream by handle: a number below 16 stands for a default stream of the current context.
pub fn stream(handle: Handle) -> Outcome<CudaStream> {
    let default = |core: fn(&Context) -> Arc<Stream>| {
        let context = current()?;
        Ok(CudaStream { core: core(&context.core), context, flags: 0 })
    };
    match handle {
        0 | 1 => default(|context| Arc::clone(context.legacy_stream())),
        2 => default(Context::thread_stream),
        _ => {
            let stream = STREAMS.get(handle).ok_or_else(missing)?;
            Ok(CudaStream { core: Arc::clone(&stream.core), context: Arc::clone(&stream.context), flags: stream.flags })
        }
    }
}

/// An event by handle.
pub fn event(handle: Handle) -> Outcome<Arc<Event>> {
    EVENTS.get(handle).ok_or_else(missing)
}

/// A kernel by handle.
pub fn function(handle: Handle) -> Outcome<Arc<Kernel>> {
    FUNCTIONS.get(handle).ok_or_else(missing)
}

/// A module by handle.
pub fn module(handle: Handle) -> Outcome<Arc<CudaModule>> {
    MODULES.get(handle).ok_or_else(missing)
}

/// A graph by handle.
pub fn graph(handle: Handle) -> Outcome<Arc<CudaGraph>> {
    GRAPHS.get(handle).ok_or_else(missing)
}
