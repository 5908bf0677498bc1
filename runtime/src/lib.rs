//! Devices, memory, launches and the kernel cache.
//!
//! | module | subject |
//! |---|---|
//! | [`device`], [`registry`] | devices by name |
//! | [`tensor`], [`element`] | tensors in device memory |
//! | [`pinned`] | host memory for fast copies |
//! | [`stream`] | streams, events, graphs |
//! | [`dynamic`] | kernels and tensors whose types are known at run time |
//! | [`foreign`] | code that was not compiled from Tile IR |
//! | [`tensor_map`] | what the hardware knows of a tensor to copy boxes of it |
//! | [`interop`] | memory and streams shared with other libraries |
//! | [`launch`] | from a call to a running kernel |
//! | [`warm_up`] | compiling many kernels before they are launched |
//! | [`cache`] | compiled kernels |
//! | [`embedded`] | kernels compiled when the program was built |
//! | [`compiler`] | from Tile IR to code for any target, without a device |
//! | [`offline`] | compiling for a GPU that is not there |
//! | [`executors`] | everything that runs a kernel on host data, by name |
//! | [`backend`] | what the runtime asks of a kind of device |
//!
//! Without the feature `compiler` the crate needs no LLVM, and only embedded kernels can be launched.

pub mod backend;
pub mod cache;
#[cfg(feature = "compiler")]
pub mod compiler;
pub mod device;
pub mod dynamic;
pub mod element;
pub mod embedded;
pub mod error;
#[cfg(feature = "compiler")]
pub mod executors;
pub mod foreign;
pub mod interop;
pub mod launch;
#[cfg(feature = "compiler")]
pub mod offline;
pub mod pinned;
pub mod registry;
pub mod stream;
pub mod tensor;
pub mod tensor_map;
#[cfg(feature = "compiler")]
pub mod virtual_gpu;
pub mod warm_up;

pub use device::Device;
pub use error::{Error, Result};
pub use foreign::{ForeignArgument, ForeignKernel};
pub use launch::{Launch, LaunchOptions};
pub use pinned::Pinned;
pub use stream::{Event, Graph, Stream};
pub use tensor::Tensor;
pub use tensor_map::TensorMap;
pub use warm_up::{Config, WarmUp, WarmUpError};
