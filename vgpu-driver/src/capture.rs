//! Captures: work of streams recorded into a graph instead of being done.

use crate::error::{CaptureError, Result};
use crate::graph::Graph;
use crate::lock;
use crate::op::Op;
use crate::settings::Settings;
use crate::stream::Stream;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::thread::ThreadId;

/// Which calls are forbidden meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those that could break the capture, in any thread that has not chosen otherwise.
    Global,
    /// The same, in the capturing thread.
    ThreadLocal,
    /// None.
    Relaxed,
}

/// Captures that exist.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether nothing is being captured anywhere, and no event is left from a capture.
pub fn none() -> bool {
    COUNT.load(Relaxed) == 0
}

/// Whether launches do nothing, because the settings say so and none has to be recorded.
pub fn skips_launches() -> bool {
    Settings::get().null_launch && none()
}

thread_local! {
    static THREAD_MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Sets how the calling thread is bound by captures, and returns how it was.
pub fn exchange_thread_mode(mode: Mode) -> Mode {
    THREAD_MODE.replace(mode)
}

/// A capture under way.
#[derive(Debug)]
pub struct Capture {
    id: u64,
    graph: Arc<Graph>,
    origin: u64,
    mode: Mode,
    thread: ThreadId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Streams that are part of it, and the nodes that the next one of each depends on.
    streams: HashMap<u64, (Weak<Stream>, Vec<usize>)>,
    invalid: bool,
    ended: bool,
}

/// A point in a capture: what an event recorded in it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    capture: Arc<Capture>,
    nodes: Vec<usize>,
}

impl Capture {
    pub(crate) fn new(origin: &Arc<Stream>, mode: Mode) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        COUNT.fetch_add(1, Relaxed);
        let streams = HashMap::from([(origin.id(), (Arc::downgrade(origin), Vec::new()))]);
        Arc::new(Self {
            id: NEXT.fetch_add(1, Relaxed),
            graph: Arc::new(Graph::default()),
            origin: origin.id(),
            mode,
            thread: std::thread::current().id(),
            state: Mutex::new(State { streams, invalid: false, ended: false }),
        })
    }

    /// A number of its own.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What was recorded so far.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Whether it can still end well.
    pub fn is_valid(&self) -> bool {
        !lock(&self.state).invalid
    }

    pub(crate) fn is_active(&self) -> bool {
        !lock(&self.state).ended
    }

    /// It cannot end well any more.
    pub fn invalidate(&self) {
        lock(&self.state).invalid = true;
    }

    /// Whether the legacy stream would wait for it.
    pub(crate) fn holds_blocking(&self) -> bool {
        let state = lock(&self.state);
        state.streams.values().any(|(stream, _)| stream.upgrade().is_some_and(|stream| stream.is_blocking()))
    }

    /// Whether it forbids the calling thread what could break it.
    fn binds_this_thread(&self) -> bool {
        let own = self.thread == std::thread::current().id();
        match (self.mode, THREAD_MODE.get()) {
            (Mode::Relaxed, _) | (_, Mode::Relaxed) => false,
            (Mode::ThreadLocal, _) | (_, Mode::ThreadLocal) => own,
            (Mode::Global, Mode::Global) => true,
        }
    }

    /// Records an operation of a stream.
    pub(crate) fn add(&self, stream: &Arc<Stream>, op: Op) -> Result<usize> {
        let mut state = lock(&self.state);
        if state.invalid {
            return Err(CaptureError::Invalidated.into());
        }
        let Some((_, depends)) = state.streams.get_mut(&stream.id()) else {
            return Err(CaptureError::Unmatched.into());
        };
        let node = self.graph.add(op, depends)?;
        *depends = vec![node];
        Ok(node)
    }

    /// The nodes that the next one of a stream depends on.
    pub fn dependencies(&self, stream: &Stream) -> Vec<usize> {
        lock(&self.state).streams.get(&stream.id()).map(|(_, nodes)| nodes.clone()).unwrap_or_default()
    }

    /// Sets or adds to the nodes that the next one of a stream depends on.
    pub fn update_dependencies(&self, stream: &Stream, nodes: &[usize], replace: bool) {
        if let Some((_, depends)) = lock(&self.state).streams.get_mut(&stream.id()) {
            if replace {
                depends.clear();
            }
            merge(depends, nodes);
        }
    }

    pub(crate) fn point(self: &Arc<Self>, stream: &Stream) -> Result<Point> {
        if !self.is_valid() {
            return Err(CaptureError::Invalidated.into());
        }
        Ok(Point { capture: Arc::clone(self), nodes: self.dependencies(stream) })
    }

    /// Ends it, in the stream where it began.
    pub(crate) fn end(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<Arc<Graph>> {
        if stream.id() != self.origin {
            self.invalidate();
            return Err(CaptureError::Unmatched.into());
        }
        if self.mode != Mode::Relaxed && self.thread != std::thread::current().id() {
            return Err(CaptureError::WrongThread.into());
        }
        let mut state = lock(&self.state);
        state.ended = true;
        let (streams, invalid) = (std::mem::take(&mut state.streams), state.invalid);
        drop(state);
        for (stream, _) in streams.values() {
            if let Some(stream) = stream.upgrade() {
                stream.set_capture(None);
            }
        }
        if invalid {
            return Err(CaptureError::Invalidated.into());
        }
        // What nothing depends on must be where the origin stands: else its end is not waited for by whoever launches the graph.
        let joined = streams.get(&self.origin).map(|(_, nodes)| nodes.as_slice()).unwrap_or_default();
        if self.graph.leaves().iter().any(|leaf| !joined.contains(leaf)) {
            return Err(CaptureError::Unjoined.into());
        }
        Ok(Arc::clone(&self.graph))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Relaxed);
    }
}

fn merge(depends: &mut Vec<usize>, nodes: &[usize]) {
    for node in nodes {
        if !depends.contains(node) {
            depends.push(*node);
        }
    }
}

impl Point {
    /// A stream waits for this point: it becomes part of the capture, if it is not.
    pub(crate) fn join(&self, stream: &Arc<Stream>, own: Option<&Arc<Capture>>) -> Result<()> {
        match own {
            Some(own) if !Arc::ptr_eq(own, &self.capture) => {
                own.invalidate();
                self.capture.invalidate();
                return Err(CaptureError::Merge.into());
            }
            Some(_) => {}
            None => {
                if !self.capture.is_active() {
                    return Err(CaptureError::CapturedEvent.into());
                }
                stream.set_capture(Some(Arc::clone(&self.capture)));
            }
        }
        let mut state = lock(&self.capture.state);
        let (_, depends) = state.streams.entry(stream.id()).or_insert_with(|| (Arc::downgrade(stream), Vec::new()));
        merge(depends, &self.nodes);
        Ok(())
    }
}

/// Fails, and spoils the captures, where one of them binds the calling thread.
pub(crate) fn forbid(captures: &[Arc<Capture>]) -> Result<()> {
    let mut bound = captures.iter().filter(|capture| capture.is_active() && capture.binds_this_thread()).peekable();
    if bound.peek().is_none() {
        return Ok(());
    }
    bound.for_each(|capture| capture.invalidate());
    Err(CaptureError::Unsupported.into())
}
