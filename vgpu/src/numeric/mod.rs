//! The small floating-point formats, bit for bit: encodings, rounding modes, saturation.
//!
//! A [`Format`] describes an encoding; [`Format::encode`] rounds an exact value into it once. Values travel as `f64`, in which every value
//! of every format here is exact, and so are sums and products of two of them up to `f16`.

mod format;
mod round;

pub use format::{Format, Specials};
pub use round::{Overflow, Rounding, fma_f32, round_f64_to_f32, round_integer};

/// The bits of an `f16` as an `f32`.
#[inline]
pub fn f16_to_f32(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// An `f32` as the bits of the nearest `f16`, ties to even.
#[inline]
pub fn f32_to_f16(value: f32) -> u16 {
    half::f16::from_f32(value).to_bits()
}

/// The bits of a `bf16` as an `f32`.
#[inline]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// An `f32` as the bits of the nearest `bf16`, ties to even.
#[inline]
pub fn f32_to_bf16(value: f32) -> u16 {
    half::bf16::from_f32(value).to_bits()
}

/// Flushes a subnormal to a zero of the same sign.
#[inline]
pub fn flush_f32(value: f32) -> f32 {
    if value.to_bits() & 0x7F80_0000 == 0 { f32::from_bits(value.to_bits() & 0x8000_0000) } else { value }
}
