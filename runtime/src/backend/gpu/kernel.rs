//! Kernels on a GPU, and their launch: Tegula's own, and those of foreign code.

use std::borrow::Cow;
use std::ffi::{CString, c_void};
use std::sync::Arc;

use smallvec::SmallVec;
use tegula_artifact::gpu::{Component, KernelInfo, KernelParam};
use tegula_artifact::{Artifact, Entry, Format};
use tegula_ir::Function;

use super::device::Gpu;
use super::driver::{Cause, Failure, FunctionInfo, Handle, RawLaunch};
use super::queue::GpuQueue;
use super::{failure, target};
use crate::backend::{Arg, Executable, ForeignArg, ForeignEntry, ForeignExecutable, LaunchConfig, Memory, Queue};
use crate::error::{Error, Result};

/// A kernel that was loaded.
pub struct GpuKernel {
    gpu: Arc<Gpu>,
    info: KernelInfo,
    _module: Module,
    function: Handle,
    /// What the driver says of it.
    usage: FunctionInfo,
    /// See [`Gpu::launched`].
    number: u32,
    /// Whether it waits itself for the kernel before it, where it may begin earlier.
    waits: bool,
}

impl GpuKernel {
    /// Loads code.
    pub(super) fn load(gpu: Arc<Gpu>, target: &str, function: &Function, artifact: Option<&Artifact>) -> Result<Self> {
        let wrong = |what: &str| Error::Compile {
            kernel: function.name.clone(),
            target: target.to_owned(),
            message: format!("the code is {what}; compile it for {target}"),
        };
        let Some(Artifact { entry: Entry::Gpu(info), code, format, target: made_for, .. }) = artifact else {
            return Err(wrong("not for a GPU"));
        };
        if made_for != target && !target::is_older(made_for, target) {
            return Err(wrong(&format!("for {made_for}")));
        }
        if *format == Format::Object {
            return Err(wrong("for a CPU"));
        }
        let failed = |gpu: &Gpu, e| Self::load_error(gpu, &function.name, e);
        let waits = target::has_dependent_launches(made_for);
        Self::of_code(gpu, info.clone(), *format == Format::Ptx, code, waits, failed)
    }

    /// Loads an entry of code, which is text or not.
    fn of_code(
        gpu: Arc<Gpu>,
        info: KernelInfo,
        is_text: bool,
        code: &[u8],
        waits: bool,
        failed: impl Fn(&Gpu, Failure) -> Error,
    ) -> Result<Self> {
        // The driver takes text up to a zero byte.
        let code = if is_text {
            Cow::Owned(code.iter().copied().chain([0]).collect::<Vec<u8>>())
        } else {
            Cow::Borrowed(code)
        };
        let shared = info.static_shared + info.dynamic_shared;
        if shared > gpu.properties.max_shared {
            let limit = format!(
                "it needs {shared} bytes of shared memory, and `{}` has {}; use smaller tiles or fewer stages",
                gpu.name, gpu.properties.max_shared
            );
            return Err(Error::InvalidLaunch { kernel: info.name, limit });
        }
        gpu.bind()?;
        let failed = |e| failed(&gpu, e);
        let driver = &*gpu.driver;
        let name = CString::new(info.name.as_str()).map_err(|_| Error::Compile {
            kernel: info.name.clone(),
            target: gpu.properties.architecture.clone(),
            message: "its name has a zero byte in it".into(),
        })?;
        let module = Module { handle: driver.load(&code).map_err(failed)?, gpu: gpu.clone() };
        // SAFETY: the module was loaded just now, the function is of it.
        let (function, usage) = unsafe {
            let function = driver.function(module.handle, &name).map_err(failed)?;
            if info.dynamic_shared > 0 {
                driver.allow_shared(function, info.dynamic_shared).map_err(failed)?;
            }
            (function, driver.function_info(function).map_err(failed)?)
        };
        let number = gpu.number_kernel(&info.name);
        Ok(Self { info, gpu, _module: module, function, usage, number, waits })
    }

    /// The error for code that the driver did not take.
    pub(super) fn load_error(gpu: &Gpu, kernel: &str, e: Failure) -> Error {
        match e.cause() {
            Cause::TooOld => failure::too_old(&*gpu.driver, &e.text),
            Cause::BadCode | Cause::NotFound => Error::Compile {
                kernel: kernel.into(),
                target: gpu.properties.architecture.clone(),
                message: format!("the driver refuses the code: {}", e.text),
            },
            _ => gpu.error(e),
        }
    }

    /// The error for a launch that the driver did not take.
    #[cold]
    fn launch_error(&self, launch: &RawLaunch, e: Failure) -> Error {
        let kernel = self.info.name.clone();
        // CUDA says "invalid value" of what is too large.
        if e.cause() != Cause::Limits && e.code != 1 {
            return self.gpu.error(e);
        }
        let p = &self.gpu.properties;
        let device = &self.gpu.name;
        let shared = self.usage.shared.max(self.info.static_shared) + launch.shared;
        let axis = (0..3).find(|&i| launch.grid[i] > p.max_grid[i]);
        let limit = if let Some(i) = axis {
            let (asked, most) = (launch.grid[i], p.max_grid[i]);
            format!("its grid has {asked} programs on axis {i}, and `{device}` takes {most}; use larger tiles")
        } else if launch.threads > p.max_threads {
            format!(
                "it has {} threads a program, and `{device}` has {}; use fewer warps",
                launch.threads, p.max_threads
            )
        } else if shared > p.max_shared {
            format!("it needs {shared} bytes of shared memory, and `{device}` has {}; use smaller tiles", p.max_shared)
        } else if launch.cooperative && !p.cooperative {
            format!("`{device}` has no cooperative launches")
        } else if launch.cooperative {
            format!("its {:?} programs cannot all run on `{device}` at the same time; launch fewer", launch.grid)
        } else if let Some(cluster) = launch.cluster {
            match p.clusters {
                true => format!("clusters of {cluster:?} programs do not fit a grid of {:?}", launch.grid),
                false => format!("`{device}` has no clusters; they come with sm_90"),
            }
        } else {
            let (registers, threads) = (self.usage.registers, launch.threads);
            format!("{} (it has {threads} threads of {registers} registers); use fewer warps", e.text)
        };
        Error::InvalidLaunch { kernel, limit }
    }
}

impl Executable for GpuKernel {
    fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[Arg<'_>]) -> Result<()> {
        let gpu = &*self.gpu;
        let queue = GpuQueue::of(queue)?;
        let value = |param: &KernelParam| match (args[param.param as usize], param.component) {
            (Arg::View(view), Component::Extent(axis)) => view.extents()[usize::from(axis)] as u64,
            (Arg::View(view), Component::Stride(axis)) => view.strides()[usize::from(axis)] as u64,
            (Arg::View(view) | Arg::Ptr(view), _) => view.address(),
            (Arg::Scalar(_, bits) | Arg::Address(_, bits), _) => bits,
        };
        // Filled in place, as the pointers are: `collect` moves what it gives.
        let mut values: SmallVec<[u64; 128]> = SmallVec::new();
        values.extend(self.info.params.iter().map(value));
        gpu.bind()?;
        queue.uses_args(args)?;
        // Numbers are little-endian: those of fewer bytes stand at the same address.
        let mut pointers = Pointers::new();
        pointers.extend(values.iter_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>()));
        // SAFETY: the function has these parameters, in this order; blocks that views and pointers lie in are there and
        // stay until the stream has come past this launch.
        unsafe { self.enqueue(queue, config, &mut pointers) }
    }
}

/// A pointer to each of a launch's arguments.
type Pointers = SmallVec<[*mut c_void; 128]>;

impl GpuKernel {
    /// Gives the launch to the driver.
    ///
    /// # Safety
    /// The context is the thread's own. The pointers are to values of the function's parameters; what it touches is there,
    /// and stays until the stream has come past this launch.
    unsafe fn enqueue(&self, queue: &GpuQueue, config: &LaunchConfig, pointers: &mut Pointers) -> Result<()> {
        let gpu = &*self.gpu;
        let launch = RawLaunch {
            grid: config.grid,
            threads: self.info.threads,
            shared: self.info.dynamic_shared,
            stream: queue.stream,
            cooperative: config.cooperative,
            cluster: config.cluster,
            programmatic: config.programmatic && self.waits,
        };
        gpu.launched(self.number);
        // SAFETY: as the caller promises.
        unsafe { gpu.driver.launch(self.function, &launch, pointers.as_mut_ptr()) }
            .map_err(|e| self.launch_error(&launch, e))?;
        if gpu.blocking && !queue.is_capturing() {
            queue.synchronize()?;
        }
        Ok(())
    }
}

/// A kernel of foreign code.
pub struct ForeignGpuKernel(GpuKernel);

impl ForeignGpuKernel {
    /// Loads an entry of PTX text, or of machine code.
    pub(super) fn load(gpu: Arc<Gpu>, code: &[u8], entry: &ForeignEntry<'_>) -> Result<Self> {
        let info = KernelInfo {
            name: entry.name.into(),
            threads: entry.threads,
            num_warps: 0,
            params: Vec::new(),
            params_size: 0,
            static_shared: 0,
            dynamic_shared: entry.shared,
        };
        let failed = |gpu: &Gpu, e: Failure| match e.cause() {
            Cause::NotFound => Error::Compile {
                kernel: entry.name.into(),
                target: gpu.properties.architecture.clone(),
                message: "the code has no entry of this name".into(),
            },
            _ => GpuKernel::load_error(gpu, entry.name, e),
        };
        // It may be text: a zero byte behind machine code does no harm. Who launches it with an option vouches for what
        // that needs.
        Ok(Self(GpuKernel::of_code(gpu, info, true, code, true, failed)?))
    }
}

impl ForeignExecutable for ForeignGpuKernel {
    unsafe fn launch(&self, queue: &dyn Queue, config: &LaunchConfig, args: &[ForeignArg<'_>]) -> Result<()> {
        let queue = GpuQueue::of(queue)?;
        self.0.gpu.bind()?;
        queue.uses(args.iter().filter_map(|arg| match *arg {
            ForeignArg::Address(memory, _) | ForeignArg::Map(_, memory) => Some(memory),
            ForeignArg::Value(_) => None,
        }))?;
        let address = |memory: &Arc<dyn Memory>, offset: usize| memory.address() + offset as u64;
        let mut values: SmallVec<[u64; 24]> = args
            .iter()
            .map(|arg| match *arg {
                ForeignArg::Address(memory, offset) => address(memory, offset),
                ForeignArg::Value(bytes) => u64::from_le_bytes(bytes),
                ForeignArg::Map(..) => 0,
            })
            .collect();
        // The driver only reads what the pointers point to.
        let mut pointers: Pointers = args
            .iter()
            .zip(&mut values)
            .map(|(arg, value)| match *arg {
                ForeignArg::Map(map, _) => std::ptr::from_ref(map).cast_mut().cast(),
                _ => std::ptr::from_mut(value).cast(),
            })
            .collect();
        // SAFETY: as the caller promises; blocks are there, and stay.
        unsafe { self.0.enqueue(queue, config, &mut pointers) }
    }
}

/// Loaded code.
struct Module {
    gpu: Arc<Gpu>,
    handle: Handle,
}

impl Drop for Module {
    fn drop(&mut self) {
        // It may be running, in a stream that is not known here.
        let done = self.gpu.synchronize();
        // SAFETY: the module is ours, and not running.
        let unloaded = done.map(|()| unsafe { self.gpu.driver.unload(self.handle) });
        // After a fault the code goes with the context.
        drop(unloaded);
    }
}
