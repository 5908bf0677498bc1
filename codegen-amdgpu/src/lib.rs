//! Code generation for AMD GPUs: Tile IR to code objects.

mod link;

pub use link::link;
