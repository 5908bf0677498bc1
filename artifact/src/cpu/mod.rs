//! Kernels for the CPU: their binary interface, and their launch over a grid and threads.
//!
//! | module | subject |
//! |---|---|
//! | [`abi`] | the interface of compiled kernels |
//! | [`site`] | what callbacks of a kernel need to know of the op that calls |
//! | [`kernel`] | launching over a grid and threads |
//! | [`link`] | an object into this process |
//! | [`level`] | processors by levels, for code compiled ahead of time |
//! | [`processor`] | which processor this is, for code made for it alone |
//! | [`host`] | launches on tensors in host memory |

pub mod abi;
pub mod host;
pub mod kernel;
pub mod level;
pub mod link;
pub mod processor;
pub mod site;

mod arena;
mod crew;

pub use kernel::{CpuArg, CpuKernel, LaunchError};
pub use level::CpuLevel;
pub use site::{CpuInfo, PrintArg, Site};
