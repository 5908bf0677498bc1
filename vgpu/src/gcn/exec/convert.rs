//! Conversions between number formats.

use super::operand::{F16, F32, F32Bits, F64, I16, I32, Ty, U16, U32, encode_f16, op1, op2, op3, round_f32};
use super::registers::Width;
use super::{Cx, Entry};
use crate::counters::Class;
use crate::gcn::arch::Arch;
use crate::gcn::inst::{Inst, LaneControl, Opnd};
use crate::numeric::{Format, Overflow, Rounding};

/// The eight-bit formats of an architecture: CDNA3's own, or the OCP's later.
pub(crate) fn fp8(arch: Arch, bf8: bool) -> Format {
    match (arch == Arch::Gfx942, bf8) {
        (true, false) => Format::E4M3_FNUZ,
        (true, true) => Format::E5M2_FNUZ,
        (false, false) => Format::E4M3,
        (false, true) => Format::E5M2,
    }
}

/// How eight-bit results overflow: the clamp bit asks for saturation.
fn overflow(i: &Inst) -> Overflow {
    if i.clamp { Overflow::SaturateFinite } else { Overflow::Infinite }
}

/// The byte of the source that an eight-bit conversion reads.
fn source_byte(i: &Inst, arch: Arch) -> u32 {
    match (&i.lanes, i.src[0]) {
        // SDWA has selected it already.
        (LaneControl::Sdwa(_), _) => 0,
        // GFX950 and GFX12 select by op_sel, with the two bits swapped.
        (_, Opnd::V(_) | Opnd::S(_)) if arch != Arch::Gfx942 => {
            u32::from(i.op_sel & 1) << 1 | u32::from(i.op_sel >> 1 & 1)
        }
        _ => 0,
    }
}

fn from_fp8(cx: &mut Cx<'_>, i: &Inst, bf8: bool) {
    let format = fp8(cx.env.arch, bf8);
    let shift = source_byte(i, cx.env.arch) * 8;
    op1::<U32, F32>(cx, i, |a| format.decode(u64::from(a >> shift & 0xff)) as f32);
}

/// Two bytes to two floats.
fn from_fp8_pair(cx: &mut Cx<'_>, i: &Inst, bf8: bool) {
    let format = fp8(cx.env.arch, bf8);
    let shift = match &i.lanes {
        LaneControl::Sdwa(_) => 0,
        _ if i.op_sel & 1 != 0 => 16,
        _ => 0,
    };
    let a = U32::load(cx, i, 0);
    let decode = |v: u32| (format.decode(u64::from(v & 0xff)) as f32).to_bits();
    let low = a.map(|v| decode(v >> shift));
    let high = a.map(|v| decode(v >> (shift + 8)));
    if let Opnd::V(r) = i.dst {
        let mask = cx.write_mask(i);
        cx.set_v32(i, r, &low, mask);
        cx.set_v32(i, r + 1, &high, mask);
    }
}

/// Two floats to two bytes in one half of the destination.
fn to_fp8_pair(cx: &mut Cx<'_>, i: &Inst, bf8: bool) {
    let format = fp8(cx.env.arch, bf8);
    let how = overflow(i);
    let a = F32::load(cx, i, 0);
    let b = F32::load(cx, i, 1);
    let encode = |v: f32| format.encode(f64::from(v), Rounding::NearestEven, how) as u32;
    let pair: [u32; 64] = std::array::from_fn(|lane| encode(a[lane]) | encode(b[lane]) << 8);
    cx.put16(i, &pair, true);
}

/// A float to one byte of the destination, rounded by random bits.
fn to_fp8_stochastic(cx: &mut Cx<'_>, i: &Inst, bf8: bool) {
    let format = fp8(cx.env.arch, bf8);
    let how = overflow(i);
    let byte = u32::from(i.op_sel >> 2 & 3) * 8;
    let a = F32::load(cx, i, 0);
    let random = U32::load(cx, i, 1);
    let Opnd::V(r) = i.dst else { return };
    let old = cx.w.v[r as usize];
    let out = std::array::from_fn(|lane| {
        let value = format.encode(f64::from(a[lane]), Rounding::Stochastic(random[lane]), how) as u32;
        old[lane] & !(0xff << byte) | value << byte
    });
    cx.put(i, 0, &out);
}

fn f16_pair(cx: &Cx<'_>, a: f32, b: f32, mode: Rounding) -> u32 {
    let overflow = if cx.w.mode.fp16_overflow { Overflow::SaturateFinite } else { Overflow::Infinite };
    let encode = |v: f32| Format::F16.encode(f64::from(v), mode, overflow) as u32;
    encode(a) | encode(b) << 16
}

fn to_u32(value: f64) -> u32 {
    value as u32
}

fn to_i32(value: f64) -> i32 {
    value as i32
}

/// A float in [-1, 1] to a signed 16-bit fraction.
fn snorm16(value: f64) -> i16 {
    let scaled = (value.clamp(-1.0, 1.0) * 32767.0).round_ties_even();
    scaled as i16
}

/// A float in [0, 1] to an unsigned 16-bit fraction.
fn unorm16(value: f64) -> u16 {
    (value.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

fn pair(a: u16, b: u16) -> u32 {
    u32::from(a) | u32::from(b) << 16
}

fn ubyte(cx: &mut Cx<'_>, i: &Inst, byte: u32) {
    op1::<U32, F32>(cx, i, |a| (a >> (byte * 8) & 0xff) as f32);
}

/// Two halves in one register from two operands that may each be either half of theirs.
fn pack_f16(cx: &mut Cx<'_>, i: &Inst) {
    let a = super::operand::F16Bits::load(cx, i, 0);
    let b = super::operand::F16Bits::load(cx, i, 1);
    let flush = cx.w.mode.flush_16_64_out;
    let half = |v: u16| if flush && v & 0x7c00 == 0 { v & 0x8000 } else { v };
    cx.put(i, 0, &std::array::from_fn(|lane| pair(half(a[lane]), half(b[lane]))));
}

pub(super) const TABLE: &[Entry] = &[
    // Between integers and floats.
    ("v_cvt_f32_i32", Class::Convert, |c, i| {
        let mode = c.w.mode.round_32;
        op1::<I32, F32>(c, i, |a| round_f32(f64::from(a), mode));
    }),
    ("v_cvt_f32_u32", Class::Convert, |c, i| {
        let mode = c.w.mode.round_32;
        op1::<U32, F32>(c, i, |a| round_f32(f64::from(a), mode));
    }),
    ("v_cvt_u32_f32", Class::Convert, |c, i| op1::<F32, U32>(c, i, |a| a as u32)),
    ("v_cvt_i32_f32", Class::Convert, |c, i| op1::<F32, I32>(c, i, |a| a as i32)),
    ("v_cvt_rpi_i32_f32", Class::Convert, |c, i| op1::<F32, I32>(c, i, |a| to_i32((f64::from(a) + 0.5).floor()))),
    ("v_cvt_flr_i32_f32", Class::Convert, |c, i| op1::<F32, I32>(c, i, |a| a.floor() as i32)),
    ("v_cvt_f64_i32", Class::Convert, |c, i| op1::<I32, F64>(c, i, f64::from)),
    ("v_cvt_f64_u32", Class::Convert, |c, i| op1::<U32, F64>(c, i, f64::from)),
    ("v_cvt_i32_f64", Class::Convert, |c, i| op1::<F64, I32>(c, i, to_i32)),
    ("v_cvt_u32_f64", Class::Convert, |c, i| op1::<F64, U32>(c, i, to_u32)),
    ("v_cvt_f16_u16", Class::Convert, |c, i| op1::<U16, F16>(c, i, f64::from)),
    ("v_cvt_f16_i16", Class::Convert, |c, i| op1::<I16, F16>(c, i, f64::from)),
    ("v_cvt_u16_f16", Class::Convert, |c, i| op1::<F16, U16>(c, i, |a| a as u16)),
    ("v_cvt_i16_f16", Class::Convert, |c, i| op1::<F16, I16>(c, i, |a| a as i16)),
    ("v_cvt_i32_i16", Class::Convert, |c, i| op1::<I16, I32>(c, i, i32::from)),
    ("v_cvt_u32_u16", Class::Convert, |c, i| op1::<U16, U32>(c, i, u32::from)),
    ("v_cvt_f32_ubyte0", Class::Convert, |c, i| ubyte(c, i, 0)),
    ("v_cvt_f32_ubyte1", Class::Convert, |c, i| ubyte(c, i, 1)),
    ("v_cvt_f32_ubyte2", Class::Convert, |c, i| ubyte(c, i, 2)),
    ("v_cvt_f32_ubyte3", Class::Convert, |c, i| ubyte(c, i, 3)),
    ("v_cvt_off_f32_i4", Class::Convert, |c, i| {
        op1::<U32, F32>(c, i, |a| ((a << 28) as i32 >> 28) as f32 / 16.0);
    }),
    // Between floats.
    ("v_cvt_f16_f32", Class::Convert, |c, i| op1::<F32, F16>(c, i, f64::from)),
    ("v_cvt_f32_f16", Class::Convert, |c, i| op1::<F16, F32>(c, i, |a| a as f32)),
    ("v_cvt_f32_f64", Class::Convert, |c, i| {
        let mode = c.w.mode.round_32;
        op1::<F64, F32>(c, i, |a| round_f32(a, mode));
    }),
    ("v_cvt_f64_f32", Class::Convert, |c, i| op1::<F32, F64>(c, i, f64::from)),
    ("v_cvt_f32_bf16", Class::Convert, |c, i| op1::<U16, F32>(c, i, |a| f32::from_bits(u32::from(a) << 16))),
    ("v_cvt_pkrtz_f16_f32", Class::Convert, |c, i| {
        let a = F32::load(c, i, 0);
        let b = F32::load(c, i, 1);
        let out = std::array::from_fn(|lane| f16_pair(c, a[lane], b[lane], Rounding::TowardZero));
        c.put(i, 0, &out);
    }),
    ("v_cvt_pk_f16_f32", Class::Convert, |c, i| {
        let a = F32::load(c, i, 0);
        let b = F32::load(c, i, 1);
        let out =
            std::array::from_fn(|lane| encode_f16(f64::from(a[lane]), c) | encode_f16(f64::from(b[lane]), c) << 16);
        c.put(i, 0, &out);
    }),
    ("v_cvt_pk_bf16_f32", Class::Convert, |c, i| {
        op2::<F32, F32, U32>(c, i, |a, b| pair(crate::numeric::f32_to_bf16(a), crate::numeric::f32_to_bf16(b)));
    }),
    ("v_cvt_sr_f16_f32", Class::Convert, |c, i| stochastic16(c, i, Format::F16)),
    ("v_cvt_sr_bf16_f32", Class::Convert, |c, i| stochastic16(c, i, Format::BF16)),
    ("v_pack_b32_f16", Class::Convert, pack_f16),
    // Eight-bit floats.
    ("v_cvt_f32_fp8", Class::Convert, |c, i| from_fp8(c, i, false)),
    ("v_cvt_f32_bf8", Class::Convert, |c, i| from_fp8(c, i, true)),
    ("v_cvt_pk_f32_fp8", Class::Convert, |c, i| from_fp8_pair(c, i, false)),
    ("v_cvt_pk_f32_bf8", Class::Convert, |c, i| from_fp8_pair(c, i, true)),
    ("v_cvt_pk_fp8_f32", Class::Convert, |c, i| to_fp8_pair(c, i, false)),
    ("v_cvt_pk_bf8_f32", Class::Convert, |c, i| to_fp8_pair(c, i, true)),
    ("v_cvt_sr_fp8_f32", Class::Convert, |c, i| to_fp8_stochastic(c, i, false)),
    ("v_cvt_sr_bf8_f32", Class::Convert, |c, i| to_fp8_stochastic(c, i, true)),
    // Fractions and packed integers.
    ("v_cvt_norm_i16_f16", Class::Convert, |c, i| op1::<F16, I16>(c, i, snorm16)),
    ("v_cvt_norm_u16_f16", Class::Convert, |c, i| op1::<F16, U16>(c, i, unorm16)),
    ("v_cvt_pknorm_i16_f32", Class::Convert, |c, i| {
        op2::<F32, F32, U32>(c, i, |a, b| pair(snorm16(f64::from(a)) as u16, snorm16(f64::from(b)) as u16));
    }),
    ("v_cvt_pknorm_u16_f32", Class::Convert, |c, i| {
        op2::<F32, F32, U32>(c, i, |a, b| pair(unorm16(f64::from(a)), unorm16(f64::from(b))));
    }),
    ("v_cvt_pknorm_i16_f16", Class::Convert, |c, i| {
        op2::<F16, F16, U32>(c, i, |a, b| pair(snorm16(a) as u16, snorm16(b) as u16));
    }),
    ("v_cvt_pknorm_u16_f16", Class::Convert, |c, i| op2::<F16, F16, U32>(c, i, |a, b| pair(unorm16(a), unorm16(b)))),
    ("v_cvt_pk_u16_u32", Class::Convert, |c, i| {
        op2::<U32, U32, U32>(c, i, |a, b| pair(a.min(0xffff) as u16, b.min(0xffff) as u16));
    }),
    ("v_cvt_pk_i16_i32", Class::Convert, |c, i| {
        let saturate = |v: i32| v.clamp(-0x8000, 0x7fff) as i16 as u16;
        op2::<I32, I32, U32>(c, i, |a, b| pair(saturate(a), saturate(b)));
    }),
    ("v_cvt_pk_i16_f32", Class::Convert, |c, i| {
        op2::<F32, F32, U32>(c, i, |a, b| pair(a as i16 as u16, b as i16 as u16))
    }),
    ("v_cvt_pk_u16_f32", Class::Convert, |c, i| op2::<F32, F32, U32>(c, i, |a, b| pair(a as u16, b as u16))),
    ("v_cvt_pk_u8_f32", Class::Convert, |c, i| {
        op3::<F32, U32, U32, U32>(c, i, |a, byte, old| {
            let at = (byte & 3) * 8;
            old & !(0xff << at) | u32::from(a as u8) << at
        });
    }),
    ("v_cvt_pkaccum_u8_f32", Class::Convert, |c, i| {
        let a = F32::load(c, i, 0);
        let byte = U32::load(c, i, 1);
        let old = c.v32(i, i.dst, Width::B32);
        let out = std::array::from_fn(|lane| {
            let at = (byte[lane] & 3) * 8;
            old[lane] & !(0xff << at) | u32::from(a[lane] as u8) << at
        });
        c.put(i, 0, &out);
    }),
];

/// A float rounded to sixteen bits by random bits.
fn stochastic16(cx: &mut Cx<'_>, i: &Inst, format: Format) {
    let a = F32Bits::load(cx, i, 0);
    let random = U32::load(cx, i, 1);
    let out = std::array::from_fn(|lane| {
        let value = f64::from(f32::from_bits(a[lane]));
        format.encode(value, Rounding::Stochastic(random[lane]), Overflow::Infinite) as u32
    });
    cx.put16(i, &out, true);
}
