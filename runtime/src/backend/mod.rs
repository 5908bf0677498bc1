//! What the runtime asks of a kind of device. One implementation a module.

use std::any::Any;
use std::sync::Arc;

use tegula_artifact::Artifact;
use tegula_ir::Function;
use tegula_ir::types::ScalarType;

use crate::error::{Error, Result};

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

    /// What code is made for; `None` where kernels run as Tile IR, without code that could be kept.
    fn code_target(&self) -> Option<CodeTarget> {
        None
    }

    /// Compiles a kernel to code, without touching the device: the costly step, whose result is kept on disk. It is
    /// called where there is a [`Backend::code_target`].
    ///
    /// # Errors
    /// [`crate::Error::Compile`].
    fn compile(&self, function: &Function) -> Result<Artifact> {
        let message = "this device runs kernels without compiling them".to_owned();
        Err(Error::Compile { kernel: function.name.clone(), target: self.target().into(), message })
    }

    /// What tells apart code that only this device's driver can make and use, such as the device's model with the
    /// driver's version; `None` where [`Backend::compile`] gives the last form.
    fn driver_target(&self) -> Option<CodeTarget> {
        None
    }

    /// The last form of a kernel's code, which the driver makes: machine code from PTX. It is called where there is a
    /// [`Backend::driver_target`], and its result is kept on disk like that of [`Backend::compile`].
    ///
    /// # Errors
    /// [`crate::Error::Compile`] if the driver refuses the code.
    fn assemble(&self, function: &Function, artifact: Artifact) -> Result<Artifact> {
        let _ = function;
        Ok(artifact)
    }

    /// Brings code onto the device. `artifact` is there exactly where there is a [`Backend::code_target`], and is what
    /// [`Backend::compile`], or then [`Backend::assemble`], gave for this function: now, in another process, or when
    /// the program was built.
    ///
    /// # Errors
    /// [`crate::Error::Compile`] if the code is not for this device.
    fn load(&self, function: &Function, artifact: Option<&Artifact>) -> Result<Arc<dyn Executable>>;

    /// Waits for all work given to the device.
    ///
    /// # Errors
    /// If some of that work failed.
    fn synchronize(&self) -> Result<()>;
}

/// What code is made for: equal Tile IR for equal targets gives equal code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodeTarget {
    /// The target's name, such as `cpu` or `sm_90a`.
    pub name: String,
    /// Whatever else the code depends on, such as the processor's features and options of the code generator.
    pub details: String,
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
