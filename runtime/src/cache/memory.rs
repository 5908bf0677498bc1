//! Compiled kernels of a device, in memory: each is made once, however many threads ask for it. And how one is made:
//! from the kernels embedded in the program, from the cache on disk, or by compiling.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tegula_artifact::Artifact;
use tegula_ir::Function;
use tegula_lang::kernel::BuildOptions;

use super::disk::{DiskCache, Outcome};
use super::entry::CacheEntry;
use super::key::CacheKey;
use crate::backend::{Backend, CodeTarget, Executable};
use crate::embedded;
use crate::error::Result;
use crate::launch::signature::Signature;

/// What tells compiled kernels apart: the kernel with its element types and build-time parameters, and the options,
/// which hold sizes and what is promised of the arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// As [`tegula_lang::kernel::Kernel::key`].
    pub kernel: (TypeId, u64),
    /// Sizes, options, and the properties of the arguments.
    pub options: BuildOptions,
}

/// A kernel ready to launch.
pub struct Compiled {
    /// Its parameters and grid.
    pub signature: Signature,
    /// The compiled kernel.
    pub executable: Arc<dyn Executable>,
}

/// Where the kernels of a device came from, so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Origins {
    /// Compiled by this process.
    pub compiled: usize,
    /// From the cache on disk.
    pub disk: usize,
    /// Compiled when the program was built.
    pub embedded: usize,
}

type Slot = Arc<OnceLock<Result<Arc<Compiled>>>>;

/// The kernels of a device.
#[derive(Default)]
pub struct KernelCache {
    slots: Mutex<HashMap<Key, Slot>>,
    disk: OnceLock<Option<Arc<DiskCache>>>,
    compiled: AtomicUsize,
    from_disk: AtomicUsize,
    embedded: AtomicUsize,
}

impl KernelCache {
    /// An empty cache over this cache on disk, or none. The default one is over [`DiskCache::global`].
    pub fn with_disk(disk: Option<Arc<DiskCache>>) -> Self {
        Self { disk: OnceLock::from(disk), ..Self::default() }
    }

    /// The compiled kernel for this key; `make` makes it if it is not there. Others that ask meanwhile wait for it.
    ///
    /// # Errors
    /// What `make` gave when it ran; a failure is remembered, since the same input fails again.
    pub fn get(&self, key: &Key, make: impl FnOnce() -> Result<Compiled>) -> Result<Arc<Compiled>> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            match slots.get(key) {
                Some(slot) => slot.clone(),
                None => slots.entry(key.clone()).or_default().clone(),
            }
        };
        slot.get_or_init(|| make().map(Arc::new)).clone()
    }

    /// Brings a kernel to a device: its code embedded, from the cache on disk, or compiled.
    ///
    /// # Errors
    /// If the kernel does not compile, or the device does not take it.
    pub fn make(&self, function: Function, backend: &dyn Backend) -> Result<Compiled> {
        let Some(target) = backend.code_target() else {
            let executable = backend.load(&function, None)?;
            return Ok(Compiled { signature: Signature::of(&function), executable });
        };
        let job = Job { cache: self, disk: self.disk(), function: &function, backend, target };
        let (artifact, origin) = job.artifact()?;
        let loaded = backend.load(&function, Some(&artifact));
        let executable = match (loaded, origin.counter(self)) {
            (Err(e), Some(_)) if cfg!(feature = "compiler") => {
                tracing::warn!("kept code of kernel `{}` is not taken, compiling it: {e}", function.name);
                backend.load(&function, Some(&job.compile_again()?))?
            }
            (loaded, counter) => {
                counter.into_iter().for_each(|c| _ = c.fetch_add(1, Ordering::Relaxed));
                loaded?
            }
        };
        Ok(Compiled { signature: Signature::of(&function), executable })
    }

    fn disk(&self) -> Option<&DiskCache> {
        self.disk.get_or_init(DiskCache::global).as_deref()
    }

    /// Where the kernels came from.
    pub fn origins(&self) -> Origins {
        let load = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        Origins { compiled: load(&self.compiled), disk: load(&self.from_disk), embedded: load(&self.embedded) }
    }
}

/// Where a kernel's code came from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Compiled,
    Disk,
    Embedded,
}

impl Origin {
    /// What counts the kernels that were not compiled now; compilations count themselves.
    fn counter(self, cache: &KernelCache) -> Option<&AtomicUsize> {
        match self {
            Self::Compiled => None,
            Self::Disk => Some(&cache.from_disk),
            Self::Embedded => Some(&cache.embedded),
        }
    }
}

impl From<Outcome> for Origin {
    fn from(outcome: Outcome) -> Self {
        if outcome == Outcome::Hit { Self::Disk } else { Self::Compiled }
    }
}

/// A kernel on its way to a device.
struct Job<'a> {
    cache: &'a KernelCache,
    disk: Option<&'a DiskCache>,
    function: &'a Function,
    backend: &'a dyn Backend,
    target: CodeTarget,
}

impl Job<'_> {
    /// The code that the device takes. It is from disk if nothing was compiled and the driver was not asked.
    fn artifact(&self) -> Result<(Artifact, Origin)> {
        if let Some(artifact) = embedded::find(self.function, &self.target.name) {
            return Ok((self.assembled(artifact)?, Origin::Embedded));
        }
        // Without the compiler nothing can be made, and what other programs made is for their LLVM to link.
        let Some(disk) = self.disk.filter(|_| cfg!(feature = "compiler")) else {
            let entry = self.compile()?;
            let entry = match self.backend.driver_target() {
                Some(driver) => self.assemble(entry.artifact, &driver)?,
                None => entry,
            };
            return Ok((entry.artifact, Origin::Compiled));
        };
        let key = CacheKey::new(self.function, &self.target);
        let Some(driver) = self.backend.driver_target() else {
            return disk.get_or_make(&key, || self.compile()).map(|(a, o)| (a, o.into()));
        };
        let last = key.for_driver(&driver);
        if let Some(artifact) = disk.get(&last) {
            return Ok((artifact, Origin::Disk));
        }
        // One after the other, since a thread holds one lock of the cache at a time.
        let (code, _) = disk.get_or_make(&key, || self.compile())?;
        disk.get_or_make(&last, || self.assemble(code, &driver)).map(|(a, o)| (a, o.into()))
    }

    /// The last form of embedded code. What the driver makes of it is kept as well.
    fn assembled(&self, embedded: Artifact) -> Result<Artifact> {
        let Some(driver) = self.backend.driver_target() else { return Ok(embedded) };
        let Some(disk) = self.disk else { return Ok(self.assemble(embedded, &driver)?.artifact) };
        let key = CacheKey::of_artifact(&embedded).for_driver(&driver);
        disk.get_or_make(&key, || self.assemble(embedded, &driver)).map(|(artifact, _)| artifact)
    }

    /// Compiles in place of what the cache holds.
    fn compile_again(&self) -> Result<Artifact> {
        let key = self.disk.map(|_| CacheKey::new(self.function, &self.target));
        let keep = |key: Option<CacheKey>, entry: &CacheEntry| {
            if let (Some(disk), Some(key)) = (self.disk, key) {
                disk.put(&key, entry);
            }
        };
        let entry = self.compile()?;
        keep(key, &entry);
        let Some(driver) = self.backend.driver_target() else { return Ok(entry.artifact) };
        let entry = self.assemble(entry.artifact, &driver)?;
        keep(key.map(|k| k.for_driver(&driver)), &entry);
        Ok(entry.artifact)
    }

    fn compile(&self) -> Result<CacheEntry> {
        self.cache.compiled.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let artifact = self.backend.compile(self.function)?;
        Ok(CacheEntry::new(self.function, &self.target, artifact, start.elapsed()))
    }

    fn assemble(&self, code: Artifact, driver: &CodeTarget) -> Result<CacheEntry> {
        let start = Instant::now();
        let artifact = self.backend.assemble(self.function, code)?;
        Ok(CacheEntry::new(self.function, driver, artifact, start.elapsed()))
    }
}
