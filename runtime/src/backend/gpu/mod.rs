//! GPUs behind a driver. What is the same for CUDA and HIP stands in this folder's files; what differs, in [`cuda`] and
//! [`hip`].
//!
//! | module | subject |
//! |---|---|
//! | [`driver`] | what is asked of a driver |
//! | [`cuda`], [`hip`] | the drivers |
//! | [`device`] | a device: its context, streams, memory and pool |
//! | [`memory`], `pool` | blocks of memory |
//! | [`users`] | which streams use which blocks |
//! | [`queue`] | streams, events and graphs |
//! | `assembler` | from PTX to machine code |
//! | [`kernel`] | loaded kernels and their launch |
//! | [`target`] | which code a device runs |
//! | [`failure`] | from a failed call to an error |
//! | [`bare`] | what the driver's own launch costs |

use std::sync::Arc;

use crate::backend::Backend;
use crate::error::Result;

mod assembler;
pub mod bare;
pub mod cuda;
pub mod device;
pub mod driver;
pub mod failure;
pub mod hip;
pub mod kernel;
pub mod memory;
mod pool;
pub mod queue;
pub mod target;
pub mod users;

#[cfg(test)]
mod users_model;

/// What [`users`] takes its locks and atomics from; its model has others.
mod sync {
    pub use std::sync::atomic::{AtomicU64, Ordering};
    pub use std::sync::{Mutex, MutexGuard, PoisonError};
}

use driver::Driver;

/// The driver of a kind of devices, `cuda` or `hip`.
///
/// # Errors
/// [`crate::Error::NoDriver`] and [`crate::Error::DriverTooOld`].
pub fn driver(kind: &str) -> Result<Arc<dyn Driver>> {
    if kind == "hip" { hip::driver() } else { cuda::driver() }
}

/// Opens a device by kind and number.
///
/// # Errors
/// As [`driver`], and [`crate::Error::NoDevice`], [`crate::Error::UnsupportedArchitecture`].
pub fn open(kind: &str, ordinal: u32) -> Result<Box<dyn Backend>> {
    Ok(Box::new(device::GpuBackend::open(driver(kind)?, ordinal)?))
}

/// Names of the devices of a kind; none where there is no driver.
pub fn names(kind: &str) -> Vec<String> {
    let count = driver(kind).ok().and_then(|driver| driver.count().ok()).unwrap_or(0);
    (0..count).map(|n| format!("{kind}:{n}")).collect()
}
