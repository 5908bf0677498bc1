//! The formats of typed buffers: what elements are made of, and loads and stores that convert them.

use super::Cx;
use super::access::{Access, lanes};
use super::state::Lanes;
use crate::gcn::arch::Arch;
use crate::gcn::decode::memory::Act;
use crate::numeric::{self, Overflow, Rounding, f16_to_f32, f32_to_f16};

/// Where each component of a register tuple comes from: zero, one, or a component of the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection([u8; 4]);

impl Selection {
    /// The components as they are.
    pub(super) const IDENTITY: Self = Self([4, 5, 6, 7]);

    /// The choice in the low bits of a resource's last word.
    pub(super) fn of_resource(word: u32) -> Self {
        Self(std::array::from_fn(|n| (word >> (3 * n) & 7) as u8))
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// What an element is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of each component, up to four.
    bits: [u8; 4],
    kind: Numeric,
}

/// How a component's bits are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Numeric {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    #[default]
    Uint,
    Sint,
    Float,
}

impl Format {
    /// The format that an instruction or a resource names by so many bits of its architecture.
    pub(super) fn new(arch: Arch, code: u32) -> Option<Self> {
        if arch.is_cdna() { Self::gfx9(code & 15, code >> 4 & 7) } else { Self::gfx11(code & 127) }
    }

    /// GFX9's data and number formats. Names of formats begin with the highest bits, and components are counted from the lowest.
    fn gfx9(data: u32, number: u32) -> Option<Self> {
        let bits = match data {
            1 => [8, 0, 0, 0],
            2 => [16, 0, 0, 0],
            3 => [8, 8, 0, 0],
            4 => [32, 0, 0, 0],
            5 => [16, 16, 0, 0],
            6 => [11, 11, 10, 0],
            7 => [10, 11, 11, 0],
            8 => [2, 10, 10, 10],
            9 => [10, 10, 10, 2],
            10 => [8, 8, 8, 8],
            11 => [32, 32, 0, 0],
            12 => [16, 16, 16, 16],
            13 => [32, 32, 32, 0],
            14 => [32, 32, 32, 32],
            _ => return None,
        };
        let kind = match number {
            0 => Numeric::Unorm,
            1 => Numeric::Snorm,
            2 => Numeric::Uscaled,
            3 => Numeric::Sscaled,
            4 => Numeric::Uint,
            5 => Numeric::Sint,
            7 => Numeric::Float,
            _ => return None,
        };
        Some(Self { bits, kind })
    }

    /// The formats of GFX11 and later, which number every pair of layout and meaning.
    fn gfx11(code: u32) -> Option<Self> {
        use Numeric::{Float, Sint, Snorm, Sscaled, Uint, Unorm, Uscaled};
        const SMALL: &[Numeric] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint];
        const HALF: &[Numeric] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float];
        const WORD: &[Numeric] = &[Uint, Sint, Float];
        const LAYOUTS: [([u8; 4], &[Numeric]); 14] = [
            ([8, 0, 0, 0], SMALL),
            ([16, 0, 0, 0], HALF),
            ([8, 8, 0, 0], SMALL),
            ([32, 0, 0, 0], WORD),
            ([16, 16, 0, 0], HALF),
            ([11, 11, 10, 0], &[Float]),
            ([10, 11, 11, 0], &[Float]),
            ([2, 10, 10, 10], &[Unorm, Snorm, Uint, Sint]),
            ([10, 10, 10, 2], SMALL),
            ([8, 8, 8, 8], SMALL),
            ([32, 32, 0, 0], WORD),
            ([16, 16, 16, 16], HALF),
            ([32, 32, 32, 0], WORD),
            ([32, 32, 32, 32], WORD),
        ];
        // Zero is no format.
        let mut left = code.checked_sub(1)? as usize;
        for (bits, kinds) in LAYOUTS {
            if let Some(&kind) = kinds.get(left) {
                return Some(Self { bits, kind });
            }
            left -= kinds.len();
        }
        None
    }

    /// Bytes of an element.
    pub(super) fn bytes(self) -> usize {
        self.bits.iter().map(|&b| usize::from(b)).sum::<usize>() / 8
    }

    fn is_integer(self) -> bool {
        matches!(self.kind, Numeric::Uint | Numeric::Sint)
    }
}

impl Cx<'_> {
    /// A load of elements that are converted by the buffer's format.
    pub(super) fn complete_load_format(&mut self, access: &Access) {
        let Act::LoadFormat { components, d16, high } = access.act else { return };
        let format = access.format;
        let len = format.bytes();
        let integer = format.is_integer();
        let one = if integer { 1 } else { 1.0_f32.to_bits() };
        let mut out = vec![[0_u32; 64]; usize::from(components)];
        for lane in lanes(access.mask) {
            let in_range = access.limit.as_ref().is_none_or(|limit| usize::from(limit[lane]) >= len);
            // Beyond the end all is zero; components that the format lacks are 0, 0, 0, 1.
            let mut element = [0; 4];
            if in_range && len > 0 {
                let mut buffer = [0; 16];
                self.read(access, lane, access.address[lane], &mut buffer[..len]);
                let raw = u128::from_le_bytes(buffer);
                element[3] = one;
                let mut at = 0;
                for (component, value) in element.iter_mut().enumerate() {
                    let bits = u32::from(format.bits[component]);
                    if bits != 0 {
                        *value = decode((raw >> at) as u32, bits, format.kind);
                    }
                    at += bits;
                }
            }
            for (row, select) in out.iter_mut().zip(access.select.0) {
                row[lane] = match select {
                    1 => one,
                    4.. => element[usize::from(select - 4)],
                    _ => 0,
                };
            }
        }
        if !d16 {
            self.deliver_rows(access, &out);
            return;
        }
        let narrow = |v: u32| if integer { v & 0xffff } else { u32::from(f32_to_f16(f32::from_bits(v))) };
        let rows: Vec<Lanes> = out
            .chunks(2)
            .map(|pair| {
                std::array::from_fn(|lane| {
                    let low = narrow(pair[0][lane]);
                    let upper = pair.get(1).map_or(0, |row| narrow(row[lane]));
                    match (high, access.dst) {
                        (true, Some(dst)) => self.w.v[dst as usize][lane] & 0xffff | low << 16,
                        _ => low | upper << 16,
                    }
                })
            })
            .collect();
        self.deliver_rows(access, &rows);
    }

    /// A store of elements that are converted by the buffer's format.
    pub(super) fn complete_store_format(&mut self, access: &Access) {
        let Act::StoreFormat { components, d16, high } = access.act else { return };
        let format = access.format;
        let len = format.bytes();
        self.check_data(access);
        for lane in lanes(access.mask) {
            if len == 0 || access.limit.as_ref().is_some_and(|limit| usize::from(limit[lane]) < len) {
                continue;
            }
            let register = |n: usize| {
                if !d16 {
                    return access.data.get(n).map_or(0, |row| row[lane]);
                }
                let word = access.data.get(n / 2).map_or(0, |row| row[lane]);
                let half = if n % 2 == 1 || high { word >> 16 } else { word & 0xffff };
                match format.kind {
                    Numeric::Uint => half,
                    Numeric::Sint => i32::from(half as i16) as u32,
                    _ => f16_to_f32(half as u16).to_bits(),
                }
            };
            let mut raw = 0_u128;
            let mut at = 0;
            for (component, &bits) in (4..).zip(&format.bits) {
                let bits = u32::from(bits);
                let from = access.select.0.iter().take(usize::from(components)).position(|&to| to == component);
                if let (Some(n), 1..) = (from, bits) {
                    raw |= u128::from(encode(register(n), bits, format.kind)) << at;
                }
                at += bits;
            }
            self.write(access, lane, access.address[lane], &raw.to_le_bytes()[..len]);
        }
    }
}

fn mask(bits: u32) -> u32 {
    if bits == 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// A component's bits as the register gets them.
fn decode(raw: u32, bits: u32, kind: Numeric) -> u32 {
    let unsigned = raw & mask(bits);
    let signed = ((raw << (32 - bits)) as i32) >> (32 - bits);
    match kind {
        Numeric::Uint => unsigned,
        Numeric::Sint => signed as u32,
        Numeric::Unorm => (unsigned as f32 / mask(bits) as f32).to_bits(),
        Numeric::Snorm => (signed as f32 / (mask(bits) >> 1) as f32).max(-1.0).to_bits(),
        Numeric::Uscaled => (unsigned as f32).to_bits(),
        Numeric::Sscaled => (signed as f32).to_bits(),
        Numeric::Float => match bits {
            16 => f16_to_f32(unsigned as u16).to_bits(),
            // Eleven and ten bits: a half without sign and with a shorter mantissa.
            11 => f16_to_f32((unsigned << 4) as u16).to_bits(),
            10 => f16_to_f32((unsigned << 5) as u16).to_bits(),
            _ => unsigned,
        },
    }
}

/// A register's value as a component's bits.
fn encode(value: u32, bits: u32, kind: Numeric) -> u32 {
    let float = f32::from_bits(value);
    let encoded = match kind {
        Numeric::Uint => value.min(mask(bits)),
        Numeric::Sint => {
            let limit = (mask(bits) >> 1) as i32;
            (value as i32).clamp(-limit - 1, limit) as u32
        }
        Numeric::Unorm => (float.clamp(0.0, 1.0) * mask(bits) as f32).round_ties_even() as u32,
        Numeric::Snorm => (float.clamp(-1.0, 1.0) * (mask(bits) >> 1) as f32).round_ties_even() as i32 as u32,
        Numeric::Uscaled => float as u32,
        Numeric::Sscaled => float as i32 as u32,
        Numeric::Float => match bits {
            16 => u32::from(f32_to_f16(float)),
            11 => unsigned_half(float) >> 4,
            10 => unsigned_half(float) >> 5,
            _ => value,
        },
    };
    encoded & mask(bits)
}

/// A half without sign, of which the lowest bits will be cut off.
fn unsigned_half(value: f32) -> u32 {
    if value.is_nan() {
        return 0x7fff;
    }
    numeric::Format::F16.encode(f64::from(value.max(0.0)), Rounding::TowardZero, Overflow::Infinite) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components() {
        assert_eq!(f32::from_bits(decode(0xff, 8, Numeric::Unorm)), 1.0);
        assert_eq!(decode(0x80, 8, Numeric::Sint), 0xffff_ff80);
        assert_eq!(encode(0.5_f32.to_bits(), 8, Numeric::Unorm), 128);
        assert_eq!(encode(300, 8, Numeric::Uint), 255);
        assert_eq!(f32::from_bits(decode(0x3c00, 16, Numeric::Float)), 1.0);
        assert_eq!(encode(1.0_f32.to_bits(), 11, Numeric::Float), 0x3c0);
        assert!(f32::from_bits(decode(encode(f32::NAN.to_bits(), 10, Numeric::Float), 10, Numeric::Float)).is_nan());
    }

    #[test]
    fn formats_of_gfx11_by_number() {
        let format = |code| Format::new(Arch::Gfx1100, code);
        assert_eq!(format(0), None);
        assert_eq!(format(1), Some(Format { bits: [8, 0, 0, 0], kind: Numeric::Unorm }));
        assert_eq!(format(22), Some(Format { bits: [32, 0, 0, 0], kind: Numeric::Float }));
        assert_eq!(format(30), Some(Format { bits: [11, 11, 10, 0], kind: Numeric::Float }));
        assert_eq!(format(42), Some(Format { bits: [8, 8, 8, 8], kind: Numeric::Unorm }));
        assert_eq!(format(63), Some(Format { bits: [32, 32, 32, 32], kind: Numeric::Float }));
        assert_eq!(format(64), None);
    }
}
