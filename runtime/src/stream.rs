//! Streams, events and graphs: the order of a device's work.
//!
//! Work of one stream is done in the order it was given; work of different streams in any order, unless an event orders
//! it. What names no stream goes to the device's default stream. Memory is safe whatever the order: a block is freed
//! when the work of all streams that used it is done, and copies to the host wait for that work as well.
//!
//! A [`Graph`] is captured from one stream. Other streams take part where they wait for an event that was recorded in the
//! capture, up to one that is recorded in them and that the captured stream waits for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::capture::Capture;
use crate::backend::{EventObject, GraphObject, Owner, Queue};
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::pinned::{Access, Pinned, PinnedState};
use crate::tensor::Tensor;

/// A stream of a device. Cloning gives another handle; work in flight ends also if all handles are dropped.
#[derive(Clone)]
pub struct Stream {
    device: Device,
    queue: Arc<dyn Queue>,
}

impl Stream {
    pub(crate) fn new(device: Device, queue: Arc<dyn Queue>) -> Self {
        Self { device, queue }
    }

    pub(crate) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    /// A stream over one that another library made, given as the driver has it (`CUstream` or `hipStream_t`). Work of
    /// both goes to it in the order it is given. `owner` is dropped when the stream is no longer used here.
    ///
    /// # Safety
    /// `stream` is a stream of this device until `owner` is dropped.
    ///
    /// # Errors
    /// If the device is none behind a driver.
    pub unsafe fn from_raw(device: &Device, stream: usize, owner: impl std::any::Any + Send + Sync) -> Result<Self> {
        let owner: Owner = Box::new(owner);
        // SAFETY: as the caller promises.
        let queue = unsafe { device.backend().borrow_queue(stream, owner) }?;
        Ok(Self::new(device.clone(), queue))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits for the work given so far.
    ///
    /// # Errors
    /// If some of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    /// Whether all work given so far is done.
    ///
    /// # Errors
    /// If some of that work failed.
    pub fn is_idle(&self) -> Result<bool> {
        self.queue.is_idle()
    }

    /// An event that happens when the work given so far is done. In a capture it is a point in the graph, for other
    /// streams to wait for, and does not happen outside of it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn record(&self) -> Result<Event> {
        let event = self.device.backend().create_event()?;
        self.queue.record(&*event)?;
        Ok(Event { device: self.device.clone(), event })
    }

    /// Lets the work given from now on wait for an event of this device. If it was recorded in a capture, the stream
    /// becomes part of that until the capture ends.
    ///
    /// # Errors
    /// If the event belongs to another device or another graph, or the device fails.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.check(&event.device, "event")?;
        self.queue.wait(&*event.event)
    }

    /// Copies a tensor to another of the same extents; both are of this device and without gaps.
    ///
    /// # Errors
    /// If the tensors do not fit, or the device fails.
    pub fn copy<T: HostElement>(&self, from: &Tensor<T>, to: &mut Tensor<T>) -> Result<()> {
        let (a, b) = (from.any(), to.any());
        self.check(&a.device, "tensor")?;
        self.check(&b.device, "tensor")?;
        if a.extents() != b.extents() {
            return Err(Error::Tensor(format!("cannot copy extents {:?} to {:?}", a.extents(), b.extents())));
        }
        let (s, t) = (a.dense_bytes()?, b.dense_bytes()?);
        if s.is_empty() {
            return Ok(());
        }
        self.queue.copy((a.memory(), s.start), (b.memory(), t.start), s.len())
    }

    /// Sets every byte of a tensor without gaps to zero.
    ///
    /// # Errors
    /// If the tensor does not fit, or the device fails.
    pub fn fill_zero<T: HostElement>(&self, tensor: &mut Tensor<T>) -> Result<()> {
        self.check(tensor.device(), "tensor")?;
        let span = tensor.any().dense_bytes()?;
        if span.is_empty() {
            return Ok(());
        }
        self.queue.fill(tensor.any().memory(), span.start, span.len(), 0)
    }

    /// Copies pinned host memory to a tensor without gaps, and returns at once. In a capture, every replay copies what is
    /// there then.
    ///
    /// # Errors
    /// If the two differ in number of elements, or the device fails.
    pub fn upload<T: HostElement>(&self, from: &Pinned<T>, to: &mut Tensor<T>) -> Result<()> {
        let span = self.pinned(from.len(), to)?;
        if span.is_empty() {
            return Ok(());
        }
        let memory = to.any().memory();
        self.copy_pinned(from.block(), Access::Reads, || {
            // SAFETY: the block waits for this copy before anyone writes or frees it.
            unsafe { self.queue.write_async(memory, span.start, from.address().cast(), span.len()) }
        })
    }

    /// Copies a tensor without gaps to pinned host memory, and returns at once. Looking at the memory waits for the
    /// copy; in a capture, for those of the replays so far.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub fn download<T: HostElement>(&self, from: &Tensor<T>, to: &mut Pinned<T>) -> Result<()> {
        if T::TYPE == tegula_ir::types::ScalarType::Bool {
            return Err(Error::Tensor("truth values are checked on their way to the host: use `to_vec`".into()));
        }
        let span = self.pinned(to.len(), from)?;
        if span.is_empty() {
            return Ok(());
        }
        let memory = from.any().memory();
        self.copy_pinned(to.block(), Access::Writes, || {
            // SAFETY: the block waits for this copy before anyone looks at it, writes or frees it.
            unsafe { self.queue.read_async(memory, span.start, to.address().cast(), span.len()) }
        })
    }

    /// A copy of pinned memory: given now, or noted for a graph, which then sees to it at each replay.
    fn copy_pinned(&self, block: &Arc<PinnedState>, access: Access, copy: impl FnOnce() -> Result<()>) -> Result<()> {
        copy()?;
        match self.queue.capture() {
            Some(capture) => capture.copies(block.clone(), access),
            None => block.uses().until(self.record()?),
        }
        Ok(())
    }

    fn pinned<T: HostElement>(&self, len: usize, tensor: &Tensor<T>) -> Result<std::ops::Range<usize>> {
        self.check(tensor.device(), "tensor")?;
        if len != tensor.count() {
            let message = format!("{len} values do not fit a tensor of extents {:?}", tensor.any().extents());
            return Err(Error::Tensor(message));
        }
        tensor.any().dense_bytes()
    }

    /// Notes the work that `f` gives to this stream, instead of doing it, as a graph that can be replayed. Kernels are
    /// compiled, tensors stay as they are.
    ///
    /// The default stream cannot be captured: make one with [`Device::stream`].
    ///
    /// # Errors
    /// What `f` gives, or if what it did cannot be part of a graph, such as waiting for the stream.
    pub fn capture(&self, f: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        /// Ends the capture also if `f` panics.
        struct End<'a>(Option<&'a dyn Queue>);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                if let Some(queue) = self.0.take() {
                    drop(queue.end_capture());
                }
            }
        }
        if Arc::ptr_eq(&self.queue, self.device.backend().default_queue()) {
            let message = "the default stream cannot be captured; make another with `device.stream()`";
            return Err(Error::Tensor(message.into()));
        }
        self.queue.begin_capture()?;
        let capture = self.queue.capture();
        let mut end = End(Some(&*self.queue));
        let done = f(self);
        end.0 = None;
        let graph = self.queue.end_capture();
        done?;
        let pinned = capture.as_deref().map(Capture::take_pinned).unwrap_or_default();
        Ok(Graph { device: self.device.clone(), work: Arc::new(Work { graph: graph?, pinned }) })
    }

    pub(crate) fn check(&self, device: &Device, what: &str) -> Result<()> {
        if self.device.same(device) {
            return Ok(());
        }
        let (here, there) = (self.device.name(), device.name());
        Err(Error::Tensor(format!("a stream of {here} cannot use a {what} of {there}; take a stream of {there}")))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream on {}", self.device.name())
    }
}

/// A point in the work of a stream.
#[derive(Clone)]
pub struct Event {
    device: Device,
    event: Arc<dyn EventObject>,
}

impl Event {
    /// Waits until it has happened.
    ///
    /// # Errors
    /// If the work before it failed.
    pub fn synchronize(&self) -> Result<()> {
        self.event.synchronize()
    }

    /// Whether it has happened.
    ///
    /// # Errors
    /// If the work before it failed.
    pub fn is_done(&self) -> Result<bool> {
        self.event.is_done()
    }

    /// Time between an earlier event of the same device and this one, as the device measured it. Waits for both.
    ///
    /// # Errors
    /// If the events are of different devices, or the work before them failed.
    pub fn elapsed_since(&self, earlier: &Event) -> Result<Duration> {
        if !self.device.same(&earlier.device) {
            return Err(Error::Tensor("the events are of different devices".into()));
        }
        earlier.synchronize()?;
        self.synchronize()?;
        self.event.elapsed_since(&*earlier.event)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event on {}", self.device.name())
    }
}

/// Work that was captured from a stream, to be done again and again with little effort. It keeps the memory it uses.
#[derive(Clone)]
pub struct Graph {
    device: Device,
    work: Arc<Work>,
}

struct Work {
    graph: Arc<dyn GraphObject>,
    /// What it copies from and to.
    pinned: Vec<(Arc<PinnedState>, Access)>,
}

impl Graph {
    /// Does the work once, in the order of a stream.
    ///
    /// # Errors
    /// If the stream is of another device, someone looks at pinned memory that the graph copies to (or changes what it
    /// copies from), or the device fails.
    pub fn replay(&self, stream: &Stream) -> Result<()> {
        stream.check(&self.device, "graph")?;
        let Work { graph, pinned } = &*self.work;
        // Held until the event stands there that others wait for. All replays lock in the same order.
        let mut locked = Vec::with_capacity(pinned.len());
        for (block, access) in pinned {
            locked.push(block.for_replay(*access)?);
        }
        graph.replay(stream.queue())?;
        if !locked.is_empty() {
            let done = stream.record()?;
            locked.iter_mut().for_each(|uses| uses.until(done.clone()));
        }
        Ok(())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph on {}", self.device.name())
    }
}
