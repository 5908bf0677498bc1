//! Error bounds of the expansions, in units in the last place of the exact result.
//!
//! A unit is the distance between neighbouring values of the format at the exact result, and never less than the
//! least subnormal. The tests beside this file measure the errors over 10⁷ arguments of each function (a slice of
//! them by default) and fail where one is above its bound.

use std::fmt::Write;

use crate::ops::{BinaryOp, UnaryOp};

/// Bounds of one function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// In `f32`.
    pub f32: f64,
    /// In `f64`, against a reference that is itself about a unit off.
    pub f64: f64,
}

/// The largest error of an expansion in `f16` or `bf16`, which is computed in `f32` and rounded.
pub const SIXTEEN_BIT: f64 = 0.502;

const fn bound(f32: f64, f64: f64) -> Option<Bound> {
    Some(Bound { f32, f64 })
}

/// Bound of a function that [`super::ExpandMath`] expands; `None` for the others.
pub const fn unary(op: UnaryOp) -> Option<Bound> {
    match op {
        UnaryOp::Exp => bound(1.1, 1.0),
        UnaryOp::Exp2 => bound(1.0, 1.0),
        UnaryOp::Expm1 => bound(1.6, 2.0),
        UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => bound(1.0, 1.0),
        UnaryOp::Log1p => bound(1.6, 1.0),
        UnaryOp::Cbrt => bound(0.6, 1.0),
        UnaryOp::Sin | UnaryOp::Cos => bound(2.7, 3.0),
        UnaryOp::Tan => bound(4.1, 4.0),
        UnaryOp::Asin => bound(2.0, 2.0),
        UnaryOp::Acos => bound(1.3, 1.0),
        UnaryOp::Atan => bound(1.4, 2.0),
        UnaryOp::Sinh => bound(1.7, 2.0),
        UnaryOp::Cosh => bound(1.5, 2.0),
        UnaryOp::Tanh => bound(2.6, 3.0),
        UnaryOp::Erf => bound(1.0, 1.0),
        UnaryOp::Sigmoid => bound(2.4, 3.0),
        UnaryOp::Silu => bound(3.2, 4.0),
        UnaryOp::Gelu => bound(5.0, 20.0),
        _ => None,
    }
}

/// Bound of a function of two arguments; `None` for those that are not expanded.
pub const fn binary(op: BinaryOp) -> Option<Bound> {
    match op {
        BinaryOp::Pow => bound(1.0, 1.0),
        BinaryOp::Atan2 => bound(1.6, 2.0),
        _ => None,
    }
}

/// The bounds as a Markdown table.
pub fn markdown() -> String {
    let mut text = "| function | `f32` | `f64` | `f16`, `bf16` |\n|---|---|---|---|\n".to_owned();
    let one = UnaryOp::ALL.iter().filter_map(|&op| Some((op.name(), unary(op)?)));
    let two = BinaryOp::ALL.iter().filter_map(|&op| Some((op.name(), binary(op)?)));
    for (name, bound) in one.chain(two) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{name}` | {:.1} | {:.0} | {SIXTEEN_BIT} |", bound.f32, bound.f64);
    }
    text
}
