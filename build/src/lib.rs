//! Kernels compiled ahead of time: embedded into a Rust program by its build script, or exported for hosts in other
//! languages.
//!
//! A build script compiles kernels for targets, and the program takes them where they fit a launch:
//!
//! ```no_run
//! // build.rs, with the kernels in a file that the program has as well:
//! // #[path = "src/kernels.rs"]
//! // mod kernels;
//! # mod kernels { pub fn list() -> &'static [&'static tegula_lang::kernel::KernelInfo] { &[] } }
//! fn main() {
//!     tegula_build::Embed::new()
//!         .targets(["cpu", "sm_80", "sm_90a", "gfx942"])
//!         .kernels(kernels::list()) // tegula::kernel_list![add, softmax]
//!         .run();
//! }
//! ```
//!
//! The program calls `tegula::embed!()` before its first launch. Built with `default-features = false`, it has no
//! compiler, and does not need LLVM.
//!
//! | module | subject |
//! |---|---|
//! | [`embed`] | what a build script calls |
//! | [`export`] | code with a header and a launcher in C |
//! | [`target`] | targets by name, and compiling for one |

pub mod embed;
pub mod export;
pub mod target;

mod error;

pub use embed::Embed;
pub use error::Error;
pub use target::Target;
pub use tegula_lang::kernel::Class;
