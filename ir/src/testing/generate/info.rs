//! What is known of the floats of a value: how large they are, and how far two correct executors may differ.
//!
//! Most arithmetic is defined to the last bit. What is not: functions with an error bound, and sums whose order is
//! not specified. A sum of small whole numbers is exact in any order, so whole numbers are tracked apart; other
//! sums get an error from the size of their terms. Values that may differ are kept away from everything that is not
//! continuous: comparisons, conversions to integers, control flow.

use crate::numeric::FloatFormat;
use crate::ops::{BinaryOp, DotPrecision, ReduceKind, UnaryOp};
use crate::types::ScalarType;

/// What is known of the elements of a value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Info {
    /// Bound of the absolute values; infinite where there is none, or where NaN is possible.
    pub mag: f64,
    /// Whether all are whole numbers.
    pub integral: bool,
    /// Relative difference allowed between executors.
    pub rel: f64,
    /// Absolute difference allowed, besides.
    pub abs: f64,
}

impl Info {
    /// Anything, the same on every executor.
    pub const ANY: Info = Info { mag: f64::INFINITY, integral: false, rel: 0.0, abs: 0.0 };

    /// Whole numbers up to a bound.
    pub const fn whole(mag: f64) -> Self {
        Self { mag, integral: true, ..Self::ANY }
    }

    /// Numbers up to a bound.
    pub const fn bounded(mag: f64) -> Self {
        Self { mag, ..Self::ANY }
    }

    /// Whether executors must agree to the bit.
    pub fn exact(self) -> bool {
        self.rel == 0.0 && self.abs == 0.0
    }

    /// Whether all elements are numbers with a bound.
    pub fn is_bounded(self) -> bool {
        self.mag.is_finite()
    }

    /// The difference allowed in all, for a bounded value.
    fn error(self) -> f64 {
        self.rel * self.mag + self.abs
    }

    /// What holds of elements that may come from either.
    #[must_use]
    pub fn or(self, other: Info) -> Info {
        Info {
            mag: self.mag.max(other.mag),
            integral: self.integral && other.integral,
            rel: self.rel.max(other.rel),
            abs: self.abs.max(other.abs),
        }
    }

    /// With the bound given up where the format does not reach it: there infinities are possible.
    fn within(self, t: ScalarType) -> Option<Info> {
        if self.mag <= max_finite(t) {
            return Some(self);
        }
        // Where executors differ, one may overflow and the other not.
        self.exact().then_some(Info { mag: f64::INFINITY, integral: false, ..self })
    }
}

/// Half a unit in the last place, relative: the error of one rounding.
pub fn epsilon(t: ScalarType) -> f64 {
    match t {
        ScalarType::F64 => f64::EPSILON / 2.0,
        ScalarType::F32 => f64::from(f32::EPSILON) / 2.0,
        ScalarType::F16 => 2f64.powi(-11),
        ScalarType::BF16 => 2f64.powi(-8),
        ScalarType::F8E4M3 | ScalarType::F8E4M3Fnuz => 2f64.powi(-4),
        ScalarType::F8E5M2 | ScalarType::F8E5M2Fnuz => 2f64.powi(-3),
        _ => 0.0,
    }
}

/// Up to here every whole number is a value of the type.
fn whole_limit(t: ScalarType) -> f64 {
    1.0 / epsilon(t)
}

fn max_finite(t: ScalarType) -> f64 {
    if t.is_float() { FloatFormat::of(t).max_finite() } else { f64::INFINITY }
}

/// Of the result of a one-operand float function, or `None` where the operand is not fit for it.
pub fn unary(op: UnaryOp, fast: bool, t: ScalarType, x: Info) -> Option<Info> {
    use UnaryOp as U;
    match op {
        U::Neg | U::Abs => return Some(x),
        _ if !x.exact() => return None,
        U::Floor | U::Ceil | U::Round | U::RoundEven | U::Trunc => {
            return Info { mag: x.mag + 1.0, integral: true, ..x }.within(t);
        }
        U::IsNan | U::IsInf | U::IsFinite => return Some(Info::ANY),
        U::Sqrt => return Some(Info::ANY),
        U::Recip if !fast => return Some(Info::ANY),
        _ => {}
    }
    // Far from zero the reduction of the angle dominates, and close to a zero the relative error.
    if matches!(op, U::Sin | U::Cos | U::Tan) && x.mag > 1000.0 {
        return None;
    }
    let loose = if fast { 2f64.powi(-9) } else { 0.0 };
    let rel = 8.0 * epsilon(t).max(f64::EPSILON) + loose;
    let abs = rel.max(f64::from(f32::MIN_POSITIVE));
    let bound = match op {
        U::Sin | U::Cos | U::Tanh | U::Erf | U::Sigmoid => Some(1.0),
        U::Atan => Some(2.0),
        U::Gelu | U::Silu => Some(x.mag),
        _ => None,
    };
    // A NaN operand gives NaN.
    let mag = bound.filter(|_| x.is_bounded()).unwrap_or(f64::INFINITY);
    // Near zero of the function, only the absolute error is bounded; these stay near their bound or near x.
    let abs = match op {
        U::Exp | U::Exp2 | U::Rsqrt | U::Cbrt | U::Recip => f64::from(f32::MIN_POSITIVE),
        U::Gelu | U::Silu if x.is_bounded() => abs * x.mag.max(1.0),
        // Their error grows with x, which is not known.
        U::Gelu | U::Silu => return None,
        _ => abs,
    };
    // Results below the smallest normal number may be flushed, which is more in narrow formats.
    let abs = abs + FloatFormat::of(t).min_normal();
    Some(Info { mag, integral: false, rel, abs })
}

/// Of the result of a two-operand float function, or `None` where the operands are not fit for it.
pub fn binary(op: BinaryOp, t: ScalarType, a: Info, b: Info) -> Option<Info> {
    use BinaryOp as B;
    let exact = a.exact() && b.exact();
    let integral = a.integral && b.integral;
    if exact {
        let mag = match op {
            B::Add | B::Sub => a.mag + b.mag,
            B::Mul => a.mag * b.mag,
            B::Min | B::Max | B::MinNan | B::MaxNan => a.mag.max(b.mag),
            // The sign of a NaN is not defined.
            B::CopySign if b.is_bounded() => a.mag,
            B::CopySign => return None,
            B::Div | B::Rem | B::FloorDiv | B::FloorRem => return Some(Info::ANY),
            B::Pow | B::Atan2 => {
                if a.mag > 16.0 || b.mag > 16.0 {
                    return None;
                }
                let rel = 32.0 * epsilon(t).max(f64::EPSILON);
                return Some(Info { rel, abs: rel, ..Info::ANY });
            }
            _ => return None,
        };
        // An infinite factor times a zero bound.
        let mag = if mag.is_nan() { f64::INFINITY } else { mag };
        let integral = if op == B::CopySign { a.integral } else { integral };
        return Info { mag, integral, ..Info::ANY }.within(t);
    }
    if !a.is_bounded() || !b.is_bounded() {
        return None;
    }
    let (ea, eb) = (a.error(), b.error());
    let (mag, abs) = match op {
        B::Add | B::Sub => (a.mag + b.mag, ea + eb),
        B::Mul => (a.mag * b.mag, a.mag * eb + b.mag * ea + ea * eb),
        B::Min | B::Max => (a.mag.max(b.mag), ea.max(eb)),
        _ => return None,
    };
    Info { mag, integral: false, rel: 0.0, abs: abs + 2.0 * epsilon(t) * mag }.within(t)
}

/// Of a fused multiplication and addition.
pub fn fma(t: ScalarType, a: Info, b: Info, c: Info) -> Option<Info> {
    if !(a.exact() && b.exact() && c.exact()) {
        return None;
    }
    let mag = a.mag * b.mag + c.mag;
    let mag = if mag.is_nan() { f64::INFINITY } else { mag };
    Info { mag, integral: a.integral && b.integral && c.integral, ..Info::ANY }.within(t)
}

/// Of a conversion between floats.
pub fn cast(from: ScalarType, to: ScalarType, saturate: bool, x: Info) -> Option<Info> {
    let widens = epsilon(to) <= epsilon(from) && max_finite(to) >= max_finite(from);
    if widens {
        return Some(x);
    }
    if x.exact() {
        let mag = if saturate { x.mag.min(max_finite(to)) } else { x.mag };
        // NaN stays NaN where it saturates.
        let mag = if x.is_bounded() { mag } else { f64::INFINITY };
        return Info { mag, ..x }.within(to);
    }
    if x.mag > max_finite(to) / 2.0 {
        return None;
    }
    let abs = x.abs + FloatFormat::of(to).min_normal();
    Some(Info { rel: x.rel + 4.0 * epsilon(to), abs, integral: false, ..x })
}

/// Of a conversion from an integer type.
pub fn from_int(from: ScalarType, to: ScalarType, saturate: bool) -> Info {
    let mag = match from {
        ScalarType::Bool => 1.0,
        t => 2f64.powi(t.bits() as i32),
    };
    cast(ScalarType::F64, to, saturate, Info::whole(mag)).unwrap_or(Info::ANY)
}

/// Of a reduction of `n` elements, or the prefixes of a scan.
pub fn reduce(kind: ReduceKind, t: ScalarType, n: u64, x: Info) -> Option<Info> {
    let n = n as f64;
    match kind {
        ReduceKind::Min | ReduceKind::Max | ReduceKind::MinNan | ReduceKind::MaxNan => Some(x),
        ReduceKind::Sum => sum(t, n * x.mag, x.integral && x.exact(), n * x.error(), n),
        ReduceKind::Prod => {
            let mag = x.mag.max(1.0).powf(n);
            let whole = x.integral && x.exact() && mag <= whole_limit(t.accumulator());
            if whole { Info::whole(mag).within(t) } else { None }
        }
        _ => None,
    }
}

/// Of a sum of `n` terms of which the absolute values add up to `mag`, in any order.
fn sum(t: ScalarType, mag: f64, whole: bool, error: f64, n: f64) -> Option<Info> {
    if !mag.is_finite() {
        return None;
    }
    let acc = t.accumulator();
    if whole && mag <= whole_limit(acc) {
        return Info::whole(mag).within(t);
    }
    let abs = error + 2.0 * mag * (n * epsilon(acc) + epsilon(t));
    Info { mag, integral: false, rel: 0.0, abs }.within(t)
}

/// Of `acc + a · b` over an inner extent of `k`. `ta` is the type of the inputs, `tc` of the accumulator.
pub fn dot(
    ta: ScalarType,
    tc: ScalarType,
    precision: DotPrecision,
    k: u64,
    a: Info,
    b: Info,
    acc: Info,
) -> Option<Info> {
    let k = k as f64;
    let product = k * a.mag * b.mag;
    let mag = acc.mag + product;
    if !mag.is_finite() {
        return None;
    }
    let whole = [a, b, acc].iter().all(|i| i.integral && i.exact());
    // Inputs that a narrower format holds are not rounded by it.
    let (narrow, loss) = match precision {
        DotPrecision::Ieee => (whole_limit(ta), 0.0),
        DotPrecision::Tf32 => (2f64.powi(11), 2f64.powi(-9)),
        DotPrecision::Tf32x3 => (2f64.powi(11), 2f64.powi(-19)),
        DotPrecision::Bf16x3 => (2f64.powi(8), 2f64.powi(-13)),
    };
    if whole && mag <= whole_limit(tc) && a.mag.max(b.mag) <= narrow {
        return Info::whole(mag).within(tc);
    }
    let (ea, eb) = (a.error(), b.error());
    let inputs = k * (a.mag * eb + b.mag * ea + ea * eb) + acc.error();
    let abs = inputs + product * loss + 2.0 * mag * (k + 2.0) * epsilon(tc);
    Info { mag, integral: false, rel: 0.0, abs }.within(tc)
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: ScalarType = ScalarType::F32;

    #[test]
    fn whole_numbers_stay_exact() {
        let x = Info::whole(8.0);
        assert_eq!(binary(BinaryOp::Mul, F, x, x), Some(Info::whole(64.0)));
        assert_eq!(reduce(ReduceKind::Sum, F, 100, x), Some(Info::whole(800.0)));
        assert_eq!(dot(F, F, DotPrecision::Tf32, 16, x, x, x), Some(Info::whole(1032.0)));
        assert!(reduce(ReduceKind::Sum, F, 1 << 22, x).is_some_and(|i| !i.exact()));
        assert!(dot(F, F, DotPrecision::Tf32, 1, Info::whole(4096.0), x, x).is_some_and(|i| !i.exact()));
        assert!(reduce(ReduceKind::Prod, F, 20, x).is_none());
    }

    #[test]
    fn what_differs_stays_continuous() {
        let e = unary(UnaryOp::Tanh, false, F, Info::bounded(3.0)).unwrap();
        assert!(!e.exact() && e.is_bounded());
        assert_eq!(unary(UnaryOp::Floor, false, F, e), None);
        assert_eq!(binary(BinaryOp::Div, F, e, e), None);
        assert!(binary(BinaryOp::Add, F, e, e).unwrap().abs > 2.0 * e.abs);
        let wild = unary(UnaryOp::Exp, false, F, Info::ANY).unwrap();
        assert_eq!(binary(BinaryOp::Add, F, wild, wild), None);
        assert_eq!(reduce(ReduceKind::Sum, F, 4, wild), None);
        assert!(cast(F, ScalarType::F64, false, wild).is_some());
        assert_eq!(cast(F, ScalarType::F16, false, wild), None);
    }

    #[test]
    fn overflow_gives_up_the_bound() {
        let big = Info::whole(60000.0);
        let t = ScalarType::F16;
        assert_eq!(binary(BinaryOp::Add, t, big, big), Some(Info::ANY));
        assert_eq!(cast(F, ScalarType::F8E4M3, false, big), Some(Info::ANY));
        assert_eq!(cast(F, ScalarType::F8E4M3, true, big), Some(Info::whole(448.0)));
    }
}
