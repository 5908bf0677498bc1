//! Error bounds of the expansions, in units in the last place of the exact result.
//!
//! A unit is the distance between neighbouring values of the format at the exact result, and never less than the
//! least subnormal. The tests beside this file measure the errors over 10⁷ arguments of each function of `f32`, and
//! every one of `f16` and `bf16`, and fail where one is above its bound.

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

/// Bound of a function; `None` for those that are exact or correctly rounded.
pub const fn unary(op: UnaryOp) -> Option<Bound> {
    match op {
        // Two roundings.
        UnaryOp::Rsqrt => bound(1.5, 2.0),
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

/// Bound of a function of two arguments; `None` for those that are exact or correctly rounded.
pub const fn binary(op: BinaryOp) -> Option<Bound> {
    match op {
        BinaryOp::Pow => bound(1.0, 1.0),
        BinaryOp::Atan2 => bound(1.6, 2.0),
        _ => None,
    }
}

/// Bound of a function of `f32` that is marked `fast`: the larger of two errors, up to a magnitude of the argument.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FastBound {
    /// In units in the last place.
    pub units: f64,
    /// As a number.
    pub absolute: f64,
    /// The largest magnitude of the argument that the bound holds for.
    pub domain: f64,
}

const fn fast_bound(units: f64, absolute: f64) -> Option<FastBound> {
    Some(FastBound { units, absolute, domain: f64::INFINITY })
}

/// Bound of a function marked `fast`, on every target; `None` for those that are exact anyway. It rests on what the
/// vendors state of their instructions (PTX ISA, the sections of `ex2`, `lg2`, `rcp`, `sin`, `cos`, `tanh`, `sqrt` and
/// `rsqrt`, and one unit for AMD's), all of which may err at once.
pub const fn fast(op: UnaryOp) -> Option<FastBound> {
    /// Results below the least normal number may be zero.
    const TINY: f64 = f32::MIN_POSITIVE as f64;
    match op {
        UnaryOp::Exp2 => fast_bound(3.0, TINY),
        UnaryOp::Rsqrt | UnaryOp::Sqrt => fast_bound(2.0, TINY),
        UnaryOp::Recip => fast_bound(1.0, TINY),
        // The argument is scaled to powers of two, and rounded.
        UnaryOp::Exp | UnaryOp::Sigmoid => fast_bound(80.0, TINY),
        UnaryOp::Silu => fast_bound(80.0, 1e-36),
        // Near 1 the instruction has an absolute error.
        UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => fast_bound(7.0, 5e-7),
        UnaryOp::Sin | UnaryOp::Cos => Some(FastBound { units: 3.0, absolute: 4e-5, domain: 314.0 }),
        UnaryOp::Tan => Some(FastBound { units: 4.1, absolute: TINY, domain: 65536.0 }),
        UnaryOp::Tanh => fast_bound(3.0, 5e-4),
        UnaryOp::Gelu => fast_bound(20.0, 1e-6),
        op => match unary(op) {
            Some(bound) => fast_bound(bound.f32, TINY),
            None => None,
        },
    }
}

/// The bounds as Markdown tables.
pub fn markdown() -> String {
    let mut text = "| function | `f32` | `f64` | `f16`, `bf16` |\n|---|---|---|---|\n".to_owned();
    let one = UnaryOp::ALL.iter().filter_map(|&op| Some((op.name(), unary(op)?)));
    let two = BinaryOp::ALL.iter().filter_map(|&op| Some((op.name(), binary(op)?)));
    // Writing to a string cannot fail.
    for (name, bound) in one.chain(two) {
        let _ = writeln!(text, "| `{name}` | {:.1} | {:.0} | {SIXTEEN_BIT} |", bound.f32, bound.f64);
    }
    text += "\nMarked `fast`, in `f32`, on every target: so many units or this error, whichever is more, for arguments up to a \
             magnitude. Subnormal arguments may count as zero. `f64` has no other bounds, except that those of `sin`, `cos` and \
             `tan` hold up to 2^20, and `gelu` is within 1e-12 of itself; `f16` and `bf16` are computed in `f32` and rounded. \
             Functions that are not in the list are as exact as without the mark.\n\n\
             | function | units | error | arguments |\n|---|---|---|---|\n";
    for (op, bound) in UnaryOp::ALL.iter().filter_map(|&op| Some((op, fast(op)?))).filter(|(op, _)| has_fast(*op)) {
        let domain = if bound.domain.is_finite() { format!("{}", bound.domain) } else { "all".to_owned() };
        let _ = writeln!(text, "| `{op}` | {} | {:.1e} | {domain} |", bound.units, bound.absolute);
    }
    text
}

/// Whether the mark `fast` makes a difference on some target.
pub const fn has_fast(op: UnaryOp) -> bool {
    use UnaryOp::*;
    matches!(
        op,
        Exp | Exp2 | Log | Log2 | Log10 | Sqrt | Rsqrt | Recip | Sin | Cos | Tan | Tanh | Sigmoid | Silu | Gelu
    )
}
