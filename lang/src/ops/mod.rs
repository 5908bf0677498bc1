//! The operations on tiles. Each appends an op of Tile IR to the kernel being built.
//!
//! | module | subject |
//! |---|---|
//! | [`create`] | zeros, constants, counting |
//! | [`shape`] | broadcasting, reshaping, reordering, joining, slicing |
//! | [`operators`] | Rust's operators |
//! | [`arith`] | arithmetic and bit functions without an operator |
//! | [`math`] | float functions |
//! | [`compare`] | comparisons, logic and selection |
//! | [`cast`] | conversions |
//! | [`reduce`], [`scan`] | along axes |
//! | [`dot`] | matrix products |
//! | [`random`] | counter-based random numbers |
//! | [`program`] | coordinates on the grid, barriers, promises, prints and asserts |

pub mod arith;
pub mod cast;
pub mod compare;
pub mod create;
pub mod dot;
pub mod math;
pub mod operators;
pub mod program;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod shape;

pub use tegula_ir::ops::{AtomicOp, BinaryOp, CacheHint, CmpOp, DotPrecision, Ordering, Rounding, Scope, UnaryOp};
