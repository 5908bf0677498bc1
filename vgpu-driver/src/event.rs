//! Events: points in streams, and the completion of work that they and everything else wait for.

use crate::capture::Point;
use crate::error::{CaptureError, Error, Result};
use crate::lock;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Whether a piece of work is done, and when it was.
#[derive(Debug, Default)]
pub struct Completion {
    finished: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Completion {
    /// Waits until the work is done.
    pub fn wait(&self) {
        let mut finished = lock(&self.finished);
        while finished.is_none() {
            finished = self.changed.wait(finished).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// When it was done, if it is.
    pub fn finished(&self) -> Option<Instant> {
        *lock(&self.finished)
    }

    /// It is done now.
    pub(crate) fn finish(&self) {
        *lock(&self.finished) = Some(Instant::now());
        self.changed.notify_all();
    }
}

/// What an event was last recorded in.
#[derive(Clone, Debug, Default)]
pub(crate) enum Recorded {
    #[default]
    Never,
    Stream(Arc<Completion>),
    Capture(Point),
}

/// An event.
#[derive(Debug)]
pub struct Event {
    timing: bool,
    recorded: Mutex<Recorded>,
}

impl Event {
    /// An event that was never recorded; with or without a time.
    pub fn new(timing: bool) -> Self {
        Self { timing, recorded: Mutex::default() }
    }

    pub(crate) fn set(&self, recorded: Recorded) {
        *lock(&self.recorded) = recorded;
    }

    pub(crate) fn recorded(&self) -> Recorded {
        lock(&self.recorded).clone()
    }

    fn completion(&self) -> Result<Option<Arc<Completion>>> {
        match self.recorded() {
            Recorded::Never => Ok(None),
            Recorded::Stream(completion) => Ok(Some(completion)),
            Recorded::Capture(_) => Err(CaptureError::CapturedEvent.into()),
        }
    }

    /// Whether all work before it is done; so it is for an event that was never recorded.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.completion()?.is_none_or(|completion| completion.finished().is_some()))
    }

    /// Waits until all work before it is done.
    pub fn synchronize(&self) -> Result<()> {
        if let Some(completion) = self.completion()? {
            completion.wait();
        }
        Ok(())
    }

    /// Milliseconds from this event to a later one.
    pub fn elapsed(&self, end: &Self) -> Result<f32> {
        if !self.timing || !end.timing {
            return Err(Error::InvalidHandle("an event without timing"));
        }
        let time = |event: &Self| -> Result<Instant> {
            let completion = event.completion()?.ok_or(Error::InvalidHandle("an event that was never recorded"))?;
            completion.finished().ok_or(Error::NotReady)
        };
        let (from, to) = (time(self)?, time(end)?);
        Ok(match to.checked_duration_since(from) {
            Some(later) => later.as_secs_f32() * 1e3,
            None => -from.duration_since(to).as_secs_f32() * 1e3,
        })
    }
}
