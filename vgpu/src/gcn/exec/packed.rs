//! Packed operations: two halves or two floats to a lane, mixed precision, and dot products.

use super::float16::fma_f16;
use super::float64::{max_f64, maximum_f64, min_f64, minimum_f64};
use super::operand::{Ty, U32, encode_f16, output_f32};
use super::registers::Width;
use super::state::Lanes;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::inst::{Inst, Opnd};
use crate::numeric::{bf16_to_f32, f16_to_f32, flush_f32};

/// The half of source `n` that feeds the low or the high result.
#[inline]
fn half(i: &Inst, value: u32, n: usize, high: bool) -> u16 {
    let select = if high { i.op_sel_hi } else { i.op_sel };
    if select >> n & 1 != 0 { (value >> 16) as u16 } else { value as u16 }
}

/// Sources of a packed 16-bit operation.
fn sources(cx: &mut Cx<'_>, i: &Inst) -> [Lanes; 3] {
    std::array::from_fn(|n| match i.src[n] {
        Opnd::None => [0; 64],
        _ => cx.raw(i, n, Width::B16),
    })
}

/// Two 16-bit integer operations.
#[inline(always)]
fn integers(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(u16, u16, u16) -> u16) {
    let [a, b, c] = sources(cx, i);
    let out = std::array::from_fn(|lane| {
        let part = |high| u32::from(f(half(i, a[lane], 0, high), half(i, b[lane], 1, high), half(i, c[lane], 2, high)));
        part(false) | part(true) << 16
    });
    cx.put(i, 0, &out);
}

/// Two 16-bit float operations.
#[inline(always)]
fn floats(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(f64, f64, f64) -> f64) {
    let all = sources(cx, i);
    let flush = cx.w.mode.flush_16_64_in;
    let mut out = [0; 64];
    for (lane, out) in out.iter_mut().enumerate() {
        let part = |high: bool| {
            let neg = if high { i.neg_hi } else { i.neg };
            let [a, b, c] = std::array::from_fn(|n| {
                let bits = half(i, all[n][lane], n, high) ^ u16::from(neg >> n & 1) << 15;
                let bits = if flush && bits & 0x7c00 == 0 { bits & 0x8000 } else { bits };
                f64::from(f16_to_f32(bits))
            });
            let value = f(a, b, c);
            let value = match i.clamp {
                true if value.is_nan() => 0.0,
                true => {
                    if value <= 0.0 {
                        0.0
                    } else {
                        value.min(1.0)
                    }
                }
                false => value,
            };
            encode_f16(value, cx)
        };
        *out = part(false) | part(true) << 16;
    }
    cx.put(i, 0, &out);
}

/// Source `n` of the low or the high operation: one register of a pair. Compilers leave the other undefined where neither reads it.
fn of_pair(cx: &mut Cx<'_>, i: &Inst, n: usize, high: bool) -> Lanes {
    let select = if high { i.op_sel_hi } else { i.op_sel };
    let second = select >> n & 1 != 0;
    match i.src[n] {
        Opnd::V(r) => {
            let r = r + u16::from(second);
            cx.check_v(i, r);
            cx.w.v[r as usize]
        }
        Opnd::S(_) => {
            let value = cx.s64(i, i.src[n]);
            [if second { (value >> 32) as u32 } else { value as u32 }; 64]
        }
        Opnd::None => [0; 64],
        constant => cx.v32(i, constant, Width::B32),
    }
}

/// Two 32-bit float operations on pairs of registers.
fn pair_floats(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(&[f32; 64], &[f32; 64], &[f32; 64]) -> [f32; 64]) {
    let (flush_in, flush_out) = (cx.w.mode.flush_32_in, cx.w.mode.flush_32_out);
    let known = cx.defined;
    let results = [false, true].map(|high| {
        cx.defined = known;
        let neg = if high { i.neg_hi } else { i.neg };
        let [a, b, c] = std::array::from_fn(|n| {
            let flip = u32::from(neg >> n & 1) << 31;
            of_pair(cx, i, n, high).map(|v| {
                let value = f32::from_bits(v ^ flip);
                if flush_in { flush_f32(value) } else { value }
            })
        });
        let values: Lanes = f(&a, &b, &c).map(|v| {
            let v = output_f32(if flush_out { flush_f32(v) } else { v }, i, true);
            v.to_bits()
        });
        (values, cx.defined)
    });
    put_pair(cx, i, &results);
}

/// Writes the low and the high result, each with the lanes where it is defined.
fn put_pair(cx: &mut Cx<'_>, i: &Inst, results: &[(Lanes, u64); 2]) {
    for (part, (values, defined)) in (0..).zip(results) {
        cx.defined = *defined;
        cx.put(i, part, values);
    }
}

/// One source of a mixed-precision operation: a float, or a half of either end of its register.
fn mixed_source(cx: &mut Cx<'_>, i: &Inst, n: usize) -> [f32; 64] {
    let is_half = i.op_sel_hi >> n & 1 != 0;
    let high = i.op_sel >> n & 1 != 0;
    let raw = cx.raw(i, n, if is_half { Width::B16 } else { Width::B32 });
    let (flush, abs, neg) = (cx.w.mode.flush_32_in, i.neg_hi >> n & 1 != 0, i.neg >> n & 1 != 0);
    raw.map(|v| {
        let value = if is_half { f16_to_f32((if high { v >> 16 } else { v }) as u16) } else { f32::from_bits(v) };
        let value = if abs { value.abs() } else { value };
        let value = if neg { -value } else { value };
        if flush && !is_half { flush_f32(value) } else { value }
    })
}

fn mixed(cx: &mut Cx<'_>, i: &Inst) -> [f32; 64] {
    let a = mixed_source(cx, i, 0);
    let b = mixed_source(cx, i, 1);
    let c = mixed_source(cx, i, 2);
    let fused = super::float32::fma_lanes(&a, &b, &c);
    let dx10 = cx.w.mode.dx10_clamp;
    let flush = cx.w.mode.flush_32_out;
    fused.map(|v| output_f32(if flush { flush_f32(v) } else { v }, i, dx10))
}

fn mixed_half(cx: &mut Cx<'_>, i: &Inst, high: bool) {
    let value = mixed(cx, i);
    let Opnd::V(r) = i.dst else { return };
    let old = cx.w.v[r as usize];
    let out = std::array::from_fn(|lane| {
        let bits = encode_f16(f64::from(value[lane]), cx);
        if high { old[lane] & 0xffff | bits << 16 } else { old[lane] & 0xffff_0000 | bits }
    });
    cx.put(i, 0, &out);
}

/// Products of both halves and a sum, in single precision.
pub(super) fn dot2_f16(a: u32, b: u32, c: f32) -> f32 {
    let product = |shift: u32| f64::from(f16_to_f32((a >> shift) as u16)) * f64::from(f16_to_f32((b >> shift) as u16));
    (product(0) + product(16) + f64::from(c)) as f32
}

pub(super) fn dot2_bf16(a: u32, b: u32, c: f32) -> f32 {
    let product =
        |shift: u32| f64::from(bf16_to_f32((a >> shift) as u16)) * f64::from(bf16_to_f32((b >> shift) as u16));
    (product(0) + product(16) + f64::from(c)) as f32
}

pub(super) fn dot_i16(a: u32, b: u32) -> i32 {
    let product = |shift: u32| i32::from((a >> shift) as i16).wrapping_mul(i32::from((b >> shift) as i16));
    product(0).wrapping_add(product(16))
}

pub(super) fn dot_bytes(a: u32, b: u32, signed_a: bool, signed_b: bool) -> i32 {
    let byte = |v: u32, at: u32, signed: bool| {
        let v = (v >> (at * 8)) as u8;
        if signed { i32::from(v as i8) } else { i32::from(v) }
    };
    (0..4).map(|at| byte(a, at, signed_a) * byte(b, at, signed_b)).sum()
}

pub(super) fn dot_nibbles(a: u32, b: u32, signed_a: bool, signed_b: bool) -> i32 {
    let nibble = |v: u32, at: u32, signed: bool| {
        let v = v >> (at * 4) & 15;
        if signed { (v << 28) as i32 >> 28 } else { v as i32 }
    };
    (0..8).map(|at| nibble(a, at, signed_a) * nibble(b, at, signed_b)).sum()
}

/// A dot product of integers with a 32-bit addend that may saturate. The closure gives the exact product sum.
#[inline(always)]
fn dot(cx: &mut Cx<'_>, i: &Inst, signed: bool, f: impl Fn(u32, u32) -> i64) {
    let a = cx.raw(i, 0, Width::B32);
    let b = cx.raw(i, 1, Width::B32);
    let c = U32::load(cx, i, 2);
    let out = std::array::from_fn(|lane| {
        let sum = f(a[lane], b[lane]);
        if signed {
            let exact = sum + i64::from(c[lane] as i32);
            if i.clamp { exact.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { exact as u32 }
        } else {
            let exact = sum + i64::from(c[lane]);
            if i.clamp { exact.clamp(0, i64::from(u32::MAX)) as u32 } else { exact as u32 }
        }
    });
    cx.put(i, 0, &out);
}

/// A dot product of pairs of floats; the sources' halves and signs may be chosen.
fn dot_floats(cx: &mut Cx<'_>, i: &Inst, decode: fn(u16) -> f32) {
    let [a, b, _] = sources(cx, i);
    let c = cx.raw(i, 2, Width::B32);
    let flip = u32::from(i.neg >> 2 & 1) << 31;
    let dx10 = cx.w.mode.dx10_clamp;
    let out = std::array::from_fn(|lane| {
        let term = |high: bool| {
            let neg = if high { i.neg_hi } else { i.neg };
            let value = |v: u32, n: usize| {
                let v = f64::from(decode(half(i, v, n, high)));
                if neg >> n & 1 != 0 { -v } else { v }
            };
            value(a[lane], 0) * value(b[lane], 1)
        };
        let sum = term(false) + term(true) + f64::from(f32::from_bits(c[lane] ^ flip));
        output_f32(sum as f32, i, dx10).to_bits()
    });
    cx.put(i, 0, &out);
}

/// A dot product of four eight-bit floats (GFX12).
fn dot_fp8(cx: &mut Cx<'_>, i: &Inst, bf8_a: bool, bf8_b: bool) {
    let arch = cx.env.arch;
    let (fa, fb) = (super::convert::fp8(arch, bf8_a), super::convert::fp8(arch, bf8_b));
    let a = cx.raw(i, 0, Width::B32);
    let b = cx.raw(i, 1, Width::B32);
    let c = cx.raw(i, 2, Width::B32);
    let out = std::array::from_fn(|lane| {
        let sum: f64 = (0..4)
            .map(|at| {
                let byte = |v: u32| u64::from(v >> (at * 8) & 0xff);
                fa.decode(byte(a[lane])) * fb.decode(byte(b[lane]))
            })
            .sum();
        ((sum + f64::from(f32::from_bits(c[lane]))) as f32).to_bits()
    });
    cx.put(i, 0, &out);
}

fn saturating(i: &Inst, exact: i32, low: i32, high: i32) -> u16 {
    if i.clamp { exact.clamp(low, high) as u16 } else { exact as u16 }
}

const I16: (i32, i32) = (i16::MIN as i32, i16::MAX as i32);
const U16: (i32, i32) = (0, 0xffff);

fn signed(v: u16) -> i32 {
    i32::from(v as i16)
}

pub(super) const TABLE: &[Entry] = &[
    ("v_pk_add_u16", Class::Integer, |c, i| {
        integers(c, i, |a, b, _| saturating(i, i32::from(a) + i32::from(b), U16.0, U16.1));
    }),
    ("v_pk_sub_u16", Class::Integer, |c, i| {
        integers(c, i, |a, b, _| saturating(i, i32::from(a) - i32::from(b), U16.0, U16.1));
    }),
    ("v_pk_add_i16", Class::Integer, |c, i| {
        integers(c, i, |a, b, _| saturating(i, signed(a) + signed(b), I16.0, I16.1));
    }),
    ("v_pk_sub_i16", Class::Integer, |c, i| {
        integers(c, i, |a, b, _| saturating(i, signed(a) - signed(b), I16.0, I16.1));
    }),
    ("v_pk_mul_lo_u16", Class::Integer, |c, i| integers(c, i, |a, b, _| a.wrapping_mul(b))),
    ("v_pk_mad_u16", Class::Integer, |c, i| {
        integers(c, i, |a, b, d| {
            let exact = u32::from(a) * u32::from(b) + u32::from(d);
            if i.clamp { exact.min(0xffff) as u16 } else { exact as u16 }
        });
    }),
    ("v_pk_mad_i16", Class::Integer, |c, i| {
        integers(c, i, |a, b, d| saturating(i, signed(a) * signed(b) + signed(d), I16.0, I16.1));
    }),
    ("v_pk_min_i16", Class::Integer, |c, i| integers(c, i, |a, b, _| (a as i16).min(b as i16) as u16)),
    ("v_pk_max_i16", Class::Integer, |c, i| integers(c, i, |a, b, _| (a as i16).max(b as i16) as u16)),
    ("v_pk_min_u16", Class::Integer, |c, i| integers(c, i, |a, b, _| a.min(b))),
    ("v_pk_max_u16", Class::Integer, |c, i| integers(c, i, |a, b, _| a.max(b))),
    ("v_pk_lshlrev_b16", Class::Integer, |c, i| integers(c, i, |a, b, _| b << (a & 15))),
    ("v_pk_lshrrev_b16", Class::Integer, |c, i| integers(c, i, |a, b, _| b >> (a & 15))),
    ("v_pk_ashrrev_i16", Class::Integer, |c, i| integers(c, i, |a, b, _| (b as i16 >> (a & 15)) as u16)),
    ("v_pk_add_f16", Class::Float, |c, i| floats(c, i, |a, b, _| a + b)),
    ("v_pk_mul_f16", Class::Float, |c, i| floats(c, i, |a, b, _| a * b)),
    ("v_pk_fma_f16", Class::Float, |c, i| floats(c, i, fma_f16)),
    ("v_pk_min_f16", Class::Float, |c, i| floats(c, i, |a, b, _| min_f64(a, b))),
    ("v_pk_max_f16", Class::Float, |c, i| floats(c, i, |a, b, _| max_f64(a, b))),
    ("v_pk_minimum_f16", Class::Float, |c, i| floats(c, i, |a, b, _| minimum_f64(a, b))),
    ("v_pk_maximum_f16", Class::Float, |c, i| floats(c, i, |a, b, _| maximum_f64(a, b))),
    ("v_pk_minimum3_f16", Class::Float, |c, i| floats(c, i, |a, b, d| minimum_f64(minimum_f64(a, b), d))),
    ("v_pk_maximum3_f16", Class::Float, |c, i| floats(c, i, |a, b, d| maximum_f64(maximum_f64(a, b), d))),
    ("v_pk_fmac_f16", Class::Float, |c, i| {
        // The short encoding has no selectors: both halves are taken as they lie.
        let whole = Inst { op_sel: 0, op_sel_hi: 7, dual: None, ..i.clone() };
        floats(c, &whole, fma_f16);
    }),
    ("v_pk_add_f32", Class::Float, |c, i| pair_floats(c, i, |a, b, _| std::array::from_fn(|l| a[l] + b[l]))),
    ("v_pk_mul_f32", Class::Float, |c, i| pair_floats(c, i, |a, b, _| std::array::from_fn(|l| a[l] * b[l]))),
    ("v_pk_fma_f32", Class::Float, |c, i| pair_floats(c, i, super::float32::fma_lanes)),
    ("v_pk_mov_b32", Class::Move, |c, i| {
        // The low result comes from the first source, the high one from the second, each from the register that op_sel names.
        let known = c.defined;
        let results = [0, 1].map(|n| {
            c.defined = known;
            (of_pair(c, i, n, false), c.defined)
        });
        put_pair(c, i, &results);
    }),
    ("v_fma_mix_f32", Class::Float, |c, i| {
        let value = mixed(c, i);
        c.put(i, 0, &value.map(f32::to_bits));
    }),
    ("v_fma_mixlo_f16", Class::Float, |c, i| mixed_half(c, i, false)),
    ("v_fma_mixhi_f16", Class::Float, |c, i| mixed_half(c, i, true)),
    ("v_dot2_f32_f16", Class::Float, |c, i| dot_floats(c, i, f16_to_f32)),
    ("v_dot2_f32_bf16", Class::Float, |c, i| dot_floats(c, i, bf16_to_f32)),
    ("v_dot2_i32_i16", Class::Integer, |c, i| {
        dot(c, i, true, |a, b| {
            let product = |s: u32| i64::from((a >> s) as i16) * i64::from((b >> s) as i16);
            product(0) + product(16)
        });
    }),
    ("v_dot2_u32_u16", Class::Integer, |c, i| {
        dot(c, i, false, |a, b| {
            let product = |s: u32| i64::from((a >> s) as u16) * i64::from((b >> s) as u16);
            product(0) + product(16)
        });
    }),
    ("v_dot4_i32_i8", Class::Integer, |c, i| dot(c, i, true, |a, b| i64::from(dot_bytes(a, b, true, true)))),
    ("v_dot4_u32_u8", Class::Integer, |c, i| dot(c, i, false, |a, b| i64::from(dot_bytes(a, b, false, false)))),
    ("v_dot8_i32_i4", Class::Integer, |c, i| dot(c, i, true, |a, b| i64::from(dot_nibbles(a, b, true, true)))),
    ("v_dot8_u32_u4", Class::Integer, |c, i| dot(c, i, false, |a, b| i64::from(dot_nibbles(a, b, false, false)))),
    // Where negation would stand, these have the operands' signedness.
    ("v_dot4_i32_iu8", Class::Integer, |c, i| {
        dot(c, i, true, |a, b| i64::from(dot_bytes(a, b, i.neg & 1 != 0, i.neg & 2 != 0)));
    }),
    ("v_dot8_i32_iu4", Class::Integer, |c, i| {
        dot(c, i, true, |a, b| i64::from(dot_nibbles(a, b, i.neg & 1 != 0, i.neg & 2 != 0)));
    }),
    ("v_dot4_f32_fp8_fp8", Class::Float, |c, i| dot_fp8(c, i, false, false)),
    ("v_dot4_f32_fp8_bf8", Class::Float, |c, i| dot_fp8(c, i, false, true)),
    ("v_dot4_f32_bf8_fp8", Class::Float, |c, i| dot_fp8(c, i, true, false)),
    ("v_dot4_f32_bf8_bf8", Class::Float, |c, i| dot_fp8(c, i, true, true)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_products() {
        assert_eq!(dot_bytes(0xff01_0203, 0x0101_0101, true, true), 5);
        assert_eq!(dot_bytes(0xff00_0000, 0x0100_0000, false, false), 255);
        assert_eq!(dot_nibbles(0xf000_0001, 0x1000_0001, true, true), 0);
        assert_eq!(dot_i16(0xffff_0002, 0x0003_0004), 5);
        assert_eq!(dot2_f16(0x3c00_4000, 0x4000_3c00, 1.0), 5.0);
    }
}
