//! What read-modify-write operations compute.

use crate::gcn::decode::memory::AtomicOp;
use crate::numeric::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// The new value, or none where memory is left alone. `compare` is the second operand of those that have two.
pub(crate) fn apply(op: AtomicOp, bytes: u8, old: u64, data: u64, compare: u64) -> Option<u64> {
    use AtomicOp::*;
    let wide = bytes == 8;
    let mask = if wide { u64::MAX } else { 0xffff_ffff };
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as u32 as i32) };
    let (old_f64, data_f64) = (f64::from_bits(old), f64::from_bits(data));
    let (old_f32, data_f32) = (f32::from_bits(old as u32), f32::from_bits(data as u32));
    let float = |wide_result: f64, narrow_result: f32| {
        if wide { wide_result.to_bits() } else { u64::from(narrow_result.to_bits()) }
    };
    Some(
        mask & match op {
            Swap => data,
            CmpSwap => return (old == compare & mask).then_some(data & mask),
            CmpSwapF => {
                let equal =
                    if wide { old_f64 == f64::from_bits(compare) } else { old_f32 == f32::from_bits(compare as u32) };
                return equal.then_some(data & mask);
            }
            Add => old.wrapping_add(data),
            Sub => old.wrapping_sub(data),
            Rsub => data.wrapping_sub(old),
            MinI => {
                if signed(data) < signed(old) {
                    data
                } else {
                    old
                }
            }
            MaxI => {
                if signed(data) > signed(old) {
                    data
                } else {
                    old
                }
            }
            MinU => old.min(data & mask),
            MaxU => old.max(data & mask),
            And => old & data,
            Or => old | data,
            Xor => old ^ data,
            Inc => {
                if old >= data & mask {
                    0
                } else {
                    old + 1
                }
            }
            Dec => {
                if old == 0 || old > data & mask {
                    data
                } else {
                    old - 1
                }
            }
            SubClamp => old.saturating_sub(data & mask),
            CondSub => {
                if old >= data & mask {
                    old - (data & mask)
                } else {
                    old
                }
            }
            // The mask comes first.
            MskOr => old & !data | compare,
            Wrap => {
                if old >= data & mask {
                    old - (data & mask)
                } else {
                    old.wrapping_add(compare)
                }
            }
            CondXchg => {
                let half = |old: u64, new: u64| if new & 0x8000_0000 != 0 { new & 0x7fff_ffff } else { old };
                half(old & 0xffff_ffff, data & 0xffff_ffff) | half(old >> 32, data >> 32) << 32
            }
            AddF => float(old_f64 + data_f64, old_f32 + data_f32),
            MinF => float(super::float64::min_f64(old_f64, data_f64), super::float32::min_f32(old_f32, data_f32)),
            MaxF => float(super::float64::max_f64(old_f64, data_f64), super::float32::max_f32(old_f32, data_f32)),
            PkAddF16 => pair(old, data, |a, b| f32_to_f16(f16_to_f32(a) + f16_to_f32(b))),
            PkAddBf16 => pair(old, data, |a, b| f32_to_bf16(bf16_to_f32(a) + bf16_to_f32(b))),
        },
    )
}

fn pair(old: u64, data: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    let part = |shift: u32| u64::from(f((old >> shift) as u16, (data >> shift) as u16)) << shift;
    part(0) | part(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_in_their_width() {
        assert_eq!(apply(AtomicOp::Add, 4, 0xffff_ffff, 1, 0), Some(0));
        assert_eq!(apply(AtomicOp::MinI, 4, 1, 0xffff_ffff, 0), Some(0xffff_ffff));
        assert_eq!(apply(AtomicOp::Inc, 4, 7, 7, 0), Some(0));
        assert_eq!(apply(AtomicOp::Dec, 4, 0, 7, 0), Some(7));
        assert_eq!(apply(AtomicOp::CmpSwap, 4, 3, 9, 4), None);
        assert_eq!(apply(AtomicOp::CmpSwap, 8, 3, 9, 3), Some(9));
        let data = 0x8000_0007_0000_0009;
        assert_eq!(apply(AtomicOp::CondXchg, 8, 0x1_0000_0002, data, 0), Some(0x7_0000_0002));
    }

    #[test]
    fn floats() {
        let bits = |v: f32| u64::from(v.to_bits());
        assert_eq!(apply(AtomicOp::AddF, 4, bits(1.5), bits(2.0), 0), Some(bits(3.5)));
        assert_eq!(apply(AtomicOp::MaxF, 8, 1.5_f64.to_bits(), (-2.0_f64).to_bits(), 0), Some(1.5_f64.to_bits()));
        assert_eq!(apply(AtomicOp::PkAddF16, 4, 0x3c00_3c00, 0x3c00_4000, 0), Some(0x4000_4200));
        assert_eq!(apply(AtomicOp::PkAddBf16, 4, 0x3f80_3f80, 0x3f80_4000, 0), Some(0x4000_4040));
    }
}
