//! Kernels that Triton compiled for AMD's processors, run on the virtual GPU: as they are, and broken in one place each.

mod harness;
mod kernels;
mod mutations;
