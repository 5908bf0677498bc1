//! The kernels that are timed, at the sizes of real models, with a few configurations each.

use std::fmt;

use serde::Serialize;
use tegula::lang::elem::f16;
use tegula::runtime::{Launch, Stream, Tensor};
use tegula::{Device, Result};
use tegula_kernels::attention::attention;
use tegula_kernels::elementwise::{add, gelu};
use tegula_kernels::matmul::matmul;
use tegula_kernels::norm::{layernorm, rmsnorm};
use tegula_kernels::softmax::softmax;

/// Bytes that the inputs of a workload take at least, all together: three times the largest cache of a GPU there is, the
/// 256 MiB of an MI300, so that nothing of a set is left in it when its turn comes again.
const ROTATE: usize = 768 << 20;

/// Tile extents, warps and stages.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The kernel's dims in order; 0 where one follows from the sizes.
    dims: [u32; 3],
    warps: u32,
    stages: u32,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().filter(|d| **d > 0).map(u32::to_string).collect();
        write!(f, "{} warps {} stages {}", dims.join("x"), self.warps, self.stages)
    }
}

const fn candidate(dims: [u32; 3], warps: u32, stages: u32) -> Candidate {
    Candidate { dims, warps, stages }
}

const MATMUL: &[Candidate] = &[
    candidate([64, 64, 32], 4, 2),
    candidate([128, 128, 32], 4, 3),
    candidate([128, 128, 32], 8, 3),
    candidate([128, 128, 64], 8, 2),
    candidate([128, 128, 64], 8, 3),
    candidate([128, 256, 64], 8, 3),
];
const ATTENTION: &[Candidate] = &[
    candidate([64, 64, 0], 4, 2),
    candidate([128, 64, 0], 4, 2),
    candidate([128, 64, 0], 8, 2),
    candidate([128, 128, 0], 8, 2),
];
const FLAT: &[Candidate] =
    &[candidate([1024, 0, 0], 4, 1), candidate([2048, 0, 0], 4, 1), candidate([4096, 0, 0], 8, 1)];
const ROWS: &[Candidate] = &[candidate([1, 0, 0], 4, 1), candidate([1, 0, 0], 8, 1), candidate([2, 0, 0], 8, 1)];

/// Launches once, or only compiles where no number of a launch is given. Inputs are taken in turn.
pub type Run = Box<dyn Fn(&Stream, &Candidate, Option<usize>) -> Result<()>>;

/// Makes what launches a workload, with its tensors.
pub type Make = Box<dyn Fn(&Tensors<'_>) -> Result<Run>>;

/// A kernel at one size.
pub struct Workload {
    pub problem: Problem,
    pub candidates: &'static [Candidate],
    /// Makes the tensors.
    pub make: Make,
    work: Work,
}

/// What is computed, for this program and for those that measure other systems: `tegula session --list` prints it.
#[derive(Serialize)]
pub struct Problem {
    /// Kernel, element type and sizes.
    pub name: String,
    kernel: &'static str,
    /// `m`, `n`, `k` of a product; batch, heads, length and depth of attention; extents of the others.
    sizes: Vec<usize>,
    causal: bool,
    /// Sets of tensors, which launches take in turn.
    sets: usize,
    /// Bytes of a set that a launch reads or writes.
    bytes: usize,
}

impl Problem {
    /// `bytes` are those of the tensors of a launch, but for small ones that are the same for all.
    fn new(kernel: &'static str, sizes: &[usize], causal: bool, bytes: usize) -> Self {
        let extents: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let name = format!("{kernel} f16 {}{}", extents.join("x"), if causal { " causal" } else { "" });
        // Small ones are of quick sessions, whose times say nothing.
        let sets = if bytes < 1 << 20 { 2 } else { ROTATE.div_ceil(bytes).max(2) };
        Self { name, kernel, sizes: sizes.to_vec(), causal, sets, bytes }
    }
}

/// What a launch does at least.
enum Work {
    Operations(f64),
    Bytes(f64),
}

impl Workload {
    /// Work a second, of a launch that takes this many seconds.
    pub fn rate(&self, seconds: f64) -> (f64, &'static str) {
        let per = |n: f64, unit: f64| if seconds > 0.0 { n / seconds / unit } else { 0.0 };
        match self.work {
            Work::Operations(n) => (per(n, 1e12), "TFLOP/s"),
            Work::Bytes(n) => (per(n, 1e9), "GB/s"),
        }
    }
}

/// All workloads. Small ones say nothing about speed, and show that everything works.
pub fn all(quick: bool) -> Vec<Workload> {
    let mut all = Vec::new();
    let matmuls: &[[usize; 3]] = if quick { &[[128, 128, 128]] } else { &[[4096; 3], [8192; 3], [4096, 14336, 4096]] };
    all.extend(matmuls.iter().map(|&[m, n, k]| matmul_of(m, n, k)));
    let attentions: &[[usize; 4]] =
        if quick { &[[1, 2, 128, 64]] } else { &[[4, 32, 2048, 128], [1, 32, 8192, 128], [4, 32, 2048, 64]] };
    for &[batch, heads, length, depth] in attentions {
        all.extend([false, true].map(|causal| attention_of(batch, heads, length, depth, causal)));
    }
    let flat = if quick { 5000 } else { 1 << 26 };
    all.push(flat_of("add", flat, 3));
    all.push(flat_of("gelu", flat, 2));
    let rows: &[[usize; 2]] = if quick { &[[8, 256]] } else { &[[8192, 4096], [4096, 8192]] };
    for &[m, n] in rows {
        all.extend(["softmax", "layernorm", "rmsnorm"].map(|kernel| rows_of(kernel, m, n)));
    }
    all
}

/// Where the tensors of a workload are made.
pub struct Tensors<'a> {
    device: &'a Device,
    /// Whether kernels are launched on them; otherwise they stand for tensors of the same kind.
    launched: bool,
    sets: usize,
}

impl Workload {
    /// What launches it on a device, with as many sets of tensors as it takes.
    pub fn run(&self, device: &Device) -> Result<Run> {
        (self.make)(&Tensors { device, launched: true, sets: self.problem.sets })
    }

    /// What compiles it for a device.
    #[cfg(feature = "compiler")]
    pub fn compilation(&self, device: &Device) -> Result<Run> {
        (self.make)(&Tensors { device, launched: false, sets: 1 })
    }
}

impl Tensors<'_> {
    /// A tensor of values around 0 that repeat after a prime number of elements.
    fn values(&self, extents: &[usize], seed: usize) -> Result<Tensor<f16>> {
        const PERIOD: usize = 8191;
        let tensor = self.empty(extents)?;
        if self.launched {
            let period: Vec<f16> = (0..PERIOD)
                .map(|i| f16::from_f32(((i * 7919 + seed * 104_729) % PERIOD) as f32 / PERIOD as f32 - 0.5))
                .collect();
            let values: Vec<f16> = period.iter().copied().cycle().take(extents.iter().product()).collect();
            tensor.copy_from(&values)?;
        }
        Ok(tensor)
    }

    /// A tensor to be written.
    fn empty(&self, extents: &[usize]) -> Result<Tensor<f16>> {
        self.device.empty::<f16>(extents)
    }

    /// The sets of tensors, each made by `make` with its number.
    fn sets<T>(&self, make: impl Fn(usize) -> Result<T>) -> Result<Vec<T>> {
        (0..self.sets).map(make).collect()
    }
}

fn matmul_of(m: usize, n: usize, k: usize) -> Workload {
    let make = move |tensors: &Tensors<'_>| -> Result<Run> {
        let sets = tensors.sets(|seed| {
            Ok((tensors.values(&[m, k], seed)?, tensors.values(&[k, n], seed + 100)?, tensors.empty(&[m, n])?))
        })?;
        Ok(Box::new(move |stream, config, number| {
            let (a, b, c) = &sets[number.unwrap_or(0) % sets.len()];
            let mut c = c.clone();
            let [bm, bn, bk] = config.dims;
            let call = matmul(a, b, &mut c).dims(matmul::Dims { bm, bn, bk }).warps(config.warps).stages(config.stages);
            if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
        }))
    };
    Workload {
        problem: Problem::new("matmul", &[m, n, k], false, 2 * (m * k + k * n + m * n)),
        candidates: MATMUL,
        make: Box::new(make),
        work: Work::Operations(2.0 * (m * n * k) as f64),
    }
}

fn attention_of(batch: usize, heads: usize, length: usize, depth: usize, causal: bool) -> Workload {
    let extents = [batch, heads, length, depth];
    let make = move |tensors: &Tensors<'_>| -> Result<Run> {
        let sets = tensors.sets(|seed| {
            let tensor = |n: usize| tensors.values(&extents, seed + 100 * n);
            Ok((tensor(0)?, tensor(1)?, tensor(2)?, tensors.empty(&extents)?))
        })?;
        let scale = 1.0 / (depth as f32).sqrt();
        Ok(Box::new(move |stream, config, number| {
            let (q, k, v, out) = &sets[number.unwrap_or(0) % sets.len()];
            let mut out = out.clone();
            let [bm, bn, _] = config.dims;
            let call = attention(q, k, v, &mut out, scale, causal)
                .dims(attention::Dims { bm, bn, d: depth as u32 })
                .warps(config.warps)
                .stages(config.stages);
            if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
        }))
    };
    // Two products of length × length × depth; half of them with a causal mask.
    let operations = 4.0 * (batch * heads * length * length * depth) as f64;
    Workload {
        problem: Problem::new("attention", &extents, causal, 8 * extents.iter().product::<usize>()),
        candidates: ATTENTION,
        make: Box::new(make),
        work: Work::Operations(if causal { operations / 2.0 } else { operations }),
    }
}

fn flat_of(kernel: &'static str, n: usize, count: usize) -> Workload {
    let make = move |tensors: &Tensors<'_>| -> Result<Run> {
        let sets = tensors
            .sets(|seed| Ok((tensors.values(&[n], seed)?, tensors.values(&[n], seed + 100)?, tensors.empty(&[n])?)))?;
        Ok(Box::new(move |stream, config, number| {
            let (x, y, out) = &sets[number.unwrap_or(0) % sets.len()];
            let mut out = out.clone();
            let b = config.dims[0];
            if kernel == "add" {
                let call = add(x, y, &mut out).dims(add::Dims { b }).warps(config.warps);
                if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
            } else {
                let call = gelu(x, &mut out).dims(gelu::Dims { b }).warps(config.warps);
                if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
            }
        }))
    };
    Workload {
        problem: Problem::new(kernel, &[n], false, 2 * count * n),
        candidates: FLAT,
        make: Box::new(make),
        work: Work::Bytes((2 * count * n) as f64),
    }
}

fn rows_of(kernel: &'static str, m: usize, n: usize) -> Workload {
    let make = move |tensors: &Tensors<'_>| -> Result<Run> {
        let weight = tensors.values(&[n], 1)?;
        let bias = tensors.values(&[n], 2)?;
        let sets = tensors.sets(|seed| Ok((tensors.values(&[m, n], seed)?, tensors.empty(&[m, n])?)))?;
        Ok(Box::new(move |stream, config, number| {
            let (x, y) = &sets[number.unwrap_or(0) % sets.len()];
            let mut y = y.clone();
            let (r, n) = (config.dims[0], n.next_power_of_two() as u32);
            match kernel {
                "softmax" => {
                    let call = softmax(x, &mut y).dims(softmax::Dims { r, n }).warps(config.warps);
                    if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
                }
                "layernorm" => {
                    let call = layernorm(x, &weight, &bias, &mut y, 1e-5);
                    let call = call.dims(layernorm::Dims { r, n }).warps(config.warps);
                    if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
                }
                _ => {
                    let call = rmsnorm(x, &weight, &mut y, 1e-5).dims(rmsnorm::Dims { r, n }).warps(config.warps);
                    if number.is_some() { call.launch_on(stream) } else { call.warm_up() }
                }
            }
        }))
    };
    Workload {
        problem: Problem::new(kernel, &[m, n], false, 4 * m * n),
        candidates: ROWS,
        make: Box::new(make),
        work: Work::Bytes((4 * m * n) as f64),
    }
}
