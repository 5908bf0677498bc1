//! Scalar halves (GFX12): `s_add_f16` and its relatives.

use super::float64::{maximum_f64, minimum_f64};
use super::operand::encode_f16;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::{Inst, Opnd};
use crate::numeric::f16_to_f32;

fn load(cx: &mut Cx<'_>, i: &Inst, opnd: Opnd) -> f64 {
    let bits = match opnd {
        Opnd::Float(code) => super::registers::inline_float(code, super::registers::Width::B16) as u16,
        other => cx.s32(i, other) as u16,
    };
    let flushed = cx.w.mode.flush_16_64_in && bits & 0x7c00 == 0;
    f64::from(f16_to_f32(if flushed { bits & 0x8000 } else { bits }))
}

fn store(cx: &mut Cx<'_>, i: &Inst, value: f64) {
    let bits = encode_f16(value, cx);
    cx.set_s32(i, i.dst, bits);
}

fn one(cx: &mut Cx<'_>, i: &Inst, f: fn(f64) -> f64) {
    let value = f(load(cx, i, i.src[0]));
    store(cx, i, value);
}

fn two(cx: &mut Cx<'_>, i: &Inst, f: fn(f64, f64) -> f64) {
    let (a, b) = (load(cx, i, i.src[0]), load(cx, i, i.src[1]));
    store(cx, i, f(a, b));
}

fn compare(cx: &mut Cx<'_>, i: &Inst, f: fn(f64, f64) -> bool) {
    let (a, b) = (load(cx, i, i.src[0]), load(cx, i, i.src[1]));
    cx.set_scc(f(a, b));
}

fn unordered(a: f64, b: f64) -> bool {
    a.is_nan() || b.is_nan()
}

pub(super) const TABLE: &[Entry] = &[
    ("s_add_f16", Class::Scalar, |c, i| two(c, i, |a, b| a + b)),
    ("s_sub_f16", Class::Scalar, |c, i| two(c, i, |a, b| a - b)),
    ("s_mul_f16", Class::Scalar, |c, i| two(c, i, |a, b| a * b)),
    ("s_min_num_f16", Class::Scalar, |c, i| two(c, i, f64::min)),
    ("s_max_num_f16", Class::Scalar, |c, i| two(c, i, f64::max)),
    ("s_minimum_f16", Class::Scalar, |c, i| two(c, i, minimum_f64)),
    ("s_maximum_f16", Class::Scalar, |c, i| two(c, i, maximum_f64)),
    ("s_fmac_f16", Class::Scalar, |c, i| {
        let (a, b, d) = (load(c, i, i.src[0]), load(c, i, i.src[1]), load(c, i, i.dst));
        // The product of two halves is exact in double precision.
        store(c, i, super::float16::fma_f16(a, b, d));
    }),
    ("s_ceil_f16", Class::Scalar, |c, i| one(c, i, f64::ceil)),
    ("s_floor_f16", Class::Scalar, |c, i| one(c, i, f64::floor)),
    ("s_trunc_f16", Class::Scalar, |c, i| one(c, i, f64::trunc)),
    ("s_rndne_f16", Class::Scalar, |c, i| one(c, i, f64::round_ties_even)),
    ("s_cmp_lt_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a < b)),
    ("s_cmp_eq_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a == b)),
    ("s_cmp_le_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a <= b)),
    ("s_cmp_gt_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a > b)),
    ("s_cmp_lg_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a != b && !unordered(a, b))),
    ("s_cmp_ge_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a >= b)),
    ("s_cmp_o_f16", Class::Scalar, |c, i| compare(c, i, |a, b| !unordered(a, b))),
    ("s_cmp_u_f16", Class::Scalar, |c, i| compare(c, i, unordered)),
    ("s_cmp_nge_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a < b || unordered(a, b))),
    ("s_cmp_nlg_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a == b || unordered(a, b))),
    ("s_cmp_ngt_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a <= b || unordered(a, b))),
    ("s_cmp_nle_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a > b || unordered(a, b))),
    ("s_cmp_neq_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a != b)),
    ("s_cmp_nlt_f16", Class::Scalar, |c, i| compare(c, i, |a, b| a >= b || unordered(a, b))),
];
