//! Analyses: what is known of values without running the kernel.
//!
//! | module | subject |
//! |---|---|
//! | [`axis_info`] | contiguity, constancy and divisibility of integer and pointer tiles, and what they give for memory accesses |

pub mod axis_info;
