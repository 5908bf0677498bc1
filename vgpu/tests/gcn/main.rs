//! The AMD machine, instruction by instruction: small programs assembled by LLVM and run on it.
//!
//! They need `llvm-mc` and `ld.lld` of LLVM 22: in `LLVM_BIN`, or in `/usr/lib/llvm-22/bin`. Without them these tests say that they were
//! skipped.

mod accesses;
mod asm;
mod atomics;
mod broken;
mod buffers;
mod comparisons;
mod compiled;
mod counters;
mod faults;
mod gfx950;
mod matrix;
mod matrix_forms;
mod memory;
mod numbers;
mod rare;
mod scalar;
mod scalar_memory;
mod tool;
mod vector;
