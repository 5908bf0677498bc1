//! Launching a call: from typed arguments to a running kernel.
//!
//! | module | subject |
//! |---|---|
//! | [`check`] | that the arguments fit the parameters and each other |
//! | [`property`] | what of arguments kernels are compiled for |
//! | [`specialize`] | what is promised of the arguments |
//! | [`recent`] | finding the compiled kernel |
//! | [`signature`] | what a launcher must know of a compiled kernel |
//!
//! After a thread's first launch of a kernel with arguments of some class, a launch allocates nothing, takes no lock
//! and hashes no string.

pub mod check;
pub mod property;
pub mod recent;
pub mod signature;
pub mod specialize;

use std::sync::Arc;

use smallvec::SmallVec;
use tegula_ir::exec::programs_of;
use tegula_ir::function::Grid;
use tegula_ir::numeric::eval;
use tegula_lang::host::{Arg as CallArg, PointerArg, TensorObject};
use tegula_lang::kernel::{BuildOptions, Call, Kernel, KernelInfo};

use crate::backend::{Arg, LaunchConfig};
use crate::cache::{self, Compiled};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::tensor::AnyTensor;
use crate::tensor::view::View;
use signature::Signature;
use specialize::Classes;

/// Launching a [`Call`], which calling a `#[kernel]` function gives.
pub trait Launch: Sized {
    /// Compiles the kernel if this device has not yet compiled it for arguments of this class, and launches it on the
    /// device that holds the arguments, in the default stream.
    ///
    /// # Errors
    /// If the arguments do not fit, the kernel does not compile, or the device fails.
    fn launch(self) -> Result<()> {
        self.launch_with(&LaunchOptions::default())
    }

    /// Launches in a stream.
    ///
    /// # Errors
    /// As [`Launch::launch`], or if the stream is of another device.
    fn launch_on(self, stream: &Stream) -> Result<()> {
        self.launch_with(&LaunchOptions::default().stream(stream))
    }

    /// Launches with options.
    ///
    /// # Errors
    /// As [`Launch::launch_on`], or if the device does not have what an option asks for.
    fn launch_with(self, options: &LaunchOptions<'_>) -> Result<()>;

    /// Compiles the kernel without launching it, so that the first launch does not have to.
    ///
    /// # Errors
    /// As [`Launch::launch`].
    fn warm_up(&self) -> Result<()>;
}

/// How a call is launched. Warps, stages and sizes are chosen at the [`Call`]: the kernel is compiled for them.
#[derive(Clone, Default, Debug)]
pub struct LaunchOptions<'a> {
    pub(crate) stream: Option<&'a Stream>,
    cooperative: bool,
    cluster: Option<[u32; 3]>,
    programmatic: bool,
}

impl<'a> LaunchOptions<'a> {
    /// Launches in this stream.
    #[must_use]
    pub fn stream(mut self, stream: &'a Stream) -> Self {
        self.stream = Some(stream);
        self
    }

    /// All programs run at the same time, so that they can wait for each other; it is an error if they do not fit.
    #[must_use]
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Programs that run close to each other and share memory, on each axis (NVIDIA, from sm_90 on).
    #[must_use]
    pub fn cluster(mut self, programs: [u32; 3]) -> Self {
        self.cluster = Some(programs);
        self
    }

    /// May begin before the kernel before it in the stream has ended (programmatic dependent launch, NVIDIA from sm_90
    /// on; elsewhere it is an ordinary launch). The kernel waits for that end before it touches memory: what is won is
    /// the time that it takes to start.
    #[must_use]
    pub fn programmatic(mut self) -> Self {
        self.programmatic = true;
        self
    }

    /// The options and a grid.
    pub(crate) fn config(&self, grid: [u32; 3]) -> LaunchConfig {
        LaunchConfig { grid, cooperative: self.cooperative, cluster: self.cluster, programmatic: self.programmatic }
    }
}

impl<K: Kernel> Launch for Call<'_, K> {
    fn launch_with(self, options: &LaunchOptions<'_>) -> Result<()> {
        let mut prepared = Prepared::new(&self);
        let device = prepared.read(self.kernel.info(), &self.args, options.stream.map(Stream::device))?;
        if let Some(stream) = options.stream {
            stream.check(device, "tensor")?;
        }
        let queue = options.stream.map_or_else(|| &**device.backend().default_queue(), Stream::queue);
        prepared.with_compiled(&self, device, |compiled| {
            let config = options.config(grid_of(&compiled.signature, self.grid, &prepared.args)?);
            if config.grid.contains(&0) {
                return Ok(());
            }
            compiled.executable.launch(queue, &config, &prepared.args)
        })
    }

    fn warm_up(&self) -> Result<()> {
        let mut prepared = Prepared::new(self);
        let device = prepared.read(self.kernel.info(), &self.args, None)?;
        prepared.with_compiled(self, device, |_| Ok(()))
    }
}

/// The device that holds the tensors of a call's arguments; the first tensor's, if they differ.
pub fn device_of<'a>(args: &'a [CallArg<'_>]) -> Option<&'a Device> {
    args.iter().find_map(|arg| match arg {
        CallArg::Read(t) => AnyTensor::of(*t).map(|t| &t.device),
        CallArg::Write(t) | CallArg::Pointer(_, PointerArg::Tensor(t)) => AnyTensor::of(&**t).map(|t| &t.device),
        CallArg::Scalar(..) | CallArg::Pointer(..) => None,
    })
}

/// The arguments as the device takes them, and what the compiled kernel is found by.
struct Prepared<'a> {
    args: SmallVec<[Arg<'a>; 24]>,
    key: recent::Key,
}

impl<'a> Prepared<'a> {
    /// Of a call whose arguments were not read yet.
    fn new<K: Kernel>(call: &Call<'_, K>) -> Self {
        let key = recent::Key {
            device: 0,
            kernel: call.kernel.key(),
            sizes: SmallVec::from_slice(&call.sizes),
            warps: call.options.num_warps.unwrap_or(0),
            stages: call.options.num_stages.unwrap_or(0),
            classes: Classes::new(),
        };
        Self { args: SmallVec::new(), key }
    }

    /// Reads and checks the arguments, and gives their device. `otherwise` is that of a call without tensors.
    fn read(
        &mut self,
        info: &KernelInfo,
        args: &'a [CallArg<'_>],
        otherwise: Option<&'a Device>,
    ) -> Result<&'a Device> {
        let name = |i: usize| info.params.get(i).map_or("?", |p| p.name).to_owned();
        let bad = |message: String| Error::Argument { kernel: info.name.into(), message };
        let mut device: Option<&Device> = None;
        let mut written = 0u64;
        for (i, arg) in args.iter().enumerate() {
            let mut view = |t: &'a dyn TensorObject| -> Result<&'a View> {
                let t = AnyTensor::of(t).ok_or_else(|| {
                    bad(format!("argument `{}` is not a tensor of a device; make one with `device.tensor`", name(i)))
                })?;
                match device {
                    Some(d) if !d.same(&t.device) => {
                        let (here, there) = (t.device.name(), d.name());
                        Err(bad(format!(
                            "argument `{}` is on {here}, others are on {there}; copy it with `to_device`",
                            name(i)
                        )))
                    }
                    _ => {
                        device = Some(&t.device);
                        Ok(&t.view)
                    }
                }
            };
            let (arg, write) = match arg {
                CallArg::Read(t) => (Arg::View(view(*t)?), false),
                CallArg::Write(t) => (Arg::View(view(&**t)?), true),
                CallArg::Scalar(elem, value) => (Arg::Scalar(*elem, eval::to_bits(*elem, *value)), false),
                CallArg::Pointer(_, PointerArg::Tensor(t)) => (Arg::Ptr(view(&**t)?), true),
                CallArg::Pointer(elem, PointerArg::Address(address)) => (Arg::Address(*elem, *address), true),
            };
            self.args.push(arg);
            if write && i < 64 {
                written |= 1 << i;
            }
        }
        let device = device.or(otherwise).ok_or_else(|| {
            bad("no argument is a tensor, so there is no device to launch on: name a stream with `launch_on`".into())
        })?;
        let overlaps = check::overlaps(&self.args, written, bad, name)?;
        let specialize = |i: usize| info.params.get(i).is_none_or(|p| p.specialize);
        self.key.device = device.number();
        self.key.classes.extend(specialize::classify(&self.args, overlaps, specialize));
        Ok(device)
    }

    /// Calls `f` with the compiled kernel, compiling it if need be.
    fn with_compiled<K: Kernel, R>(
        &self,
        call: &Call<'_, K>,
        device: &Device,
        f: impl FnOnce(&Compiled) -> Result<R>,
    ) -> Result<R> {
        // Sizes by name are for tools, which build and do not launch; they take the long way.
        if !call.options.dims.is_empty() || !call.options.types.is_empty() || !call.options.specs.is_empty() {
            return f(&*self.find(call, device)?);
        }
        recent::with(&self.key, || self.find(call, device), f)
    }

    /// The compiled kernel from the device's cache, compiled now if it is not there. The arguments fit its parameters, as
    /// all of their classes do.
    #[cold]
    fn find<K: Kernel>(&self, call: &Call<'_, K>, device: &Device) -> Result<Arc<Compiled>> {
        let mut options = call.build_options().into_owned().target(device.target());
        options.specs = self.key.classes.iter().map(|class| class.spec()).collect();
        let key = cache::Key { kernel: call.kernel.key(), options };
        let compiled = device.kernels().get(&key, || {
            let kernel = call.kernel.info().name;
            let build = |options: &BuildOptions| {
                call.kernel.build(options).map_err(|e| Error::compile(kernel, device.target(), &e.diagnostics))
            };
            let function = build(&key.options).or_else(|error| {
                // What is promised of a matrix cannot be promised of a parameter that is a vector: the argument is wrong then,
                // not the kernel.
                let plain = build(&BuildOptions { specs: Vec::new(), ..key.options.clone() })?;
                check::check_kinds(&Signature::of(&plain), &self.args)?;
                Err(error)
            })?;
            check::check_kinds(&Signature::of(&function), &self.args)?;
            device.kernels().make(function, device.backend())
        })?;
        check::check_kinds(&compiled.signature, &self.args)?;
        Ok(compiled)
    }
}

/// The grid of a launch: from the kernel's outputs, or as given.
pub(crate) fn grid_of(signature: &Signature, given: Option<[u32; 3]>, args: &[Arg<'_>]) -> Result<[u32; 3]> {
    let bad = |message: String| Error::Argument { kernel: signature.name.clone(), message };
    match (&signature.grid, given) {
        (Grid::Explicit, Some(grid)) => Ok(grid),
        (Grid::Explicit, None) => Err(bad("it needs a grid: give it with `.grid([n, 1, 1])`".into())),
        (Grid::Tiles { .. }, Some(_)) => Err(bad("it has its grid from its outputs; give none".into())),
        (Grid::Tiles { outputs }, None) => {
            let extents = |i: usize| match args.get(i) {
                Some(Arg::View(view)) => Some(view.extents()),
                _ => None,
            };
            let name = |i: usize| signature.params.get(i).map_or("?", |p| p.name.as_str());
            let n = programs_of(outputs, name, extents).map_err(bad)?;
            Ok([n, 1, 1])
        }
    }
}
