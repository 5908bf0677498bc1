//! Lowering of Tile IR with layouts to per-thread LLVM IR, shared by all GPU families.
//!
//! A tile becomes, in each thread, the registers that its linear layout gives that thread. Scalars are computed by every
//! thread alike. What differs between families is asked of a [`GpuTarget`]; what differs between architectures of a
//! family is read from its capability table.
//!
//! | file | subject |
//! |---|---|
//! | `prepare` | the passes before the lowering |
//! | `compile` | from a function to an optimised module |
//! | `kernel` | the kernel's signature and metadata |
//! | `lowering` | the walk over ops; values and their registers |
//! | `spread` | coordinates of a thread's registers |
//! | `elementwise` | arithmetic, register by register |
//! | `shape` | creation and shape operations |
//! | `convert_layout` | moving tiles between layouts: registers, lane shuffles, shared memory |
//! | `exchange` | moving elements through shared memory by computed indices |
//! | `shared_memory` | the scratch area and its barriers |
//! | `address`, `memory` | views, pointers, masks; loads and stores |
//! | `bounds` | how large integers can be |
//! | `hazards` | barriers between accesses of different threads to the same global memory |
//! | `atomics` | atomic operations, by instruction or by compare-exchange loop |
//! | `combine` | the functions that reductions and scans apply |
//! | `reduce`, `scan` | reductions and scans, in threads, warps and across warps |
//! | `dot` | matrix products by multiply-add |
//! | `control` | loops and conditionals |
//! | `debug` | prints and asserts |
//!
//! # Invariants
//! - Barriers and lane exchanges stand only where all threads of the program come: never inside a branch on a value that
//!   differs between threads.
//! - Where a layout lets several threads hold the same element, they hold the same value of it; an effect on memory is
//!   left to the one whose free bits are all 0.
//! - Registers of padding (coordinates beyond the tile's extents) hold anything; nothing observable depends on them.

mod address;
mod atomics;
mod combine;
mod compile;
mod control;
mod convert_layout;
mod debug;
mod dot;
mod elementwise;
mod exchange;
mod hazards;
mod kernel;
mod lowering;
mod memory;
mod prepare;
mod reduce;
mod scan;
mod shape;
mod shared_memory;
mod spread;
mod target;

pub use compile::{LlvmText, Optimized, Options, lower_and_optimize};
pub use debug::{assertion_text, failed_assertion};
pub use kernel::lower_kernel;
pub use prepare::{pass_list, prepare};
pub use target::GpuTarget;
pub use tegula_artifact::gpu::{Component, KernelInfo, KernelParam};
