//! e^x, 2^x and what is made of them: expm1, sigmoid, silu, sinh, cosh, tanh.
//!
//! The argument is split into an integer n and a small r with e^x = 2^n · e^r; e^r is a polynomial, and 2^n is
//! applied as two powers of two, so that subnormal results are rounded once and overflow comes out as infinity.

use super::ops::MathOps;
use crate::ops::{BinaryOp, CmpOp, UnaryOp};

/// `m · a · b`, where `a` and `b` are powers of two.
pub struct Scaled<F> {
    /// Between about 0.7 and 1.5.
    pub m: F,
    a: F,
    b: F,
}

impl<F: Copy> Scaled<F> {
    /// The value.
    pub fn get<O: MathOps<F = F>>(&self, o: &mut O) -> F {
        self.scale(o, self.m)
    }

    /// `x` times the powers of two.
    pub fn scale<O: MathOps<F = F>>(&self, o: &mut O, x: F) -> F {
        let x = o.mul(x, self.a);
        o.mul(x, self.b)
    }
}

/// Rounds to the nearest integer: the float, and a number whose low bits are it.
fn round<O: MathOps>(o: &mut O, x: O::F) -> (O::F, O::I) {
    let magic = o.width().round_magic();
    let t = o.addc(x, magic);
    let bits = o.bits(t);
    (o.addc(t, -magic), bits)
}

/// 2^n for an integer in the normal range.
fn exp2_int<O: MathOps>(o: &mut O, n: O::I) -> O::F {
    let w = o.width();
    let biased = o.intc(BinaryOp::Add, n, w.bias());
    let bits = o.intc(BinaryOp::Shl, biased, w.mantissa_bits());
    o.float_of_bits(bits)
}

/// `m · 2^n`, where n is the low bits left by [`round`].
fn scaled<O: MathOps>(o: &mut O, m: O::F, n: O::I) -> Scaled<O::F> {
    let magic = o.width().round_magic_bits();
    let n = o.intc(BinaryOp::Sub, n, magic);
    let half = o.intc(BinaryOp::Shr, n, 1);
    let rest = o.int(BinaryOp::Sub, n, half);
    Scaled { m, a: exp2_int(o, half), b: exp2_int(o, rest) }
}

/// 2^(hi + lo), where lo is small.
pub fn exp2_parts<O: MathOps>(o: &mut O, hi: O::F, lo: Option<O::F>) -> Scaled<O::F> {
    let (n, bits) = round(o, hi);
    let mut r = o.sub(hi, n);
    if let Some(lo) = lo {
        r = o.add(r, lo);
    }
    let m = if o.native(UnaryOp::Exp2) {
        o.unary(UnaryOp::Exp2, r)
    } else {
        let p = o.poly(r, o.width().table().exp2);
        let one = o.c(1.0);
        o.fma(r, p, one)
    };
    scaled(o, m, bits)
}

/// n (as float and as low bits) and r with x = n ln 2 + r.
fn reduce<O: MathOps>(o: &mut O, x: O::F) -> (O::F, O::I, O::F) {
    let t = o.width().table();
    let y = o.mulc(x, t.log2_e[0]);
    let (n, bits) = round(o, y);
    let r = o.fmac(n, -t.ln_2[0], x);
    (n, bits, o.fmac(n, -t.ln_2[1], r))
}

/// e^r - 1 for the small r of [`reduce`].
fn expm1_small<O: MathOps>(o: &mut O, r: O::F) -> O::F {
    let q = o.poly(r, o.width().table().exp);
    let r2 = o.mul(r, r);
    o.fma(r2, q, r)
}

/// e^x for x that is not beyond a few hundred (or thousand, in `f64`).
pub fn exp_parts<O: MathOps>(o: &mut O, x: O::F) -> Scaled<O::F> {
    let (_, bits, r) = reduce(o, x);
    let m = if o.native(UnaryOp::Exp2) {
        let r = o.mulc(r, o.width().table().log2_e[0]);
        o.unary(UnaryOp::Exp2, r)
    } else {
        let e = expm1_small(o, r);
        o.addc(e, 1.0)
    };
    scaled(o, m, bits)
}

/// The range outside which e^x is zero or infinity, with room to spare.
fn limit<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let (lo, hi) = (o.width().pick(-110.0, -750.0), o.width().pick(90.0, 712.0));
    o.clamp(x, lo, hi)
}

/// e^x.
pub fn exp<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let x = limit(o, x);
    exp_parts(o, x).get(o)
}

/// 2^x.
pub fn exp2<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let (lo, hi) = (o.width().pick(-152.0, -1080.0), o.width().pick(129.0, 1025.0));
    let x = o.clamp(x, lo, hi);
    exp2_parts(o, x, None).get(o)
}

/// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), where the last difference is exact as long as it matters.
pub fn expm1<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    // Below, the result is -1 to the last bit.
    let (lo, hi) = (o.width().pick(-18.0, -40.0), o.width().pick(88.75, 709.8));
    let limited = o.clamp(x, lo, hi);
    let (n, bits, r) = reduce(o, limited);
    let e = expm1_small(o, r);
    // Half of everything, so that 2^n does not overflow before the result does.
    let magic = o.width().round_magic_bits();
    let n1 = o.intc(BinaryOp::Sub, bits, magic + 1);
    let half = exp2_int(o, n1);
    let rest = o.addc(half, -0.5);
    let y = o.fma(half, e, rest);
    let y = o.add(y, y);
    // Where n is 0, halving could lose the last bit of a subnormal, and the sum the sign of zero.
    let small = o.cmpc(CmpOp::Eq, n, 0.0);
    let tiny = o.abs(x);
    let y = o.select(small, e, y);
    let is_tiny = o.cmpc(CmpOp::Lt, tiny, o.width().pick(1e-8, 1e-17));
    o.select(is_tiny, x, y)
}

/// 1 / (1 + e^-x): with t = e^-|x| it is 1 / (1 + t) or t / (1 + t), neither of which overflows.
pub fn sigmoid<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let (numerator, denominator, t) = sigmoid_parts(o, x, None);
    let y = o.div(numerator, denominator);
    let negative = o.cmpc(CmpOp::Lt, x, 0.0);
    let scaled = t.scale(o, y);
    o.select(negative, scaled, y)
}

/// x · sigmoid(x). The powers of two come last, so that nothing is lost where only e^x is subnormal.
pub fn silu<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let (numerator, denominator, t) = sigmoid_parts(o, x, Some(x));
    let y = o.div(numerator, denominator);
    let negative = o.cmpc(CmpOp::Lt, x, 0.0);
    let scaled = t.scale(o, y);
    let y = o.select(negative, scaled, y);
    // -inf · 0.
    let bottom = o.cmpc(CmpOp::Eq, x, f64::NEG_INFINITY);
    let nan = o.c(f64::NAN);
    o.select(bottom, nan, y)
}

/// Numerator and denominator of `times · sigmoid(x)`; where x is negative the quotient is to be scaled by the
/// powers of two of e^x.
fn sigmoid_parts<O: MathOps>(o: &mut O, x: O::F, times: Option<O::F>) -> (O::F, O::F, Scaled<O::F>) {
    let magnitude = o.abs(x);
    let exponent = o.neg(magnitude);
    let exponent = limit(o, exponent);
    let t = exp_parts(o, exponent);
    let whole = t.get(o);
    let denominator = o.addc(whole, 1.0);
    let negative = o.cmpc(CmpOp::Lt, x, 0.0);
    let (below, above) = match times {
        None => (t.m, o.c(1.0)),
        // Limited like the exponent, or the powers of two would not bring it to zero.
        Some(f) => {
            let limited = limit(o, f);
            (o.mul(limited, t.m), f)
        }
    };
    (o.select(negative, below, above), denominator, t)
}

/// e^|x| / 2 for hyperbolic functions.
fn half_exp<O: MathOps>(o: &mut O, magnitude: O::F) -> O::F {
    let x = limit(o, magnitude);
    let parts = exp_parts(o, x);
    let m = o.mulc(parts.m, 0.5);
    parts.scale(o, m)
}

/// Hyperbolic sine: a polynomial up to 1, then E - 1/(4E) with E = e^|x| / 2.
pub fn sinh<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let magnitude = o.abs(x);
    let small = {
        let z = o.mul(x, x);
        let p = o.poly(z, o.width().table().sinh);
        let zx = o.mul(z, x);
        o.fma(zx, p, x)
    };
    let e = half_exp(o, magnitude);
    let quarter = o.c(0.25);
    let r = o.div(quarter, e);
    let large = o.sub(e, r);
    let large = o.copysign(large, x);
    let is_small = o.cmpc(CmpOp::Lt, magnitude, 1.0);
    o.select(is_small, small, large)
}

/// Hyperbolic cosine.
pub fn cosh<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let magnitude = o.abs(x);
    let e = half_exp(o, magnitude);
    let quarter = o.c(0.25);
    let r = o.div(quarter, e);
    o.add(e, r)
}

/// Hyperbolic tangent: -m / (m + 2) with m = e^(-2|x|) - 1.
pub fn tanh<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let magnitude = o.abs(x);
    let y = o.mulc(magnitude, -2.0);
    let m = expm1(o, y);
    let denominator = o.addc(m, 2.0);
    let t = o.div(m, denominator);
    let t = o.copysign(t, x);
    // Keeps NaN, whose magnitude copysign would keep too, and subnormals, which doubling and halving would.
    let tiny = o.cmpc(CmpOp::Lt, magnitude, o.width().pick(1e-4, 1e-9));
    o.select(tiny, x, t)
}

/// Fast forms over the target's approximate 2^x.
pub mod fast {
    use super::*;

    /// e^x.
    pub fn exp<O: MathOps>(o: &mut O, x: O::F) -> O::F {
        let y = o.mulc(x, std::f64::consts::LOG2_E);
        o.approximate(UnaryOp::Exp2, y)
    }

    /// sigmoid(x).
    pub fn sigmoid<O: MathOps>(o: &mut O, x: O::F) -> O::F {
        let y = o.mulc(x, -std::f64::consts::LOG2_E);
        let t = o.approximate(UnaryOp::Exp2, y);
        let d = o.addc(t, 1.0);
        o.approximate(UnaryOp::Recip, d)
    }

    /// tanh(x) = 2 sigmoid(2x) - 1.
    pub fn tanh<O: MathOps>(o: &mut O, x: O::F) -> O::F {
        let y = o.mulc(x, 2.0);
        let s = sigmoid(o, y);
        o.fma_cc(s, 2.0, -1.0)
    }
}

/// The tanh form of gelu: x · sigmoid(2u), u = sqrt(2/π) (x + 0.044715 x³).
pub fn gelu_tanh<O: MathOps>(o: &mut O, x: O::F, sigmoid: impl FnOnce(&mut O, O::F) -> O::F) -> O::F {
    let z = o.mul(x, x);
    let k = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
    let p = o.fma_cc(z, k * 0.044715, k);
    let u = o.mul(x, p);
    let s = sigmoid(o, u);
    o.mul(x, s)
}
