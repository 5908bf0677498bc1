//! Kernels on the CPU against the reference interpreter.

mod common;
mod kernels;
mod pointers;
