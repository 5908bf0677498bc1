//! The commands, one a file.

pub mod cache;
pub mod check;
pub mod compile;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod kernels;
pub mod opt;
pub mod run;
pub mod session;
pub mod tune;
