//! Streams, events and graphs of the devices that run in this process.
//!
//! Work is done when it is given, by the thread that gives it: a stream is always idle, which is an order that every
//! stream may have.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tegula_ir::types::ScalarType;

use super::capture::{Capture, Member, Point, Slot, Work};
use super::host_memory::HostMemory;
use super::{Arg, EventObject, GraphObject, Memory, Queue};
use crate::error::{Error, Result};
use crate::tensor::view::View;

/// A queue whose work is done when it is given, unless it is being captured.
#[derive(Default)]
pub struct HostQueue(Arc<HostStream>);

/// What a capture knows of a queue.
#[derive(Default)]
struct HostStream(Slot);

impl Member for HostStream {
    fn slot(&self) -> &Slot {
        &self.0
    }
}

impl HostQueue {
    /// The queue of a device in this process.
    ///
    /// # Errors
    /// If it is a queue of another kind of device.
    pub fn of(queue: &dyn Queue) -> Result<&Self> {
        queue
            .as_any()
            .downcast_ref()
            .ok_or_else(|| Error::Tensor("the stream belongs to another device than the tensors".into()))
    }

    fn slot(&self) -> &Slot {
        &self.0.0
    }

    /// Notes work if the queue is being captured; otherwise the caller does it at once.
    pub fn note(&self, work: impl FnOnce() -> Work) -> bool {
        let capture = self.slot().get();
        if let Some(capture) = &capture {
            capture.note(work());
        }
        capture.is_some()
    }

    /// Does work at once, or notes it.
    fn give(&self, work: impl Fn() -> Result<()> + Send + Sync + 'static) -> Result<()> {
        match self.slot().get() {
            Some(capture) => {
                capture.note(Box::new(work));
                Ok(())
            }
            None => work(),
        }
    }
}

impl Queue for HostQueue {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn synchronize(&self) -> Result<()> {
        self.slot().forbid("waiting for the stream")
    }

    fn is_idle(&self) -> Result<bool> {
        Ok(true)
    }

    fn write(&self, to: &Arc<dyn Memory>, offset: usize, bytes: &[u8]) -> Result<()> {
        self.slot().forbid("a copy from memory that is not pinned")?;
        HostMemory::of(&**to).write(offset, bytes)
    }

    fn read(&self, from: &Arc<dyn Memory>, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.slot().forbid("a copy to memory that is not pinned")?;
        HostMemory::of(&**from).read(offset, bytes)
    }

    unsafe fn write_async(&self, to: &Arc<dyn Memory>, offset: usize, from: *const u8, n: usize) -> Result<()> {
        let (to, from) = (to.clone(), from as usize);
        self.give(move || {
            // SAFETY: the caller gives `n` bytes that nobody writes while the work is done.
            let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, n) };
            HostMemory::of(&*to).write(offset, bytes)
        })
    }

    unsafe fn read_async(&self, from: &Arc<dyn Memory>, offset: usize, to: *mut u8, n: usize) -> Result<()> {
        let (from, to) = (from.clone(), to as usize);
        self.give(move || {
            // SAFETY: the caller gives `n` bytes that nobody touches while the work is done.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, n) };
            HostMemory::of(&*from).read(offset, bytes)
        })
    }

    fn copy(&self, from: (&Arc<dyn Memory>, usize), to: (&Arc<dyn Memory>, usize), n: usize) -> Result<()> {
        let (a, b) = ((from.0.clone(), from.1), (to.0.clone(), to.1));
        self.give(move || {
            // Through a buffer: both ranges may lie in one block.
            let mut bytes = vec![0; n];
            HostMemory::of(&*a.0).read(a.1, &mut bytes)?;
            HostMemory::of(&*b.0).write(b.1, &bytes)
        })
    }

    fn fill(&self, to: &Arc<dyn Memory>, offset: usize, n: usize, byte: u8) -> Result<()> {
        let to = to.clone();
        self.give(move || HostMemory::of(&*to).fill(offset, n, byte))
    }

    fn record(&self, event: &dyn EventObject) -> Result<()> {
        let event = HostEvent::of(event)?;
        event.point.record(self.slot());
        *event.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }

    fn wait(&self, event: &dyn EventObject) -> Result<()> {
        // Work is noted in the order it is given, which is an order that all waits allow.
        if let Some(capture) = HostEvent::of(event)?.point.before_wait(self.slot())? {
            capture.join(self.0.clone());
        }
        Ok(())
    }

    fn begin_capture(&self) -> Result<()> {
        self.slot().forbid("another capture")?;
        Arc::new(Capture::default()).join(self.0.clone());
        Ok(())
    }

    fn end_capture(&self) -> Result<Arc<dyn GraphObject>> {
        let work = self.slot().get().map(|capture| {
            capture.end();
            capture.take_work()
        });
        Ok(Arc::new(HostGraph { work: work.unwrap_or_default() }))
    }

    fn capture(&self) -> Option<Arc<Capture>> {
        self.slot().get()
    }
}

/// An event: the moment it was recorded.
#[derive(Default)]
pub struct HostEvent {
    at: Mutex<Option<Instant>>,
    point: Point,
}

impl HostEvent {
    fn of(event: &dyn EventObject) -> Result<&Self> {
        event.as_any().downcast_ref().ok_or_else(|| Error::Tensor("the event belongs to another device".into()))
    }

    fn at(&self) -> Option<Instant> {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventObject for HostEvent {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn synchronize(&self) -> Result<()> {
        self.point.happens()
    }

    fn is_done(&self) -> Result<bool> {
        self.point.happens().map(|()| true)
    }

    fn elapsed_since(&self, earlier: &dyn EventObject) -> Result<Duration> {
        match (self.at(), Self::of(earlier)?.at()) {
            (Some(now), Some(then)) => Ok(now.saturating_duration_since(then)),
            _ => Err(Error::Tensor("the event was not recorded".into())),
        }
    }
}

struct HostGraph {
    work: Vec<Work>,
}

impl GraphObject for HostGraph {
    fn replay(&self, queue: &dyn Queue) -> Result<()> {
        HostQueue::of(queue)?.slot().forbid("a graph")?;
        self.work.iter().try_for_each(|work| work())
    }
}

/// An argument that keeps its memory: what a graph holds.
pub enum OwnedArg {
    /// See [`Arg::View`].
    View(View),
    /// See [`Arg::Ptr`].
    Ptr(View),
    /// See [`Arg::Scalar`].
    Scalar(ScalarType, u64),
    /// See [`Arg::Address`].
    Address(ScalarType, u64),
}

impl OwnedArg {
    /// Keeps what an argument borrows.
    pub fn new(arg: &Arg<'_>) -> Self {
        match *arg {
            Arg::View(view) => Self::View(view.clone()),
            Arg::Ptr(view) => Self::Ptr(view.clone()),
            Arg::Scalar(elem, bits) => Self::Scalar(elem, bits),
            Arg::Address(elem, address) => Self::Address(elem, address),
        }
    }

    /// The argument.
    pub fn borrow(&self) -> Arg<'_> {
        match self {
            Self::View(view) => Arg::View(view),
            Self::Ptr(view) => Arg::Ptr(view),
            Self::Scalar(elem, bits) => Arg::Scalar(*elem, *bits),
            Self::Address(elem, address) => Arg::Address(*elem, *address),
        }
    }
}
