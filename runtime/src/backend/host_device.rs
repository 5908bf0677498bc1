//! What the devices have in common whose memory is this process's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::host_memory::{HostMemory, InUse};
use super::host_queue::HostQueue;
use super::{LaunchConfig, MemoryInfo, Owner, Queue};
use crate::error::{Error, Result};

/// Memory, and the queue that work goes to where none is named.
pub struct HostDevice {
    name: String,
    pub(crate) queue: Arc<dyn Queue>,
    in_use: InUse,
}

impl HostDevice {
    /// A device of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), queue: Arc::new(HostQueue::default()), in_use: InUse::default() }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<HostMemory> {
        HostMemory::new(&self.name, bytes, &self.in_use)
    }

    /// # Safety
    /// As [`HostMemory::borrowed`].
    pub(crate) unsafe fn borrow(address: u64, len: usize, owner: Option<Owner>) -> HostMemory {
        // SAFETY: as the caller promises.
        unsafe { HostMemory::borrowed(address, len, owner) }
    }

    pub(crate) fn memory_info(&self) -> MemoryInfo {
        let in_use = self.in_use.load(Ordering::Relaxed);
        MemoryInfo { reserved: in_use, in_use, ..MemoryInfo::default() }
    }
}

/// Fails where a launch asks for programs that all run at the same time, or close to each other: here they run a few at a
/// time.
///
/// # Errors
/// [`Error::InvalidLaunch`].
pub fn check_options(device: &str, kernel: &str, config: &LaunchConfig) -> Result<()> {
    let programs = config.grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let limit = if config.cluster.is_some() {
        format!("`{device}` has no clusters; they come with sm_90")
    } else if config.cooperative && programs > 1 {
        format!("`{device}` runs a few programs at a time, and a cooperative launch all of its {programs}; launch one")
    } else {
        return Ok(());
    };
    Err(Error::InvalidLaunch { kernel: kernel.into(), limit })
}

/// The methods of a [`super::Backend`] that has a [`HostDevice`] in its field `host`: work is done when it is given.
macro_rules! host_device {
    () => {
        fn name(&self) -> &str {
            self.host.name()
        }

        fn allocate(&self, bytes: usize) -> $crate::error::Result<::std::sync::Arc<dyn $crate::backend::Memory>> {
            Ok(::std::sync::Arc::new(self.host.allocate(bytes)?))
        }

        unsafe fn borrow(
            &self,
            address: u64,
            len: usize,
            owner: Option<$crate::backend::Owner>,
        ) -> $crate::error::Result<::std::sync::Arc<dyn $crate::backend::Memory>> {
            // SAFETY: as the caller promises.
            Ok(::std::sync::Arc::new(unsafe { $crate::backend::host_device::HostDevice::borrow(address, len, owner) }))
        }

        fn allocate_host(&self, bytes: usize) -> $crate::error::Result<Box<dyn $crate::backend::HostBlock>> {
            Ok(Box::new(self.host.allocate(bytes)?))
        }

        fn memory_info(&self) -> $crate::error::Result<$crate::backend::MemoryInfo> {
            Ok(self.host.memory_info())
        }

        fn trim(&self, _keep: usize) -> $crate::error::Result<()> {
            Ok(())
        }

        fn default_queue(&self) -> &::std::sync::Arc<dyn $crate::backend::Queue> {
            &self.host.queue
        }

        fn create_queue(&self) -> $crate::error::Result<::std::sync::Arc<dyn $crate::backend::Queue>> {
            Ok(::std::sync::Arc::new($crate::backend::host_queue::HostQueue::default()))
        }

        fn create_event(&self) -> $crate::error::Result<::std::sync::Arc<dyn $crate::backend::EventObject>> {
            Ok(::std::sync::Arc::new($crate::backend::host_queue::HostEvent::default()))
        }

        fn synchronize(&self) -> $crate::error::Result<()> {
            Ok(())
        }

        fn location(&self) -> $crate::backend::Location {
            $crate::backend::Location::Host
        }
    };
}
pub(crate) use host_device;
