//! The approximate functions: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh.
//!
//! Results are nearly correctly rounded, well within the error that the PTX ISA states for the hardware's.

use super::Op;
use super::float::{bits, f, unary, z, zbits};
use super::lanes::lanes;
use crate::error::Result;
use crate::ptx::decode::{Decoder, Modifiers, Ty};
use crate::ptx::syntax::ast::Instruction;

/// `2^x`: the exponent split off, the rest by a polynomial in `f64`, good to below an ulp of `f32`. It vectorises, which `exp2` does not.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let clamped = f64::from(x.clamp(-160.0, 160.0));
    // Adding and taking away 1.5 * 2^52 rounds to the nearest integer.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = clamped + MAGIC;
    let whole = shifted - MAGIC;
    let r = (clamped - whole) * std::f64::consts::LN_2;
    let p = 1.0
        + r * (1.0
            + r * (1.0 / 2.0
                + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0))))));
    let scale = f64::from_bits(
        (1023_i64.wrapping_add(shifted.to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64) as u64) << 52,
    );
    let result = (p * scale) as f32;
    if x.is_nan() { x } else { result }
}

/// Decodes one; none if the opcode is not one.
pub(super) fn decode(d: &mut Decoder, i: &Instruction, m: &mut Modifiers) -> Result<Option<Op>> {
    let approx = m.take("approx");
    let ftz = m.take("ftz");
    let Some(ty) = m.ty() else { return Ok(None) };
    macro_rules! function {
        ($x:ident, $body:expr) => {
            if ftz {
                unary(d, i, lanes!(W(a: W), { let $x = z(a); zbits($body) }))
            } else {
                unary(d, i, lanes!(W(a: W), { let $x = f(a); bits($body) }))
            }
        };
    }
    if !approx {
        return Ok(None);
    }
    let op = match (i.opcode.as_str(), ty) {
        ("ex2", Ty::F32) => function!(x, exp2(x)),
        ("lg2", Ty::F32) => function!(x, f64::from(x).log2() as f32),
        ("rsqrt", Ty::F32) => function!(x, (1.0 / f64::from(x).sqrt()) as f32),
        ("sin", Ty::F32) => function!(x, f64::from(x).sin() as f32),
        ("cos", Ty::F32) => function!(x, f64::from(x).cos() as f32),
        ("tanh", Ty::F32) => function!(x, f64::from(x).tanh() as f32),
        ("rsqrt", Ty::F64) => d.dd(i, ty, lanes!(D(a: D), (1.0 / f64::from_bits(a).sqrt()).to_bits())),
        _ => return Ok(None),
    };
    op.map(Some)
}

#[cfg(test)]
mod tests {
    #[test]
    fn exp2_is_within_an_ulp() {
        for step in -64_000..64_000 {
            let x = step as f32 / 512.0;
            let (got, exact) = (super::exp2(x), f64::from(x).exp2() as f32);
            assert!(got.to_bits().abs_diff(exact.to_bits()) <= 1, "{x}: {got} {exact}");
        }
        assert_eq!(super::exp2(f32::NEG_INFINITY), 0.0);
        assert_eq!(super::exp2(f32::INFINITY), f32::INFINITY);
        assert!(super::exp2(f32::NAN).is_nan());
    }
}
