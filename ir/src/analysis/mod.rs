//! Analyses: what is known of values without running the kernel.
//!
//! | module | subject |
//! |---|---|
//! | [`alias`] | which argument's memory a view or pointer leads to, and what may overlap |
//! | [`axis_info`] | contiguity, constancy and divisibility of integer and pointer tiles, and what they give for memory accesses |
//! | [`effects`] | what code may do besides giving its results: writes, what can be removed or run early |
//! | [`ranges`] | least and greatest values of integers |
//! | [`uses`] | how often values are used |

pub mod alias;
pub mod axis_info;
pub mod effects;
pub mod ranges;
pub mod uses;
