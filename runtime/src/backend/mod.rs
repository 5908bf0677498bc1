//! What the runtime asks of a kind of device. One implementation a module.
//!
//! | module | subject |
//! |---|---|
//! | [`gpu`] | GPUs behind a driver: CUDA and HIP |
//! | [`cpu`] | this machine's processor |
//! | [`executor`] | the interpreter and the virtual GPUs in this process |
//! | [`host_device`] | what the devices in this process have in common |
//! | [`host_memory`], [`host_queue`] | memory, streams, events and graphs of the devices in this process |
//! | [`capture`] | work that is noted for a graph, on any device |

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tegula_artifact::Artifact;
use tegula_codegen::target::Architecture;
use tegula_ir::Function;
use tegula_ir::types::ScalarType;

use crate::error::{Error, Result};
use crate::tensor::view::View;
use crate::tensor_map::{Encoded, Tiled};

pub mod capture;
pub mod cpu;
pub mod executor;
pub mod gpu;

pub mod host_device;
pub mod host_memory;
pub mod host_queue;

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

    /// A block over memory of this device that something else owns; `owner` is dropped when the block, and the work
    /// that uses it, are gone. Without an owner nothing waits for that work.
    ///
    /// # Safety
    /// `len` bytes from `address` are memory of this device until `owner` is dropped, or, without one, until the work
    /// that uses the block is done.
    unsafe fn borrow(&self, address: u64, len: usize, owner: Option<Owner>) -> Result<Arc<dyn Memory>>;

    /// Makes a block of host memory that the device copies from and to without a detour.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`].
    fn allocate_host(&self, bytes: usize) -> Result<Box<dyn HostBlock>>;

    /// How much memory there is.
    ///
    /// # Errors
    /// If the device fails.
    fn memory_info(&self) -> Result<MemoryInfo>;

    /// Gives memory that is kept for later allocations back to the system, down to `keep` bytes.
    ///
    /// # Errors
    /// If the device fails.
    fn trim(&self, keep: usize) -> Result<()>;

    /// What code is made for; `None` where kernels run as Tile IR, without code that could be kept.
    fn code_target(&self) -> Option<CodeTarget> {
        None
    }

    /// Compiles a kernel to code, without touching the device: the costly step, whose result is kept on disk. It is
    /// called where there is a [`Backend::code_target`].
    ///
    /// # Errors
    /// [`crate::Error::Compile`]; [`crate::Error::NoCompiler`] in programs without the compiler.
    fn compile(&self, function: &Function) -> Result<Artifact> {
        Err(Error::NoCompiler { kernel: function.name.clone(), target: self.target().into() })
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

    /// The queue that work goes to where none is named.
    fn default_queue(&self) -> &Arc<dyn Queue>;

    /// Makes a queue.
    ///
    /// # Errors
    /// If the device fails.
    fn create_queue(&self) -> Result<Arc<dyn Queue>>;

    /// A queue over another library's stream of this device; `owner` is dropped when the queue is no longer used.
    ///
    /// # Safety
    /// `stream` is the driver's handle of a stream of this device until `owner` is dropped.
    ///
    /// # Errors
    /// If this kind of device has no streams of others.
    unsafe fn borrow_queue(&self, stream: usize, owner: Owner) -> Result<Arc<dyn Queue>> {
        let _ = (stream, owner);
        Err(Error::Tensor(format!("`{}` has no streams that other libraries could have made", self.name())))
    }

    /// Loads code that was not compiled from Tile IR: PTX, a cubin or a code object.
    ///
    /// # Errors
    /// If this kind of device has no such code, or does not take this.
    fn load_foreign(&self, code: &[u8], entry: &ForeignEntry<'_>) -> Result<Arc<dyn ForeignExecutable>> {
        let _ = code;
        let message = format!("`{}` takes no code but what is compiled for it from Tile IR", self.name());
        Err(Error::Compile { kernel: entry.name.into(), target: self.target().into(), message })
    }

    /// A tensor map as the device's hardware reads it; `None` where the device has no tensor maps.
    ///
    /// # Errors
    /// If the driver refuses it.
    fn encode_tensor_map(&self, map: &Tiled) -> Result<Option<Arc<Encoded>>> {
        let _ = map;
        Ok(None)
    }

    /// Makes an event that nothing was recorded in.
    ///
    /// # Errors
    /// If the device fails.
    fn create_event(&self) -> Result<Arc<dyn EventObject>>;

    /// Waits for all work given to the device.
    ///
    /// # Errors
    /// If some of that work failed.
    fn synchronize(&self) -> Result<()>;

    /// Copies between a block of this device and one of another device, if the two can do so without the host.
    ///
    /// # Errors
    /// If the devices fail.
    fn copy_from_peer(&self, from: (&Arc<dyn Memory>, usize), to: (&Arc<dyn Memory>, usize), n: usize) -> Result<bool> {
        let _ = (from, to, n);
        Ok(false)
    }

    /// Where the device's memory is, for exchange with other libraries.
    fn location(&self) -> Location;
}

/// What keeps something of another library's alive.
pub type Owner = Box<dyn Any + Send + Sync>;

/// What code is made for: equal Tile IR for equal targets gives equal code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodeTarget {
    /// The target's name, such as `cpu` or `sm_90a`.
    pub name: String,
    /// Whatever else the code depends on, such as the processor's features and options of the code generator.
    pub details: String,
}

impl CodeTarget {
    /// A GPU architecture.
    pub fn gpu(architecture: &Architecture) -> Self {
        Self { name: architecture.name.into(), details: architecture.features.into() }
    }
}

/// Where memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// This process's own memory.
    Host,
    /// A CUDA device, by number.
    Cuda(u32),
    /// A HIP device, by number.
    Hip(u32),
}

/// Memory of a device, in bytes. What a device does not tell is 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemoryInfo {
    /// All of it.
    pub total: usize,
    /// Not taken by anyone.
    pub free: usize,
    /// Taken from the system by this process's pool for tensors.
    pub reserved: usize,
    /// Of that, in tensors now.
    pub in_use: usize,
}

/// A block of device memory. It is freed when the last handle is dropped and the work that uses it is done.
pub trait Memory: Send + Sync {
    /// Address of the first byte, in the device's address space.
    fn address(&self) -> u64;

    /// Size in bytes.
    fn len(&self) -> usize;

    /// Whether the block has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For the backend that made it to know its own blocks again.
    fn as_any(&self) -> &dyn Any;
}

/// A block of host memory.
pub trait HostBlock: Send + Sync {
    /// Address of the first byte.
    fn address(&self) -> *mut u8;
}

/// An in-order queue of work: what a stream is to a backend. Ranges were checked against the blocks.
pub trait Queue: Send + Sync {
    /// For the backend that made it to know its own queues again.
    fn as_any(&self) -> &dyn Any;

    /// Waits for the work given so far.
    ///
    /// # Errors
    /// If some of that work failed.
    fn synchronize(&self) -> Result<()>;

    /// Whether all work given so far is done.
    ///
    /// # Errors
    /// If some of that work failed.
    fn is_idle(&self) -> Result<bool>;

    /// Copies host bytes into a block, after the work of any queue that used the block before. The bytes are no longer
    /// needed when it returns.
    ///
    /// # Errors
    /// If the device fails.
    fn write(&self, to: &Arc<dyn Memory>, offset: usize, bytes: &[u8]) -> Result<()>;

    /// Copies bytes of a block to the host, after the work of any queue that used the block before. They are there when
    /// it returns.
    ///
    /// # Errors
    /// If the device fails.
    fn read(&self, from: &Arc<dyn Memory>, offset: usize, bytes: &mut [u8]) -> Result<()>;

    /// Copies from a block of pinned host memory, in the order of the queue.
    ///
    /// # Safety
    /// The host bytes are not written before the copy is done.
    ///
    /// # Errors
    /// If the device fails.
    unsafe fn write_async(&self, to: &Arc<dyn Memory>, offset: usize, from: *const u8, n: usize) -> Result<()>;

    /// Copies to a block of pinned host memory, in the order of the queue.
    ///
    /// # Safety
    /// The host bytes are neither read nor written before the copy is done.
    ///
    /// # Errors
    /// If the device fails.
    unsafe fn read_async(&self, from: &Arc<dyn Memory>, offset: usize, to: *mut u8, n: usize) -> Result<()>;

    /// Copies between blocks of this device.
    ///
    /// # Errors
    /// If the device fails.
    fn copy(&self, from: (&Arc<dyn Memory>, usize), to: (&Arc<dyn Memory>, usize), n: usize) -> Result<()>;

    /// Sets bytes of a block.
    ///
    /// # Errors
    /// If the device fails.
    fn fill(&self, to: &Arc<dyn Memory>, offset: usize, n: usize, byte: u8) -> Result<()>;

    /// Records an event: it happens when the work given so far is done. In a capture it orders that capture's work.
    ///
    /// # Errors
    /// If the device fails.
    fn record(&self, event: &dyn EventObject) -> Result<()>;

    /// Lets the work given from now on wait for an event. If that is one of a capture, the queue becomes part of it.
    ///
    /// # Errors
    /// If the event is of another capture than the queue, or the device fails.
    fn wait(&self, event: &dyn EventObject) -> Result<()>;

    /// From now on, work is noted instead of done.
    ///
    /// # Errors
    /// If it already is, or the queue cannot.
    fn begin_capture(&self) -> Result<()>;

    /// Ends what [`Queue::begin_capture`] began, and gives the work noted.
    ///
    /// # Errors
    /// If the work noted cannot be repeated.
    fn end_capture(&self) -> Result<Arc<dyn GraphObject>>;

    /// The capture that work is noted in instead of being done.
    fn capture(&self) -> Option<Arc<capture::Capture>>;
}

/// A point in the work of a queue.
pub trait EventObject: Send + Sync {
    /// For the backend that made it to know its own events again.
    fn as_any(&self) -> &dyn Any;

    /// Waits until it has happened.
    ///
    /// # Errors
    /// If the work before it failed.
    fn synchronize(&self) -> Result<()>;

    /// Whether it has happened.
    ///
    /// # Errors
    /// If the work before it failed.
    fn is_done(&self) -> Result<bool>;

    /// Time from an event before this one, as the device measured it. Both have happened.
    ///
    /// # Errors
    /// If the device fails, or an event was not recorded.
    fn elapsed_since(&self, earlier: &dyn EventObject) -> Result<Duration>;
}

/// Work that was noted by a queue, to be done again and again. It keeps the memory that it uses.
pub trait GraphObject: Send + Sync {
    /// Does the work once, in the order of the queue.
    ///
    /// # Errors
    /// If the device fails.
    fn replay(&self, queue: &dyn Queue) -> Result<()>;
}

/// An argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A tensor.
    View(&'a View),
    /// A number, as the bits of its type.
    Scalar(ScalarType, u64),
    /// The address of a tensor's element zero; the whole block may be touched.
    Ptr(&'a View),
    /// An address that the caller vouches for.
    Address(ScalarType, u64),
}

impl Arg<'_> {
    /// The block that it lies in.
    pub fn memory(&self) -> Option<&Arc<dyn Memory>> {
        match self {
            Self::View(view) | Self::Ptr(view) => Some(view.memory()),
            Self::Scalar(..) | Self::Address(..) => None,
        }
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaunchConfig {
    /// Number of programs on each axis; none is 0.
    pub grid: [u32; 3],
    /// All programs run at the same time, so that they can wait for each other.
    pub cooperative: bool,
    /// Programs that form a cluster, on each axis.
    pub cluster: Option<[u32; 3]>,
    /// May begin before the kernel before it in the stream has ended (programmatic dependent launch), if it waits for
    /// that end itself.
    pub programmatic: bool,
}

/// A compiled kernel.
pub trait Executable: Send + Sync {
    /// Launches it. The arguments were checked against the parameters.
    ///
    /// # Errors
    /// [`crate::Error::InvalidLaunch`], and [`crate::Error::KernelFault`] where the device tells at once.
    fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[Arg<'_>]) -> Result<()>;
}

/// An entry of code that was not compiled from Tile IR.
#[derive(Clone, Copy, Debug)]
pub struct ForeignEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// Threads of a program, on all axes together.
    pub threads: u32,
    /// Bytes of shared memory besides what the code declares.
    pub shared: u32,
}

/// An argument of code that was not compiled from Tile IR.
#[derive(Clone, Copy)]
pub enum ForeignArg<'a> {
    /// The address of a byte of a block.
    Address(&'a Arc<dyn Memory>, usize),
    /// A number of at most 8 bytes, little-endian.
    Value([u8; 8]),
    /// A tensor map of a tensor in a block.
    Map(&'a Encoded, &'a Arc<dyn Memory>),
}

/// Code that was not compiled from Tile IR, on the device.
pub trait ForeignExecutable: Send + Sync {
    /// Launches it.
    ///
    /// # Safety
    /// The arguments are the parameters of the code, in number, order and kind, and what it does with them is sound.
    ///
    /// # Errors
    /// As [`Executable::launch`].
    unsafe fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[ForeignArg<'_>]) -> Result<()>;
}
