//! Support for tests, of this crate and of those that execute or compile Tile IR.
//!
//! | module | subject |
//! |---|---|
//! | [`filetest`] | tests as `.tile` files: text, passes, runs, compilation |
//! | [`generate`] | generated programs with arguments, and their comparison |
//! | [`op_table`] | each op on each element type |
//! | [`value`] | arguments of kernels as text |

pub mod filetest;
pub mod generate;
pub mod op_table;
pub mod value;
