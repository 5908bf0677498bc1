//! Devices, memory, streams and launches, on the CPU, on the interpreter, and on the drivers' stand-ins.
//!
//! A test on a stand-in runs in a process of its own, which loads the stand-in in place of the driver: see [`support`].

mod allocations;
mod errors;
mod fast_path;
mod interop;
mod kernels;
mod launches;
mod memory;
mod reliability;
mod streams;
mod support;
mod tensor_maps;
