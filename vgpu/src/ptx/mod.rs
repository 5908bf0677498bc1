//! The PTX machine: parses PTX text and executes its kernels.
//!
//! ```
//! use tegula_vgpu::launch::{Argument, Launch};
//! use tegula_vgpu::memory::{Fill, GlobalMemory};
//! use tegula_vgpu::ptx::Module;
//!
//! # fn main() -> tegula_vgpu::error::Result<()> {
//! let text = "
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry double(.param .u64 data) {
//!         .reg .b32 %r<4>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mad.wide.u32 %rd2, %r1, 4, %rd1;
//!         ld.global.u32 %r2, [%rd2];
//!         add.u32 %r3, %r2, %r2;
//!         st.global.u32 [%rd2], %r3;
//!         ret;
//!     }";
//! let memory = GlobalMemory::default();
//! let data = memory.allocate("data", 4 * 64, Fill::Zero)?;
//! memory.write(data, &7_u32.to_le_bytes())?;
//! let module = Module::load(text, None, &memory)?;
//! let outcome = module.launch(&memory, &Launch::new("double").block([64, 1, 1]).arg(Argument::pointer(data)))?;
//! assert!(outcome.is_clean());
//! let mut first = [0; 4];
//! memory.read(data, &mut first)?;
//! assert_eq!(u32::from_le_bytes(first), 14);
//! # Ok(())
//! # }
//! ```

mod decode;
mod exec;
mod isa;
mod model;
mod module;
mod printf;
mod program;
mod syntax;
mod tensor_map;
mod trace;

pub use model::Model;
pub use module::{KernelInfo, Module, Parameter};
pub use tensor_map::{Element, Interleave, Mode, Swizzle, TensorMap};
