//! Each kernel in strict mode with the sanitizer, over several sizes, against references in double precision.

use crate::harness::*;
use tegula_vgpu::launch::Argument;
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::{Format, Overflow, Rounding, f16_to_f32};

#[test]
fn vecadd() -> Result<()> {
    let Some(kernel) = artifact("gfx942", "vecadd_f32_b1024_w4")? else { return Ok(()) };
    for n in [1024, 16 * 211, 16] {
        let memory = GlobalMemory::default();
        let mut numbers = Numbers(n as u64);
        let (x, y) = (numbers.floats(n), numbers.floats(n));
        let (px, py) = (upload(&memory, "x", &floats_to_bytes(&x))?, upload(&memory, "y", &floats_to_bytes(&y))?);
        let out = memory.allocate("out", n as u64 * 4, Fill::Poison)?;
        let args = [Argument::pointer(px), Argument::pointer(py), Argument::pointer(out), int(n)];
        kernel.run(&memory, [n.div_ceil(1024) as u32, 1, 1], &args)?;
        let expected: Vec<f64> = x.iter().zip(&y).map(|(a, b)| f64::from(a + b)).collect();
        assert_close("vecadd", &read_floats(&memory, out, n)?, &expected, 0.0);
    }
    Ok(())
}

#[test]
fn softmax() -> Result<()> {
    let Some(kernel) = artifact("gfx942", "softmax_f32_b1024_w4")? else { return Ok(()) };
    for (rows, columns, programs) in [(4, 1024, 2), (7, 784, 3), (1, 16, 4)] {
        let memory = GlobalMemory::default();
        let stride = columns + 16;
        let x: Vec<f32> = Numbers(9).floats(rows * stride).iter().map(|v| v * 8.0).collect();
        let input = upload(&memory, "in", &floats_to_bytes(&x))?;
        let out = memory.allocate("out", (rows * stride * 4) as u64, Fill::Poison)?;
        let args =
            [Argument::pointer(out), Argument::pointer(input), int(stride), int(stride), int(rows), int(columns)];
        kernel.run(&memory, [programs, 1, 1], &args)?;
        for row in 0..rows {
            let x: Vec<f64> = x[row * stride..][..columns].iter().map(|&v| f64::from(v)).collect();
            let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = x.iter().map(|v| (v - largest).exp()).sum();
            let expected: Vec<f64> = x.iter().map(|v| (v - largest).exp() / sum).collect();
            let got = read_floats(&memory, out + (row * stride * 4) as u64, columns)?;
            assert_close("softmax", &got, &expected, 1e-5);
        }
    }
    Ok(())
}

/// Sizes that fill the blocks, that do not, and that are smaller than one.
const MATMUL_SIZES: [(usize, usize, usize); 3] = [(128, 256, 128), (144, 208, 336), (48, 80, 16)];

/// Runs a matrix multiplication on factors given as bytes and checks it against their values.
fn matmul(
    kernel: &Artifact,
    (m, n, k): (usize, usize, usize),
    factors: [&[u8]; 2],
    strides: [usize; 2],
    value: impl Fn(usize, usize, usize) -> f64,
) -> Result<()> {
    let memory = GlobalMemory::default();
    let (a, b) = (upload(&memory, "a", factors[0])?, upload(&memory, "b", factors[1])?);
    let out = memory.allocate("c", (m * n * 2) as u64, Fill::Poison)?;
    let mut args: Vec<_> = [a, b, out].map(Argument::pointer).to_vec();
    args.extend([m, n, k, strides[0], strides[1], n].map(int));
    kernel.run(&memory, [(m.div_ceil(128) * n.div_ceil(128)) as u32, 1, 1], &args)?;
    let expected: Vec<f64> = (0..m * n).map(|at| (0..k).map(|p| value(at / n, at % n, p)).sum()).collect();
    assert_close("matmul", &read_halves(&memory, out, m * n)?, &expected, 2e-3);
    Ok(())
}

fn matmul_fp16(target: &str, kernel: &str) -> Result<()> {
    let Some(kernel) = artifact(target, kernel)? else { return Ok(()) };
    for (m, n, k) in MATMUL_SIZES {
        let mut numbers = Numbers((m * n + k) as u64);
        let (a, b) = (numbers.halves(m * k), numbers.halves(k * n));
        let value = |v: u16| f64::from(f16_to_f32(v));
        let bytes = [halves_to_bytes(&a), halves_to_bytes(&b)];
        matmul(&kernel, (m, n, k), [&bytes[0], &bytes[1]], [k, n], |row, column, p| {
            value(a[row * k + p]) * value(b[p * n + column])
        })?;
    }
    Ok(())
}

#[test]
fn matmul_gfx942() -> Result<()> {
    matmul_fp16("gfx942", "matmul_fp16_128x128x64_w4_s2")
}

#[test]
fn matmul_gfx950() -> Result<()> {
    matmul_fp16("gfx950", "matmul_fp16_128x128x64_w4_s2")
}

#[test]
fn matmul_gfx1100() -> Result<()> {
    matmul_fp16("gfx1100", "matmul_fp16_128x128x64_w8_s2")
}

#[test]
fn matmul_gfx1201() -> Result<()> {
    matmul_fp16("gfx1201", "matmul_fp16_128x128x64_w4_s2")
}

#[test]
fn matmul_fp8() -> Result<()> {
    let Some(kernel) = artifact("gfx942", "matmul_fp8e4b8_128x128x128_w4_s2_nt")? else { return Ok(()) };
    let format = Format::E4M3_FNUZ;
    for (m, n, k) in MATMUL_SIZES {
        let mut numbers = Numbers((m + n * k) as u64);
        let mut bytes = |count: usize| -> Vec<u8> {
            let mut one = || format.encode(f64::from(numbers.next()), Rounding::NearestEven, Overflow::Saturate) as u8;
            (0..count).map(|_| one()).collect()
        };
        let (a, b) = (bytes(m * k), bytes(n * k));
        let value = |v: u8| format.decode(u64::from(v));
        matmul(&kernel, (m, n, k), [&a, &b], [k, k], |row, column, p| {
            value(a[row * k + p]) * value(b[column * k + p])
        })?;
    }
    Ok(())
}

#[test]
fn flash_attention() -> Result<()> {
    const D: usize = 64;
    let Some(kernel) = artifact("gfx942", "flash_fp16_d64_full_128x64_w4_s2")? else { return Ok(()) };
    // The kernel does not mask: the context is whole blocks, here also an odd number of them for an odd number of heads.
    for (z, h, n) in [(1, 2, 128), (1, 3, 384), (2, 1, 256)] {
        let memory = GlobalMemory::default();
        let mut numbers = Numbers((z * 100 + h * 10 + n) as u64);
        let count = z * h * n * D;
        let (q, k, v) = (numbers.halves(count), numbers.halves(count), numbers.halves(count));
        let pointers = [
            upload(&memory, "q", &halves_to_bytes(&q))?,
            upload(&memory, "k", &halves_to_bytes(&k))?,
            upload(&memory, "v", &halves_to_bytes(&v))?,
            memory.allocate("o", (count * 2) as u64, Fill::Poison)?,
            memory.allocate("lse", (z * h * n * 4) as u64, Fill::Poison)?,
        ];
        let scale = 0.125_f32;
        let mut args: Vec<_> = pointers.map(Argument::pointer).to_vec();
        args.push(Argument::f32(scale));
        for _ in 0..4 {
            args.extend([h * n * D, n * D, D].map(int));
        }
        args.extend([h, n].map(int));
        kernel.run(&memory, [(n / 128) as u32, (z * h) as u32, 1], &args)?;

        let row =
            |m: &[u16], at: usize| -> Vec<f64> { m[at * D..][..D].iter().map(|&v| f64::from(f16_to_f32(v))).collect() };
        let (mut expected, mut lse) = (vec![0.0; count], vec![0.0; z * h * n]);
        for head in 0..z * h {
            for at in head * n..(head + 1) * n {
                let query = row(&q, at);
                let keys = head * n..(head + 1) * n;
                let score = |key| query.iter().zip(row(&k, key)).map(|(a, b)| a * b).sum::<f64>() * f64::from(scale);
                let scores: Vec<f64> = keys.clone().map(score).collect();
                let sum: f64 = scores.iter().map(|s| s.exp()).sum();
                lse[at] = sum.log2();
                for (key, score) in keys.zip(&scores) {
                    for (d, v) in row(&v, key).into_iter().enumerate() {
                        expected[at * D + d] += score.exp() / sum * v;
                    }
                }
            }
        }
        assert_close("attention", &read_halves(&memory, pointers[3], count)?, &expected, 2e-3);
        assert_close("log-sum-exp", &read_floats(&memory, pointers[4], z * h * n)?, &lse, 1e-5);
    }
    Ok(())
}
