//! The binary interface of compiled kernels.
//!
//! A kernel is `extern "C" fn(args, context, program, arena) -> i32`. It runs one program and gives 0, or 1 where an
//! assertion failed.
//!
//! - `args`: 64-bit words, one parameter after another. A view is its base address, its extents, its strides; a scalar
//!   is its bytes at the start of a word; a pointer is its address. A kernel that checks accesses through pointers
//!   also reads where the allocations behind them are ([`ArgSlots::allocations`]).
//! - `context`: a [`LaunchContext`], the same for all programs of a launch.
//! - `program`: three `i64`, the program's coordinates.
//! - `arena`: memory for tiles, aligned to 64 bytes, of the size that the kernel asks for; used by one program at a
//!   time.

use std::ffi::c_void;

use tegula_ir::function::{Function, ParamKind};

/// Number of parameters of a kernel.
pub const PARAMETERS: usize = 4;
/// Position of `args`.
pub const ARGS: u32 = 0;
/// Position of `context`.
pub const CONTEXT: u32 = 1;
/// Position of `program`.
pub const PROGRAM: u32 = 2;
/// Position of `arena`.
pub const ARENA: u32 = 3;

/// A compiled kernel.
pub type KernelFn = unsafe extern "C" fn(
    args: *const u64,
    context: *const LaunchContext,
    program: *const [i64; 3],
    arena: *mut u8,
) -> i32;

/// What the programs of a launch share.
#[repr(C)]
#[derive(Debug)]
pub struct LaunchContext {
    /// Programs on each axis of the grid.
    pub num_programs: [i64; 3],
    /// Called by `print` with the number of the op and the address of each argument's elements.
    pub print: unsafe extern "C" fn(*const LaunchContext, *const [i64; 3], u32, *const *const u8),
    /// Called by `assert` with the number of the op whose condition is false, and where in a tile (-1 for a scalar).
    pub fail: unsafe extern "C" fn(*const LaunchContext, *const [i64; 3], u32, i64),
    /// For the callbacks.
    pub sink: *const c_void,
}

/// Byte offset of [`LaunchContext::print`].
pub const PRINT_OFFSET: i64 = std::mem::offset_of!(LaunchContext, print) as i64;
/// Byte offset of [`LaunchContext::fail`].
pub const FAIL_OFFSET: i64 = std::mem::offset_of!(LaunchContext, fail) as i64;

/// Where each parameter starts in the argument words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgSlots {
    starts: Vec<usize>,
    words: usize,
}

impl ArgSlots {
    /// The layout of a kernel's arguments.
    pub fn of(func: &Function) -> Self {
        let mut words = 0;
        let starts = func
            .params
            .iter()
            .map(|p| {
                let start = words;
                words += match &p.kind {
                    ParamKind::View { rank, .. } => 1 + 2 * usize::from(*rank),
                    ParamKind::Scalar { .. } | ParamKind::Ptr { .. } => 1,
                };
                start
            })
            .collect();
        Self { starts, words }
    }

    /// First word of each parameter.
    pub fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        self.starts.iter().copied()
    }

    /// Where the allocation of each view and pointer is described, after all parameters: its first address and its
    /// size in bytes. Only kernels that check accesses through pointers read these words.
    pub fn allocations(&self, func: &Function) -> impl Iterator<Item = usize> + use<> {
        let start = self.words;
        let count = func.params.iter().filter(|p| !matches!(p.kind, ParamKind::Scalar { .. })).count();
        (0..count).map(move |i| start + 2 * i)
    }

    /// Number of words of the parameters.
    pub fn words(&self) -> usize {
        self.words
    }
}
