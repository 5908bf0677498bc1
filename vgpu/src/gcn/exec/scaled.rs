//! GFX950's conversions between narrow floats that share a scale and wider ones: `v_cvt_scalef32_*`.
//!
//! The scale is a power of two, the exponent of a float. What is converted to a narrow format is divided by it, what comes from one is
//! multiplied by it. Narrow results saturate as those without a scale do.

use super::Cx;
use super::access::lanes;
use super::registers::Width;
use super::state::Lanes;
use crate::gcn::inst::{Handler, Inst, Opnd};
use crate::numeric::{Format, Overflow, Rounding};

/// What a mnemonic says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    /// Rounded by random bits.
    stochastic: bool,
    count: usize,
    from: Format,
    to: Format,
    /// The elements come alternately from two operands.
    paired: bool,
}

impl Conversion {
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("v_cvt_scalef32_")?.split('_').peekable();
        let stochastic = parts.next_if_eq(&"sr").is_some();
        let (count, mut paired) = match *parts.peek()? {
            "pk" => (2, false),
            "pk32" => (32, false),
            "2xpk16" => (32, true),
            _ => (1, false),
        };
        if count > 1 {
            parts.next();
        }
        let (to, from) = (format(parts.next()?)?, format(parts.next()?)?);
        // Two floats have an operand each, unless a third is needed for random bits.
        paired |= count == 2 && from == Format::F32 && !stochastic;
        Some(Self { stochastic, count, from, to, paired })
    }

    /// The operand with the scale.
    fn scale(self) -> usize {
        if self.paired || self.stochastic { 2 } else { 1 }
    }
}

fn format(name: &str) -> Option<Format> {
    Some(match name {
        "f32" => Format::F32,
        "f16" => Format::F16,
        "bf16" => Format::BF16,
        "fp8" => Format::E4M3,
        "bf8" => Format::E5M2,
        "fp6" => Format::E2M3,
        "bf6" => Format::E3M2,
        "fp4" => Format::E2M1,
        _ => return None,
    })
}

/// The handler of such a conversion.
pub(super) fn resolve(name: &str) -> Option<Handler> {
    Conversion::parse(name).map(|_| convert as Handler)
}

/// Bits of a lane's registers.
fn field(rows: &[Lanes], lane: usize, at: usize, bits: usize) -> u64 {
    let word = |n: usize| rows.get(n).map_or(0, |row| u64::from(row[lane]));
    let pair = word(at / 32) | word(at / 32 + 1) << 32;
    pair >> (at % 32) & ((1 << bits) - 1)
}

fn put_field(rows: &mut [Lanes], lane: usize, at: usize, bits: usize, value: u64) {
    for bit in 0..bits {
        let at = at + bit;
        if let Some(row) = rows.get_mut(at / 32) {
            row[lane] = row[lane] & !(1 << (at % 32)) | ((value >> bit & 1) as u32) << (at % 32);
        }
    }
}

/// Where the elements of an operand start, in bits, that takes less than a register: the half or byte that op_sel chooses.
fn start(format: Format, count: usize, byte: u8, high: bool) -> usize {
    match format.bits() as usize * count {
        8 => usize::from(byte) * 8,
        16 => usize::from(high) * 16,
        _ => 0,
    }
}

fn convert(cx: &mut Cx<'_>, i: &Inst) {
    let Some(conversion) = Conversion::parse(i.name) else { return };
    let Conversion { count, from, to, .. } = conversion;
    let read = |cx: &mut Cx<'_>, n: usize| -> Vec<Lanes> {
        (0..u16::from(i.src_regs[n].max(1))).map(|part| cx.v32(i, i.src[n].plus(part), Width::B32)).collect()
    };
    let first = read(cx, 0);
    let second = read(cx, 1);
    let third = if conversion.scale() == 2 { read(cx, 2) } else { Vec::new() };
    let Opnd::V(dst) = i.dst else { return };
    let registers = usize::from(i.dst_regs.max(1));
    let mut out: Vec<Lanes> = (0..registers).map(|r| cx.w.v[usize::from(dst) + r]).collect();
    let narrow_source = from.bits() <= 8;
    let source_start = start(from, count, i.op_sel & 3, i.op_sel & 1 != 0);
    let result_start = start(to, count, i.op_sel >> 2 & 3, i.op_sel & 8 != 0);
    let overflow = if i.clamp { Overflow::SaturateFinite } else { Overflow::Infinite };
    for lane in lanes(cx.exec()) {
        let scale_bits = if conversion.scale() == 2 { third[0][lane] } else { second[0][lane] };
        let exponent = (scale_bits >> 23 & 0xff) as i32;
        let scale = if exponent == 0xff { f64::NAN } else { super::float64::ldexp(1.0, exponent - 127) };
        for n in 0..count {
            let (rows, at) = match conversion.paired {
                true if n % 2 == 1 => (&second, n / 2),
                true => (&first, n / 2),
                false => (&first, n),
            };
            let bits = from.bits() as usize;
            let mut value = from.decode(field(rows, lane, source_start + at * bits, bits));
            if from == Format::F32 && count <= 2 {
                let operand = if conversion.paired { n % 2 } else { 0 };
                value = if i.abs >> operand & 1 != 0 { value.abs() } else { value };
                value = if i.neg >> operand & 1 != 0 { -value } else { value };
            }
            let scaled = if narrow_source { value * scale } else { value / scale };
            let mode = match conversion.stochastic {
                true => Rounding::Stochastic(second[0][lane]),
                false => Rounding::NearestEven,
            };
            let bits = to.bits() as usize;
            put_field(&mut out, lane, result_start + n * bits, bits, to.encode(scaled, mode, overflow));
        }
    }
    for (part, row) in out.iter().enumerate() {
        cx.put(i, part as u16, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics() {
        let of = |name| Conversion::parse(name).expect("one of gfx950");
        assert_eq!(of("v_cvt_scalef32_pk_fp8_f32").scale(), 2);
        assert!(of("v_cvt_scalef32_pk_fp8_f32").paired);
        assert_eq!(of("v_cvt_scalef32_pk_fp8_bf16").scale(), 1);
        assert_eq!(of("v_cvt_scalef32_sr_pk32_bf6_f16").to, Format::E3M2);
        assert_eq!(of("v_cvt_scalef32_2xpk16_fp6_f32").count, 32);
        assert_eq!(of("v_cvt_scalef32_f16_bf8").from, Format::E5M2);
    }
}
