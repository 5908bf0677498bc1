//! Expansion of math functions into arithmetic that every target selects: add, multiply, divide, fma, square root,
//! comparison, selection and integer operations on the bits. Branch-free, so that it vectorises.
//!
//! | file | subject |
//! |---|---|
//! | `ops`, `emit` | the operations that expansions are written in, and their form in the IR |
//! | `exp`, `log`, `trig`, `special` | the functions |
//! | `coefficients` | polynomials and constants |
//! | `bounds` | the error bounds, which a test measures |
//!
//! `f16` and `bf16` are computed in `f32` and rounded once. NaN gives NaN; infinities, zeros and their signs give
//! what IEEE 754 and C say, and `silu` and `gelu` of negative infinity give NaN, as their formulas do. Subnormal
//! arguments and results are exact to the bound, except on a target that flushes them. The only fused
//! multiply-adds are those written here.
//!
//! A target's own approximations come in by options: functions named in `native` are within their bound on the
//! target and stay (`exp` also builds on a native `exp2`); functions named in `approx` stay where the op is marked
//! `fast`, and others marked `fast` are built on them. `sin`, `cos` and `tan` marked `fast` reduce their argument in a
//! shorter way; `gelu` marked `fast` is the tanh form, by definition.
//!
//! Largest errors in units in the last place:
//!
#![doc = include_str!("bounds.md")]

pub mod bounds;
mod coefficients;
mod emit;
mod exp;
mod log;
mod ops;
mod special;
mod trig;

use std::str::FromStr;

use self::emit::Emit;
use self::ops::{MathOps, Width};
use super::rewrite::{Emitter, Rewrite, rewrite};
use crate::diag::Diagnostic;
use crate::function::{Function, Op, Value};
use crate::ops::{BinaryOp, OpKind, UnaryOp};
use crate::pass::{Changed, OptionInfo, Pass, PassContext, PassInfo};
use crate::types::ScalarType;

/// The pass.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ExpandMath {
    /// Functions of `f32` that the target computes within their bound.
    pub native: Vec<UnaryOp>,
    /// Functions of `f32` that the target approximates, for ops marked `fast`.
    pub approx: Vec<UnaryOp>,
}

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "expand-math",
    summary: "replaces math functions by arithmetic",
    options: &[
        OptionInfo { name: "native", help: "functions that the target has, as in `native=exp2+log2` (none)" },
        OptionInfo { name: "approx", help: "functions that the target approximates, for `fast` ops (none)" },
    ],
    make: |options| {
        let list = |name| options.get(name, OpList::default());
        Ok(Box::new(ExpandMath { native: list("native")?.0, approx: list("approx")?.0 }))
    },
};

/// Functions separated by `+`.
#[derive(Default)]
struct OpList(Vec<UnaryOp>);

impl FromStr for OpList {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        s.split('+').map(|name| UnaryOp::from_name(name.trim()).ok_or(())).collect::<Result<_, _>>().map(OpList)
    }
}

impl Pass for ExpandMath {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let mut expanded = 0;
        let changed = rewrite(function, |e, op| {
            let result = self.expand(e, op);
            expanded += u64::from(result.is_some());
            result.map_or(Rewrite::Keep, Rewrite::with)
        });
        cx.count("functions expanded", expanded);
        Ok(changed)
    }
}

impl ExpandMath {
    fn expand(&self, e: &mut Emitter<'_>, op: Op) -> Option<Value> {
        match *e.f.kind(op) {
            OpKind::Unary { op, x, fast } if is_expanded(op) => {
                let t = e.f.ty(x).elem_scalar()?;
                if t == ScalarType::F32 && (self.native.contains(&op) || (fast && self.approx.contains(&op))) {
                    return None;
                }
                Some(
                    self.in_width(e, t, [x], |o, [x]| {
                        unary(o, op, x, fast && t != ScalarType::F64, &self.approx, fast)
                    }),
                )
            }
            OpKind::Binary { op: op @ (BinaryOp::Pow | BinaryOp::Atan2), a, b } => {
                let t = e.f.ty(a).elem_scalar()?;
                Some(self.in_width(e, t, [a, b], |o, [a, b]| binary(o, op, a, b)))
            }
            _ => None,
        }
    }

    /// Emits an expansion in the type's own format, or in `f32` for the narrower ones.
    fn in_width<const N: usize>(
        &self,
        e: &mut Emitter<'_>,
        t: ScalarType,
        args: [Value; N],
        f: impl FnOnce(&mut Emit<'_, '_>, [Value; N]) -> Value,
    ) -> Value {
        let width = if t == ScalarType::F64 { Width::W64 } else { Width::W32 };
        let args = args.map(|x| if width == Width::W32 { e.cast(x, ScalarType::F32) } else { x });
        let result = f(&mut Emit::new(e, width, args[0], &self.native), args);
        e.cast(result, t)
    }
}

/// Whether the pass expands a function; the others are exact on every target.
pub fn is_expanded(op: UnaryOp) -> bool {
    use UnaryOp::*;
    match op {
        Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Cbrt | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh
        | Tanh | Erf | Sigmoid | Silu | Gelu => true,
        Neg | Not | Abs | Popcount | Clz | Ctz | BitReverse | Sqrt | Rsqrt | Recip | Floor | Ceil | RoundEven
        | Round | Trunc | IsNan | IsInf | IsFinite => false,
    }
}

/// The expansion of a function. `approximate` allows the approximations in `approx`; `fast` is the op's mark.
fn unary<O: MathOps>(o: &mut O, op: UnaryOp, x: O::F, approximate: bool, approx: &[UnaryOp], fast: bool) -> O::F {
    if o.native(op) {
        return o.unary(op, x);
    }
    let has = |op| approximate && approx.contains(&op);
    if has(op) {
        return o.approximate(op, x);
    }
    let exp2 = has(UnaryOp::Exp2);
    let recip = exp2 && has(UnaryOp::Recip);
    let log2 = has(UnaryOp::Log2);
    match op {
        UnaryOp::Exp if exp2 => exp::fast::exp(o, x),
        UnaryOp::Sigmoid if recip => exp::fast::sigmoid(o, x),
        UnaryOp::Silu if recip => {
            let s = exp::fast::sigmoid(o, x);
            o.mul(x, s)
        }
        UnaryOp::Tanh if recip => exp::fast::tanh(o, x),
        UnaryOp::Gelu if recip => exp::gelu_tanh(o, x, exp::fast::sigmoid),
        UnaryOp::Log if log2 => {
            let y = o.approximate(UnaryOp::Log2, x);
            o.mulc(y, std::f64::consts::LN_2)
        }
        UnaryOp::Log10 if log2 => {
            let y = o.approximate(UnaryOp::Log2, x);
            o.mulc(y, std::f64::consts::LOG10_2)
        }
        UnaryOp::Exp => exp::exp(o, x),
        UnaryOp::Exp2 => exp::exp2(o, x),
        UnaryOp::Expm1 => exp::expm1(o, x),
        UnaryOp::Log => log::log(o, x),
        UnaryOp::Log2 => log::log2(o, x),
        UnaryOp::Log10 => log::log10(o, x),
        UnaryOp::Log1p => log::log1p(o, x),
        UnaryOp::Cbrt => special::cbrt(o, x),
        UnaryOp::Sin => trig::sin(o, x, fast),
        UnaryOp::Cos => trig::cos(o, x, fast),
        UnaryOp::Tan => trig::tan(o, x, fast),
        UnaryOp::Asin => trig::asin(o, x),
        UnaryOp::Acos => trig::acos(o, x),
        UnaryOp::Atan => trig::atan(o, x),
        UnaryOp::Sinh => exp::sinh(o, x),
        UnaryOp::Cosh => exp::cosh(o, x),
        UnaryOp::Tanh => exp::tanh(o, x),
        UnaryOp::Erf => special::erf(o, x),
        UnaryOp::Sigmoid => exp::sigmoid(o, x),
        UnaryOp::Silu => exp::silu(o, x),
        UnaryOp::Gelu if fast => exp::gelu_tanh(o, x, exp::sigmoid),
        UnaryOp::Gelu => special::gelu(o, x),
        _ => unreachable!("{op} is not expanded"),
    }
}

/// The expansion of a function of two arguments.
fn binary<O: MathOps>(o: &mut O, op: BinaryOp, a: O::F, b: O::F) -> O::F {
    match op {
        BinaryOp::Pow => log::pow(o, a, b),
        BinaryOp::Atan2 => trig::atan2(o, a, b),
        _ => unreachable!("{op} is not expanded"),
    }
}

#[cfg(test)]
mod tests;
