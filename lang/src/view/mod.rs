//! Tensors in memory, and how tiles get in and out of them.
//!
//! | module | subject |
//! |---|---|
//! | [`tensor`] | tensors, sub-views, gather and scatter |
//! | [`tiles`] | outputs partitioned into tiles, one a program |
//! | [`access`] | a tile's place in a tensor: load and store |
//! | [`atomic`] | atomic read-modify-write |
//! | [`coords`] | positions given by scalars and numbers |
//! | [`mod@pointer`] | raw pointers |

pub mod access;
pub mod atomic;
pub mod coords;
pub mod pointer;
pub mod tensor;
pub mod tiles;
