//! Pinned host memory: a device copies from and to it at full speed while the program goes on.
//!
//! Who looks at the values holds a guard. Copies that are given directly borrow the memory, so that the compiler keeps
//! them and guards apart; the copies of a graph, which is replayed at any time, are kept apart from guards when it is.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::HostBlock;
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::stream::Event;

/// Values in pinned host memory. Looking at them waits for the copies given so far.
pub struct Pinned<T> {
    device: Device,
    block: Arc<PinnedState>,
    len: usize,
    _elem: PhantomData<T>,
}

impl<T: HostElement> Pinned<T> {
    /// Zeros.
    pub(crate) fn zeros(device: &Device, len: usize) -> Result<Self> {
        let asked = len.saturating_mul(size_of::<T>());
        if asked > isize::MAX as usize {
            return Err(Error::OutOfMemory { device: device.name().into(), asked, free: None });
        }
        let block = device.backend().allocate_host(asked)?;
        // SAFETY: the block has that many bytes, and nobody else knows of it.
        unsafe { block.address().write_bytes(0, asked) };
        let block = Arc::new(PinnedState { block: Some(block), uses: Mutex::default() });
        Ok(Self { device: device.clone(), block, len, _elem: PhantomData })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device whose copies are fast.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The values, after all copies. While the guard is there, graphs that copy to this memory are not replayed.
    ///
    /// # Errors
    /// If a copy failed.
    pub fn as_slice(&self) -> Result<PinnedRef<'_, T>> {
        let mut uses = self.block.idle()?;
        uses.readers += 1;
        Ok(PinnedRef(self))
    }

    /// The values to be changed, after all copies. While the guard is there, graphs that use this memory are not
    /// replayed.
    ///
    /// # Errors
    /// If a copy failed.
    pub fn as_mut_slice(&mut self) -> Result<PinnedMut<'_, T>> {
        let mut uses = self.block.idle()?;
        uses.writer = true;
        drop(uses);
        Ok(PinnedMut(self))
    }

    pub(crate) fn address(&self) -> *mut T {
        self.block.block.as_ref().map_or(std::ptr::NonNull::dangling().as_ptr(), |block| block.address().cast())
    }

    pub(crate) fn block(&self) -> &Arc<PinnedState> {
        &self.block
    }
}

/// Values in pinned memory, being looked at.
pub struct PinnedRef<'a, T: HostElement>(&'a Pinned<T>);

impl<T: HostElement> Deref for PinnedRef<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the block has `len` values; every bit pattern that copies bring is one, since `bool` is not copied
        // here. A copy that is given directly and writes it needs `&mut` of what this borrows; one of a graph is refused
        // while there are readers.
        unsafe { std::slice::from_raw_parts(self.0.address(), self.0.len) }
    }
}

impl<T: HostElement> Drop for PinnedRef<'_, T> {
    fn drop(&mut self) {
        self.0.block.uses().readers -= 1;
    }
}

impl<T: HostElement + fmt::Debug> fmt::Debug for PinnedRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Values in pinned memory, being changed.
pub struct PinnedMut<'a, T: HostElement>(&'a mut Pinned<T>);

impl<T: HostElement> Deref for PinnedMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as for `PinnedRef`; all copies of graphs are refused while there is a writer.
        unsafe { std::slice::from_raw_parts(self.0.address(), self.0.len) }
    }
}

impl<T: HostElement> DerefMut for PinnedMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nobody else has the memory: this has the only `&mut` of it.
        unsafe { std::slice::from_raw_parts_mut(self.0.address(), self.0.len) }
    }
}

impl<T: HostElement> Drop for PinnedMut<'_, T> {
    fn drop(&mut self) {
        self.0.block.uses().writer = false;
    }
}

/// What a copy does with pinned memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It copies from it.
    Reads,
    /// It copies to it.
    Writes,
}

/// A block of pinned memory with those who use it. Graphs keep the blocks that they copy from and to.
pub struct PinnedState {
    block: Option<Box<dyn HostBlock>>,
    uses: Mutex<Uses>,
}

/// Who uses a block.
#[derive(Default)]
pub(crate) struct Uses {
    /// Copies that may not be done.
    copies: Vec<Event>,
    readers: usize,
    writer: bool,
}

impl Uses {
    /// A copy uses the block until this event.
    pub(crate) fn until(&mut self, event: Event) {
        self.copies.retain(|e| !e.is_done().unwrap_or(false));
        self.copies.push(event);
    }

    fn wait(&mut self) -> Result<()> {
        for event in &self.copies {
            event.synchronize()?;
        }
        self.copies.clear();
        Ok(())
    }
}

impl PinnedState {
    pub(crate) fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The uses, after all copies.
    fn idle(&self) -> Result<MutexGuard<'_, Uses>> {
        let mut uses = self.uses();
        uses.wait()?;
        Ok(uses)
    }

    /// The uses, for a replay of copies, which are given before the lock is released.
    ///
    /// # Errors
    /// If someone looks at the memory.
    pub(crate) fn for_replay(&self, access: Access) -> Result<MutexGuard<'_, Uses>> {
        let uses = self.uses();
        if uses.writer || (access == Access::Writes && uses.readers > 0) {
            let message = "the graph copies from or to pinned memory that is being looked at: drop what \
                           `as_slice` or `as_mut_slice` gave first";
            return Err(Error::Tensor(message.into()));
        }
        Ok(uses)
    }
}

impl Drop for PinnedState {
    fn drop(&mut self) {
        // Where the device failed nobody knows whether a copy still runs: the block is not freed then.
        if self.uses().wait().is_err() {
            std::mem::forget(self.block.take());
        }
    }
}

impl<T: HostElement> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned<{}>[{}] for {}", T::TYPE, self.len, self.device.name())
    }
}
