//! Circular functions and their inverses.
//!
//! |x| is reduced to r in [-π/4, π/4] and a quadrant. Up to a limit π/2 is subtracted in three parts; beyond it
//! the product with 1/2π is taken from the bits of 1/2π that matter (Payne and Hanek), without a branch.

use super::coefficients::INVERSE_TWO_PI;
use super::ops::{MathOps, Width};
use crate::ops::{BinaryOp, CmpOp, UnaryOp};

/// The reduced argument and the number of quadrants, of which the low two bits count.
struct Reduced<O: MathOps> {
    r: O::F,
    quadrant: O::I,
}

/// Reduces |x|. With `near` only arguments up to the limit are reduced well.
fn reduce<O: MathOps>(o: &mut O, magnitude: O::F, near: bool) -> Reduced<O> {
    let w = o.width();
    let k = w.table();
    let magic = w.round_magic();
    let t = o.fma_cc(magnitude, std::f64::consts::FRAC_2_PI, magic);
    let quadrant = o.bits(t);
    let n = o.addc(t, -magic);
    let r = o.fmac(n, -k.pi_2[0], magnitude);
    let r = o.fmac(n, -k.pi_2[1], r);
    let r = o.fmac(n, -k.pi_2[2], r);
    if near {
        return Reduced { r, quadrant };
    }
    let far = reduce_far(o, magnitude);
    let limit = w.pick(65536.0, 1048576.0);
    let is_far = o.cmpc(CmpOp::Gt, magnitude, limit);
    let r = o.select(is_far, far.r, r);
    Reduced { r, quadrant: o.iselect(is_far, far.quadrant, quadrant) }
}

/// Reduces a magnitude that is well above 1, by integer arithmetic: the mantissa times a window of the bits of
/// 1/2π. The bits before the window give whole turns, which do not matter.
fn reduce_far<O: MathOps>(o: &mut O, magnitude: O::F) -> Reduced<O> {
    use BinaryOp::{Add, And, Mul, MulHi, Or, Shl, Shr, Sub, Xor};
    let w = o.width();
    let (width, mantissa_bits) = (w.bits(), w.mantissa_bits());
    let bits = o.bits(magnitude);
    let field = o.intc(Shr, bits, mantissa_bits);
    // The magnitude is a · 2^e with a in [1/2, 1); a fills a word.
    let e = o.intc(Sub, field, w.bias() - 1);
    let fraction = o.intc(And, bits, (1 << mantissa_bits) - 1);
    let mantissa = o.intc(Or, fraction, 1 << mantissa_bits);
    let a = o.intc(Shl, mantissa, width - 1 - mantissa_bits);

    // Words of 1/2π: from the one before the word that holds bit e on.
    let shift = o.intc(And, e, width - 1);
    let first = o.intc(Shr, e, if width == 32 { 5 } else { 6 });
    let word = |i: usize| match (w, i) {
        (_, 0) => 0i64,
        (Width::W64, i) => INVERSE_TWO_PI[i - 1] as i64,
        (Width::W32, i) => (INVERSE_TWO_PI[(i - 1) / 2] >> if i % 2 == 1 { 32 } else { 0 }) as u32 as i32 as i64,
    };
    let positions = (w.bias() + 1) / width + 1;
    let mut window: [O::I; 4] = std::array::from_fn(|j| o.i(word(j)));
    for i in 1..positions as usize {
        let index = o.i(i as i64);
        let here = o.icmp(CmpOp::Eq, first, index);
        for (j, slot) in window.iter_mut().enumerate() {
            let candidate = o.i(word(i + j));
            *slot = o.iselect(here, candidate, *slot);
        }
    }
    // Shifted left by the bits within a word. Shifting right in two steps keeps both amounts below the width.
    let inverse = o.intc(Xor, shift, width - 1);
    let shifted: [O::I; 3] = std::array::from_fn(|j| {
        let high = o.uint(Shl, window[j], shift);
        let low = o.uintc(Shr, window[j + 1], 1);
        let low = o.uint(Shr, low, inverse);
        o.int(Or, high, low)
    });

    // The product's two words above the lowest: first two bits are the quadrant, the rest its fraction.
    let p0 = o.uint(MulHi, a, shifted[2]);
    let middle = o.uint(Mul, a, shifted[1]);
    let low = o.int(Add, p0, middle);
    let carry = o.ucmp(CmpOp::Lt, low, middle);
    let (one, zero) = (o.i(1), o.i(0));
    let carry = o.iselect(carry, one, zero);
    let high = o.uint(MulHi, a, shifted[1]);
    let top = o.uint(Mul, a, shifted[0]);
    let high = o.int(Add, high, top);
    let high = o.int(Add, high, carry);

    // To the nearest quadrant: the fraction becomes signed.
    let half = 1i64 << (width - 3);
    let rounded = o.intc(Add, high, half);
    let quadrant = o.uintc(Shr, rounded, width - 2);
    let whole = o.intc(Shl, quadrant, width - 2);
    let high = o.int(Sub, high, whole);
    let sign = o.intc(Shr, high, width - 1);
    let (high, low) = (o.int(Xor, high, sign), o.int(Xor, low, sign));
    let high = o.float(high);
    let low = o.uintc(Shr, low, 1);
    let low = o.float(low);
    // In units of the quadrant: high / 2^(width - 2) + low / 2^(2 width - 3).
    let unit = std::f64::consts::FRAC_PI_2 / 2f64.powi(width as i32 - 2);
    let low = o.mulc(low, 2f64.powi(1 - width as i32));
    let sum = o.add(high, low);
    let r = o.mulc(sum, unit);
    let sign = o.intc(And, sign, 1i64 << (width - 1));
    let r = o.bits(r);
    let r = o.int(Xor, r, sign);
    let r = o.float_of_bits(r);
    let infinite = o.cmpc(CmpOp::Eq, magnitude, f64::INFINITY);
    let nan = o.c(f64::NAN);
    Reduced { r: o.select(infinite, nan, r), quadrant }
}

/// Sine and cosine of a reduced argument.
fn sin_cos<O: MathOps>(o: &mut O, r: O::F) -> (O::F, O::F) {
    let k = o.width().table();
    let z = o.mul(r, r);
    let p = o.poly(z, k.sin);
    let rz = o.mul(r, z);
    let sin = o.fma(rz, p, r);
    let q = o.poly(z, k.cos);
    let (half, one) = (o.c(-0.5), o.c(1.0));
    let q = o.fma(q, z, half);
    (sin, o.fma(q, z, one))
}

/// Flips the sign of x where bit 1 of the quadrant is set.
fn flip<O: MathOps>(o: &mut O, x: O::F, quadrant: O::I) -> O::F {
    let width = o.width().bits();
    let bit = o.intc(BinaryOp::And, quadrant, 2);
    let sign = o.intc(BinaryOp::Shl, bit, width - 2);
    let x = o.bits(x);
    let x = o.int(BinaryOp::Xor, x, sign);
    o.float_of_bits(x)
}

fn is_odd<O: MathOps>(o: &mut O, quadrant: O::I) -> O::B {
    let low = o.intc(BinaryOp::And, quadrant, 1);
    let zero = o.i(0);
    o.icmp(CmpOp::Ne, low, zero)
}

/// Multiplies by the sign of `by`.
fn xor_sign<O: MathOps>(o: &mut O, x: O::F, by: O::F) -> O::F {
    let (x, by) = (o.bits(x), o.bits(by));
    let mask = 1i64 << (o.width().bits() - 1);
    let sign = o.intc(BinaryOp::And, by, mask);
    let x = o.int(BinaryOp::Xor, x, sign);
    o.float_of_bits(x)
}

/// Sine.
pub fn sin<O: MathOps>(o: &mut O, x: O::F, near: bool) -> O::F {
    let magnitude = o.abs(x);
    let Reduced { r, quadrant } = reduce(o, magnitude, near);
    let (s, c) = sin_cos(o, r);
    let odd = is_odd(o, quadrant);
    let y = o.select(odd, c, s);
    let y = flip(o, y, quadrant);
    xor_sign(o, y, x)
}

/// Cosine.
pub fn cos<O: MathOps>(o: &mut O, x: O::F, near: bool) -> O::F {
    let magnitude = o.abs(x);
    let Reduced { r, quadrant } = reduce(o, magnitude, near);
    let (s, c) = sin_cos(o, r);
    let odd = is_odd(o, quadrant);
    let y = o.select(odd, s, c);
    // cos leads sin by a quadrant.
    let next = o.intc(BinaryOp::Add, quadrant, 1);
    flip(o, y, next)
}

/// Tangent.
pub fn tan<O: MathOps>(o: &mut O, x: O::F, near: bool) -> O::F {
    let magnitude = o.abs(x);
    let Reduced { r, quadrant } = reduce(o, magnitude, near);
    let (s, c) = sin_cos(o, r);
    let odd = is_odd(o, quadrant);
    let minus_s = o.neg(s);
    let numerator = o.select(odd, c, s);
    let denominator = o.select(odd, minus_s, c);
    let y = o.div(numerator, denominator);
    xor_sign(o, y, x)
}

/// For |x| ≤ 1/2: z = x², s = |x|. Above: z = (1 - |x|) / 2, s = √z. Gives s, and s³ p(z) so that asin s = s + it.
fn asin_parts<O: MathOps>(o: &mut O, magnitude: O::F) -> (O::B, O::F, O::F) {
    let large = o.cmpc(CmpOp::Gt, magnitude, 0.5);
    let square = o.mul(magnitude, magnitude);
    let outer = o.fma_cc(magnitude, -0.5, 0.5);
    let z = o.select(large, outer, square);
    let root = o.unary(UnaryOp::Sqrt, outer);
    let s = o.select(large, root, magnitude);
    let p = o.poly(z, o.width().table().asin);
    let sz = o.mul(s, z);
    (large, s, o.mul(sz, p))
}

/// Arc sine.
pub fn asin<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let k = o.width().table();
    let magnitude = o.abs(x);
    let (large, s, t) = asin_parts(o, magnitude);
    let a = o.add(s, t);
    // π/2 - 2 (s + t): the low part of π/2 goes in with the small term.
    let low = o.fma_cc(t, -2.0, k.pi_2[1]);
    let minus = o.fma_cc(s, -2.0, k.pi_2[0]);
    let outer = o.add(minus, low);
    let y = o.select(large, outer, a);
    o.copysign(y, x)
}

/// Arc cosine.
pub fn acos<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let k = o.width().table();
    let magnitude = o.abs(x);
    let (large, s, t) = asin_parts(o, magnitude);
    let negative = o.cmpc(CmpOp::Lt, x, 0.0);
    // |x| ≤ 1/2: π/2 - (x + x³ p).
    let (sx, tx) = (xor_sign(o, s, x), xor_sign(o, t, x));
    let low = o.csub(k.pi_2[1], tx);
    let inner = o.csub(k.pi_2[0], sx);
    // What the subtraction from π/2 rounded away.
    let back = o.csub(k.pi_2[0], inner);
    let lost = o.sub(back, sx);
    let low = o.add(low, lost);
    let small = o.add(inner, low);
    // Above: 2 (s + t), and π minus that for negative x.
    let sum = o.add(s, t);
    let twice = o.add(sum, sum);
    let low = o.fma_cc(t, -2.0, 2.0 * k.pi_2[1]);
    let minus = o.fma_cc(s, -2.0, 2.0 * k.pi_2[0]);
    let far = o.add(minus, low);
    let outer = o.select(negative, far, twice);
    o.select(large, outer, small)
}

/// atan t for t in [0, 1].
fn atan_unit<O: MathOps>(o: &mut O, t: O::F) -> O::F {
    let z = o.mul(t, t);
    let p = o.poly(z, o.width().table().atan);
    let tz = o.mul(t, z);
    o.fma(tz, p, t)
}

/// `π/2 - a`.
fn complement<O: MathOps>(o: &mut O, a: O::F) -> O::F {
    let k = o.width().table();
    let low = o.csub(k.pi_2[1], a);
    o.addc(low, k.pi_2[0])
}

/// Arc tangent: of 1/|x| above 1.
pub fn atan<O: MathOps>(o: &mut O, x: O::F) -> O::F {
    let magnitude = o.abs(x);
    let large = o.cmpc(CmpOp::Gt, magnitude, 1.0);
    let one = o.c(1.0);
    let inverse = o.div(one, magnitude);
    let t = o.select(large, inverse, magnitude);
    let a = atan_unit(o, t);
    let outer = complement(o, a);
    let y = o.select(large, outer, a);
    o.copysign(y, x)
}

/// Angle of the point (x, y), with the signed zeros and infinities of IEEE 754.
pub fn atan2<O: MathOps>(o: &mut O, y: O::F, x: O::F) -> O::F {
    let k = o.width().table();
    let (ax, ay) = (o.abs(x), o.abs(y));
    let steep = o.cmp(CmpOp::Gt, ay, ax);
    let small = o.select(steep, ax, ay);
    let large = o.select(steep, ay, ax);
    let t = o.div(small, large);
    // 0/0 counts as 0, inf/inf as 1.
    let both_zero = o.cmpc(CmpOp::Eq, large, 0.0);
    let zero = o.c(0.0);
    let t = o.select(both_zero, zero, t);
    let both_infinite = o.cmpc(CmpOp::Eq, small, f64::INFINITY);
    let one = o.c(1.0);
    let t = o.select(both_infinite, one, t);
    let a = atan_unit(o, t);
    let turned = complement(o, a);
    let a = o.select(steep, turned, a);
    // The left half plane, also for x = -0.
    let bits = o.bits(x);
    let zero_int = o.i(0);
    let left = o.icmp(CmpOp::Lt, bits, zero_int);
    let low = o.csub(2.0 * k.pi_2[1], a);
    let mirrored = o.addc(low, 2.0 * k.pi_2[0]);
    let a = o.select(left, mirrored, a);
    let a = o.copysign(a, y);
    let sum = o.add(x, y);
    let (x_nan, y_nan) = (o.is_nan(x), o.is_nan(y));
    let nan = o.logic(BinaryOp::Or, x_nan, y_nan);
    o.select(nan, sum, a)
}
