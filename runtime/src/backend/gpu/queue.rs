//! Streams, events and graphs of a GPU.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::device::Gpu;
use super::driver::{Cause, Direction, Handle};
use super::memory::GpuMemory;
use super::users::MAIN;
use crate::backend::capture::{Capture, Member, Point, Slot};
use crate::backend::{Arg, EventObject, GraphObject, Memory, Owner, Queue};
use crate::error::{Error, Result};

/// A stream as a queue.
pub struct GpuQueue(Arc<GpuStream>);

/// A stream. A capture keeps those that are part of it.
pub struct GpuStream {
    pub(super) gpu: Arc<Gpu>,
    pub(super) stream: Handle,
    /// Its bit in what blocks remember of streams.
    bit: u32,
    source: Source,
    capture: Slot,
}

/// Where a stream is from.
enum Source {
    /// Made here.
    This,
    /// Something else, which is dropped when the stream is no longer used here.
    Other { _owner: Owner },
}

impl Deref for GpuQueue {
    type Target = GpuStream;

    fn deref(&self) -> &GpuStream {
        &self.0
    }
}

impl GpuQueue {
    /// The device's default stream.
    pub(super) fn main(gpu: Arc<Gpu>) -> Self {
        let stream = gpu.main;
        Self(Arc::new(GpuStream { gpu, stream, bit: MAIN, source: Source::This, capture: Slot::default() }))
    }

    /// A new stream.
    pub(super) fn new(gpu: Arc<Gpu>) -> Result<Self> {
        gpu.bind()?;
        let stream = gpu.driver.create_stream().map_err(|e| gpu.error(e))?;
        Self::of_stream(gpu, stream, Source::This)
    }

    /// A stream of another library, which stays until `owner` is dropped.
    pub(super) fn borrowed(gpu: Arc<Gpu>, stream: Handle, owner: Owner) -> Result<Self> {
        gpu.bind()?;
        Self::of_stream(gpu, stream, Source::Other { _owner: owner })
    }

    fn of_stream(gpu: Arc<Gpu>, stream: Handle, source: Source) -> Result<Self> {
        let bit = gpu.streams.add(stream);
        let this = Self(Arc::new(GpuStream { gpu, stream, bit, source, capture: Slot::default() }));
        // See `super::users`.
        this.gpu.follow(stream, this.gpu.main)?;
        Ok(this)
    }

    /// The stream behind a queue.
    ///
    /// # Errors
    /// If it is one of another kind of device.
    pub(super) fn of(queue: &dyn Queue) -> Result<&Self> {
        let other = || Error::Tensor("the stream belongs to another device than the tensors".into());
        queue.as_any().downcast_ref().ok_or_else(other)
    }

    /// The stream becomes part of a capture. What it did before, the default stream waits for now, since it cannot wait
    /// for a stream that is being captured.
    fn join(&self, capture: &Arc<Capture>) -> Result<()> {
        self.gpu.follow(self.gpu.main, self.stream)?;
        capture.join(self.0.clone());
        self.set_capturing(true);
        Ok(())
    }
}

impl Member for GpuStream {
    fn slot(&self) -> &Slot {
        &self.capture
    }

    fn left(&self) {
        self.set_capturing(false);
    }
}

impl GpuStream {
    /// Before work that uses blocks: they are there, and stay until it is done.
    pub(super) fn uses<'a>(&self, blocks: impl Iterator<Item = &'a Arc<dyn Memory>>) -> Result<()> {
        if self.bit == MAIN {
            return Ok(());
        }
        if let Some(capture) = self.capture.get() {
            capture.uses(blocks.cloned());
            return Ok(());
        }
        let mut first = false;
        for block in blocks {
            first |= GpuMemory::of(&**block).users.add(self.bit);
        }
        if first { self.gpu.follow(self.stream, self.gpu.main) } else { Ok(()) }
    }

    /// The same for the arguments of a launch.
    pub(super) fn uses_args(&self, args: &[Arg<'_>]) -> Result<()> {
        self.uses(args.iter().filter_map(Arg::memory))
    }

    /// Before a copy in the default stream, which waits for all streams that used the blocks.
    fn before_copy(&self, blocks: &[&Arc<dyn Memory>]) -> Result<()> {
        self.gpu.bind()?;
        if self.bit == MAIN {
            return self.gpu.follow_users(blocks.iter().fold(0, |bits, b| bits | GpuMemory::of(&***b).users.bits()));
        }
        self.uses(blocks.iter().copied())
    }

    fn copy_bytes(&self, direction: Direction, to: u64, from: u64, n: usize) -> Result<()> {
        // SAFETY: callers checked the ranges, and keep host memory alive until the copy is done.
        unsafe { self.gpu.driver.copy(direction, to, from, n, self.stream) }.map_err(|e| self.gpu.error(e))
    }

    fn set_capturing(&self, capturing: bool) {
        self.gpu.streams.set_capturing(self.stream, self.bit, capturing);
    }

    /// Whether its work is noted instead of done.
    pub(super) fn is_capturing(&self) -> bool {
        self.capture.is_active()
    }
}

impl Queue for GpuQueue {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn synchronize(&self) -> Result<()> {
        self.capture.forbid("waiting for the stream")?;
        self.gpu.bind()?;
        // SAFETY: the stream is ours.
        unsafe { self.gpu.driver.synchronize_stream(self.stream) }.map_err(|e| self.gpu.error(e))
    }

    fn is_idle(&self) -> Result<bool> {
        self.capture.forbid("asking whether the stream is idle")?;
        self.gpu.bind()?;
        // SAFETY: the stream is ours.
        done(&self.gpu, unsafe { self.gpu.driver.query_stream(self.stream) })
    }

    fn write(&self, to: &Arc<dyn Memory>, offset: usize, bytes: &[u8]) -> Result<()> {
        self.capture.forbid("a copy from memory that is not pinned")?;
        self.before_copy(&[to])?;
        self.copy_bytes(Direction::ToDevice, to.address() + offset as u64, bytes.as_ptr() as u64, bytes.len())?;
        self.synchronize()
    }

    fn read(&self, from: &Arc<dyn Memory>, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.capture.forbid("a copy to memory that is not pinned")?;
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
        let event = GpuEvent::of(event)?;
        self.gpu.bind()?;
        event.point.record(&self.capture);
        // SAFETY: event and stream are live, and of one device (`crate::stream` checks it).
        unsafe { self.gpu.driver.record_event(event.event, self.stream) }.map_err(|e| self.gpu.error(e))?;
        event.recorded.store(true, Ordering::Release);
        Ok(())
    }

    fn wait(&self, event: &dyn EventObject) -> Result<()> {
        let event = GpuEvent::of(event)?;
        self.gpu.bind()?;
        let joins = event.point.before_wait(&self.capture)?;
        if let Some(capture) = &joins {
            if self.bit == MAIN {
                let message = "the default stream cannot be part of a graph; make another with `device.stream()`";
                return Err(Error::Tensor(message.into()));
            }
            self.join(capture)?;
        }
        // SAFETY: as above. Where the event is one of a capture, the stream joins it for the driver as well.
        unsafe { self.gpu.driver.wait_event(self.stream, event.event) }.map_err(|e| self.gpu.error(e))
    }

    fn begin_capture(&self) -> Result<()> {
        self.capture.forbid("another capture")?;
        self.gpu.bind()?;
        let capture = Arc::new(Capture::default());
        self.join(&capture)?;
        // SAFETY: the stream is ours, and not the default one (`crate::stream` checks it).
        unsafe { self.gpu.driver.begin_capture(self.stream) }.map_err(|e| {
            capture.end();
            self.gpu.error(e)
        })
    }

    fn end_capture(&self) -> Result<Arc<dyn GraphObject>> {
        let gpu = &self.gpu;
        gpu.bind()?;
        let capture = self.capture.get();
        // SAFETY: the stream is ours, and `begin_capture` came before.
        let graph = unsafe { gpu.driver.end_capture(self.stream) };
        let blocks = capture.map(|capture| {
            capture.end();
            capture.take_blocks()
        });
        let graph = graph.map_err(|e| match e.code {
            UNJOINED => Error::Tensor(
                "a stream that became part of the graph was not joined again: record an event in it, and let the stream \
                 that is captured wait for that"
                    .into(),
            ),
            _ => gpu.error(e),
        })?;
        // SAFETY: the graph is ours.
        let exec = unsafe { gpu.driver.instantiate(graph) }.map_err(|e| gpu.error(e))?;
        Ok(Arc::new(GpuGraph { gpu: gpu.clone(), exec, blocks: blocks.unwrap_or_default() }))
    }

    fn capture(&self) -> Option<Arc<Capture>> {
        self.capture.get()
    }
}

/// The drivers' number for a capture that ends while other streams go on in it.
const UNJOINED: i32 = 904;

impl Drop for GpuStream {
    fn drop(&mut self) {
        if self.bit == MAIN {
            return;
        }
        let gpu = &self.gpu;
        let bound = gpu.bind();
        let follow = || bound.and_then(|()| gpu.follow(gpu.main, self.stream));
        let followed = gpu.streams.remove(self.stream, self.bit, follow);
        let destroyed = match self.source {
            // SAFETY: the stream is ours; the driver destroys it when its work is done.
            Source::This => unsafe { gpu.driver.destroy_stream(self.stream) },
            Source::Other { .. } => Ok(()),
        };
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
    point: Point,
}

impl GpuEvent {
    pub(super) fn new(gpu: Arc<Gpu>) -> Result<Self> {
        gpu.bind()?;
        let event = gpu.driver.create_event(true).map_err(|e| gpu.error(e))?;
        Ok(Self { gpu, event, recorded: AtomicBool::new(false), point: Point::default() })
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
        self.point.happens()?;
        self.gpu.bind()?;
        // SAFETY: the event is ours.
        unsafe { self.gpu.driver.synchronize_event(self.event) }.map_err(|e| self.gpu.error(e))
    }

    fn is_done(&self) -> Result<bool> {
        self.point.happens()?;
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
        queue.capture.forbid("a graph")?;
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
