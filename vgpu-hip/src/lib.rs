//! A stand-in for `libamdhip64.so`: the host side of HIP over the virtual GPUs.
//!
//! A program that loads code objects as modules (as compilers' runtimes do) runs on it without change when the loader finds this
//! library first. The GCN machine executes the code objects; streams are threads; what the sanitizer finds goes to a report. The
//! environment variables are those of [`tegula_vgpu_driver::settings`].
//!
//! - [`abi`]: the C types of the interface; [`status`]: its error codes, names and texts;
//! - [`entry`]: what surrounds every function; [`state`]: the process's devices, contexts and handles;
//! - [`image`]: what a module can be loaded from;
//! - [`api`]: the functions, by subject.
//!
//! A kernel that faults gives an error as CUDA does, where a real HIP ends the process. What is not here: kernels registered by
//! host code that `hipcc` compiled (`<<<>>>`), textures and arrays, interprocess and external memory, and the runtime compiler.

pub mod abi;
pub mod api;
pub mod entry;
pub mod image;
pub mod state;
pub mod status;
