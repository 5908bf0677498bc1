//! Captures: work of streams that is noted instead of being done. A capture begins in one stream; another becomes part of
//! it when it waits for an event that was recorded in it, and all of them leave it when the first one ends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Memory;
use crate::error::{Error, Result};
use crate::pinned::{Access, PinnedState};

/// Work noted for later.
pub type Work = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// A stream that may be part of a capture.
pub trait Member: Send + Sync {
    /// The stream's place for its capture.
    fn slot(&self) -> &Slot;

    /// Called when the stream has left the capture.
    fn left(&self) {}
}

/// What was noted so far.
#[derive(Default)]
pub struct Capture {
    members: Mutex<Vec<Arc<dyn Member>>>,
    /// The work itself, where no driver keeps it.
    work: Mutex<Vec<Work>>,
    blocks: Mutex<Vec<Arc<dyn Memory>>>,
    pinned: Mutex<Vec<(Arc<PinnedState>, Access)>>,
}

impl Capture {
    /// Notes work.
    pub fn note(&self, work: Work) {
        lock(&self.work).push(work);
    }

    /// Notes blocks that the work uses.
    pub fn uses(&self, blocks: impl Iterator<Item = Arc<dyn Memory>>) {
        lock(&self.blocks).extend(blocks);
    }

    /// Notes pinned memory that the work copies from or to.
    pub fn copies(&self, pinned: Arc<PinnedState>, access: Access) {
        lock(&self.pinned).push((pinned, access));
    }

    /// The work noted, in the order it was given.
    pub fn take_work(&self) -> Vec<Work> {
        std::mem::take(&mut lock(&self.work))
    }

    /// The blocks noted, each once.
    pub fn take_blocks(&self) -> Vec<Arc<dyn Memory>> {
        let mut blocks = std::mem::take(&mut *lock(&self.blocks));
        blocks.sort_by_key(|block| Arc::as_ptr(block).cast::<()>() as usize);
        blocks.dedup_by(|a, b| Arc::ptr_eq(a, b));
        blocks
    }

    /// The pinned memory noted, each once and in the order of addresses, which is that in which it is locked.
    pub fn take_pinned(&self) -> Vec<(Arc<PinnedState>, Access)> {
        let mut pinned = std::mem::take(&mut *lock(&self.pinned));
        // The access that excludes more comes first, and stays.
        pinned.sort_by_key(|(block, access)| (Arc::as_ptr(block) as usize, *access == Access::Reads));
        pinned.dedup_by(|a, b| Arc::ptr_eq(&a.0, &b.0));
        pinned
    }

    /// A stream becomes part of it. Its slot is empty.
    pub fn join(self: &Arc<Self>, member: Arc<dyn Member>) {
        member.slot().set(Some(self.clone()));
        lock(&self.members).push(member);
    }

    /// All streams leave it.
    pub fn end(&self) {
        for member in std::mem::take(&mut *lock(&self.members)) {
            member.slot().set(None);
            member.left();
        }
    }
}

/// A stream's place for the capture that it is part of.
#[derive(Default)]
pub struct Slot {
    /// Whether there is one: what a launch looks at.
    active: AtomicBool,
    capture: Mutex<Option<Arc<Capture>>>,
}

impl Slot {
    /// Whether the stream's work is noted instead of done.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// The capture that the stream is part of.
    pub fn get(&self) -> Option<Arc<Capture>> {
        if self.is_active() { lock(&self.capture).clone() } else { None }
    }

    fn set(&self, capture: Option<Arc<Capture>>) {
        let mut slot = lock(&self.capture);
        self.active.store(capture.is_some(), Ordering::Release);
        *slot = capture;
    }

    /// Fails where a capture is under way; `what` cannot be part of one.
    ///
    /// # Errors
    /// [`Error::Tensor`].
    pub fn forbid(&self, what: &str) -> Result<()> {
        if self.is_active() {
            return Err(Error::Tensor(format!("{what} cannot be part of a graph: do it before or after the capture")));
        }
        Ok(())
    }
}

/// The capture that an event was recorded in, if it was in one.
#[derive(Default)]
pub struct Point(Mutex<Option<Arc<Capture>>>);

impl Point {
    /// The event is recorded in a stream: in its capture, if it has one.
    pub fn record(&self, slot: &Slot) {
        *lock(&self.0) = slot.get();
    }

    /// Fails where the event was recorded in a capture, which is nothing that happens.
    ///
    /// # Errors
    /// [`Error::Tensor`].
    pub fn happens(&self) -> Result<()> {
        if lock(&self.0).is_some() {
            let message =
                "the event is part of a graph, and does not happen outside of it; record one after the replay";
            return Err(Error::Tensor(message.into()));
        }
        Ok(())
    }

    /// What a stream has to do before it waits for the event: join the event's capture, which is then given.
    ///
    /// # Errors
    /// If the event and the stream are not of one capture, or the event's has ended.
    pub fn before_wait(&self, slot: &Slot) -> Result<Option<Arc<Capture>>> {
        let bad = |message: &str| Err(Error::Tensor(message.into()));
        match (lock(&self.0).clone(), slot.get()) {
            (None, None) => Ok(None),
            (Some(there), Some(here)) if Arc::ptr_eq(&there, &here) => Ok(None),
            (Some(there), None) if !lock(&there.members).is_empty() => Ok(Some(there)),
            (Some(_), None) => bad("the event is part of a graph whose capture has ended: wait for one recorded after"),
            (None, Some(_)) => {
                bad("an event from outside of the graph cannot be waited for in it: wait before the capture")
            }
            (Some(_), Some(_)) => bad("the event is part of another graph than the stream's work"),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
