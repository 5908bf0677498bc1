//! The process's devices, their contexts, and handles. HIP needs no initialisation: the first call that needs it makes everything.

use crate::abi::Handle;
use crate::status::{Failure, Outcome, hipError_t};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
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

struct State {
    devices: Arc<[Arc<Device>]>,
    /// Each device's context, made when it is first used and replaced by a reset.
    contexts: Vec<Mutex<Option<Arc<Context>>>>,
}

static STATE: LazyLock<State> = LazyLock::new(|| {
    let devices: Arc<[Arc<Device>]> = Device::all(Settings::get(), false).into();
    State { contexts: devices.iter().map(|_| Mutex::default()).collect(), devices }
});

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// A stream with its context.
#[derive(Debug)]
pub struct HipStream {
    /// What it does.
    pub core: Arc<Stream>,
    /// Its context.
    pub context: Arc<Context>,
    /// As it was made.
    pub flags: u32,
}

/// A module with the handles of its kernels.
#[derive(Debug)]
pub struct HipModule {
    /// What it does.
    pub core: Arc<Module>,
    /// Handles of the kernels that were asked for.
    pub functions: Mutex<HashMap<String, Handle>>,
}

/// A node of a graph.
#[derive(Debug)]
pub struct HipNode {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Its number there.
    pub index: usize,
}

/// Streams by handle.
pub static STREAMS: Table<HipStream> = Table::new(0x102);
/// Events by handle.
pub static EVENTS: Table<Event> = Table::new(0x103);
/// Modules by handle.
pub static MODULES: Table<HipModule> = Table::new(0x104);
/// Kernels by handle.
pub static FUNCTIONS: Table<Kernel> = Table::new(0x105);
/// Graphs by handle.
pub static GRAPHS: Table<Graph> = Table::new(0x106);
/// Nodes by handle.
pub static NODES: Table<HipNode> = Table::new(0x107);
/// Executable graphs by handle.
pub static EXECS: Table<Exec> = Table::new(0x108);

/// The devices.
pub fn devices() -> &'static Arc<[Arc<Device>]> {
    &STATE.devices
}

/// A device by number.
pub fn device(ordinal: i32) -> Outcome<&'static Arc<Device>> {
    if STATE.devices.is_empty() {
        return Err(hipError_t::NO_DEVICE.into());
    }
    let found = usize::try_from(ordinal).ok().and_then(|index| STATE.devices.get(index));
    found.ok_or_else(|| hipError_t::INVALID_DEVICE.into())
}

/// The calling thread's device.
pub fn current_index() -> usize {
    CURRENT.get()
}

/// Sets the calling thread's device.
pub fn set_current(ordinal: i32) -> Outcome {
    CURRENT.set(device(ordinal)?.index);
    Ok(())
}

/// A device's context.
pub fn context_of(index: usize) -> Outcome<Arc<Context>> {
    let device = device(index as i32)?;
    let mut context = lock(&STATE.contexts[index]);
    Ok(Arc::clone(context.get_or_insert_with(|| Context::new(Arc::clone(device), Arc::clone(&STATE.devices)))))
}

/// The context of the calling thread's device.
pub fn current() -> Outcome<Arc<Context>> {
    context_of(current_index())
}

/// The same, if it is not lost.
pub fn live() -> Outcome<Arc<Context>> {
    let context = current()?;
    context.check()?;
    Ok(context)
}

/// Destroys a device's context; the next call makes a new one.
pub fn reset(index: usize) -> Outcome {
    device(index as i32)?;
    let gone = lock(&STATE.contexts[index]).take();
    if let Some(context) = gone {
        context.destroy();
        STREAMS.retain(|stream| !Arc::ptr_eq(&stream.context, &context));
    }
    Ok(())
}

/// All contexts that exist.
pub fn contexts() -> Vec<Arc<Context>> {
    STATE.contexts.iter().filter_map(|context| lock(context).clone()).collect()
}

fn missing() -> Failure {
    hipError_t::INVALID_HANDLE.into()
}

/// A stream by handle: a number below 16 stands for a default stream of the current device.
pub fn stream(handle: Handle) -> Outcome<HipStream> {
    match handle {
        0 | 1 => {
            let context = current()?;
            Ok(HipStream { core: Arc::clone(context.legacy_stream()), context, flags: 0 })
        }
        2 => {
            let context = current()?;
            Ok(HipStream { core: context.thread_stream(), context, flags: 0 })
        }
        _ => {
            let stream = STREAMS.get(handle).ok_or_else(missing)?;
            Ok(HipStream { core: Arc::clone(&stream.core), context: Arc::clone(&stream.context), flags: stream.flags })
        }
    }
}

/// An event by handle.
pub fn event(handle: Handle) -> Outcome<Arc<Event>> {
    EVENTS.get(handle).ok_or_else(missing)
}

/// A kernel by handle.
pub fn function(handle: Handle) -> Outcome<Arc<Kernel>> {
    FUNCTIONS.get(handle).ok_or_else(|| hipError_t::INVALID_DEVICE_FUNCTION.into())
}

/// A module by handle.
pub fn module(handle: Handle) -> Outcome<Arc<HipModule>> {
    MODULES.get(handle).ok_or_else(missing)
}

/// A graph by handle.
pub fn graph(handle: Handle) -> Outcome<Arc<Graph>> {
    GRAPHS.get(handle).ok_or_else(|| hipError_t::INVALID_VALUE.into())
}
