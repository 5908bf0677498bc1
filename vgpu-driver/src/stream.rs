//! Streams: each is a thread that does its work in order, and waits for other streams where it is told to.

use crate::capture::{Capture, Mode};
use crate::context::Context;
use crate::error::{CaptureError, Error, Fault, Result};
use crate::event::{Completion, Event, Recorded};
use crate::graph::Graph;
use crate::lock;
use crate::op::Op;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A stream.
#[derive(Debug)]
pub struct Stream {
    id: u64,
    blocking: bool,
    /// As the program gave it. Threads of the host have none, so that it only is told back.
    pub priority: i32,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug)]
struct Queue {
    tasks: VecDeque<Task>,
    /// When the last work that came is done.
    last: Arc<Completion>,
    /// No more work comes.
    closed: bool,
    /// Whether the thread is there; it comes with the first work.
    running: bool,
    capture: Option<Arc<Capture>>,
}

#[derive(Debug)]
struct Task {
    waits: Vec<Arc<Completion>>,
    op: Op,
    done: Arc<Completion>,
}

/// What became of work.
#[derive(Debug)]
pub enum Submitted {
    /// It will be done.
    Queued(Arc<Completion>),
    /// It was recorded, as the node of this number.
    Captured(usize),
}

impl Stream {
    pub(crate) fn new(blocking: bool, priority: i32) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let last = Arc::new(Completion::default());
        last.finish();
        let queue = Queue { tasks: VecDeque::new(), last, closed: false, running: false, capture: None };
        Arc::new(Self {
            id: NEXT.fetch_add(1, Relaxed),
            blocking,
            priority,
            queue: Mutex::new(queue),
            wake: Condvar::new(),
        })
    }

    /// A number of its own.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it and the legacy stream wait for each other.
    pub fn is_blocking(&self) -> bool {
        self.blocking
    }

    /// When the last work that came is done.
    pub(crate) fn last(&self) -> Arc<Completion> {
        Arc::clone(&lock(&self.queue).last)
    }

    /// The capture that it is part of.
    pub fn capture(&self) -> Option<Arc<Capture>> {
        lock(&self.queue).capture.clone()
    }

    pub(crate) fn set_capture(&self, capture: Option<Arc<Capture>>) {
        lock(&self.queue).capture = capture;
    }

    /// Takes no more work. What came before is done; then the thread ends.
    pub fn close(&self) {
        lock(&self.queue).closed = true;
        self.wake.notify_all();
    }

    /// Adds work, behind that of this stream and behind what the rules of the legacy stream put before it.
    pub fn submit(self: &Arc<Self>, context: &Arc<Context>, op: Op) -> Result<Submitted> {
        self.submit_after(context, op, Vec::new())
    }

    fn submit_after(
        self: &Arc<Self>,
        context: &Arc<Context>,
        op: Op,
        mut waits: Vec<Arc<Completion>>,
    ) -> Result<Submitted> {
        context.check()?;
        if let Some(capture) = self.capture() {
            return capture.add(self, op).map(Submitted::Captured);
        }
        if !self.blocking {
            return self.push(context, op, waits);
        }
        let _order = lock(&context.order);
        if Arc::ptr_eq(self, context.legacy_stream()) {
            let captures = context.captures();
            if captures.iter().any(|capture| capture.holds_blocking()) {
                captures.iter().for_each(|capture| capture.invalidate());
                return Err(CaptureError::Implicit.into());
            }
            let others = context.streams().into_iter().filter(|other| other.blocking && !Arc::ptr_eq(self, other));
            waits.extend(others.map(|other| other.last()).filter(|last| last.finished().is_none()));
        } else {
            let last = context.legacy_stream().last();
            if last.finished().is_none() {
                waits.push(last);
            }
        }
        self.push(context, op, waits)
    }

    fn push(self: &Arc<Self>, context: &Arc<Context>, op: Op, waits: Vec<Arc<Completion>>) -> Result<Submitted> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(Error::InvalidHandle("a destroyed stream"));
        }
        if !queue.running {
            let (stream, context) = (Arc::clone(self), Arc::clone(context));
            let thread = std::thread::Builder::new().name(format!("vgpu stream {}", self.id));
            thread.spawn(move || stream.run(&context)).map_err(|error| Error::System(error.to_string()))?;
            queue.running = true;
        }
        let done = Arc::new(Completion::default());
        queue.tasks.push_back(Task { waits, op, done: Arc::clone(&done) });
        queue.last = Arc::clone(&done);
        drop(queue);
        self.wake.notify_one();
        Ok(Submitted::Queued(done))
    }

    /// Adds work and waits for it. Such work cannot be captured.
    pub fn run_now(self: &Arc<Self>, context: &Arc<Context>, op: Op) -> Result<()> {
        context.forbid_in_capture()?;
        self.forbid_captured()?;
        if let Submitted::Queued(done) = self.submit(context, op)? {
            done.wait();
        }
        context.check()
    }

    fn forbid_captured(&self) -> Result<()> {
        match self.capture() {
            Some(capture) => {
                capture.invalidate();
                Err(CaptureError::Unsupported.into())
            }
            None => Ok(()),
        }
    }

    /// Waits for all work that came.
    pub fn synchronize(&self, context: &Context) -> Result<()> {
        context.check()?;
        self.forbid_captured()?;
        self.last().wait();
        context.check()
    }

    /// Whether all work that came is done.
    pub fn is_idle(&self, context: &Context) -> Result<bool> {
        context.check()?;
        self.forbid_captured()?;
        let idle = self.last().finished().is_some();
        context.check()?;
        Ok(idle)
    }

    /// Makes an event happen when all work that came before is done.
    pub fn record(self: &Arc<Self>, context: &Arc<Context>, event: &Event) -> Result<()> {
        if let Some(capture) = self.capture() {
            event.set(Recorded::Capture(capture.point(self)?));
            return Ok(());
        }
        if let Submitted::Queued(done) = self.submit(context, Op::Nothing)? {
            event.set(Recorded::Stream(done));
        }
        Ok(())
    }

    /// Lets what comes later wait for an event.
    pub fn wait(self: &Arc<Self>, context: &Arc<Context>, event: &Event) -> Result<()> {
        match (event.recorded(), self.capture()) {
            (Recorded::Capture(point), capture) => {
                if capture.is_none() && Arc::ptr_eq(self, context.legacy_stream()) {
                    return Err(CaptureError::Implicit.into());
                }
                point.join(self, capture.as_ref())
            }
            (_, Some(capture)) => {
                capture.invalidate();
                Err(CaptureError::Isolation.into())
            }
            (Recorded::Never, None) => context.check(),
            (Recorded::Stream(completion), None) => self.submit_after(context, Op::Nothing, vec![completion]).map(drop),
        }
    }

    /// Records what comes from now on instead of doing it.
    pub fn begin_capture(self: &Arc<Self>, context: &Arc<Context>, mode: Mode) -> Result<()> {
        context.check()?;
        if Arc::ptr_eq(self, context.legacy_stream()) {
            return Err(CaptureError::Unsupported.into());
        }
        if self.capture().is_some() {
            return Err(CaptureError::Unsupported.into());
        }
        let capture = Capture::new(self, mode);
        context.add_capture(&capture);
        self.set_capture(Some(capture));
        Ok(())
    }

    /// Ends the capture that began here.
    pub fn end_capture(self: &Arc<Self>) -> Result<Arc<Graph>> {
        // A stream that captures nothing is refused as a wrong state.
        let capture = self.capture().ok_or(CaptureError::Unmatched)?;
        capture.end(self)
    }

    /// The thread of the stream.
    fn run(&self, context: &Context) {
        loop {
            let mut queue = lock(&self.queue);
            let task = loop {
                if let Some(task) = queue.tasks.pop_front() {
                    break task;
                }
                if queue.closed {
                    queue.running = false;
                    return;
                }
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            for wait in &task.waits {
                wait.wait();
            }
            match (context.fault(), &task.op) {
                (None, op) => {
                    // A panic is a mistake of the virtual GPU; the program sees a failed launch, and goes on.
                    let result = catch_unwind(AssertUnwindSafe(|| op.execute(context)));
                    if let Err(fault) = result.unwrap_or(Err(Fault::LaunchFailed)) {
                        context.lose(fault);
                    }
                }
                // In a lost context nothing is done, but callbacks are told.
                (Some(fault), Op::Host(function)) => function(Some(fault)),
                (Some(_), _) => {}
            }
            // What the operation holds is given back before anyone is told that it is done.
            let Task { op, done, .. } = task;
            drop(op);
            done.finish();
        }
    }
}
