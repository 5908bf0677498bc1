//! Streams, events and graphs of a GPU.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::device::{Gpu, StreamEntry};
use super::driver::{Cause, Direction, Handle};
use super::memory::GpuMemory;
use crate::backend::{Arg, EventObject, GraphObject, Memory, Queue};
use crate::error::{Error, Result};

/// Bits of a block's memory of streams. The first is the default stream's, which needs none.
const SLOTS: u32 = 64;

/// A stream.
pub struct GpuQueue {
    pub(super) gpu: Arc<Gpu>,
    pub(super) stream: Handle,
    /// 0 is the default stream.
    slot: u32,
    capturing: AtomicBool,
    /// What the work noted so far uses.
    captured: Mutex<Vec<Arc<dyn Memory>>>,
}

impl GpuQueue {
    /// The device's default stream.
    pub(super) fn main(gpu: Arc<Gpu>) -> Self {
        let stream = gpu.main;
        Self { gpu, stream, slot: 0, capturing: AtomicBool::new(false), captured: Mutex::default() }
    }

    /// A new stream.
    pub(super) fn new(gpu: Arc<Gpu>) -> Result<Self> {
        gpu.bind()?;
        let stream = gpu.driver.create_stream().map_err(|e| gpu.error(e))?;
        let mut streams = gpu.streams();
        // The bit that the fewest others share.
        let shared = |slot: &u32| streams.iter().filter(|s| s.slot == *slot).count();
        let slot = (1..SLOTS).min_by_key(shared).unwrap_or(1);
        streams.push(StreamEntry { stream, slot, capturing: false });
        drop(streams);
        Ok(Self { gpu, stream, slot, capturing: AtomicBool::new(false), captured: Mutex::default() })
    }

    /// The stream behind a queue.
    ///
    /// # Errors
    /// If it is one of another kind of device.
    pub(super) fn of(queue: &dyn Queue) -> Result<&Self> {
        let other = || Error::Tensor("the stream belongs to another device than the tensors".into());
        queue.as_any().downcast_ref().ok_or_else(other)
    }

    /// Before work that uses blocks: they are there, and stay until it is done.
    pub(super) fn uses<'a>(&self, blocks: impl Iterator<Item = &'a Arc<dyn Memory>>) -> Result<()> {
        if self.slot == 0 {
            return Ok(());
        }
        if self.is_capturing() {
            self.captured.lock().unwrap_or_else(PoisonError::into_inner).extend(blocks.cloned());
            return Ok(());
        }
        let mut first = false;
        for block in blocks {
            first |= GpuMemory::of(&**block).mark(self.slot);
        }
        if first { self.gpu.follow(self.stream, self.gpu.main) } else { Ok(()) }
    }

    /// The same for the arguments of a launch.
    pub(super) fn uses_args(&self, args: &[Arg<'_>]) -> Result<()> {
        self.uses(args.iter().filter_map(|arg| match *arg {
            Arg::View { memory, .. } | Arg::Ptr { memory, .. } => Some(memory),
            Arg::Scalar(..) | Arg::Address(..) => None,
        }))
    }

    /// Before a copy in the default stream, which waits for all streams that used the blocks.
    fn before_copy(&self, blocks: &[&Arc<dyn Memory>]) -> Result<()> {
        self.gpu.bind()?;
        if self.slot == 0 {
            return self.gpu.follow_users(blocks.iter().fold(0, |bits, b| bits | GpuMemory::of(&***b).used()));
        }
        self.uses(blocks.iter().copied())
    }

    fn copy_bytes(&self, direction: Direction, to: u64, from: u64, n: usize) -> Result<()> {
        // SAFETY: callers checked the ranges, and keep host memory alive until the copy is done.
        unsafe { self.gpu.driver.copy(direction, to, from, n, self.stream) }.map_err(|e| self.gpu.error(e))
    }

    fn set_capturing(&self, capturing: bool) {
        self.capturing.store(capturing, Ordering::Release);
        for entry in self.gpu.streams().iter_mut().filter(|s| s.stream == self.stream) {
            entry.capturing = capturing;
        }
    }

    fn not_while_capturing(&self, what: &str) -> Result<()> {
        if self.is_capturing() {
            return Err(Error::Tensor(format!("{what} cannot be part of a graph: do it before or after the capture")));
        }
        Ok(())
    }
}

impl Queue for GpuQueue {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn synchronize(&self) -> Result<()> {
        self.not_while_capturing("waiting for the stream")?;
        self.gpu.bind()?;
        // SAFETY: the stream is ours.
        unsafe { self.gpu.driver.synchronize_stream(self.stream) }.map_err(|e| self.gpu.error(e))
    }

    fn is_idle(&self) -> Result<bool> {
        self.not_while_capturing("asking whether the stream is idle")?;
        self.gpu.bind()?;
        // SAFETY: the stream is ours.
        done(&self.gpu, unsafe { self.gpu.driver.query_stream(self.stream) })
    }

    fn write(&self, to: &Arc<dyn Memory>, offset: usize, bytes: &[u8]) -> Result<()> {
        self.not_while_capturing("a copy from the host")?;
        self.before_copy(&[to])?;
        self.copy_bytes(Direction::ToDevice, to.address() + offset as u64, bytes.as_ptr() as u64, bytes.len())?;
        self.synchronize()
    }

    fn read(&self, from: &Arc<dyn Memory>, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.not_while_capturing("a copy to the host")?;
        self.before_copy(&[from])?;
        self.copy_bytes(Direction::ToHost, bytes.as_mut_ptr() as u64, from.address() + offset as u64, bytes.len())?;
        self.synchronize()
    }

    unsafe fn write_async(&self, to: &Arc<dyn Memory>, offset: usize, from: *const u8, n: usize) -> Result<()> {
        self.before_copy(&[to])?;
        self.copy_bytes(Direction::ToDevice, to.address() + offset as u64, from as u64, n)
    }

    unsafe fn read_async(&self, from: &Arc<dyn Memory>, offset: usize, to: *mut u8, n: usize) -> Result<()> {
        self.before_copy(&[from])?;
        self.copy_bytes(Direction::ToHost, to as u64, from.address() + offset as u64, n)
    }

    fn copy(&self, from: (&Arc<dyn Memory>, usize), to: (&Arc<dyn Memory>, usize), n: usize) -> Result<()> {
        self.before_copy(&[from.0, to.0])?;
        self.copy_bytes(Direction::Within, to.0.address() + to.1 as u64, from.0.address() + from.1 as u64, n)
    }

    fn fill(&self, to: &Arc<dyn Memory>, offset: usize, n: usize, byte: u8) -> Result<()> {
        self.before_copy(&[to])?;
        // SAFETY: callers checked the range.
        unsafe { self.gpu.driver.fill(to.address() + offset as u64, byte, n, self.stream) }
            .map_err(|e| self.gpu.error(e))
    }

    fn record(&self, event: &dyn EventObject) -> Result<()> {
        // An event of a graph happens only within it: nobody outside could wait for it.
        self.not_while_capturing("an event")?;
        let event = GpuEvent::of(event)?;
        self.gpu.bind()?;
        // SAFETY: event and stream are live, and of one device (`crate::stream` checks it).
        unsafe { self.gpu.driver.record_event(event.event, self.stream) }.map_err(|e| self.gpu.error(e))?;
        event.recorded.store(true, Ordering::Release);
        Ok(())
    }

    fn wait(&self, event: &dyn EventObject) -> Result<()> {
        self.not_while_capturing("waiting for an event")?;
        let event = GpuEvent::of(event)?;
        self.gpu.bind()?;
        // SAFETY: as above.
        unsafe { self.gpu.driver.wait_event(self.stream, event.event) }.map_err(|e| self.gpu.error(e))
    }

    fn begin_capture(&self) -> Result<()> {
        self.not_while_capturing("another capture")?;
        self.gpu.bind()?;
        self.gpu.follow(self.gpu.main, self.stream)?;
        self.set_capturing(true);
        // SAFETY: the stream is ours, and not the default one (`crate::stream` checks it).
        unsafe { self.gpu.driver.begin_capture(self.stream) }.map_err(|e| {
            self.set_capturing(false);
            self.gpu.error(e)
        })
    }

    fn end_capture(&self) -> Result<Arc<dyn GraphObject>> {
        let gpu = &self.gpu;
        gpu.bind()?;
        // SAFETY: the stream is ours, and `begin_capture` came before.
        let graph = unsafe { gpu.driver.end_capture(self.stream) };
        self.set_capturing(false);
        let mut blocks = std::mem::take(&mut *self.captured.lock().unwrap_or_else(PoisonError::into_inner));
        blocks.sort_by_key(|block| Arc::as_ptr(block).cast::<()>() as usize);
        blocks.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let graph = graph.map_err(|e| gpu.error(e))?;
        // SAFETY: the graph is ours.
        let exec = unsafe { gpu.driver.instantiate(graph) }.map_err(|e| gpu.error(e))?;
        Ok(Arc::new(GpuGraph { gpu: gpu.clone(), exec, blocks }))
    }

    fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::Acquire)
    }
}

impl Drop for GpuQueue {
    fn drop(&mut self) {
        if self.slot == 0 {
            return;
        }
        let gpu = &self.gpu;
        let bound = gpu.bind();
        let mut streams = gpu.streams();
        streams.retain(|s| s.stream != self.stream);
        // Blocks that the stream used are freed in the order of the default stream, which waits for it now, since
        // nobody can later.
        let followed = bound.and_then(|()| gpu.follow(gpu.main, self.stream));
        drop(streams);
        // SAFETY: the stream is ours; the driver destroys it when its work is done.
        let destroyed = unsafe { gpu.driver.destroy_stream(self.stream) };
        // Failures here are those of earlier work, which the next call on the device reports as well.
        drop((followed, destroyed));
    }
}

/// Whether a query says that the work is done.
fn done(gpu: &Gpu, query: super::driver::Result<()>) -> Result<bool> {
    match query {
        Ok(()) => Ok(true),
        Err(e) if e.cause() == Cause::NotReady => Ok(false),
        Err(e) => Err(gpu.error(e)),
    }
}

/// An event.
pub struct GpuEvent {
    gpu: Arc<Gpu>,
    event: Handle,
    recorded: AtomicBool,
}

impl GpuEvent {
    pub(super) fn new(gpu: Arc<Gpu>) -> Result<Self> {
        gpu.bind()?;
        let event = gpu.driver.create_event(true).map_err(|e| gpu.error(e))?;
        Ok(Self { gpu, event, recorded: AtomicBool::new(false) })
    }

    fn of(event: &dyn EventObject) -> Result<&Self> {
        event.as_any().downcast_ref().ok_or_else(|| Error::Tensor("the event belongs to another device".into()))
    }
}

impl EventObject for GpuEvent {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn synchronize(&self) -> Result<()> {
        self.gpu.bind()?;
        // SAFETY: the event is ours.
        unsafe { self.gpu.driver.synchronize_event(self.event) }.map_err(|e| self.gpu.error(e))
    }

    fn is_done(&self) -> Result<bool> {
        self.gpu.bind()?;
        // SAFETY: the event is ours.
        done(&self.gpu, unsafe { self.gpu.driver.query_event(self.event) })
    }

    fn elapsed_since(&self, earlier: &dyn EventObject) -> Result<Duration> {
        let earlier = Self::of(earlier)?;
        if !self.recorded.load(Ordering::Acquire) || !earlier.recorded.load(Ordering::Acquire) {
            return Err(Error::Tensor("the event was not recorded".into()));
        }
        self.gpu.bind()?;
        // SAFETY: both events are live and of this device (`crate::stream` checks it).
        let ms = unsafe { self.gpu.driver.elapsed(earlier.event, self.event) }.map_err(|e| self.gpu.error(e))?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3))
    }
}

impl Drop for GpuEvent {
    fn drop(&mut self) {
        // SAFETY: the event is ours; what waits for it keeps it.
        let destroyed = self.gpu.bind().map(|()| unsafe { self.gpu.driver.destroy_event(self.event) });
        // Without a context the event goes with the process.
        drop(destroyed);
    }
}

/// A graph ready to launch.
struct GpuGraph {
    gpu: Arc<Gpu>,
    exec: Handle,
    blocks: Vec<Arc<dyn Memory>>,
}

impl GraphObject for GpuGraph {
    fn replay(&self, queue: &dyn Queue) -> Result<()> {
        let queue = GpuQueue::of(queue)?;
        queue.not_while_capturing("a graph")?;
        self.gpu.bind()?;
        queue.uses(self.blocks.iter())?;
        // SAFETY: the graph is ours, and its blocks are kept.
        unsafe { self.gpu.driver.launch_graph(self.exec, queue.stream) }.map_err(|e| self.gpu.error(e))
    }
}

impl Drop for GpuGraph {
    fn drop(&mut self) {
        // A replay may be running, in a stream that is not known here.
        let done = self.gpu.synchronize();
        // SAFETY: the graph is ours, and not running.
        let destroyed = done.map(|()| unsafe { self.gpu.driver.destroy_graph_exec(self.exec) });
        // After a fault the graph goes with the context.
        drop(destroyed);
    }
}
