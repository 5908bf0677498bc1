//! Tile IR: types, operations, text format, verifier, passes, analyses, linear layouts and the reference
//! interpreter. No LLVM.
//!
//! | module | subject |
//! |---|---|
//! | [`types`], [`literal`] | element types, tiles, views; literal values |
//! | [`ops`] | the closed enum of operations, their attributes and typing rules |
//! | [`function`], [`loc`] | functions, blocks and values in arenas; source locations |
//! | [`builder`] | appends checked ops |
//! | [`diag`] | located errors |
//! | [`layout`] | linear layouts over F2 |
//! | [`analysis`] | what is known of values: contiguity, divisibility |
//! | [`text`] | the text format: printing and parsing |
//! | [`verify`] | what makes a function valid |
//! | [`pass`], [`passes`], [`opt`] | the pass manager; the passes; running them on a text |
//! | [`numeric`] | number formats and scalar arithmetic by type |
//! | [`interp`] | the reference interpreter |
//! | `testing` (feature of the same name) | tests as files, generated programs |
//! | [`exec`] | the interface of everything that runs kernels on host data |

pub mod analysis;
pub mod builder;
pub mod diag;
pub mod exec;
pub mod function;
pub mod interp;
pub mod layout;
pub mod literal;
pub mod loc;
pub mod numeric;
pub mod ops;
pub mod opt;
pub mod pass;
pub mod passes;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod types;
pub mod verify;

pub use function::{Block, Function, Module, Op, Value};
pub use types::{Elem, ScalarType, Shape, TileType, Type};
