//! Pinned host memory: a device copies from and to it at full speed while the program goes on.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use crate::backend::HostBlock;
use crate::device::Device;
use crate::element::HostElement;
use crate::error::{Error, Result};
use crate::stream::Event;

/// Values in pinned host memory. Looking at them waits for copies that write them, changing them for all copies.
pub struct Pinned<T> {
    device: Device,
    block: Option<Box<dyn HostBlock>>,
    len: usize,
    /// Copies that may not be done.
    copies: Mutex<Vec<Event>>,
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
        Ok(Self { device: device.clone(), block: Some(block), len, copies: Mutex::default(), _elem: PhantomData })
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

    /// The values, after the copies that may write them.
    ///
    /// # Errors
    /// If a copy failed.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.wait()?;
        // SAFETY: the block has `len` values; every bit pattern that copies bring is one, since `bool` is not copied
        // here; and a copy that writes it needs `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.address(), self.len) })
    }

    /// The values to be changed, after all copies.
    ///
    /// # Errors
    /// If a copy failed.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.wait()?;
        // SAFETY: as above; copies that read it are done, and new ones need `&self`.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.address(), self.len) })
    }

    pub(crate) fn address(&self) -> *mut T {
        self.block.as_ref().map_or(std::ptr::NonNull::dangling().as_ptr(), |block| block.address().cast())
    }
}

impl<T> Pinned<T> {
    pub(crate) fn busy_until(&self, event: Event) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.retain(|e| !e.is_done().unwrap_or(false));
        copies.push(event);
    }

    fn wait(&self) -> Result<()> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        for event in &*copies {
            event.synchronize()?;
        }
        copies.clear();
        Ok(())
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // Where the device failed nobody knows whether a copy still runs: the block is not freed then.
        if self.wait().is_err() {
            std::mem::forget(self.block.take());
        }
    }
}

impl<T: HostElement> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned<{}>[{}] for {}", T::TYPE, self.len, self.device.name())
    }
}
