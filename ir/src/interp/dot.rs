//! Matrix products.
//!
//! Products are exact. Each sum is taken in `f64` and rounded to the accumulator's type, for k from 0 up; in
//! precise mode only the last sum is rounded.

use std::borrow::Cow;

use super::buf::Buf;
use crate::numeric::{FloatFormat, int};
use crate::ops::DotPrecision;
use crate::types::ScalarType;

/// Extents of one product.
#[derive(Clone, Copy, Debug)]
pub struct DotShape {
    /// Independent products.
    pub batch: usize,
    /// Rows of `a`.
    pub m: usize,
    /// Columns of `b`.
    pub n: usize,
    /// Columns of `a`, rows of `b`.
    pub k: usize,
}

/// `acc + a · b`, where `acc` has elements of type `t`.
pub fn dot(shape: DotShape, t: ScalarType, precision: DotPrecision, precise: bool, a: &Buf, b: &Buf, acc: &Buf) -> Buf {
    match (a, b, acc) {
        (Buf::Int(a), Buf::Int(b), Buf::Int(acc)) => {
            let mut out = acc.clone();
            each_row(shape, |row, a_row, b_at| {
                for (k, &x) in a[a_row].iter().enumerate() {
                    let b_row = &b[b_at + k * shape.n..][..shape.n];
                    for (o, &y) in out[row.clone()].iter_mut().zip(b_row) {
                        *o = int::fma(t, x, y, *o);
                    }
                }
            });
            Buf::Int(out)
        }
        (Buf::Float(a), Buf::Float(b), Buf::Float(acc)) => {
            let format = FloatFormat::of(t);
            let terms = split_terms(precision, a, b);
            let mut out = acc.clone();
            each_row(shape, |row, a_row, b_at| {
                for k in 0..shape.k {
                    for (a, b) in &terms {
                        let x = a[a_row.start + k];
                        let b_row = &b[b_at + k * shape.n..][..shape.n];
                        let out = out[row.clone()].iter_mut().zip(b_row);
                        match t {
                            _ if precise => out.for_each(|(o, &y)| *o += x * y),
                            ScalarType::F32 => out.for_each(|(o, &y)| *o = f64::from((*o + x * y) as f32)),
                            _ => out.for_each(|(o, &y)| *o = format.round(*o + x * y)),
                        }
                    }
                }
            });
            if precise {
                out.iter_mut().for_each(|o| *o = format.round(*o));
            }
            Buf::Float(out)
        }
        _ => unreachable!("operands of dot of one family"),
    }
}

/// Calls `f` with each row of the result, the same row of `a`, and where its matrix `b` begins.
fn each_row(shape: DotShape, mut f: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>, usize)) {
    for row in 0..shape.batch * shape.m {
        let b_at = row / shape.m * shape.k * shape.n;
        f(row * shape.n..(row + 1) * shape.n, row * shape.k..(row + 1) * shape.k, b_at);
    }
}

type Factor<'a> = Cow<'a, [f64]>;

/// The products that a precision asks for, small terms first.
fn split_terms<'a>(precision: DotPrecision, a: &'a [f64], b: &'a [f64]) -> Vec<(Factor<'a>, Factor<'a>)> {
    let three = |format: FloatFormat| {
        let high = |v: &[f64]| -> Vec<f64> { v.iter().map(|&x| format.round(x)).collect() };
        // An infinity has no rest: its difference with itself would be NaN.
        let low = |v: &[f64], high: &[f64]| -> Vec<f64> {
            v.iter().zip(high).map(|(&x, &h)| if h.is_finite() { format.round(x - h) } else { 0.0 }).collect()
        };
        let (ah, bh) = (high(a), high(b));
        let (al, bl) = (low(a, &ah), low(b, &bh));
        vec![(al.into(), bh.clone().into()), (ah.clone().into(), bl.into()), (ah.into(), bh.into())]
    };
    match precision {
        DotPrecision::Ieee => vec![(a.into(), b.into())],
        DotPrecision::Tf32 => {
            let round = |v: &[f64]| v.iter().map(|&x| FloatFormat::TF32.round(x)).collect::<Vec<_>>();
            vec![(round(a).into(), round(b).into())]
        }
        DotPrecision::Tf32x3 => three(FloatFormat::TF32),
        DotPrecision::Bf16x3 => three(FloatFormat::BF16),
    }
}
