//! Analyses: what is known of values without running the kernel.
//!
//! | module | subject |
//! |---|---|
//! | [`alias`] | which argument's memory a view or pointer leads to, and what may overlap |
//! | [`axis_info`] | contiguity, constancy and divisibility of integer and pointer tiles, and what they give for memory accesses |
//! | [`constants`] | values known while compiling |
//! | [`effects`] | what code may do besides giving its results: writes, what can be removed or run early |
//! | [`liveness`] | where each value is needed, and how much at one time |
//! | [`ranges`] | least and greatest values of integers |
//! | [`scopes`] | dominance: where ops stand and which values are visible there |
//! | [`uniformity`] | what is the same in every program of a launch |
//! | [`uses`] | how often values are used |

pub mod alias;
pub mod axis_info;
pub mod constants;
pub mod effects;
pub mod liveness;
pub mod ranges;
pub mod scopes;
pub mod uniformity;
pub mod uses;
