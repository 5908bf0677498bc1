//! Memory shared with other libraries, without copies.
//!
//! | module | subject |
//! |---|---|
//! | [`dlpack`] | any library that knows DLPack: PyTorch, NumPy, JAX, candle |
//! | [`cudarc`] | slices of cudarc |
//!
//! For everything else there is [`Tensor::from_raw`](crate::Tensor::from_raw), and
//! [`Tensor::address`](crate::Tensor::address) the other way.

pub mod cudarc;
pub mod dlpack;
