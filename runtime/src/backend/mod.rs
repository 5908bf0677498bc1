//! What the runtime asks of a kind of device. One implementation a module.

use std::any::Any;
use std::sync::Arc;

use tegula_ir::Function;
use tegula_ir::types::ScalarType;

use crate::error::Result;

pub mod cpu;
pub mod executor;
pub mod host_memory;

/// A kind of device: where memory comes from, and how kernels are compiled.
pub trait Backend: Send + Sync {
    /// The device's name, as [`crate::Device::open`] takes it.
    fn name(&self) -> &str;

    /// What the device is, for people: a marketing name, cores, memory.
    fn description(&self) -> String;

    /// The target kernels are compiled for, such as `sm_90a` or `cpu`.
    fn target(&self) -> &str;

    /// Makes a block of memory; its contents are not specified.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`].
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>>;

    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`crate::Error::Compile`].
    fn compile(&self, function: &Function) -> Result<Arc<dyn Executable>>;

    /// Waits for all work given to the device.
    ///
    /// # Errors
    /// If some of that work failed.
    fn synchronize(&self) -> Result<()>;
}

/// A block of device memory. It is freed when the last handle is dropped; work in flight holds one.
pub trait Memory: Send + Sync {
    /// Address of the first byte, in the device's address space.
    fn address(&self) -> u64;

    /// Size in bytes.
    fn len(&self) -> usize;

    /// Whether the block has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies host bytes to `offset`, after the work given to the device before.
    ///
    /// # Errors
    /// If the range does not lie in the block, or the device fails.
    fn write(&self, offset: usize, bytes: &[u8]) -> Result<()>;

    /// Copies bytes from `offset` to the host, after the work given to the device before.
    ///
    /// # Errors
    /// As [`Memory::write`].
    fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()>;

    /// For the backend that made it to know its own blocks again.
    fn as_any(&self) -> &dyn Any;
}

/// An argument of a launch.
#[derive(Clone)]
pub enum Arg {
    /// A tensor: element zero is at `offset` bytes in `memory`; extents and strides in elements.
    View {
        /// The block that holds it.
        memory: Arc<dyn Memory>,
        /// Byte offset of element zero.
        offset: usize,
        /// Element type.
        elem: ScalarType,
        /// Extents in elements.
        extents: Vec<i64>,
        /// Strides in elements.
        strides: Vec<i64>,
    },
    /// A number, as the bits of its type.
    Scalar(u64),
    /// A raw pointer into a block.
    Ptr {
        /// The block that may be touched.
        memory: Arc<dyn Memory>,
        /// Byte offset of the address.
        offset: usize,
    },
}

/// A compiled kernel.
pub trait Executable: Send + Sync {
    /// Launches it. The arguments were checked against the parameters.
    ///
    /// # Errors
    /// [`crate::Error::InvalidLaunch`], and [`crate::Error::KernelFault`] where the device tells at once.
    fn launch(&self, grid: [u32; 3], args: &[Arg]) -> Result<()>;
}
