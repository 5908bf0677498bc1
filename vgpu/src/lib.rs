//! Virtual GPUs: machines that run real PTX and real AMDGPU machine code on the CPU, with a sanitizer.
//!
//! Two machines share one core:
//! - [`memory`]: the device's global memory, with red zones, names and initialisation shadow;
//! - [`launch`]: what a launch is and what it gives back; [`error`]: how it can fail;
//! - [`finding`] and [`sanitizer`]: what was done wrong by the program that ran, and how that is known;
//! - [`counters`]: what the program cost; [`trace`]: what it did, instruction by instruction;
//! - [`numeric`]: the small floating-point formats, bit for bit.
//!
//! [`gcn`] is the AMD machine.
//!
//! The crate knows nothing of Tegula's compiler, so that it cannot inherit its mistakes.

pub mod counters;
pub mod error;
pub mod finding;
pub mod gcn;
pub mod launch;
pub mod memory;
pub mod numeric;
mod printf;
pub mod ptx;
pub mod sanitizer;
pub mod tool;
pub mod trace;
