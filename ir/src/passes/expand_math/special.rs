//! Error function, gelu and cube root.

use super::exp::exp_parts;
use super::ops::{MathOps, Width};
use crate::ops::{BinaryOp, CmpOp};

/// e^(a²) erfc(a) for a ≥ 0: a polynomial in (a - k) / (a + k), over 1 + 2a.
fn erfcx<O: MathOps>(o: &mut O, a: O::F) -> O::F {
    let k = o.width().pick(2.0, 4.0);
    let (below, above) = (o.addc(a, -k), o.addc(a, k));
    let u = o.div(below, above);
    let p = o.poly(u, o.width().table().erfcx);
    let d = o.fma_cc(a, 2.0, 1.0);
    o.div(p, d)
}

/// e^(-(hi² + lo)) where lo is what hi² lost to rounding, as a factor and powers of two.
fn exp_minus_square<O: MathOps>(o: &mut O, hi: O::F, half: bool) -> (super::exp::Scaled<O::F>, O::F) {
    let square = o.mul(hi, hi);
    let neg = o.neg(square);
    let lost = o.fma(hi, hi, neg);
    let scale = if half { -0.5 } else { -1.0 };
    let exponent = o.mulc(square, scale);
    let limit = o.width().pick(-200.0, -1500.0);
    let exponent = o.clamp(exponent, limit, 0.0);
    let e = exp_parts(o, exponent);
    // e^(-lost) = 1 - lost.
    let correction = o.mulc(lost, scale);
    let m = o.fma(e.m, correction, e.m);
    (e, m)
}

/// Error function: a polynomial up to 1, then 1 - e^(-x²) erfcx(|x|).
pub fn erf<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let magnitude = o.abs(x);
    let z = o.mul(x, x);
    let p = o.poly(z, o.width().table().erf);
    let small = o.fma(x, p, x);
    // Beyond 6 (f64) the result is 1; the limit keeps the square finite.
    let a = o.clamp(magnitude, 0.0, 8.0);
    let (e, m) = exp_minus_square(o, a, false);
    let q = erfcx(o, a);
    let c = o.mul(m, q);
    let c = e.scale(o, c);
    let large = o.csub(1.0, c);
    let large = o.copysign(large, x);
    let is_small = o.cmpc(CmpOp::Lt, magnitude, 1.0);
    o.select(is_small, small, large)
}

/// x Φ(x), where Φ(x) = erfc(-x/√2) / 2 = e^(-x²/2) erfcx(|x|/√2) / 2 for negative x, and one minus that of -x for
/// positive x: small results keep their relative accuracy.
pub fn gelu<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let w = o.width();
    let magnitude = o.abs(x);
    // Beyond this Φ is 0 or 1, also times x.
    let a = o.clamp(magnitude, 0.0, w.pick(16.0, 40.0));
    let (e, m) = exp_minus_square(o, a, true);
    let scaled = o.mulc(a, std::f64::consts::FRAC_1_SQRT_2);
    let q = erfcx(o, scaled);
    let h = o.mul(m, q);
    let h = o.mulc(h, 0.5);
    // Negative side: the powers of two come last.
    let below = o.mul(a, h);
    let below = o.neg(below);
    let below = e.scale(o, below);
    let upper = e.scale(o, h);
    let upper = o.csub(1.0, upper);
    let above = o.mul(x, upper);
    let negative = o.cmpc(CmpOp::Lt, x, 0.0);
    let y = o.select(negative, below, above);
    // -inf · 0.
    let bottom = o.cmpc(CmpOp::Eq, x, f64::NEG_INFINITY);
    let nan = o.c(f64::NAN);
    o.select(bottom, nan, y)
}

/// Cube root: a third of the exponent for a start, then Halley's iteration, the last time with the exact residual.
pub fn cbrt<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let w = o.width();
    let magnitude = o.abs(x);
    // Towards the middle of the range by a cube: subnormals become normal, and 3a does not overflow.
    let (step, root) = (w.pick(16777216.0, 18014398509481984.0), w.pick(256.0, 262144.0));
    let small = o.cmpc(CmpOp::Lt, magnitude, 1.0);
    let (up, down) = (o.c(step), o.c(1.0 / step));
    let scale = o.select(small, up, down);
    let a = o.mul(magnitude, scale);
    let (up, down) = (o.c(root), o.c(1.0 / root));
    let unscale = o.select(small, down, up);
    let bits = o.bits(a);
    let third = o.intc(BinaryOp::Div, bits, 3);
    let start = match w {
        Width::W32 => 0x2a51_19f2,
        Width::W64 => 0x2a9f_7893_0000_0000,
    };
    let guess = o.intc(BinaryOp::Add, third, start);
    let mut y = o.float_of_bits(guess);
    let rounds = if w == Width::W32 { 1 } else { 2 };
    for _ in 0..rounds {
        // y (y³ + 2a) / (2y³ + a).
        let square = o.mul(y, y);
        let cube = o.mul(square, y);
        let numerator = o.fmac(a, 2.0, cube);
        let denominator = o.fmac(cube, 2.0, a);
        let ratio = o.div(numerator, denominator);
        y = o.mul(y, ratio);
    }
    // y - y (y³ - a) / (2y³ + a), the difference without the rounding of y².
    let square = o.mul(y, y);
    let neg = o.neg(square);
    let lost = o.fma(y, y, neg);
    let minus_a = o.neg(a);
    let residual = o.fma(square, y, minus_a);
    let residual = o.fma(lost, y, residual);
    let cube = o.mul(square, y);
    let denominator = o.fmac(cube, 2.0, a);
    let ratio = o.div(residual, denominator);
    let step = o.mul(y, ratio);
    let y = o.sub(y, step);
    let y = o.mul(y, unscale);
    let y = o.copysign(y, x);
    // Zero, infinity and NaN give themselves.
    let finite = o.cmpc(CmpOp::Lt, magnitude, f64::INFINITY);
    let nonzero = o.cmpc(CmpOp::Gt, magnitude, 0.0);
    let ordinary = o.logic(BinaryOp::And, finite, nonzero);
    o.select(ordinary, y, x)
}
