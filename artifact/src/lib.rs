//! Compiled kernels as data, and how to call them: what code generators produce, caches keep and launchers need.
//!
//! No compiler is in here, so that a program whose kernels were compiled ahead of time runs without LLVM.
//!
//! | module | subject |
//! |---|---|
//! | [`artifact`] | a compiled kernel and its binary form |
//! | [`gpu`] | what a launcher must know of a kernel for a GPU |
//! | [`cpu`] | the binary interface of kernels for the CPU, and their launch |

pub mod artifact;
pub mod cpu;
pub mod gpu;

pub use artifact::{Artifact, Entry, Format, MalformedArtifact};
