//! A GPU: its context, its streams, and the backend over them.
//!
//! The default stream is one that we make: it does not wait for the process's legacy stream, and it is never captured.
//! Blocks are allocated and freed in its order, so that a block whose last handle is dropped may still be in use by the
//! kernels before; streams that used a block are waited for first (see [`super::users`]).

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tegula_artifact::{Artifact, Format};
use tegula_codegen::target::Architecture;
use tegula_ir::Function;

use super::assembler::Assembler;
use super::driver::{Cause, Driver, Handle, Properties};
use super::kernel::{ForeignGpuKernel, GpuKernel};
use super::memory::{GpuMemory, PinnedBlock, Source};
use super::queue::{GpuEvent, GpuQueue};
use super::users::Streams;
use super::{failure, target};
use crate::backend::{
    Backend, CodeTarget, EventObject, Executable, ForeignEntry, ForeignExecutable, HostBlock, Location, Memory,
    MemoryInfo, Owner, Queue,
};
use crate::error::{Error, Result};
use crate::tensor_map::{Encoded, Tiled};

/// What all parts of a device share.
pub struct Gpu {
    pub(super) name: String,
    pub(super) ordinal: u32,
    pub(super) driver: Arc<dyn Driver>,
    pub(super) context: Handle,
    pub(super) pool: Option<Handle>,
    pub(super) properties: Properties,
    /// The default stream.
    pub(super) main: Handle,
    /// Bytes of blocks that are not from a pool.
    pub(super) plain: AtomicUsize,
    /// Whether every launch waits for its end (`TEGULA_LAUNCH_BLOCKING`), so that faults name their kernel.
    pub(super) blocking: bool,
    pub(super) streams: Streams,
    /// Names of the kernels loaded; a kernel's number is its place, from 1.
    kernels: Mutex<Vec<String>>,
    /// Numbers of the kernels launched last, each once; 0 is none.
    recent: [AtomicU32; 4],
    /// The tensor maps made so far.
    maps: Mutex<HashMap<Tiled, Arc<Encoded>>>,
}

/// The most tensor maps that a device keeps; then it begins anew.
const MOST_MAPS: usize = 1024;

impl Gpu {
    /// Makes the device's context the thread's own, which every call needs.
    pub(super) fn bind(&self) -> Result<()> {
        self.driver.bind(self.context).map_err(|e| self.error(e))
    }

    pub(super) fn free_memory(&self) -> Option<usize> {
        self.driver.memory().ok().map(|(free, _)| free)
    }

    /// Lets a stream wait for what `from` was given so far.
    pub(super) fn follow(&self, stream: Handle, from: Handle) -> Result<()> {
        let driver = &*self.driver;
        let event = driver.create_event(false).map_err(|e| self.error(e))?;
        // SAFETY: the handles are live: streams are destroyed after their last handle, or are given by `Streams::each`,
        // which keeps them; the default one stays.
        // An event that was recorded can be destroyed: what waits for it keeps it.
        unsafe {
            let done = driver.record_event(event, from).and_then(|()| driver.wait_event(stream, event));
            done.and(driver.destroy_event(event)).map_err(|e| self.error(e))
        }
    }

    /// Lets the default stream wait for the streams whose bits are set.
    pub(super) fn follow_users(&self, bits: u64) -> Result<()> {
        self.streams.each(bits, |stream| self.follow(self.main, stream))
    }

    /// Gives a loaded kernel its number.
    pub(super) fn number_kernel(&self, name: &str) -> u32 {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.push(name.to_owned());
        kernels.len() as u32
    }

    /// Remembers a launch, for the message of a fault.
    pub(super) fn launched(&self, kernel: u32) {
        if self.recent[0].load(Ordering::Relaxed) == kernel {
            return;
        }
        for i in (1..self.recent.len()).rev() {
            self.recent[i].store(self.recent[i - 1].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.recent[0].store(kernel, Ordering::Relaxed);
    }

    /// The kernel launched last, and the others that a fault found now can come from.
    pub(super) fn suspects(&self) -> (String, Vec<String>) {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |n: u32| kernels.get((n as usize).wrapping_sub(1)).cloned();
        let mut all: Vec<String> = Vec::new();
        for kernel in &self.recent {
            if let Some(name) = name(kernel.load(Ordering::Relaxed))
                && !all.contains(&name)
            {
                all.push(name);
            }
        }
        if all.is_empty() {
            return ("?".into(), all);
        }
        let last = all.remove(0);
        (last, all)
    }

    /// After all work is done without a fault, none of it can be behind a later one.
    fn clear_suspects(&self) {
        for kernel in &self.recent {
            kernel.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.bind()?;
        self.driver.synchronize().map_err(|e| self.error(e))?;
        self.clear_suspects();
        Ok(())
    }
}

/// A GPU as a device.
pub struct GpuBackend {
    gpu: Arc<Gpu>,
    architecture: &'static Architecture,
    /// Of CUDA; HIP takes code as it is compiled.
    assembler: Option<Assembler>,
    queue: Arc<dyn Queue>,
}

impl GpuBackend {
    /// Opens a device by number.
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::UnsupportedArchitecture`], or if the driver fails.
    pub fn open(driver: Arc<dyn Driver>, ordinal: u32) -> Result<Self> {
        let name = format!("{}:{ordinal}", driver.kind());
        let failed = |e: super::driver::Failure| match e.cause() {
            Cause::TooOld => failure::too_old(&*driver, &e.text),
            Cause::Lost => Error::DeviceLost { device: name.clone(), message: e.text },
            _ => Error::Driver { device: name.clone(), call: e.call.into(), message: e.text },
        };
        let count = match driver.count() {
            Ok(count) => count,
            Err(e) if e.cause() == Cause::NoDevice => 0,
            Err(e) => return Err(failed(e)),
        };
        if ordinal >= count {
            let help = if count == 0 {
                "look at the output of `nvidia-smi` or `rocminfo`, and at CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES"
                    .into()
            } else {
                format!("take one of `{0}:0` to `{0}:{1}`", driver.kind(), count - 1)
            };
            return Err(Error::NoDevice { name, count, help });
        }
        let properties = driver.properties(ordinal).map_err(failed)?;
        let architecture = target::choose(&name, &properties.architecture)?;
        let context = driver.context(ordinal).map_err(failed)?;
        driver.bind(context).map_err(failed)?;
        let main = driver.create_stream().map_err(failed)?;
        let pool = driver.create_pool(ordinal).map_err(failed)?;
        let blocking = std::env::var_os("TEGULA_LAUNCH_BLOCKING").is_some_and(|v| !v.is_empty() && v != "0");
        let gpu = Arc::new(Gpu {
            name,
            ordinal,
            driver,
            context,
            pool,
            properties,
            main,
            plain: AtomicUsize::new(0),
            blocking,
            streams: Streams::default(),
            kernels: Mutex::default(),
            recent: Default::default(),
            maps: Mutex::default(),
        });
        let queue: Arc<dyn Queue> = Arc::new(GpuQueue::main(gpu.clone()));
        let assembler = (gpu.driver.kind() == "cuda").then(Assembler::from_environment);
        Ok(Self { gpu, architecture, assembler, queue })
    }

    fn allocate_once(&self, bytes: usize) -> super::driver::Result<u64> {
        // SAFETY: pool and stream are the device's own.
        unsafe { self.gpu.driver.allocate(self.gpu.pool, bytes, self.gpu.main) }
    }
}

impl Backend for GpuBackend {
    fn name(&self) -> &str {
        &self.gpu.name
    }

    fn description(&self) -> String {
        let p = &self.gpu.properties;
        let gib = p.memory as f64 / f64::from(1 << 30);
        format!("{} ({}, {} processors, {gib:.0} GiB)", p.name, p.architecture, p.processors)
    }

    fn target(&self) -> &str {
        self.architecture.name
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>> {
        let gpu = &self.gpu;
        gpu.bind()?;
        // Whole words: atomics on 16 bits work on the word around them.
        let asked = bytes.max(1).next_multiple_of(4);
        let address = match self.allocate_once(asked) {
            // What was freed may be in pieces, or not back yet.
            Err(e) if e.cause() == Cause::OutOfMemory => {
                gpu.synchronize()?;
                self.trim(0)?;
                self.allocate_once(asked)
            }
            other => other,
        };
        let address = address.map_err(|e| match e.cause() {
            Cause::OutOfMemory => {
                Error::OutOfMemory { device: gpu.name.clone(), asked: bytes, free: gpu.free_memory() }
            }
            _ => gpu.error(e),
        })?;
        let source = if gpu.pool.is_some() { Source::Pool } else { Source::Plain };
        if gpu.pool.is_none() {
            gpu.plain.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(Arc::new(GpuMemory::new(gpu.clone(), address, bytes, source)))
    }

    unsafe fn borrow(&self, address: u64, len: usize, owner: Option<Owner>) -> Result<Arc<dyn Memory>> {
        Ok(Arc::new(GpuMemory::new(self.gpu.clone(), address, len, Source::Other(owner))))
    }

    fn allocate_host(&self, bytes: usize) -> Result<Box<dyn HostBlock>> {
        Ok(Box::new(PinnedBlock::new(self.gpu.clone(), bytes)?))
    }

    fn memory_info(&self) -> Result<MemoryInfo> {
        let gpu = &self.gpu;
        gpu.bind()?;
        let (free, total) = gpu.driver.memory().map_err(|e| gpu.error(e))?;
        let (reserved, in_use) = match gpu.pool {
            // SAFETY: the pool is the device's own.
            Some(pool) => unsafe { gpu.driver.pool_usage(pool) }.map_err(|e| gpu.error(e))?,
            None => {
                let plain = gpu.plain.load(Ordering::Relaxed);
                (plain, plain)
            }
        };
        Ok(MemoryInfo { total, free, reserved, in_use })
    }

    fn trim(&self, keep: usize) -> Result<()> {
        let gpu = &self.gpu;
        gpu.bind()?;
        match gpu.pool {
            // SAFETY: the pool is the device's own.
            Some(pool) => unsafe { gpu.driver.trim_pool(pool, keep) }.map_err(|e| gpu.error(e)),
            None => Ok(()),
        }
    }

    fn code_target(&self) -> Option<CodeTarget> {
        Some(CodeTarget::gpu(self.architecture))
    }

    #[cfg(feature = "compiler")]
    fn compile(&self, function: &Function) -> Result<Artifact> {
        crate::compiler::gpu_artifact(function, self.architecture)
    }

    fn driver_target(&self) -> Option<CodeTarget> {
        let assembler = self.assembler.as_ref()?;
        Some(CodeTarget {
            name: self.gpu.properties.architecture.clone(),
            details: format!("driver {}, {}", self.gpu.driver.version(), assembler.identity()),
        })
    }

    fn assemble(&self, function: &Function, artifact: Artifact) -> Result<Artifact> {
        let Some(assembler) = self.assembler.as_ref().filter(|_| artifact.format == Format::Ptx) else {
            return Ok(artifact);
        };
        self.gpu.bind()?;
        let ptx = CString::new(artifact.code.clone()).map_err(|_| Error::Compile {
            kernel: function.name.clone(),
            target: self.architecture.name.into(),
            message: "the PTX has a zero byte in it".into(),
        })?;
        Ok(match assembler.assemble(&self.gpu, &function.name, &artifact.target, &ptx)? {
            Some(code) => Artifact { format: Format::Cubin, code, ..artifact },
            // The driver assembles it when it is loaded.
            None => artifact,
        })
    }

    fn load(&self, function: &Function, artifact: Option<&Artifact>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(GpuKernel::load(self.gpu.clone(), self.architecture.name, function, artifact)?))
    }

    fn load_foreign(&self, code: &[u8], entry: &ForeignEntry<'_>) -> Result<Arc<dyn ForeignExecutable>> {
        Ok(Arc::new(ForeignGpuKernel::load(self.gpu.clone(), code, entry)?))
    }

    fn encode_tensor_map(&self, map: &Tiled) -> Result<Option<Arc<Encoded>>> {
        let mut maps = self.gpu.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = maps.get(map) {
            return Ok(Some(made.clone()));
        }
        self.gpu.bind()?;
        let Some(made) = self.gpu.driver.encode_tensor_map(map).map_err(|e| self.gpu.error(e))?.map(Arc::new) else {
            return Ok(None);
        };
        if maps.len() >= MOST_MAPS {
            maps.clear();
        }
        maps.insert(map.clone(), made.clone());
        Ok(Some(made))
    }

    unsafe fn borrow_queue(&self, stream: usize, owner: Owner) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(GpuQueue::borrowed(self.gpu.clone(), Handle(stream), owner)?))
    }

    fn default_queue(&self) -> &Arc<dyn Queue> {
        &self.queue
    }

    fn create_queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(GpuQueue::new(self.gpu.clone())?))
    }

    fn create_event(&self) -> Result<Arc<dyn EventObject>> {
        Ok(Arc::new(GpuEvent::new(self.gpu.clone())?))
    }

    fn synchronize(&self) -> Result<()> {
        self.gpu.synchronize()
    }

    fn copy_from_peer(&self, from: (&Arc<dyn Memory>, usize), to: (&Arc<dyn Memory>, usize), n: usize) -> Result<bool> {
        match from.0.as_any().downcast_ref::<GpuMemory>() {
            Some(source) => source.copy_to_peer(from.1, GpuMemory::of(&**to.0), to.1, n),
            None => Ok(false),
        }
    }

    fn location(&self) -> Location {
        let ordinal = self.gpu.ordinal;
        if self.gpu.driver.kind() == "cuda" { Location::Cuda(ordinal) } else { Location::Hip(ordinal) }
    }
}
