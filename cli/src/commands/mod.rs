//! The commands, one a file. Those that compile are there with the feature `compiler`.

pub mod cache;
#[cfg(feature = "compiler")]
pub mod check;
#[cfg(feature = "compiler")]
pub mod compile;
#[cfg(feature = "compiler")]
pub mod demo;
pub mod doctor;
#[cfg(feature = "compiler")]
pub mod export;
pub mod kernels;
pub mod opt;
#[cfg(feature = "compiler")]
pub mod run;
pub mod session;
#[cfg(feature = "compiler")]
pub mod tune;
