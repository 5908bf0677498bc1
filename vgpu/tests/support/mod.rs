//! What the acceptance tests of both machines share: the manifest of kernels compiled by Triton, and problems with f64 references.
//!
//! The kernels lie outside the repository: in the folder that `TEGULA_ARTIFACTS` names, or in `../shared/artifacts/triton` beside the
//! checkout. Where neither is, the tests say so and pass.

#![allow(dead_code)]

use half::f16;
use std::path::PathBuf;

/// A kernel of the manifest.
#[derive(Debug, serde::Deserialize)]
pub struct Artifact {
    pub target: String,
    pub kernel: String,
    pub file: String,
    pub entry: String,
    pub dynamic_shared_bytes: u32,
    #[serde(default)]
    pub block_threads: u32,
}

/// The folder of the artifacts, and the manifest.
pub fn manifest() -> Option<(PathBuf, Vec<Artifact>)> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/artifacts/triton"));
    let folder = std::env::var_os("TEGULA_ARTIFACTS").map_or_else(beside, PathBuf::from);
    match std::fs::read_to_string(folder.join("manifest.json")) {
        Ok(text) => Some((folder, serde_json::from_str(&text).expect("a manifest"))),
        Err(error) => {
            eprintln!("skipped: no artifacts in {} ({error}); set TEGULA_ARTIFACTS", folder.display());
            None
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A buffer with contents.
    Input(&'static str, Vec<u8>),
    /// A poisoned buffer of so many bytes, written by the kernel.
    Output(&'static str, usize),
    I32(i32),
    I64(i64),
    F32(f32),
    /// A 2-d tensor map over the buffer of an argument that stands in `Problem::buffers`, with its rows, columns and box (columns first).
    Map {
        buffer: usize,
        rows: u64,
        columns: u64,
        box_columns: u32,
        box_rows: u32,
    },
}

/// Checks the outputs.
pub type Check = Box<dyn Fn(&[Vec<u8>]) -> Result<(), String>>;

/// One problem for a kernel: how to launch it, and what must come out.
pub struct Problem {
    pub name: String,
    pub grid: [u32; 3],
    pub args: Vec<Arg>,
    /// Buffers that no argument is, but tensor maps refer to.
    pub buffers: Vec<Arg>,
    /// Checks the outputs, in the order of `Arg::Output` (those of `buffers` last).
    pub check: Check,
}

/// A small generator of reproducible numbers in -1..1.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 40) as f32) / 8_388_608.0 - 1.0
    }

    pub fn f32s(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }

    pub fn f16s(&mut self, count: usize) -> Vec<f16> {
        (0..count).map(|_| f16::from_f32(self.next())).collect()
    }
}

pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn f16_bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn as_f32(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes")).into()).collect()
}

pub fn as_f16(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(2).map(|b| f16::from_le_bytes(b.try_into().expect("2 bytes")).to_f64()).collect()
}

/// Compares with a tolerance relative to the largest magnitude expected.
pub fn close(what: &str, got: &[f64], expected: &[f64], tolerance: f64) -> Result<(), String> {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs())).max(1e-30);
    let mut worst = (0.0, 0);
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        let error = (got - expected).abs() / scale;
        if error.is_nan() || error > worst.0 {
            worst = (if error.is_nan() { f64::INFINITY } else { error }, index);
        }
    }
    if worst.0 > tolerance {
        let at = worst.1;
        return Err(format!("{what}: element {at} is {}, not {} (error {:.2e})", got[at], expected[at], worst.0));
    }
    Ok(())
}

/// `a · b` in f64, row-major; `nt`: b is stored as columns.
pub fn product(a: &[f64], b: &[f64], m: usize, n: usize, k: usize, nt: bool) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for p in 0..k {
            let x = a[i * k + p];
            for j in 0..n {
                c[i * n + j] += x * if nt { b[j * k + p] } else { b[p * n + j] };
            }
        }
    }
    c
}

fn vecadd(n: usize) -> Problem {
    let mut numbers = Numbers::new(n as u64);
    let (x, y) = (numbers.f32s(n), numbers.f32s(n));
    let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f64::from(*x) + f64::from(*y)).collect();
    Problem {
        name: format!("n={n}"),
        grid: [n.div_ceil(1024) as u32, 1, 1],
        args: vec![
            Arg::Input("x", f32_bytes(&x)),
            Arg::Input("y", f32_bytes(&y)),
            Arg::Output("o", n * 4),
            Arg::I32(n as i32),
        ],
        buffers: Vec::new(),
        check: Box::new(move |out| close("o", &as_f32(&out[0]), &sum, 1e-5)),
    }
}

fn softmax(rows: usize, columns: usize, programs: u32) -> Problem {
    let mut numbers = Numbers::new((rows * columns) as u64);
    let x: Vec<f32> = numbers.f32s(rows * columns).iter().map(|x| x * 8.0).collect();
    let mut expected = Vec::new();
    for row in x.chunks_exact(columns) {
        let max = row.iter().fold(f32::MIN, |m, x| m.max(*x));
        let exps: Vec<f64> = row.iter().map(|x| (f64::from(*x) - f64::from(max)).exp()).collect();
        let sum: f64 = exps.iter().sum();
        expected.extend(exps.iter().map(|e| e / sum));
    }
    Problem {
        name: format!("{rows}x{columns} over {programs}"),
        grid: [programs, 1, 1],
        args: vec![
            Arg::Output("o", rows * columns * 4),
            Arg::Input("i", f32_bytes(&x)),
            Arg::I32(columns as i32),
            Arg::I32(columns as i32),
            Arg::I32(rows as i32),
            Arg::I32(columns as i32),
        ],
        buffers: Vec::new(),
        check: Box::new(move |out| close("o", &as_f32(&out[0]), &expected, 1e-5)),
    }
}

fn matmul(m: usize, n: usize, k: usize, bm: usize, bn: usize) -> Problem {
    let mut numbers = Numbers::new((m * n + k) as u64);
    let (a, b) = (numbers.f16s(m * k), numbers.f16s(k * n));
    let wide = |v: &[f16]| v.iter().map(|x| x.to_f64()).collect::<Vec<_>>();
    let expected = product(&wide(&a), &wide(&b), m, n, k, false);
    Problem {
        name: format!("{m}x{n}x{k}"),
        grid: [(m.div_ceil(bm) * n.div_ceil(bn)) as u32, 1, 1],
        args: vec![
            Arg::Input("a", f16_bytes(&a)),
            Arg::Input("b", f16_bytes(&b)),
            Arg::Output("c", m * n * 2),
            Arg::I32(m as i32),
            Arg::I32(n as i32),
            Arg::I32(k as i32),
            Arg::I32(k as i32),
            Arg::I32(n as i32),
            Arg::I32(n as i32),
        ],
        buffers: Vec::new(),
        check: Box::new(move |out| close("c", &as_f16(&out[0]), &expected, 2e-3)),
    }
}

fn matmul_tma(m: usize, n: usize, k: usize, bm: usize, bn: usize, grid: u32) -> Problem {
    let mut numbers = Numbers::new((m * n + k) as u64);
    let (a, b) = (numbers.f16s(m * k), numbers.f16s(k * n));
    let wide = |v: &[f16]| v.iter().map(|x| x.to_f64()).collect::<Vec<_>>();
    let expected = product(&wide(&a), &wide(&b), m, n, k, false);
    let mut args = Vec::new();
    for (buffer, (rows, columns, box_rows)) in [(m, k, bm), (k, n, 64), (m, n, bm)].into_iter().enumerate() {
        args.push(Arg::Map {
            buffer,
            rows: rows as u64,
            columns: columns as u64,
            box_columns: 64,
            box_rows: box_rows as u32,
        });
        args.extend([Arg::I32(rows as i32), Arg::I32(columns as i32), Arg::I64(columns as i64), Arg::I64(1)]);
    }
    args.extend([Arg::I32(m as i32), Arg::I32(n as i32), Arg::I32(k as i32)]);
    let tiles = (m.div_ceil(bm) * n.div_ceil(bn)) as u32;
    Problem {
        name: format!("{m}x{n}x{k}"),
        grid: [tiles.min(grid), 1, 1],
        args,
        buffers: vec![Arg::Input("a", f16_bytes(&a)), Arg::Input("b", f16_bytes(&b)), Arg::Output("c", m * n * 2)],
        check: Box::new(move |out| close("c", &as_f16(&out[0]), &expected, 2e-3)),
    }
}

/// Attention of `z * h` heads of `n` rows of `d`, for programs of 128 rows.
pub fn flash(z: usize, h: usize, n: usize, d: usize) -> Problem {
    let mut numbers = Numbers::new((z * h * n) as u64);
    let count = z * h * n * d;
    let (q, k, v) = (numbers.f16s(count), numbers.f16s(count), numbers.f16s(count));
    let scale = 1.0 / (d as f64).sqrt();
    let (mut out, mut lse) = (vec![0.0; count], vec![0.0; z * h * n]);
    for head in 0..z * h {
        let at = |t: &[f16], row: usize, column: usize| t[(head * n + row) * d + column].to_f64();
        for row in 0..n {
            let scores: Vec<f64> =
                (0..n).map(|other| (0..d).map(|c| at(&q, row, c) * at(&k, other, c)).sum::<f64>() * scale).collect();
            let max = scores.iter().fold(f64::MIN, |m, x| m.max(*x));
            let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
            lse[head * n + row] = (max + sum.ln()) / std::f64::consts::LN_2;
            for column in 0..d {
                let total: f64 =
                    scores.iter().enumerate().map(|(other, s)| (s - max).exp() * at(&v, other, column)).sum();
                out[(head * n + row) * d + column] = total / sum;
            }
        }
    }
    let strides = [h * n * d, n * d, d].map(|s| Arg::I32(s as i32));
    let mut args = vec![
        Arg::Input("q", f16_bytes(&q)),
        Arg::Input("k", f16_bytes(&k)),
        Arg::Input("v", f16_bytes(&v)),
        Arg::Output("o", count * 2),
        Arg::Output("lse", z * h * n * 4),
        Arg::F32(scale as f32),
    ];
    for _ in 0..4 {
        args.extend(strides.iter().cloned());
    }
    args.extend([Arg::I32(h as i32), Arg::I32(n as i32)]);
    Problem {
        name: format!("z={z} h={h} n={n}"),
        grid: [n.div_ceil(128) as u32, (z * h) as u32, 1],
        args,
        buffers: Vec::new(),
        check: Box::new(move |outputs| {
            close("o", &as_f16(&outputs[0]), &out, 2e-3)?;
            close("lse", &as_f32(&outputs[1]), &lse, 2e-3)
        }),
    }
}

/// Three problems for a kernel of the manifest, the last one of odd size (within what the kernel was compiled for).
pub fn problems(artifact: &Artifact) -> Vec<Problem> {
    let block: Vec<usize> = artifact
        .kernel
        .split('_')
        .find(|part| part.contains('x') && part.chars().all(|c| c == 'x' || c.is_ascii_digit()))
        .map(|part| part.split('x').map(|n| n.parse().expect("a block extent")).collect())
        .unwrap_or_default();
    match artifact.entry.as_str() {
        "vecadd" => vec![vecadd(1024), vecadd(4096), vecadd(2000)],
        "softmax" => vec![softmax(4, 1024, 4), softmax(16, 512, 4), softmax(7, 784, 3)],
        "matmul" if !artifact.kernel.contains("fp8") => {
            let [bm, bn] = [block[0], block[1]];
            vec![matmul(bm, bn, 64, bm, bn), matmul(2 * bm, 2 * bn, 256, bm, bn), matmul(144, 208, 80, bm, bn)]
        }
        "matmul_tma" => {
            let [bm, bn] = [block[0], block[1]];
            vec![
                matmul_tma(bm, bn, 64, bm, bn, u32::MAX),
                matmul_tma(2 * bm, 2 * bn, 320, bm, bn, u32::MAX),
                matmul_tma(144, 208, 80, bm, bn, u32::MAX),
            ]
        }
        "matmul_tma_persistent" => {
            let [bm, bn] = [block[0], block[1]];
            // The loop over tiles was compiled for a grid of 132: with more tiles some programs get two.
            vec![
                matmul_tma(bm, bn, 128, bm, bn, 132),
                matmul_tma(12 * bm, 12 * bn, 64, bm, bn, 132),
                matmul_tma(400, 272, 208, bm, bn, 132),
            ]
        }
        "flash_fwd" => vec![flash(1, 1, 128, 64), flash(1, 2, 256, 64), flash(1, 3, 384, 64)],
        _ => Vec::new(),
    }
}
