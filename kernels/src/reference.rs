//! Host references in `f64`: what each kernel must compute, written for clarity. All matrices are row-major.

use rayon::prelude::*;

/// `a · b` with `a` of `m × k` and `b` of `k × n`.
pub fn matmul(a: &[f64], b: &[f64], m: usize, n: usize, k: usize) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    if n == 0 {
        return c;
    }
    c.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        for p in 0..k {
            let x = a[i * k + p];
            for (out, y) in row.iter_mut().zip(&b[p * n..(p + 1) * n]) {
                *out += x * y;
            }
        }
    });
    c
}

/// The transpose of an `m × n` matrix.
pub fn transpose(x: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..n * m).map(|i| x[(i % m) * n + i / m]).collect()
}

/// Softmax of each row of length `n`.
pub fn softmax(x: &[f64], n: usize) -> Vec<f64> {
    rows(x, n, |row, out| {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|v| (v - max).exp()).sum();
        for (o, v) in out.iter_mut().zip(row) {
            *o = (v - max).exp() / sum;
        }
    })
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias` for each row of length `weight.len()`.
pub fn layernorm(x: &[f64], weight: &[f64], bias: &[f64], eps: f64) -> Vec<f64> {
    let n = weight.len();
    rows(x, n, |row, out| {
        let mean = row.iter().sum::<f64>() / n as f64;
        let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
        let scale = 1.0 / (variance + eps).sqrt();
        for (i, o) in out.iter_mut().enumerate() {
            *o = (row[i] - mean) * scale * weight[i] + bias[i];
        }
    })
}

/// `x / sqrt(mean(x²) + eps) * weight` for each row of length `weight.len()`.
pub fn rmsnorm(x: &[f64], weight: &[f64], eps: f64) -> Vec<f64> {
    let n = weight.len();
    rows(x, n, |row, out| {
        let scale = 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / n as f64 + eps).sqrt();
        for (i, o) in out.iter_mut().enumerate() {
            *o = row[i] * scale * weight[i];
        }
    })
}

/// The shape of an attention problem. Queries are `[batch, heads, q_len, dim]`; keys and values
/// `[batch, kv_heads, kv_len, dim]`, where `kv_heads` divides `heads`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attention {
    /// Sequences.
    pub batch: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Queries per sequence.
    pub q_len: usize,
    /// Keys per sequence.
    pub kv_len: usize,
    /// Size of a head.
    pub dim: usize,
    /// Whether query `i` sees only keys `j <= i + kv_len - q_len`.
    pub causal: bool,
}

/// `softmax(scale · q · kᵀ) · v` for each head. A query that sees no key gives zeros.
pub fn attention(q: &[f64], k: &[f64], v: &[f64], shape: Attention, scale: f64) -> Vec<f64> {
    let Attention { heads, kv_heads, q_len, kv_len, dim, causal, .. } = shape;
    let mut out = vec![0.0; q.len()];
    if dim == 0 || q_len == 0 {
        return out;
    }
    out.par_chunks_mut(dim).enumerate().for_each(|(row, o)| {
        let (i, head, batch) = (row % q_len, row / q_len % heads, row / q_len / heads);
        let kv = (batch * kv_heads + head / (heads / kv_heads)) * kv_len;
        let seen = if causal { (i + kv_len + 1).saturating_sub(q_len).min(kv_len) } else { kv_len };
        let query = &q[row * dim..][..dim];
        let scores: Vec<f64> = (0..seen)
            .map(|j| scale * query.iter().zip(&k[(kv + j) * dim..]).map(|(a, b)| a * b).sum::<f64>())
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
        for (j, s) in scores.iter().enumerate() {
            let p = (s - max).exp() / sum;
            for (o, v) in o.iter_mut().zip(&v[(kv + j) * dim..]) {
                *o += p * v;
            }
        }
    });
    out
}

/// Inclusive prefix sums of each row of length `n`.
pub fn cumsum(x: &[f64], n: usize) -> Vec<f64> {
    rows(x, n, |row, out| {
        let mut sum = 0.0;
        for (o, v) in out.iter_mut().zip(row) {
            sum += v;
            *o = sum;
        }
    })
}

/// Index of the greatest element of each row of length `n`: the first of several; NaN is passed over.
pub fn argmax(x: &[f64], n: usize) -> Vec<f64> {
    x.chunks(n.max(1))
        .map(|row| {
            let mut best: Option<usize> = None;
            for (i, v) in row.iter().enumerate() {
                if !v.is_nan() && best.is_none_or(|b| *v > row[b]) {
                    best = Some(i);
                }
            }
            best.unwrap_or(0) as f64
        })
        .collect()
}

/// `log(sum(exp(x))) - x[target]` for each row of length `n`.
pub fn cross_entropy(x: &[f64], targets: &[usize], n: usize) -> Vec<f64> {
    x.chunks(n)
        .zip(targets)
        .map(|(row, &t)| {
            let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            max + row.iter().map(|v| (v - max).exp()).sum::<f64>().ln() - row[t]
        })
        .collect()
}

/// Rotary embedding (Su and others, "RoFormer", 2021) in the half-split form: `x` is `[batch, seq, heads, dim]`, and
/// `cos` and `sin` are `[seq, dim / 2]`.
pub fn rope(x: &[f64], cos: &[f64], sin: &[f64], seq: usize, heads: usize, dim: usize) -> Vec<f64> {
    let half = dim / 2;
    let mut out = vec![0.0; x.len()];
    for (r, (row, out)) in x.chunks(dim.max(1)).zip(out.chunks_mut(dim.max(1))).enumerate() {
        let position = r / heads % seq;
        for i in 0..half {
            let (c, s) = (cos[position * half + i], sin[position * half + i]);
            out[i] = row[i] * c - row[i + half] * s;
            out[i + half] = row[i + half] * c + row[i] * s;
        }
    }
    out
}

/// The error function: for small arguments by a series of positive terms (Abramowitz and Stegun, 7.1.6), which loses no
/// digits, and for large ones by its continued fraction.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a < 3.0 {
        let (mut term, mut sum) = (a, a);
        for n in 1..200 {
            term *= 2.0 * a * a / f64::from(2 * n + 1);
            let next = sum + term;
            if next == sum {
                break;
            }
            sum = next;
        }
        (2.0 / std::f64::consts::PI.sqrt() * (-a * a).exp() * sum).copysign(x)
    } else {
        let mut fraction = a;
        for n in (1..=60).rev() {
            fraction = a + f64::from(n) / 2.0 / fraction;
        }
        (1.0 - (-a * a).exp() / std::f64::consts::PI.sqrt() / fraction).copysign(x)
    }
}

/// `x/2 · (1 + erf(x/√2))`.
pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// `x / (1 + e^-x)`.
pub fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// One block of Philox 4×32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011).
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xD251_1F53;
        let p1 = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

fn rows(x: &[f64], n: usize, f: impl Fn(&[f64], &mut [f64]) + Sync) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    if n > 0 {
        out.par_chunks_mut(n).zip(x.par_chunks(n)).for_each(|(o, r)| f(r, o));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_matches_known_values() {
        // Abramowitz and Stegun, table 7.1.
        for (x, want) in [(0.0, 0.0), (0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)] {
            assert!((erf(x) - want).abs() < 1e-10, "erf({x})");
            assert_eq!(erf(-x), -erf(x));
        }
        assert!((erf(3.0) - 0.999_977_909_503).abs() < 1e-12);
        assert!((erf(2.999_999_9) - erf(3.000_000_1)).abs() < 1e-9);
    }

    #[test]
    fn philox_matches_the_published_vectors() {
        // Random123, kat_vectors, philox4x32 with 10 rounds.
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn attention_of_one_key_is_its_value() {
        let shape = Attention { batch: 1, heads: 2, kv_heads: 1, q_len: 1, kv_len: 1, dim: 2, causal: true };
        assert_eq!(attention(&[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0], &[5.0, 6.0], shape, 1.0), [5.0, 6.0, 5.0, 6.0]);
    }

    #[test]
    fn argmax_takes_the_first_and_skips_nan() {
        assert_eq!(argmax(&[f64::NAN, 2.0, 2.0, f64::NAN, f64::NAN, f64::NAN], 3), [1.0, 0.0]);
    }
}
