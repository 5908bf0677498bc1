//! Which streams use which blocks.
//!
//! A block is allocated and freed in the order of the default stream. A stream that uses a block for the first time waits
//! for the default stream, so that the block is there; before a block is freed, the default stream waits for all that
//! used it. A block remembers them by a bit each. A stream has its bit for itself while it lives, and waits for the default
//! stream when it is made: so what blocks remember of an earlier stream with that bit is true of it as well. Where there
//! are more streams than bits, the last bit is for all of the others, which wait at every use.

use super::driver::Handle;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};

/// The bit of the default stream, which needs none.
pub const MAIN: u32 = 0;

/// The bit that streams share for which no other is left.
const SHARED: u32 = 63;

/// The streams that ever used a block, besides the default one.
#[derive(Default)]
pub struct Users(AtomicU64);

impl Users {
    /// Remembers a stream; true if it has to wait for the default stream before it uses the block.
    pub fn add(&self, bit: u32) -> bool {
        let mask = 1 << bit;
        let known = self.0.load(Ordering::Relaxed) & mask != 0 || self.0.fetch_or(mask, Ordering::AcqRel) & mask != 0;
        !known || bit == SHARED
    }

    /// The bits of all of them.
    pub fn bits(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The streams of a device, besides the default one.
#[derive(Default)]
pub struct Streams(Mutex<Vec<Entry>>);

#[derive(Clone, Copy)]
struct Entry {
    stream: Handle,
    bit: u32,
    capturing: bool,
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a stream, which waits for the default stream before it does anything else, and gives it its bit.
    pub fn add(&self, stream: Handle) -> u32 {
        let mut streams = self.lock();
        let taken = streams.iter().fold(0u64, |bits, entry| bits | 1 << entry.bit);
        let bit = (MAIN + 1..SHARED).find(|bit| taken >> bit & 1 == 0).unwrap_or(SHARED);
        streams.push(Entry { stream, bit, capturing: false });
        bit
    }

    /// Removes a stream, and calls `follow`, in which the default stream waits for it: blocks that it used are freed in the
    /// order of the default stream, and nobody can wait for the stream later.
    pub fn remove<R>(&self, stream: Handle, bit: u32, follow: impl FnOnce() -> R) -> R {
        let mut streams = self.lock();
        if let Some(i) = streams.iter().position(|entry| entry.stream == stream && entry.bit == bit) {
            streams.swap_remove(i);
        }
        // Under the lock: whoever does not find the stream any more must find it waited for.
        follow()
    }

    /// Notes whether a stream is being captured, so that nobody can wait for it. What it did before, the default stream
    /// has waited for when the capture began.
    pub fn set_capturing(&self, stream: Handle, bit: u32, capturing: bool) {
        for entry in self.lock().iter_mut().filter(|entry| entry.stream == stream && entry.bit == bit) {
            entry.capturing = capturing;
        }
    }

    /// Calls `follow` with each stream whose bit is set, which stays until it returns.
    pub fn each<E>(&self, bits: u64, mut follow: impl FnMut(Handle) -> Result<(), E>) -> Result<(), E> {
        if bits == 0 {
            return Ok(());
        }
        let streams = self.lock();
        let used = streams.iter().filter(|entry| !entry.capturing && bits >> entry.bit & 1 != 0);
        used.map(|entry| entry.stream).try_for_each(&mut follow)
    }
}
