//! Code that was not compiled from Tile IR: PTX, cubins and AMD code objects of one's own, launched on the runtime's devices
//! and streams with its tensors.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::backend::{ForeignArg, ForeignEntry, ForeignExecutable, Memory};
use crate::device::Device;
use crate::element::{HostElement, bytes_of};
use crate::error::{Error, Result};
use crate::launch::LaunchOptions;
use crate::tensor::Tensor;
use crate::tensor_map::TensorMap;

/// A kernel of code that was not compiled from Tile IR.
#[derive(Clone)]
pub struct ForeignKernel {
    device: Device,
    name: String,
    executable: Arc<dyn ForeignExecutable>,
}

impl ForeignKernel {
    /// Loads the entry called `name` of PTX text, a cubin or a code object. A program has `threads` threads, and `shared`
    /// bytes of shared memory besides what the code declares.
    ///
    /// # Errors
    /// [`Error::Compile`] if the driver does not take the code, it has no such entry, or the device runs no such code.
    pub fn load(device: &Device, code: &[u8], name: &str, threads: u32, shared: u32) -> Result<Self> {
        let executable = device.backend().load_foreign(code, &ForeignEntry { name, threads, shared })?;
        Ok(Self { device: device.clone(), name: name.into(), executable })
    }

    /// Launches it. Memory that the arguments lie in stays until the work is done.
    ///
    /// # Safety
    /// The arguments are those of the kernel, in number, order, kind and size; and what it does with them is sound: it
    /// stays within the tensors, and what it writes, nobody else uses meanwhile in another order than the stream's.
    ///
    /// # Errors
    /// If an argument or the stream is of another device, the launch asks for more than there is, or the device fails.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        args: &[ForeignArgument<'_>],
        options: &LaunchOptions<'_>,
    ) -> Result<()> {
        let stream = options.stream.cloned().unwrap_or_else(|| self.device.default_stream());
        stream.check(&self.device, "kernel")?;
        for (i, arg) in args.iter().enumerate() {
            if let Some(device) = arg.device()
                && !device.same(&self.device)
            {
                let message = format!("argument {i} is on {}, and the kernel on {}", device.name(), self.device.name());
                return Err(Error::Argument { kernel: self.name.clone(), message });
            }
        }
        if grid.contains(&0) {
            return Ok(());
        }
        let args: SmallVec<[ForeignArg<'_>; 24]> = args.iter().map(ForeignArgument::arg).collect();
        // SAFETY: as the caller promises.
        unsafe { self.executable.launch(stream.queue(), &options.config(grid), &args) }
    }
}

impl fmt::Debug for ForeignKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignKernel {} on {}", self.name, self.device.name())
    }
}

/// An argument of a [`ForeignKernel`].
#[derive(Clone, Copy)]
pub struct ForeignArgument<'a>(Kind<'a>);

#[derive(Clone, Copy)]
enum Kind<'a> {
    Address(&'a Device, &'a Arc<dyn Memory>, usize),
    Value([u8; 8]),
    Map(&'a TensorMap),
}

impl<'a> ForeignArgument<'a> {
    /// A number.
    pub fn value<T: HostElement>(value: T) -> Self {
        let mut bytes = [0; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytes_of(&[value]));
        Self(Kind::Value(bytes))
    }

    fn device(&self) -> Option<&'a Device> {
        match self.0 {
            Kind::Address(device, ..) => Some(device),
            Kind::Value(_) => None,
            Kind::Map(map) => Some(&map.tensor.device),
        }
    }

    fn arg(&self) -> ForeignArg<'a> {
        match self.0 {
            Kind::Address(_, memory, offset) => ForeignArg::Address(memory, offset),
            Kind::Value(bytes) => ForeignArg::Value(bytes),
            Kind::Map(map) => ForeignArg::Map(&map.encoded, map.tensor.memory()),
        }
    }
}

/// The address of a tensor's first element.
impl<'a, T: HostElement> From<&'a Tensor<T>> for ForeignArgument<'a> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        let t = tensor.any();
        Self(Kind::Address(&t.device, t.memory(), t.offset() * t.size()))
    }
}

/// A tensor map, as a parameter of 128 bytes.
impl<'a> From<&'a TensorMap> for ForeignArgument<'a> {
    fn from(map: &'a TensorMap) -> Self {
        Self(Kind::Map(map))
    }
}
