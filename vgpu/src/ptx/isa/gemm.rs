//! The small matrix products behind `mma` and `wgmma`.
//!
//! Products are exact; they are added in order of `k`, each sum rounded to the accumulator's type. The hardware's own order is not
//! documented; results agree within the error that any order allows.

/// `c += a * b` for row-major `a` (`m` by `k`), `b` (`k` by `n`, `n` a multiple of 8) and `c` (`m` by `n`).
pub(super) fn f32(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize) {
    #[inline(always)]
    fn body(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize, fma: impl Fn(f32, f32, f32) -> f32) {
        for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
            // Strips of 8 accumulators stay in a register (or few).
            for (strip, c) in c.chunks_exact_mut(8).enumerate() {
                let mut sums = [0.0; 8];
                sums.copy_from_slice(c);
                for (row, &a) in b.chunks_exact(n).zip(a) {
                    let b = &row[strip * 8..strip * 8 + 8];
                    for (sum, &b) in sums.iter_mut().zip(b) {
                        *sum = fma(a, b, *sum);
                    }
                }
                c.copy_from_slice(&sums);
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn with_fma(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize) {
            body(a, b, c, n, k, f32::mul_add);
        }
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the features are there.
            unsafe { with_fma(a, b, c, n, k) };
            return;
        }
    }
    // Without the instruction a multiplication and an addition do: the products are exact.
    body(a, b, c, n, k, |a, b, sum| a * b + sum);
}

/// Columns for rows of a matrix of so many rows. Eight by eight at a time, so that neighbours are written together.
pub(super) fn transpose(from: &[f32], rows: usize) -> Vec<f32> {
    let columns = from.len() / rows.max(1);
    let mut to = vec![0.0; from.len()];
    for row in (0..rows).step_by(8) {
        for column in (0..columns).step_by(8) {
            let (height, width) = ((rows - row).min(8), (columns - column).min(8));
            for y in 0..width {
                let line = &mut to[(column + y) * rows + row..][..height];
                for (x, value) in line.iter_mut().enumerate() {
                    *value = from[(row + x) * columns + column + y];
                }
            }
        }
    }
    to
}

/// The same in `f64`, for any `n`.
pub(super) fn f64(a: &[f64], b: &[f64], c: &mut [f64], n: usize, k: usize) {
    for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (row, &a) in b.chunks_exact(n).zip(a) {
            for (sum, &b) in c.iter_mut().zip(row) {
                *sum = a.mul_add(b, *sum);
            }
        }
    }
}

/// The same in wrapping integers, for any `n`.
pub(super) fn i32(a: &[i32], b: &[i32], c: &mut [i32], n: usize, k: usize) {
    for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (row, &a) in b.chunks_exact(n).zip(a) {
            for (sum, &b) in c.iter_mut().zip(row) {
                *sum = sum.wrapping_add(a.wrapping_mul(b));
            }
        }
    }
}

/// `f16` to `f32`, in a form that vectorises.
#[inline(always)]
pub(super) fn widen_f16(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7FFF) << 13;
    // Moved into place the value is too small by 2^112, subnormals too.
    let value = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let value = if bits & 0x7C00 == 0x7C00 { magnitude | 0x7F80_0000 } else { value.to_bits() };
    f32::from_bits(value | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    #[test]
    fn widening_is_exact() {
        for bits in 0..=u16::MAX {
            let (got, exact) = (super::widen_f16(bits), half::f16::from_bits(bits).to_f32());
            assert!(got.to_bits() == exact.to_bits() || (got.is_nan() && exact.is_nan()), "{bits:#x}");
        }
    }

    #[test]
    fn columns_become_rows() {
        let from: Vec<f32> = (0..24 * 20).map(|x| x as f32).collect();
        let to = super::transpose(&from, 24);
        assert!((0..24).all(|i| (0..20).all(|j| to[j * 24 + i] == from[i * 20 + j])));
        assert_eq!(super::transpose(&to, 20), from);
    }

    #[test]
    fn products_add_up() {
        let a: Vec<f32> = (0..6).map(|x| x as f32).collect();
        let b: Vec<f32> = (0..24).map(|x| (x % 7) as f32).collect();
        let mut c = vec![1.0; 16];
        super::f32(&a, &b, &mut c, 8, 3);
        for i in 0..2 {
            for j in 0..8 {
                let exact: f32 = 1.0 + (0..3).map(|k| a[i * 3 + k] * b[k * 8 + j]).sum::<f32>();
                assert_eq!(c[i * 8 + j], exact);
            }
        }
    }
}
