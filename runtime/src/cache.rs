//! Compiled kernels of a device, in memory: each is compiled once, however many threads ask for it.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tegula_ir::Function;
use tegula_lang::kernel::BuildOptions;

use crate::backend::{Backend, Executable};
use crate::error::Result;

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
    /// The Tile IR it was compiled from; its parameters and grid are those of the compiled kernel.
    pub function: Function,
    /// The compiled kernel.
    pub executable: Arc<dyn Executable>,
}

type Slot = Arc<OnceLock<Result<Arc<Compiled>>>>;

/// The cache.
#[derive(Default)]
pub struct KernelCache {
    slots: Mutex<HashMap<Key, Slot>>,
    compilations: AtomicUsize,
}

impl KernelCache {
    /// The compiled kernel for this key; `compile` makes it if it is not there. Others that ask meanwhile wait for it.
    ///
    /// # Errors
    /// What `compile` gave when it ran; a failure is remembered, since the same input fails again.
    pub fn get(&self, key: &Key, compile: impl FnOnce() -> Result<Compiled>) -> Result<Arc<Compiled>> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            match slots.get(key) {
                Some(slot) => slot.clone(),
                None => slots.entry(key.clone()).or_default().clone(),
            }
        };
        slot.get_or_init(|| {
            self.compilations.fetch_add(1, Ordering::Relaxed);
            compile().map(Arc::new)
        })
        .clone()
    }

    /// Compiles a kernel for a device and brings it there.
    ///
    /// # Errors
    /// If the kernel does not compile, or the device does not take it.
    pub fn make(&self, function: Function, backend: &dyn Backend) -> Result<Compiled> {
        let executable = match backend.code_target() {
            None => backend.load(&function, None)?,
            Some(_) => {
                let mut artifact = backend.compile(&function)?;
                if backend.driver_target().is_some() {
                    artifact = backend.assemble(&function, artifact)?;
                }
                backend.load(&function, Some(&artifact))?
            }
        };
        Ok(Compiled { function, executable })
    }

    /// How many kernels were compiled so far.
    pub fn compilations(&self) -> usize {
        self.compilations.load(Ordering::Relaxed)
    }
}
