//! Launching a call: from typed arguments to a compiled kernel on a device.

use tegula_ir::exec::programs_of;
use tegula_ir::function::Grid;
use tegula_ir::numeric::eval;
use tegula_lang::host::{Arg as CallArg, PointerArg, TensorObject};
use tegula_lang::kernel::{Call, Kernel};

use crate::backend::Arg;
use crate::cache::{Compiled, Key};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::specialize::specialize;
use crate::tensor::AnyTensor;

/// Launching a [`Call`], which calling a `#[kernel]` function gives.
pub trait Launch {
    /// Compiles the kernel if this device has not yet compiled it for arguments of this class, and launches it on the
    /// device that holds the arguments. The work is ordered after what the device was given before.
    ///
    /// # Errors
    /// If the arguments do not fit, the kernel does not compile, or the device fails.
    fn launch(self) -> Result<()>;

    /// Compiles the kernel without launching it, so that the first launch does not have to.
    ///
    /// # Errors
    /// As [`Launch::launch`].
    fn warm_up(&self) -> Result<()>;
}

impl<K: Kernel> Launch for Call<'_, K> {
    fn launch(self) -> Result<()> {
        let prepared = Prepared::new(&self)?;
        let compiled = prepared.compile(&self)?;
        let grid = prepared.grid(&self, &compiled)?;
        if grid.contains(&0) {
            return Ok(());
        }
        compiled.executable.launch(grid, &prepared.args)
    }

    fn warm_up(&self) -> Result<()> {
        Prepared::new(self)?.compile(self).map(drop)
    }
}

/// The arguments as the device takes them.
struct Prepared {
    device: Device,
    args: Vec<Arg>,
    written: Vec<bool>,
}

impl Prepared {
    fn new<K: Kernel>(call: &Call<'_, K>) -> Result<Self> {
        let info = call.kernel.info();
        let name = |i: usize| info.params.get(i).map_or("?", |p| p.name);
        let bad = |message: String| Error::Argument { kernel: info.name.into(), message };
        let mut device: Option<Device> = None;
        let (mut args, mut written) = (Vec::new(), Vec::new());
        for (i, arg) in call.args.iter().enumerate() {
            let mut tensor = |t: &dyn TensorObject| -> Result<AnyTensor> {
                let t = AnyTensor::of(t).ok_or_else(|| {
                    bad(format!("argument `{}` is not a tensor of a device; make one with `device.tensor`", name(i)))
                })?;
                match &device {
                    Some(d) if !d.same(&t.device) => {
                        let (here, there) = (t.device.name(), d.name());
                        Err(bad(format!("argument `{}` is on {here}, others are on {there}; copy it there", name(i))))
                    }
                    _ => {
                        device = Some(t.device.clone());
                        Ok(t)
                    }
                }
            };
            let (arg, write) = match arg {
                CallArg::Read(t) => (tensor(*t)?.arg, false),
                CallArg::Write(t) => (tensor(&**t)?.arg, true),
                CallArg::Scalar(elem, value) => (Arg::Scalar(eval::to_bits(*elem, *value)), false),
                CallArg::Pointer(_, PointerArg::Tensor(t)) => match tensor(&**t)?.arg {
                    Arg::View { memory, offset, .. } => (Arg::Ptr { memory, offset }, true),
                    other => (other, true),
                },
                CallArg::Pointer(_, PointerArg::Address(address)) => (Arg::Scalar(*address), true),
            };
            args.push(arg);
            written.push(write);
        }
        let device = device.ok_or_else(|| bad("no argument is a tensor, so there is no device to launch on".into()))?;
        Ok(Self { device, args, written })
    }

    fn compile<K: Kernel>(&self, call: &Call<'_, K>) -> Result<std::sync::Arc<Compiled>> {
        let mut options = call.build_options().into_owned();
        options.specs = specialize(&self.args, &self.written);
        let key = Key { kernel: call.kernel.key(), options };
        self.device.kernels().get(&key, || {
            let kernel = call.kernel.info().name;
            let function = call
                .kernel
                .build(&key.options)
                .map_err(|e| Error::compile(kernel, self.device.target(), &e.diagnostics))?;
            self.device.kernels().make(function, self.device.backend())
        })
    }

    fn grid<K: Kernel>(&self, call: &Call<'_, K>, compiled: &Compiled) -> Result<[u32; 3]> {
        let kernel = call.kernel.info().name;
        let bad = |message: String| Error::Argument { kernel: kernel.into(), message };
        match (&compiled.function.grid, call.grid) {
            (Grid::Explicit, Some(grid)) => Ok(grid),
            (Grid::Explicit, None) => Err(bad("it needs a grid: give it with `.grid([n, 1, 1])`".into())),
            (Grid::Tiles { .. }, Some(_)) => Err(bad("it has its grid from its outputs; give none".into())),
            (Grid::Tiles { outputs }, None) => {
                let extents = |i: usize| match &self.args[i] {
                    Arg::View { extents, .. } => Some(extents.as_slice()),
                    _ => None,
                };
                let n = programs_of(outputs, |i| call.kernel.info().params[i].name, extents).map_err(bad)?;
                Ok([n, 1, 1])
            }
        }
    }
}
