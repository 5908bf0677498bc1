//! Host memory as device memory, for the devices that run in this process.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::RwLock;

use super::Memory;
use crate::error::{Error, Result};

/// Alignment of every block: a cache line pair, and enough for any vector.
const ALIGN: usize = 128;

/// A zeroed, aligned block of host memory.
///
/// Copies lock the block; kernels run through the raw address, after the arguments were checked.
pub struct HostMemory {
    base: NonNull<u8>,
    len: usize,
    copies: RwLock<()>,
}

// SAFETY: the block is plain memory owned by this value. Copies are ordered by the lock; kernels that run on it get
// the address through `Memory::address` and are launched one after another by their backend.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Allocates.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], naming `device`.
    pub fn new(device: &str, len: usize) -> Result<Self> {
        let full = || Error::OutOfMemory { device: device.into(), asked: len };
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| full())?;
        // SAFETY: the layout has at least one byte.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(full)?;
        Ok(Self { base, len, copies: RwLock::new(()) })
    }

    fn check(&self, offset: usize, n: usize) -> Result<()> {
        match offset.checked_add(n) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(Error::Tensor(format!("bytes {offset}..{offset}+{n} do not lie in a block of {}", self.len))),
        }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, which was valid there.
        unsafe { dealloc(self.base.as_ptr(), Layout::from_size_align_unchecked(self.len.max(1), ALIGN)) };
    }
}

impl Memory for HostMemory {
    fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    fn len(&self) -> usize {
        self.len
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        let _guard = self.copies.write().unwrap_or_else(|e| e.into_inner());
        // SAFETY: the range lies in the block; the lock keeps other copies out, and kernels run to their end before
        // the launch returns.
        unsafe { self.base.as_ptr().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        let _guard = self.copies.read().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as for `write`.
        unsafe { self.base.as_ptr().add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
