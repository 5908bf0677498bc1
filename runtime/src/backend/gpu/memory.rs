//! Blocks of GPU memory. Which streams use them, so that they are there and stay, is [`super::users`]' business: it costs a
//! launch one load of a word an argument, and nothing of the driver's time.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::device::Gpu;
use super::users::Users;
use crate::backend::{HostBlock, Memory, Owner};
use crate::error::{Error, Result};

/// A block of a GPU's memory.
pub struct GpuMemory {
    pub(super) gpu: Arc<Gpu>,
    address: u64,
    len: usize,
    /// The streams that ever used the block.
    pub(super) users: Users,
    source: Source,
}

/// Where a block is from.
pub(super) enum Source {
    /// The device's pool.
    Pool,
    /// The driver, without a pool.
    Plain,
    /// Something else, which is dropped to free it; without it, whoever made the block sees to that.
    Other(Option<Owner>),
}

impl GpuMemory {
    pub(super) fn new(gpu: Arc<Gpu>, address: u64, len: usize, source: Source) -> Self {
        Self { gpu, address, len, users: Users::default(), source }
    }

    /// The block behind a device's memory.
    ///
    /// # Panics
    /// If it is memory of another kind of device: callers check devices first.
    pub(super) fn of(memory: &dyn Memory) -> &Self {
        memory.as_any().downcast_ref().expect("a block of GPU memory")
    }

    /// Copies to a block of another device of the same driver; false where it is of another driver.
    pub(super) fn copy_to_peer(&self, offset: usize, to: &GpuMemory, to_offset: usize, n: usize) -> Result<bool> {
        let (a, b) = (&self.gpu, &to.gpu);
        if a.driver.kind() != b.driver.kind() {
            return Ok(false);
        }
        a.bind()?;
        a.follow_users(self.users.bits())?;
        let ready = a.driver.create_event(false).map_err(|e| a.error(e))?;
        // SAFETY: the streams are the devices' default ones; the ranges were checked; each stream waits for the other's
        // part, so that neither block is freed or changed meanwhile.
        unsafe {
            a.driver.record_event(ready, a.main).map_err(|e| a.error(e))?;
            b.bind()?;
            b.follow_users(to.users.bits())?;
            let (from, into) = (self.address + offset as u64, to.address + to_offset as u64);
            let copied = b.driver.wait_event(b.main, ready).and_then(|()| {
                b.driver.copy_peer((b.ordinal, b.context, into), (a.ordinal, a.context, from), n, b.main)
            });
            copied.map_err(|e| b.error(e))?;
            let done = b.driver.create_event(false).map_err(|e| b.error(e))?;
            b.driver.record_event(done, b.main).map_err(|e| b.error(e))?;
            a.bind()?;
            a.driver.wait_event(a.main, done).map_err(|e| a.error(e))?;
            a.driver.destroy_event(ready).and(a.driver.destroy_event(done)).map_err(|e| a.error(e))?;
        }
        Ok(true)
    }
}

impl Memory for GpuMemory {
    fn address(&self) -> u64 {
        self.address
    }

    fn len(&self) -> usize {
        self.len
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        let gpu = &self.gpu;
        if matches!(self.source, Source::Other(None)) {
            return;
        }
        if matches!(self.source, Source::Plain) {
            gpu.plain.fetch_sub(self.len, Ordering::Relaxed);
        }
        let ordered = gpu.bind().and_then(|()| gpu.follow_users(self.users.bits()));
        if ordered.is_err() {
            // The context is lost, and with it the memory; what others own is theirs to free.
            return;
        }
        // SAFETY: the block is ours, and nobody has a handle to it. The default stream waits for all streams that used
        // it: a pool frees in its order, and otherwise we wait for it.
        let freed = unsafe {
            match &mut self.source {
                Source::Pool => gpu.driver.free(true, self.address, gpu.main),
                Source::Plain => gpu
                    .driver
                    .synchronize_stream(gpu.main)
                    .and_then(|()| gpu.driver.free(false, self.address, gpu.main)),
                Source::Other(owner) => {
                    let done = gpu.driver.synchronize_stream(gpu.main);
                    if done.is_err() {
                        std::mem::forget(owner.take());
                    }
                    done
                }
            }
        };
        // A failure here is one of earlier work, which the next call on the device reports as well.
        drop(freed);
    }
}

/// Pinned host memory.
pub struct PinnedBlock {
    gpu: Arc<Gpu>,
    address: *mut u8,
}

// SAFETY: plain memory that this value owns; who reads and writes it is the business of `crate::pinned`.
unsafe impl Send for PinnedBlock {}
// SAFETY: as above.
unsafe impl Sync for PinnedBlock {}

impl PinnedBlock {
    pub(super) fn new(gpu: Arc<Gpu>, bytes: usize) -> Result<Self> {
        gpu.bind()?;
        // SAFETY: freed by drop, once.
        let address = unsafe { gpu.driver.allocate_host(bytes.max(1)) }.map_err(|e| match gpu.error(e) {
            Error::OutOfMemory { device, .. } => {
                Error::OutOfMemory { device: format!("pinned host memory of {device}"), asked: bytes, free: None }
            }
            other => other,
        })?;
        Ok(Self { gpu, address })
    }
}

impl HostBlock for PinnedBlock {
    fn address(&self) -> *mut u8 {
        self.address
    }
}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`; copies are done (`crate::pinned` waits for them).
        let freed = self.gpu.bind().map(|()| unsafe { self.gpu.driver.free_host(self.address) });
        // Without a context the memory goes with the process.
        drop(freed);
    }
}
