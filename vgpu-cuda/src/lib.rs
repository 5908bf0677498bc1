//! A stand-in for `libcuda.so.1`: the CUDA driver API over the virtual GPUs.
//!
//! A program that uses the driver API (through cudarc, or itself) runs on it without change when the loader finds this library
//! first. Modules are loaded from PTX, which the PTX machine executes; streams are threads; what the sanitizer finds goes to a
//! report. The environment variables are those of [`tegula_vgpu_driver::settings`].
//!
//! - [`abi`]: the C types of the interface; [`status`]: its error codes, names and texts;
//! - [`entry`]: what surrounds every function;
//! - [`state`]: the process's devices, contexts and handles;
//! - [`image`]: what a module can be loaded from, and what the linker makes;
//! - [`api`]: the functions, by subject.
//!
//! What is not here: textures, surfaces and arrays, interprocess and external memory, virtual memory management, green contexts,
//! and machine code (SASS), which no virtual GPU runs.

pub mod abi;
pub mod api;
pub mod entry;
pub mod image;
pub mod state;
pub mod status;
