//! Devices: where tensors live and kernels run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::backend::{Backend, MemoryInfo};
use crate::element::HostElement;
use crate::error::Result;
use crate::pinned::Pinned;
use crate::registry;
use crate::stream::Stream;
use crate::tensor::Tensor;

/// A device. Cloning gives another handle to it.
#[derive(Clone)]
pub struct Device(Arc<DeviceState>);

pub(crate) struct DeviceState {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) kernels: crate::cache::KernelCache,
    number: u32,
}

impl Device {
    pub(crate) fn new(backend: Box<dyn Backend>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(DeviceState { backend, kernels: Default::default(), number }))
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.0.backend
    }

    pub(crate) fn kernels(&self) -> &crate::cache::KernelCache {
        &self.0.kernels
    }

    /// Tells devices of this process apart.
    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    /// Opens a device by name: `cuda:0`, `hip:0`, `cpu`, `interp` for the reference interpreter, or a virtual GPU in
    /// this process such as `vgpu:sm_90a`.
    ///
    /// # Errors
    /// [`crate::Error::UnknownDevice`] with the names there are; [`crate::Error::NoDriver`],
    /// [`crate::Error::DriverTooOld`], [`crate::Error::NoDevice`] or [`crate::Error::UnsupportedArchitecture`] for a GPU
    /// that cannot be used.
    pub fn open(name: &str) -> Result<Self> {
        registry::open(name)
    }

    /// The fastest device of this machine.
    ///
    /// # Errors
    /// If no device can be opened.
    pub fn best() -> Result<Self> {
        registry::best()
    }

    /// Every device of this machine, fastest first.
    pub fn all() -> Vec<Self> {
        registry::all()
    }

    /// The name that [`Device::open`] takes.
    pub fn name(&self) -> &str {
        self.backend().name()
    }

    /// What the device is, for people.
    pub fn description(&self) -> String {
        self.backend().description()
    }

    /// The target kernels are compiled for, such as `sm_90a` or `cpu`.
    pub fn target(&self) -> &str {
        self.backend().target()
    }

    /// A row-major tensor with these values.
    ///
    /// # Errors
    /// If the values do not fill the extents, or memory is out.
    pub fn tensor<T: HostElement, const R: usize>(&self, values: &[T], extents: [usize; R]) -> Result<Tensor<T>> {
        let t = Tensor::new(self, &extents)?;
        t.copy_from(values)?;
        Ok(t)
    }

    /// A row-major tensor whose contents are not specified.
    ///
    /// # Errors
    /// If memory is out.
    pub fn empty<T: HostElement>(&self, extents: impl AsRef<[usize]>) -> Result<Tensor<T>> {
        Tensor::new(self, extents.as_ref())
    }

    /// A row-major tensor of zero bytes.
    ///
    /// # Errors
    /// If memory is out.
    pub fn zeros<T: HostElement>(&self, extents: impl AsRef<[usize]>) -> Result<Tensor<T>> {
        let t = Tensor::new(self, extents.as_ref())?;
        t.fill_zero()?;
        Ok(t)
    }

    /// A new stream.
    ///
    /// # Errors
    /// If the device fails.
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream::new(self.clone(), self.backend().create_queue()?))
    }

    /// The stream that work goes to where none is named.
    pub fn default_stream(&self) -> Stream {
        Stream::new(self.clone(), self.backend().default_queue().clone())
    }

    /// Zeros in host memory that this device copies from and to without a detour.
    ///
    /// # Errors
    /// If memory is out.
    pub fn pinned<T: HostElement>(&self, len: usize) -> Result<Pinned<T>> {
        Pinned::zeros(self, len)
    }

    /// How much memory there is, and what the pool that tensors are allocated from holds.
    ///
    /// # Errors
    /// If the device fails.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.backend().memory_info()
    }

    /// Gives memory of dropped tensors, which is kept for new ones, back to the system, down to `keep` bytes.
    ///
    /// # Errors
    /// If the device fails.
    pub fn trim(&self, keep: usize) -> Result<()> {
        self.backend().trim(keep)
    }

    /// Waits for all work given to the device.
    ///
    /// # Errors
    /// If some of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.backend().synchronize()
    }

    /// How many kernels this process has compiled for this device so far.
    pub fn compilations(&self) -> usize {
        self.kernels().origins().compiled
    }

    /// Where this device's kernels came from so far.
    pub fn kernel_origins(&self) -> crate::cache::Origins {
        self.kernels().origins()
    }

    /// Whether this is a handle to the same device.
    pub fn same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
