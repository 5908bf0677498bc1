//! Vector comparisons: every relation of every type, into a mask of lanes, and optionally into the execution mask.

use super::Cx;
use super::operand::{F16, F32, F64, I16, I32, I64, Ty, U16, U32, U64};
use crate::gcn::inst::{Handler, Inst, Opnd, sreg};

impl Cx<'_> {
    /// Writes the result of a comparison: lanes that do not execute are clear.
    fn finish_compare(&mut self, i: &Inst, mask: u64, writes_exec: bool) {
        let active = self.w.exec;
        let mask = mask & active;
        // The mask is as good as the worst of the lanes that took part.
        let unknown = !self.defined & active;
        self.defined = if unknown == 0 { u64::MAX } else { 0 };
        if i.dst != Opnd::None {
            self.set_mask(i, i.dst, mask);
        }
        if writes_exec {
            if unknown != 0 {
                self.find_undefined(i, unknown, "a comparison that decides which lanes go on");
            }
            self.w.set_exec(mask);
            self.hazard_write_s(i, sreg::EXEC);
        }
    }
}

#[inline(always)]
fn compare<A: Ty, B: Ty, const EXEC: bool>(cx: &mut Cx<'_>, i: &Inst, f: impl Fn(A::T, B::T) -> bool) {
    let a = A::load(cx, i, 0);
    let b = B::load(cx, i, 1);
    let mut mask = 0_u64;
    for lane in 0..64 {
        mask |= u64::from(f(a[lane], b[lane])) << lane;
    }
    cx.finish_compare(i, mask, EXEC);
}

fn constant<const EXEC: bool, const VALUE: bool>(cx: &mut Cx<'_>, i: &Inst) {
    cx.finish_compare(i, if VALUE { u64::MAX } else { 0 }, EXEC);
}

/// The class of a float as one bit of `v_cmp_class`: signalling NaN, quiet NaN, -infinity, -normal, -denormal, -0, +0, +denormal, +normal,
/// +infinity.
fn class_bit(negative: bool, exponent: u64, mantissa: u64, top_exponent: u64, quiet_bit: u64) -> u32 {
    let bit = if exponent == top_exponent {
        if mantissa == 0 {
            if negative { 2 } else { 9 }
        } else {
            return if mantissa & quiet_bit != 0 { 1 << 1 } else { 1 };
        }
    } else if exponent == 0 {
        match (mantissa == 0, negative) {
            (true, true) => 5,
            (true, false) => 6,
            (false, true) => 4,
            (false, false) => 7,
        }
    } else if negative {
        3
    } else {
        8
    };
    1 << bit
}

fn class_f32<const EXEC: bool>(cx: &mut Cx<'_>, i: &Inst) {
    // The class is that of the bits: nothing is flushed first.
    compare::<super::operand::F32Bits, U32, EXEC>(cx, i, |a, b| {
        class_bit(a >> 31 != 0, u64::from(a >> 23 & 0xff), u64::from(a & 0x7f_ffff), 0xff, 1 << 22) & b != 0
    });
}

fn class_f16<const EXEC: bool>(cx: &mut Cx<'_>, i: &Inst) {
    compare::<super::operand::F16Bits, U32, EXEC>(cx, i, |a, b| {
        class_bit(a >> 15 != 0, u64::from(a >> 10 & 0x1f), u64::from(a & 0x3ff), 0x1f, 1 << 9) & b != 0
    });
}

fn class_f64<const EXEC: bool>(cx: &mut Cx<'_>, i: &Inst) {
    compare::<F64, U32, EXEC>(cx, i, |a, b| {
        let bits = a.to_bits();
        class_bit(bits >> 63 != 0, bits >> 52 & 0x7ff, bits & ((1 << 52) - 1), 0x7ff, 1 << 51) & b != 0
    });
}

macro_rules! integers {
    ($relation:expr, $ty:ident, $exec:literal) => {
        Some(match $relation {
            "f" => constant::<$exec, false>,
            "lt" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a < b),
            "eq" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a == b),
            "le" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a <= b),
            "gt" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a > b),
            "ne" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a != b),
            "ge" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a >= b),
            "t" => constant::<$exec, true>,
            _ => return None,
        })
    };
}

macro_rules! floats {
    ($relation:expr, $ty:ident, $exec:literal) => {
        Some(match $relation {
            "f" => constant::<$exec, false>,
            "lt" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a < b),
            "eq" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a == b),
            "le" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a <= b),
            "gt" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a > b),
            "lg" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a != b && !a.is_nan() && !b.is_nan()),
            "ge" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a >= b),
            "o" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| !a.is_nan() && !b.is_nan()),
            "u" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a.is_nan() || b.is_nan()),
            "nge" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a < b || a.is_nan() || b.is_nan()),
            "nlg" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a == b || a.is_nan() || b.is_nan()),
            "ngt" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a <= b || a.is_nan() || b.is_nan()),
            "nle" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a > b || a.is_nan() || b.is_nan()),
            "neq" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a != b),
            "nlt" => |c, i| compare::<$ty, $ty, $exec>(c, i, |a, b| a >= b || a.is_nan() || b.is_nan()),
            "t" => constant::<$exec, true>,
            _ => return None,
        })
    };
}

/// The handler of `v_cmp_RELATION_TYPE` or `v_cmpx_RELATION_TYPE`.
pub(super) fn resolve(name: &str) -> Option<Handler> {
    macro_rules! dispatch {
        ($exec:literal, $rest:expr) => {{
            let (relation, ty) = $rest.rsplit_once('_')?;
            match (relation, ty) {
                ("class", "f16") => Some(class_f16::<$exec> as Handler),
                ("class", "f32") => Some(class_f32::<$exec>),
                ("class", "f64") => Some(class_f64::<$exec>),
                (_, "f16") => floats!(relation, F16, $exec),
                (_, "f32") => floats!(relation, F32, $exec),
                (_, "f64") => floats!(relation, F64, $exec),
                (_, "i16") => integers!(relation, I16, $exec),
                (_, "u16") => integers!(relation, U16, $exec),
                (_, "i32") => integers!(relation, I32, $exec),
                (_, "u32") => integers!(relation, U32, $exec),
                (_, "i64") => integers!(relation, I64, $exec),
                (_, "u64") => integers!(relation, U64, $exec),
                _ => None,
            }
        }};
    }
    match name.strip_prefix("v_cmpx_") {
        Some(rest) => dispatch!(true, rest),
        None => dispatch!(false, name.strip_prefix("v_cmp_")?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_floats() {
        let class = |v: f32| {
            let a = v.to_bits();
            class_bit(a >> 31 != 0, u64::from(a >> 23 & 0xff), u64::from(a & 0x7f_ffff), 0xff, 1 << 22)
        };
        assert_eq!(class(f32::NEG_INFINITY), 1 << 2);
        assert_eq!(class(-0.0), 1 << 5);
        assert_eq!(class(f32::from_bits(1)), 1 << 7);
        assert_eq!(class(1.0), 1 << 8);
        assert_eq!(class(f32::from_bits(0x7f80_0001)), 1);
        assert_eq!(class(f32::NAN), 1 << 1);
        assert!(resolve("v_cmpx_nlt_f64").is_some() && resolve("v_cmp_ne_u16").is_some());
        assert!(resolve("v_cmp_frob_f32").is_none());
    }
}
