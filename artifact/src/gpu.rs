//! What a launcher must know of a kernel for a GPU.

use serde::{Deserialize, Serialize};

/// One argument in a kernel's parameter list: a part of a parameter of the Tile IR function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelParam {
    /// Which parameter of the function.
    pub param: u32,
    /// Which part of it.
    pub component: Component,
    /// Size in bytes; the argument is aligned to it.
    pub size: u32,
    /// Offset in the argument block, when arguments are passed as one.
    pub offset: u32,
}

/// A part of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// A view's base address (of the element at index zero).
    Base,
    /// A view's extent on an axis, in elements, as `i64`.
    Extent(u8),
    /// A view's stride on an axis, in elements, as `i64`.
    Stride(u8),
    /// A scalar or a pointer, as it is; truth values are one byte, 0 or 1.
    Value,
}

/// What a launcher must know of a compiled kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The kernel's name in the emitted code.
    pub name: String,
    /// Threads of a program, along x.
    pub threads: u32,
    /// Warps of a program.
    pub num_warps: u32,
    /// Arguments in order.
    pub params: Vec<KernelParam>,
    /// Bytes of the argument block.
    pub params_size: u32,
    /// Shared memory that the code declares itself, in bytes.
    pub static_shared: u32,
    /// Shared memory that the launcher must ask for on top, in bytes.
    pub dynamic_shared: u32,
}
