//! The library behind the `vgpu` command: launches described in JSON, arrays in `.npy` files, and what is known of a file of code.

pub mod file;
pub mod launch_file;
pub mod npy;

pub use file::CodeFile;
pub use launch_file::{LaunchFile, Prepared, Report, Status};
