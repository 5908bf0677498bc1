//! The kernels that a thread launched before, found without a lock: the way from a call to its compiled kernel after
//! the first launch.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;
use tegula_lang::kernel::call::Sizes;

use super::specialize::Classes;
use crate::cache::Compiled;
use crate::error::Result;

/// What tells the kernels of a process apart, in a form that needs no allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Number of the device in this process.
    pub device: u32,
    /// As [`tegula_lang::kernel::Kernel::key`].
    pub kernel: (TypeId, u64),
    /// Sizes of dims; empty: the defaults.
    pub sizes: Sizes,
    /// Warps per program; 0: the default.
    pub warps: u32,
    /// Pipeline stages; 0: the default.
    pub stages: u32,
    /// Classes of the arguments.
    pub classes: Classes,
}

/// As derived, but two classes at a time: each step of the hash waits for the one before it.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kernel.hash(state);
        state.write_u64(u64::from(self.device) << 32 | u64::from(self.warps) << 16 | u64::from(self.stages));
        self.sizes.iter().for_each(|&size| state.write_u32(size));
        for pair in self.classes.chunks(2) {
            state.write_u64(pair.iter().fold(0, |bits, class| bits << 32 | u64::from(class.bits())));
        }
    }
}

/// More kernels than this in one thread are forgotten, and found again in the device's cache.
const MOST: usize = 4096;

thread_local! {
    static RECENT: RefCell<HashMap<Key, Arc<Compiled>, FxBuildHasher>> = RefCell::default();
}

/// Calls `f` with the kernel of this key; `find` gets one that this thread has not launched before.
pub fn with<R>(
    key: &Key,
    find: impl FnOnce() -> Result<Arc<Compiled>>,
    f: impl FnOnce(&Compiled) -> Result<R>,
) -> Result<R> {
    let (mut find, mut f) = (Some(find), Some(f));
    let done = RECENT.try_with(|recent| {
        let kernels = recent.try_borrow().ok()?;
        let compiled = kernels.get(key)?;
        find = None;
        f.take().map(|f| f(compiled))
    });
    if let Ok(Some(result)) = done {
        return result;
    }
    let (Some(find), Some(f)) = (find, f) else { unreachable!("either is taken only where a result is given") };
    let compiled = find()?;
    // Gone while the thread ends, in use where a launch waits in another: then it is found again next time.
    let _ = RECENT.try_with(|recent| {
        if let Ok(mut kernels) = recent.try_borrow_mut() {
            if kernels.len() >= MOST {
                kernels.clear();
            }
            kernels.insert(key.clone(), compiled.clone());
        }
    });
    f(&compiled)
}
