//! Kernels and tensors whose types are known only when the program runs: for tools that take a kernel's Tile IR, and
//! tests that run one kernel on every device.

use std::sync::Arc;

use tegula_ir::Function;
use tegula_ir::exec::{ExecError, Executor, HostArg, HostTensor, check_args};
use tegula_ir::function::{ParamKind, ViewAccess};
use tegula_ir::literal::Literal;
use tegula_ir::numeric::eval;
use tegula_ir::types::ScalarType;
use tegula_lang::kernel::build::ArgSpec;

use crate::backend::{Arg, LaunchConfig};
use crate::cache::Compiled;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::{check, grid_of, specialize};
use crate::stream::Stream;
use crate::tensor::AnyTensor;
use crate::tensor::view::View;

/// A tensor of any element type.
#[derive(Clone)]
pub struct DynTensor(AnyTensor);

impl DynTensor {
    /// Copies a tensor to a device, with all of the memory it lies in.
    ///
    /// # Errors
    /// If memory is out, or the device failed.
    pub fn upload(device: &Device, tensor: &HostTensor) -> Result<Self> {
        let memory = device.backend().allocate(tensor.data.len())?;
        if !tensor.data.is_empty() {
            device.backend().default_queue().write(&memory, 0, &tensor.data)?;
        }
        let (extents, strides) = (tensor.extents[..].into(), tensor.strides[..].into());
        let view = View::new(memory, tensor.elem, tensor.offset, extents, strides)?;
        Ok(Self(AnyTensor { device: device.clone(), view }))
    }

    /// Copies the memory it lies in back to the tensor it came from.
    ///
    /// # Errors
    /// If the sizes differ, or the device failed.
    pub fn download(&self, tensor: &mut HostTensor) -> Result<()> {
        if tensor.data.len() != self.0.memory().len() {
            return Err(Error::Tensor("the tensor is not the one that was copied to the device".into()));
        }
        if tensor.data.is_empty() {
            return Ok(());
        }
        self.0.device.backend().default_queue().read(self.0.memory(), 0, &mut tensor.data)
    }
}

/// An argument of any type.
#[derive(Clone)]
pub enum DynArg {
    /// For a view parameter.
    Tensor(DynTensor),
    /// For a pointer parameter: the address of the tensor's first element.
    Pointer(DynTensor),
    /// For a scalar parameter.
    Scalar(ScalarType, Literal),
}

impl DynArg {
    /// Copies a kernel's argument to a device.
    ///
    /// # Errors
    /// As [`DynTensor::upload`].
    pub fn upload(device: &Device, arg: &HostArg, kind: &ParamKind) -> Result<Self> {
        Ok(match (arg, kind) {
            (HostArg::Tensor(t), _) => Self::Tensor(DynTensor::upload(device, t)?),
            (HostArg::Ptr(t), _) => Self::Pointer(DynTensor::upload(device, t)?),
            (HostArg::Scalar(v), ParamKind::Scalar { elem, .. }) => Self::Scalar(*elem, *v),
            (HostArg::Scalar(_), _) => return Err(Error::Tensor("a number is given for a tensor".into())),
        })
    }

    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Tensor(DynTensor(t)) => Arg::View(&t.view),
            Self::Pointer(DynTensor(t)) => Arg::Ptr(&t.view),
            Self::Scalar(elem, value) => Arg::Scalar(*elem, eval::to_bits(*elem, *value)),
        }
    }
}

/// What can be promised of each argument, for the kernel to be built with. `function` is the kernel built with any
/// options: it tells which arguments are written.
///
/// # Errors
/// If two arguments that are written share memory.
pub fn promises(function: &Function, args: &[DynArg]) -> Result<Vec<ArgSpec>> {
    let args: Vec<Arg<'_>> = args.iter().map(DynArg::arg).collect();
    let written = function.params.iter().take(64).enumerate().fold(0, |bits, (i, p)| match p.kind {
        ParamKind::View { access: ViewAccess::Read, .. } | ParamKind::Scalar { .. } => bits,
        _ => bits | 1 << i,
    });
    let bad = |message| Error::Argument { kernel: function.name.clone(), message };
    let name = |i: usize| function.params.get(i).map_or_else(|| "?".into(), |p| p.name.clone());
    let overlaps = check::overlaps(&args, written, bad, name)?;
    Ok(specialize::classify(&args, overlaps, |_| true).map(specialize::Class::spec).collect())
}

/// A kernel on a device.
pub struct DynKernel {
    device: Device,
    compiled: Compiled,
}

impl DynKernel {
    /// Compiles a kernel, or takes it from the cache, and brings it to a device.
    ///
    /// # Errors
    /// If it does not compile, or the device does not take it.
    pub fn new(device: &Device, function: Function) -> Result<Self> {
        let compiled = device.kernels().make(function, device.backend())?;
        Ok(Self { device: device.clone(), compiled })
    }

    /// Launches it. The grid is given if the kernel's outputs do not give it.
    ///
    /// # Safety
    /// What the kernel was built with as promised of its arguments holds for these ([`promises`]); what it does through
    /// pointers is within their memory.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device failed.
    pub unsafe fn launch(&self, stream: &Stream, grid: Option<[u32; 3]>, args: &[DynArg]) -> Result<()> {
        stream.check(&self.device, "kernel")?;
        let args: Vec<Arg<'_>> = args.iter().map(DynArg::arg).collect();
        check::check_kinds(&self.compiled.signature, &args)?;
        let grid = grid_of(&self.compiled.signature, grid, &args)?;
        if grid.contains(&0) {
            return Ok(());
        }
        let config = LaunchConfig { grid, ..LaunchConfig::default() };
        self.compiled.executable.launch(stream.queue(), &config, &args)
    }
}

/// A device as an executor: each run copies the arguments there and back.
pub struct DeviceExecutor(Device);

impl DeviceExecutor {
    /// An executor on a device.
    pub fn new(device: Device) -> Arc<Self> {
        Arc::new(Self(device))
    }
}

impl Executor for DeviceExecutor {
    fn name(&self) -> String {
        self.0.name().into()
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> std::result::Result<String, ExecError> {
        check_args(function, args)?;
        let failed = |e: Error| match e {
            Error::Argument { message, .. } => ExecError::BadArguments(message),
            Error::Compile { message, .. } => ExecError::Compile(message),
            other => {
                let diagnostic = tegula_ir::diag::Diagnostic::error(other.to_string());
                ExecError::Kernel(diagnostic.at(function.locs.get(function.loc)))
            }
        };
        let device = &self.0;
        let there: Result<Vec<DynArg>> =
            args.iter().zip(&function.params).map(|(arg, p)| DynArg::upload(device, arg, &p.kind)).collect();
        let there = there.map_err(failed)?;
        let kernel = DynKernel::new(device, function.clone()).map_err(failed)?;
        let grid = matches!(function.grid, tegula_ir::function::Grid::Explicit).then_some(grid);
        // SAFETY: an executor's caller gives arguments that keep the function's promises.
        unsafe { kernel.launch(&device.default_stream(), grid, &there) }.map_err(failed)?;
        device.synchronize().map_err(failed)?;
        for (arg, there) in args.iter_mut().zip(&there) {
            if let (HostArg::Tensor(t) | HostArg::Ptr(t), DynArg::Tensor(d) | DynArg::Pointer(d)) = (arg, there) {
                d.download(t).map_err(failed)?;
            }
        }
        // A GPU prints by itself.
        Ok(String::new())
    }
}
