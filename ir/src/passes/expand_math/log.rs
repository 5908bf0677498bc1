//! Logarithms and powers.
//!
//! x = 2^e · (1 + f) with 1 + f in [√½, √2]; ln(1 + f) = f + t with a polynomial for the tail t. The result adds
//! the largest term last.

use super::exp::exp2_parts;
use super::ops::{MathOps, Width};
use crate::ops::{BinaryOp, CmpOp, UnaryOp};

/// Splits a positive finite x: the exponent as a float, and f. `lower` are the bits of the least value of 1 + f.
fn split<O: MathOps>(o: &mut O, x: O::F, lower: i64) -> (O::F, O::F) {
    let w = o.width();
    // Subnormals are made normal first.
    let (up, down) = (w.pick(33554432.0, 18014398509481984.0), w.pick(-25.0, -54.0));
    let subnormal = o.cmpc(CmpOp::Lt, x, w.min_normal());
    let raised = o.mulc(x, up);
    let x = o.select(subnormal, raised, x);
    let (zero, down) = (o.c(0.0), o.c(down));
    let extra = o.select(subnormal, down, zero);
    let bits = o.bits(x);
    let above = o.intc(BinaryOp::Sub, bits, lower);
    let e = o.intc(BinaryOp::Shr, above, w.mantissa_bits());
    let shifted = o.intc(BinaryOp::Shl, e, w.mantissa_bits());
    let m = o.int(BinaryOp::Sub, bits, shifted);
    let m = o.float_of_bits(m);
    let e = o.float(e);
    (o.add(e, extra), o.addc(m, -1.0))
}

/// Bits of √½, rounded.
fn sqrt_half(w: Width) -> i64 {
    match w {
        Width::W32 => 0x3f35_04f3,
        Width::W64 => 0x3fe6_a09e_667f_3bcd,
    }
}

/// ln(1 + f) - f.
fn tail<O: MathOps>(o: &mut O, f: O::F) -> O::F {
    let table = o.width().table().log;
    match o.width() {
        Width::W32 => {
            let q = o.poly(f, table);
            let f2 = o.mul(f, f);
            o.mul(f2, q)
        }
        Width::W64 => {
            // ln(1 + f) = f - h + s (h + R) with s = f / (2 + f), h = f²/2, R = s² P(s²).
            let d = o.addc(f, 2.0);
            let s = o.div(f, d);
            let z = o.mul(s, s);
            let p = o.poly(z, table);
            let r = o.mul(z, p);
            let half = o.mulc(f, 0.5);
            let h = o.mul(half, f);
            let sum = o.add(h, r);
            let neg = o.neg(h);
            o.fma(s, sum, neg)
        }
    }
}

/// Replaces the result where x is not positive and finite.
fn specials<O: MathOps>(o: &mut O, x: O::F, y: O::F) -> O::F {
    let positive = o.cmpc(CmpOp::Gt, x, 0.0);
    let finite = o.cmpc(CmpOp::Lt, x, f64::INFINITY);
    let ordinary = o.logic(BinaryOp::And, positive, finite);
    let negative = o.cmpc(CmpOp::Lt, x, 0.0);
    let nan = o.c(f64::NAN);
    // Infinity and NaN give themselves.
    let other = o.select(negative, nan, x);
    let zero = o.cmpc(CmpOp::Eq, x, 0.0);
    let bottom = o.c(f64::NEG_INFINITY);
    let other = o.select(zero, bottom, other);
    o.select(ordinary, y, other)
}

/// `e ln 2 + ln(1 + f)`.
fn ln_sum<O: MathOps>(o: &mut O, e: O::F, f: O::F) -> O::F {
    let k = o.width().table();
    let t = tail(o, f);
    let t = o.fmac(e, k.ln_2[1], t);
    // For e = 0 the sum of f and the tail is the result. Otherwise the product is exact and the larger.
    let r = o.add(f, t);
    o.fmac(e, k.ln_2[0], r)
}

/// Natural logarithm.
pub fn log<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let lower = sqrt_half(o.width());
    let (e, f) = split(o, x, lower);
    let y = ln_sum(o, e, f);
    specials(o, x, y)
}

/// `(f + t) · (k0 + k1)` rounded about once, plus what `add` is.
fn times<O: MathOps>(o: &mut O, f: O::F, k: [f64; 2], add: Option<O::F>) -> O::F {
    let t = tail(o, f);
    let low = o.mulc(t, k[0]);
    let low = o.fmac(f, k[1], low);
    let low = match add {
        Some(v) => o.add(low, v),
        None => low,
    };
    o.fmac(f, k[0], low)
}

/// Logarithm to base 2.
pub fn log2<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let lower = sqrt_half(o.width());
    let (e, f) = split(o, x, lower);
    let y = times(o, f, o.width().table().log2_e, None);
    let y = o.add(e, y);
    specials(o, x, y)
}

/// Logarithm to base 10.
pub fn log10<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let k = o.width().table();
    let lower = sqrt_half(o.width());
    let (e, f) = split(o, x, lower);
    let low = o.mulc(e, k.log10_2[1]);
    let y = times(o, f, k.log10_e, Some(low));
    let y = o.fmac(e, k.log10_2[0], y);
    specials(o, x, y)
}

/// ln(1 + x): the exponent comes from the rounded sum, f from x itself: 2^-e (1 + x) - 1 = 2^-e x + (2^-e - 1).
pub fn log1p<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let w = o.width();
    let u = o.addc(x, 1.0);
    let bits = o.bits(u);
    let above = o.intc(BinaryOp::Sub, bits, sqrt_half(w));
    let e = o.intc(BinaryOp::Shr, above, w.mantissa_bits());
    let one = o.i(w.bias() << w.mantissa_bits());
    let shifted = o.intc(BinaryOp::Shl, e, w.mantissa_bits());
    let inverse = o.int(BinaryOp::Sub, one, shifted);
    let inverse = o.float_of_bits(inverse);
    let rest = o.addc(inverse, -1.0);
    let f = o.fma(x, inverse, rest);
    // Where the one hardly counts, f comes from the sum; 2^-e may be subnormal there.
    let m = o.int(BinaryOp::Sub, bits, shifted);
    let m = o.float_of_bits(m);
    let from_sum = o.addc(m, -1.0);
    let large = o.cmpc(CmpOp::Gt, x, w.pick(16777216.0, 9007199254740992.0));
    let f = o.select(large, from_sum, f);
    let e = o.float(e);
    let y = ln_sum(o, e, f);
    let y = specials(o, u, y);
    // Small x is its own logarithm, with its sign; it also keeps the bits that 1 + x would lose.
    let magnitude = o.abs(x);
    let tiny = o.cmpc(CmpOp::Lt, magnitude, w.pick(1e-8, 1e-17));
    o.select(tiny, x, y)
}

/// An unevaluated sum.
#[derive(Clone, Copy)]
struct Pair<F> {
    hi: F,
    lo: F,
}

/// The exact sum of a and b, where |a| ≥ |b| or a is zero.
fn fast_two_sum<O: MathOps>(o: &mut O, a: O::F, b: O::F) -> Pair<O::F> {
    let hi = o.add(a, b);
    let rest = o.sub(hi, a);
    Pair { hi, lo: o.sub(b, rest) }
}

/// The exact product of a and b.
fn two_product<O: MathOps>(o: &mut O, a: O::F, b: O::F) -> Pair<O::F> {
    let hi = o.mul(a, b);
    let neg = o.neg(hi);
    Pair { hi, lo: o.fma(a, b, neg) }
}

fn pair_mul<O: MathOps>(o: &mut O, a: Pair<O::F>, b: Pair<O::F>) -> Pair<O::F> {
    let p = two_product(o, a.hi, b.hi);
    let lo = o.fma(a.hi, b.lo, p.lo);
    let lo = o.fma(a.lo, b.hi, lo);
    fast_two_sum(o, p.hi, lo)
}

/// A sum whose first term is the larger.
fn pair_add<O: MathOps>(o: &mut O, a: Pair<O::F>, b: Pair<O::F>) -> Pair<O::F> {
    let s = fast_two_sum(o, a.hi, b.hi);
    let low = o.add(a.lo, b.lo);
    let lo = o.add(s.lo, low);
    fast_two_sum(o, s.hi, lo)
}

fn pair_const<O: MathOps>(o: &mut O, v: [f64; 2]) -> Pair<O::F> {
    Pair { hi: o.c(v[0]), lo: o.c(v[1]) }
}

/// log2 of a positive finite x to about twice the format's precision, as a power needs: an error of the logarithm
/// is multiplied by up to the largest exponent.
///
/// With s = f / (2 + f), log2(1 + f) = 2 s / ln 2 · (1 + z/3 + z²/5 + ...), z = s²; here 1 + f lies in [2/3, 4/3].
fn log2_pair<O: MathOps>(o: &mut O, x: O::F) -> Pair<O::F> {
    let w = o.width();
    let k = w.table();
    let two_thirds = match w {
        Width::W32 => 0x3f2a_aaab,
        Width::W64 => 0x3fe5_5555_5555_5555,
    };
    let (e, f) = split(o, x, two_thirds);
    let two = o.c(2.0);
    let d = fast_two_sum(o, two, f);
    let s = {
        let hi = o.div(f, d.hi);
        let neg = o.neg(hi);
        let rest = o.fma(neg, d.hi, f);
        let rest = o.fma(neg, d.lo, rest);
        Pair { hi, lo: o.div(rest, d.hi) }
    };
    let z = pair_mul(o, s, s);
    let third = pair_const(o, k.third);
    let tail = o.poly(z.hi, k.pow_tail);
    let series = match w {
        Width::W32 => {
            // 1/3 + z · tail.
            let t = o.mul(z.hi, tail);
            let zero = o.c(0.0);
            pair_add(o, third, Pair { hi: t, lo: zero })
        }
        Width::W64 => {
            // 1/3 + z (1/5 + z · tail).
            let fifth = pair_const(o, k.fifth);
            let t = o.mul(z.hi, tail);
            let zero = o.c(0.0);
            let inner = pair_add(o, fifth, Pair { hi: t, lo: zero });
            let inner = pair_mul(o, z, inner);
            pair_add(o, third, inner)
        }
    };
    let series = pair_mul(o, z, series);
    let (one, zero) = (o.c(1.0), o.c(0.0));
    let series = pair_add(o, Pair { hi: one, lo: zero }, series);
    let factor = pair_const(o, k.two_log2_e);
    let s = pair_mul(o, s, factor);
    let log = pair_mul(o, s, series);
    // e is zero or the larger.
    pair_add(o, Pair { hi: e, lo: zero }, log)
}

/// x^y with the special cases of IEEE 754 and C.
pub fn pow<O: MathOps>(o: &mut O, x: O::F, y: O::F) -> O::F {
    let ax = o.abs(x);
    let log = log2_pair(o, ax);
    let p = two_product(o, y, log.hi);
    let lo = o.fma(y, log.lo, p.lo);
    // Beyond the limit the result is zero or infinity whatever the low part, which may be NaN there.
    let limit = o.width().pick(250.0, 2000.0);
    let magnitude = o.abs(p.hi);
    let inside = o.cmpc(CmpOp::Lt, magnitude, limit);
    let zero = o.c(0.0);
    let lo = o.select(inside, lo, zero);
    let hi = o.clamp(p.hi, -limit, limit);
    let r = exp2_parts(o, hi, Some(lo)).get(o);

    let (infinity, one, nan) = (o.c(f64::INFINITY), o.c(1.0), o.c(f64::NAN));
    let y_negative = o.cmpc(CmpOp::Lt, y, 0.0);
    let x_zero = o.cmpc(CmpOp::Eq, x, 0.0);
    let x_infinite = o.cmpc(CmpOp::Eq, ax, f64::INFINITY);
    let at_zero = o.select(y_negative, infinity, zero);
    let r = o.select(x_zero, at_zero, r);
    let at_infinity = o.select(y_negative, zero, infinity);
    let r = o.select(x_infinite, at_infinity, r);

    // Negative x: the parity of y gives the sign.
    let whole = o.unary(UnaryOp::Trunc, y);
    let integer = o.cmp(CmpOp::Eq, whole, y);
    let half = o.mulc(y, 0.5);
    let half_whole = o.unary(UnaryOp::Trunc, half);
    let not_even = o.cmp(CmpOp::Ne, half, half_whole);
    let odd = o.logic(BinaryOp::And, integer, not_even);
    let signed = o.copysign(r, x);
    let r = o.select(odd, signed, r);
    let x_negative = o.cmpc(CmpOp::Lt, x, 0.0);
    let fraction = o.cmp(CmpOp::Ne, whole, y);
    let undefined = o.logic(BinaryOp::And, x_negative, fraction);
    let r_finite_base = o.select(undefined, nan, r);
    let r = o.select(x_infinite, r, r_finite_base);

    let x_nan = o.is_nan(x);
    let y_nan = o.is_nan(y);
    let any_nan = o.logic(BinaryOp::Or, x_nan, y_nan);
    let r = o.select(any_nan, nan, r);
    // |x| = 1 with y infinite, and the two cases that win over NaN.
    let ax_one = o.cmpc(CmpOp::Eq, ax, 1.0);
    let ay = o.abs(y);
    let y_infinite = o.cmpc(CmpOp::Eq, ay, f64::INFINITY);
    let unit = o.logic(BinaryOp::And, ax_one, y_infinite);
    let y_zero = o.cmpc(CmpOp::Eq, y, 0.0);
    let x_one = o.cmpc(CmpOp::Eq, x, 1.0);
    let certain = o.logic(BinaryOp::Or, y_zero, x_one);
    let certain = o.logic(BinaryOp::Or, certain, unit);
    o.select(certain, one, r)
}
