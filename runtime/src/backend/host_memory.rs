//! Host memory as device memory, for the devices that run in this process.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use super::{HostBlock, Memory};
use crate::error::{Error, Result};

/// Alignment of every block: a cache line pair, and enough for any vector.
const ALIGN: usize = 128;

/// Bytes that the blocks of one device hold.
pub type InUse = Arc<AtomicUsize>;

/// A block of host memory: zeroed and aligned, or borrowed from something else.
///
/// Copies lock the block; kernels run through the raw address, after the arguments were checked.
pub struct HostMemory {
    base: NonNull<u8>,
    len: usize,
    copies: RwLock<()>,
    owner: Owner,
}

enum Owner {
    /// Allocated here, and counted.
    This(InUse),
    /// Freed by dropping this.
    Other { _owner: Option<super::Owner> },
}

// SAFETY: the block is plain memory that lives as long as this value. Copies are ordered by the lock; kernels that run
// on it get the address through `Memory::address` and are launched one after another by their backend.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Allocates.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], naming `device`.
    pub fn new(device: &str, len: usize, in_use: &InUse) -> Result<Self> {
        let full = || Error::OutOfMemory { device: device.into(), asked: len, free: None };
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| full())?;
        // SAFETY: the layout has at least one byte.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(full)?;
        in_use.fetch_add(len, Ordering::Relaxed);
        Ok(Self { base, len, copies: RwLock::new(()), owner: Owner::This(in_use.clone()) })
    }

    /// A block over memory that `owner`, or whoever made this, owns.
    ///
    /// # Safety
    /// `len` bytes from `address` can be read and written until `owner` is dropped, or the block is.
    pub unsafe fn borrowed(address: u64, len: usize, owner: Option<super::Owner>) -> Self {
        let base = NonNull::new(address as usize as *mut u8).unwrap_or(NonNull::dangling());
        Self { base, len, copies: RwLock::new(()), owner: Owner::Other { _owner: owner } }
    }

    /// The block behind a device's memory.
    ///
    /// # Panics
    /// If it is memory of another kind of device: callers check devices first.
    pub fn of(memory: &dyn Memory) -> &Self {
        memory.as_any().downcast_ref().expect("a block of host memory")
    }

    /// Copies host bytes to `offset`.
    ///
    /// # Errors
    /// If the range does not lie in the block.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        let _guard = self.copies.write().unwrap_or_else(|e| e.into_inner());
        // SAFETY: the range lies in the block; the lock keeps other copies out, and kernels run to their end before
        // the launch returns.
        unsafe { self.base.as_ptr().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes from `offset` to the host.
    ///
    /// # Errors
    /// As [`HostMemory::write`].
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        let _guard = self.copies.read().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as for `write`.
        unsafe { self.base.as_ptr().add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Sets bytes.
    ///
    /// # Errors
    /// As [`HostMemory::write`].
    pub fn fill(&self, offset: usize, n: usize, byte: u8) -> Result<()> {
        self.check(offset, n)?;
        let _guard = self.copies.write().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as for `write`.
        unsafe { self.base.as_ptr().add(offset).write_bytes(byte, n) };
        Ok(())
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
        if let Owner::This(in_use) = &self.owner {
            in_use.fetch_sub(self.len, Ordering::Relaxed);
            // SAFETY: allocated in `new` with this layout, which was valid there.
            unsafe { dealloc(self.base.as_ptr(), Layout::from_size_align_unchecked(self.len.max(1), ALIGN)) };
        }
    }
}

impl Memory for HostMemory {
    fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    fn len(&self) -> usize {
        self.len
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl HostBlock for HostMemory {
    fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }
}
