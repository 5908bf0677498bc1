//! What a GPU driver does around a kernel, over the virtual GPUs: the part that the CUDA and the HIP stand-in share.
//!
//! - [`settings`]: the environment variables; [`model`]: the devices that can be stood in for; [`device`]: those of this process;
//! - [`context`]: what a program holds of a device, and how a fault loses it; [`host`]: page-locked and managed memory;
//! - [`code`]: loaded modules and their kernels; [`launch`]: checked launches;
//! - [`op`]: work that a stream does, [`copy`] among it; [`stream`]: streams as threads; [`event`]: points in them;
//! - [`capture`] and [`graph`]: work recorded, and run as often as wanted;
//! - [`report`]: what the sanitizer found; [`error`]: why a call failed;
//! - [`ffi`]: what surrounds every function of a C interface; [`abi`]: the C types that both have alike; [`handle`]: the opaque pointers that C programs hold;
//! - [`testing`]: how tests find the libraries.
//!
//! It knows neither driver's interface: each stand-in turns its functions into calls of this crate, and errors into its codes.

pub mod abi;
pub mod capture;
pub mod code;
pub mod context;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod ffi;
pub mod graph;
pub mod handle;
pub mod host;
pub mod launch;
pub mod model;
pub mod op;
pub mod report;
pub mod settings;
pub mod stream;
pub mod testing;
mod transfer;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock whose holder panicked is taken nevertheless: what the locks of this crate guard is whole between statements.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
