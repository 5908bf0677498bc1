//! Elements of matrices, their encoding, and products of small integers that every type holds exactly.

use tegula_vgpu::numeric::{Format, Overflow, Rounding};

/// A matrix element type: bits, and how small integers are written in it.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub bits: usize,
    pub encode: fn(i64) -> u64,
}

pub fn float(format: Format, value: i64) -> u64 {
    format.encode(value as f64, Rounding::NearestEven, Overflow::Saturate)
}

pub const F16: Kind = Kind { name: "f16", bits: 16, encode: |x| float(Format::F16, x) };
pub const BF16: Kind = Kind { name: "bf16", bits: 16, encode: |x| float(Format::BF16, x) };
pub const TF32: Kind = Kind { name: "tf32", bits: 32, encode: |x| u64::from((x as f32).to_bits()) };
pub const F64: Kind = Kind { name: "f64", bits: 64, encode: |x| (x as f64).to_bits() };
pub const E4M3: Kind = Kind { name: "e4m3", bits: 8, encode: |x| float(Format::E4M3, x) };
pub const E5M2: Kind = Kind { name: "e5m2", bits: 8, encode: |x| float(Format::E5M2, x) };
pub const S8: Kind = Kind { name: "s8", bits: 8, encode: |x| x as u64 & 0xFF };
pub const S4: Kind = Kind { name: "s4", bits: 4, encode: |x| x as u64 & 15 };

/// Small numbers, exact in every type.
pub fn values(count: usize, seed: usize) -> Vec<i64> {
    (0..count).map(|n| ((n * 7 + n / 5 + seed * 3) % 7) as i64 - 3).collect()
}

pub fn product(a: &[i64], b: &[i64], c: &[i64], n: usize, k: usize) -> Vec<i64> {
    let row = |i: usize, j: usize| (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum::<i64>() + c[i * n + j];
    (0..a.len() / k * n).map(|at| row(at / n, at % n)).collect()
}

/// Elements at bit offsets in little-endian bytes.
pub fn put(bytes: &mut [u8], bit: usize, bits: usize, value: u64) {
    for n in 0..bits {
        if (value >> n) & 1 == 1 {
            bytes[(bit + n) / 8] |= 1 << ((bit + n) % 8);
        }
    }
}
