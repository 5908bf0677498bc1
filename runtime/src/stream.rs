//! Streams, events and graphs: the order of a device's work.
//!
//! Work of one stream is done in the order it was given; work of different streams in any order, unless an event orders
//! it. What names no stream goes to the device's default stream. Memory is safe whatever the order: a block is freed
//! when the work of all streams that used it is done, and copies to the host wait for that work as well.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{EventObject, GraphObject, Queue};
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::pinned::Pinned;
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

    /// An event that happens when the work given so far is done.
    ///
    /// # Errors
    /// If the device fails, or the stream is being captured.
    pub fn record(&self) -> Result<Event> {
        let event = self.device.backend().create_event()?;
        self.queue.record(&*event)?;
        Ok(Event { device: self.device.clone(), event })
    }

    /// Lets the work given from now on wait for an event of this device.
    ///
    /// # Errors
    /// If the event belongs to another device, or the device fails.
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
        if a.extents != b.extents {
            return Err(Error::Tensor(format!("cannot copy extents {:?} to {:?}", a.extents, b.extents)));
        }
        let (s, t) = (a.dense_span()?, b.dense_span()?);
        if s.is_empty() {
            return Ok(());
        }
        self.queue.copy((&a.memory, s.start), (&b.memory, t.start), s.len())
    }

    /// Sets every byte of a tensor without gaps to zero.
    ///
    /// # Errors
    /// If the tensor does not fit, or the device fails.
    pub fn fill_zero<T: HostElement>(&self, tensor: &mut Tensor<T>) -> Result<()> {
        self.check(tensor.device(), "tensor")?;
        let span = tensor.any().dense_span()?;
        if span.is_empty() {
            return Ok(());
        }
        self.queue.fill(&tensor.any().memory, span.start, span.len(), 0)
    }

    /// Copies pinned host memory to a tensor without gaps, and returns at once.
    ///
    /// # Errors
    /// If the two differ in number of elements, the stream is being captured, or the device fails.
    pub fn upload<T: HostElement>(&self, from: &Pinned<T>, to: &mut Tensor<T>) -> Result<()> {
        let span = self.pinned(from.len(), to)?;
        if span.is_empty() {
            return Ok(());
        }
        // SAFETY: the block waits for this event before anyone writes or frees it.
        unsafe { self.queue.write_async(&to.any().memory, span.start, from.address().cast(), span.len()) }?;
        from.busy_until(self.record()?);
        Ok(())
    }

    /// Copies a tensor without gaps to pinned host memory, and returns at once. Looking at the memory waits for the
    /// copy.
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
        // SAFETY: the block waits for this event before anyone looks at it, writes or frees it.
        unsafe { self.queue.read_async(&from.any().memory, span.start, to.address().cast(), span.len()) }?;
        to.busy_until(self.record()?);
        Ok(())
    }

    fn pinned<T: HostElement>(&self, len: usize, tensor: &Tensor<T>) -> Result<std::ops::Range<usize>> {
        self.check(tensor.device(), "tensor")?;
        if self.queue.is_capturing() {
            // A graph is replayed at any time, and would find the host memory in use.
            let message = "copies from and to pinned memory cannot be part of a graph: copy before or after it";
            return Err(Error::Tensor(message.into()));
        }
        if len != tensor.count() {
            let message = format!("{len} values do not fit a tensor of extents {:?}", tensor.any().extents);
            return Err(Error::Tensor(message));
        }
        tensor.any().dense_span()
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
        let mut end = End(Some(&*self.queue));
        let done = f(self);
        end.0 = None;
        let graph = self.queue.end_capture();
        done?;
        Ok(Graph { device: self.device.clone(), graph: graph? })
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
    graph: Arc<dyn GraphObject>,
}

impl Graph {
    /// Does the work once, in the order of a stream.
    ///
    /// # Errors
    /// If the stream is of another device, or the device fails.
    pub fn replay(&self, stream: &Stream) -> Result<()> {
        stream.check(&self.device, "graph")?;
        self.graph.replay(stream.queue())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph on {}", self.device.name())
    }
}
