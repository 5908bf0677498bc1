//! Tegula: a tile-level GPU kernel language embedded in Rust.

pub use tegula_ir as ir;
pub use tegula_lang as lang;
pub use tegula_runtime as runtime;
