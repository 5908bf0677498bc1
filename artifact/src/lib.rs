//! Compiled kernels as data, and how to call them: what code generators produce, caches keep and launchers need.
//!
//! No compiler is in here, so that a program whose kernels were compiled ahead of time runs without LLVM.
//!
//! | module | subject |
//! |---|---|
//! | [`artifact`] | a compiled kernel and its binary form |
//! | [`promise`] | what code takes for granted of its arguments, and which code fits a launch |
//! | [`archive`] | kernels compiled ahead of time, as one block of bytes |
//! | [`gpu`] | what a launcher must know of a kernel for a GPU |
//! | [`ptxas`] | NVIDIA's assembler, where there is one |
//! | [`cpu`] | the binary interface of kernels for the CPU, and their launch |

pub mod archive;
pub mod artifact;
pub mod cpu;
pub mod gpu;
pub mod promise;
pub mod ptxas;

pub use artifact::{Artifact, Entry, Format, MalformedArtifact};
