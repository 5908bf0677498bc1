//! Number formats and arithmetic by element type: the one place that says what each scalar function gives.
//!
//! Values of every type are carried in three host forms, so that the code for them is written once:
//!
//! | element type | host form | invariant |
//! |---|---|---|
//! | `i1` | `bool` | |
//! | integers | `i64` | sign-extended (signed types), zero-extended (unsigned); `u64` keeps its bits |
//! | floats | `f64` | exactly a value of the format; NaN payloads are kept in the upper mantissa bits |
//!
//! A float function is evaluated in `f64` and rounded once to the format ([`FloatFormat::round`]). For sums,
//! products, quotients and square roots of formats up to `f32` that is the correctly rounded result, because
//! 53 bits are more than twice 24 plus two; [`float::fma`] rounds once by other means.
//!
//! The interpreter and constant folding both stand on this module; code generators do not use it, and are
//! tested against it.

pub mod eval;
pub mod float;
pub mod format;
pub mod int;

pub use format::FloatFormat;
