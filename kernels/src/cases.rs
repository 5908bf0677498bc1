//! A case for each kernel: its sizes, the element types it is used with, and how to make a problem of them. Tests, the
//! command and the benchmarks all run these.

use std::marker::PhantomData;

use tegula::ir::exec::{HostArg, HostTensor};
use tegula::ir::literal::Literal;
use tegula::ir::{Function, ScalarType};
use tegula::lang::elem::{bf16, f16};
use tegula::lang::kernel::{BuildError, BuildOptions, Kernel};

use crate::matmul::Activation;
use crate::problem::{Expected, Grid, Problem, Random, Sizes, decode, encode, output, tolerance};
use crate::{attention, dropout, elementwise, matmul, movement, norm, reference, rows, softmax};

/// Builds a kernel of one element type and these build-time parameters for one of the float types.
macro_rules! float_kernel {
    ($($path:ident)::+) => {
        float_kernel!($($path)::+, ())
    };
    ($($path:ident)::+, $comptime:expr) => {
        |options, elem| match elem {
            ScalarType::F16 => $($path)::+::Kernel::<(f16,), _> { comptime: $comptime, types: PhantomData }.build(options),
            ScalarType::BF16 => $($path)::+::Kernel::<(bf16,), _> { comptime: $comptime, types: PhantomData }.build(options),
            ScalarType::F64 => $($path)::+::Kernel::<(f64,), _> { comptime: $comptime, types: PhantomData }.build(options),
            // The table below asks for float types only; for another the launcher finds the mismatch.
            _ => $($path)::+::Kernel::<(f32,), _> { comptime: $comptime, types: PhantomData }.build(options),
        }
    };
}

/// How a kernel is used.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Tells apart the cases of one kernel, such as `causal`; empty for the only or main one.
    pub variant: &'static str,
    /// Sizes with their defaults.
    pub sizes: &'static [(&'static str, i64)],
    /// Sizes that tests use besides the defaults: small, odd, prime; in the order of `sizes`.
    pub test_sizes: &'static [&'static [i64]],
    /// Elements of all tensors together, as a sum of products of sizes.
    pub elements: &'static [&'static [&'static str]],
    /// Says what is wrong with sizes that make no problem.
    pub requires: fn(&Sizes) -> Result<(), &'static str>,
    /// Element types of the kernel's generic parameter.
    pub elems: &'static [ScalarType],
    /// Values of the kernel's dims that follow from the sizes; the others keep their defaults.
    pub dims: fn(&Sizes) -> Vec<(&'static str, u64)>,
    /// Builds the kernel for an element type.
    pub build: fn(&BuildOptions, ScalarType) -> Result<Function, BuildError>,
    /// Makes a problem.
    pub problem: fn(&Sizes, ScalarType, u64) -> Problem,
}

impl Case {
    /// The default sizes.
    pub fn default_sizes(&self) -> Sizes {
        Sizes(self.sizes.to_vec())
    }

    /// The test sizes.
    pub fn all_test_sizes(&self) -> impl Iterator<Item = Sizes> + '_ {
        self.test_sizes.iter().map(|v| Sizes(self.sizes.iter().map(|(n, _)| *n).zip(v.iter().copied()).collect()))
    }

    /// How many elements all tensors of a problem have together.
    pub fn count_elements(&self, sizes: &Sizes) -> f64 {
        self.elements.iter().map(|product| product.iter().map(|n| sizes.get(n) as f64).product::<f64>()).sum()
    }

    /// The kernel's name, with the variant behind a slash where there is one.
    pub fn name(&self) -> String {
        if self.variant.is_empty() { self.kernel.into() } else { format!("{}/{}", self.kernel, self.variant) }
    }
}

const FLOATS: &[ScalarType] = &[ScalarType::F32, ScalarType::F16, ScalarType::BF16, ScalarType::F64];
const F32: ScalarType = ScalarType::F32;
const FLAT: &[&[i64]] = &[&[1], &[7], &[63], &[65], &[1000], &[1031]];
const ROWS: &[&[i64]] = &[&[1, 1], &[3, 7], &[2, 63], &[5, 65], &[4, 1000], &[7, 257]];

fn no_dims(_: &Sizes) -> Vec<(&'static str, u64)> {
    Vec::new()
}

/// A row in one tile: `N` rounded up to a power of two, which needs no masks on most sizes.
fn row_dim(s: &Sizes) -> Vec<(&'static str, u64)> {
    vec![("N", (s.get("N").max(1) as u64).next_power_of_two())]
}

fn any_sizes(_: &Sizes) -> Result<(), &'static str> {
    Ok(())
}

fn a_column(s: &Sizes) -> Result<(), &'static str> {
    if s.get("N") > 0 { Ok(()) } else { Err("N is at least 1: each row has an element to choose") }
}

fn a_table_row(s: &Sizes) -> Result<(), &'static str> {
    if s.get("V") > 0 { Ok(()) } else { Err("V is at least 1: the table has a row to choose") }
}

fn groups(s: &Sizes) -> Result<(), &'static str> {
    let (heads, groups) = (s.get("H"), s.get("G"));
    if groups > 0 && heads % groups == 0 {
        Ok(())
    } else {
        Err("H is a multiple of G: each head has its keys and values")
    }
}

fn pairs(s: &Sizes) -> Result<(), &'static str> {
    let d = s.get("D");
    if d > 0 && d % 2 == 0 { Ok(()) } else { Err("D is even and at least 2: elements are turned in pairs") }
}

/// A grid of one program for `R` rows.
fn row_grid(m: i64) -> Option<Grid> {
    Some(Grid([vec![(m, Some("R"))], vec![], vec![]]))
}

fn bytes(args: &[HostArg]) -> f64 {
    args.iter()
        .map(|a| match a {
            HostArg::Tensor(t) | HostArg::Ptr(t) => t.data.len() as f64,
            HostArg::Scalar(_) => 0.0,
        })
        .sum()
}

/// A problem whose last tensor is the output.
fn problem(args: Vec<HostArg>, out: usize, values: Vec<f64>, tolerance: f64, flops: f64) -> Problem {
    let bytes = bytes(&args);
    Problem { args, grid: None, expected: vec![Expected { arg: out, values, tolerance }], flops, bytes }
}

fn tensor(t: HostTensor) -> HostArg {
    HostArg::Tensor(t)
}

fn float(v: f64) -> HostArg {
    HostArg::Scalar(Literal::Float(v))
}

/// An elementwise problem of one input.
fn map(s: &Sizes, elem: ScalarType, seed: u64, scale: f64, flops: f64, f: impl Fn(f64) -> f64) -> Problem {
    let n = s.get("N");
    let x = Random::new(seed).tensor(elem, &[n], scale);
    let want = decode(&x).into_iter().map(f).collect();
    problem(vec![tensor(x), tensor(output(elem, &[n]))], 1, want, tolerance(elem, 1), flops * n as f64)
}

fn add(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (n, mut r) = (s.get("N"), Random::new(seed));
    let (x, y) = (r.tensor(elem, &[n], 4.0), r.tensor(elem, &[n], 4.0));
    let want = decode(&x).iter().zip(decode(&y)).map(|(a, b)| a + b).collect();
    problem(vec![tensor(x), tensor(y), tensor(output(elem, &[n]))], 2, want, tolerance(elem, 1), n as f64)
}

fn softmax(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n) = (s.get("M"), s.get("N"));
    let x = Random::new(seed).tensor(elem, &[m, n], 8.0);
    let want = reference::softmax(&decode(&x), n as usize);
    let args = vec![tensor(x), tensor(output(elem, &[m, n]))];
    problem(args, 1, want, tolerance(elem, n).max(1e-5 * f64::from(u8::from(elem == F32))), 5.0 * (m * n) as f64)
}

fn softmax_long(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    Problem { grid: row_grid(s.get("M")), ..softmax(s, elem, seed) }
}

fn layernorm(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n, mut r) = (s.get("M"), s.get("N"), Random::new(seed));
    let (x, w, b) = (r.tensor(elem, &[m, n], 2.0), r.tensor(elem, &[n], 1.0), r.tensor(elem, &[n], 1.0));
    let want = reference::layernorm(&decode(&x), &decode(&w), &decode(&b), f64::from(1e-5f32));
    let args = vec![tensor(x), tensor(w), tensor(b), tensor(output(elem, &[m, n])), float(f64::from(1e-5f32))];
    problem(args, 3, want, tolerance(elem, n), 8.0 * (m * n) as f64)
}

fn rmsnorm(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n, mut r) = (s.get("M"), s.get("N"), Random::new(seed));
    let (x, w) = (r.tensor(elem, &[m, n], 2.0), r.tensor(elem, &[n], 1.0));
    let want = reference::rmsnorm(&decode(&x), &decode(&w), f64::from(1e-5f32));
    let args = vec![tensor(x), tensor(w), tensor(output(elem, &[m, n])), float(f64::from(1e-5f32))];
    problem(args, 2, want, tolerance(elem, n), 5.0 * (m * n) as f64)
}

/// The inputs of a product, and it.
fn product(s: &Sizes, elem: ScalarType, seed: u64) -> (HostTensor, HostTensor, Vec<f64>, f64) {
    let (m, n, k, mut r) = (s.get("M"), s.get("N"), s.get("K"), Random::new(seed));
    let (a, b) = (r.tensor(elem, &[m, k], 1.0), r.tensor(elem, &[k, n], 1.0));
    let want = reference::matmul(&decode(&a), &decode(&b), m as usize, n as usize, k as usize);
    (a, b, want, 2.0 * (m * n * k) as f64)
}

fn matmul(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (a, b, want, flops) = product(s, elem, seed);
    let c = output(elem, &[s.get("M"), s.get("N")]);
    problem(vec![tensor(a), tensor(b), tensor(c)], 2, want, tolerance(elem, s.get("K")), flops)
}

/// The same product with `b` stored transposed.
fn matmul_nt(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (n, k) = (s.get("N"), s.get("K"));
    let mut p = matmul(s, elem, seed);
    if let HostArg::Tensor(b) = &p.args[1] {
        let t = reference::transpose(&decode(b), k as usize, n as usize);
        p.args[1] = tensor(encode(elem, &[n, k], &t));
    }
    p
}

/// The same product with both inputs seen through transposed strides.
fn matmul_strided(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let mut p = matmul(s, elem, seed);
    for arg in &mut p.args[..2] {
        if let HostArg::Tensor(t) = arg {
            let (m, n) = (t.extents[0], t.extents[1]);
            let mut u = encode(elem, &[n, m], &reference::transpose(&decode(t), m as usize, n as usize));
            u.extents.swap(0, 1);
            u.strides.swap(0, 1);
            *t = u;
        }
    }
    p
}

fn matmul_bias(s: &Sizes, elem: ScalarType, seed: u64, activation: impl Fn(f64) -> f64) -> Problem {
    let (a, b, mut want, flops) = product(s, elem, seed);
    let n = s.get("N");
    let bias = Random::new(seed + 1).tensor(elem, &[n], 2.0);
    for (w, b) in want.iter_mut().zip(decode(&bias).iter().cycle()) {
        *w = activation(*w + b);
    }
    let args = vec![tensor(a), tensor(b), tensor(bias), tensor(output(elem, &[s.get("M"), n]))];
    problem(args, 3, want, tolerance(elem, s.get("K")), flops)
}

fn matmul_batched(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (count, m, n, k, mut r) = (s.get("B"), s.get("M"), s.get("N"), s.get("K"), Random::new(seed));
    let (a, b) = (r.tensor(elem, &[count, m, k], 1.0), r.tensor(elem, &[count, k, n], 1.0));
    let (va, vb) = (decode(&a), decode(&b));
    let (m_, n_, k_) = (m as usize, n as usize, k as usize);
    let mut want = Vec::new();
    for i in 0..count as usize {
        want.extend(reference::matmul(&va[i * m_ * k_..][..m_ * k_], &vb[i * k_ * n_..][..k_ * n_], m_, n_, k_));
    }
    let args = vec![tensor(a), tensor(b), tensor(output(elem, &[count, m, n]))];
    problem(args, 2, want, tolerance(elem, k), 2.0 * (count * m * n * k) as f64)
}

fn matmul_split_k(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (a, b, want, flops) = product(s, elem, seed);
    let (m, n) = (s.get("M"), s.get("N"));
    let c = HostTensor::zeros(F32, &[m, n]);
    let mut p = problem(vec![tensor(a), tensor(b), tensor(c)], 2, want, tolerance(F32, s.get("K")), flops);
    p.grid = Some(Grid([vec![(m, Some("BM")), (n, Some("BN"))], vec![(3, None)], vec![]]));
    p
}

fn attention_problem(s: &Sizes, elem: ScalarType, seed: u64, causal: bool) -> Problem {
    let get = |n| s.get(n);
    let (z, h, g, m, n, d) = (get("B"), get("H"), get("G"), get("M"), get("N"), get("D"));
    let mut r = Random::new(seed);
    let q = r.tensor(elem, &[z, h, m, d], 1.0);
    let (k, v) = (r.tensor(elem, &[z, g, n, d], 1.0), r.tensor(elem, &[z, g, n, d], 1.0));
    let scale = f64::from(1.0 / (d as f32).sqrt());
    let u = |v: i64| v as usize;
    let shape =
        reference::Attention { batch: u(z), heads: u(h), kv_heads: u(g), q_len: u(m), kv_len: u(n), dim: u(d), causal };
    let want = reference::attention(&decode(&q), &decode(&k), &decode(&v), shape, scale);
    let pairs = if causal { (z * h * m * n) as f64 * 0.5 } else { (z * h * m * n) as f64 };
    let args = vec![tensor(q), tensor(k), tensor(v), tensor(output(elem, &[z, h, m, d])), float(scale)];
    problem(args, 3, want, 2.0 * tolerance(elem, n), 4.0 * pairs * d as f64)
}

fn attention(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    attention_problem(s, elem, seed, false)
}

fn attention_causal(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    attention_problem(s, elem, seed, true)
}

fn head_dim(s: &Sizes) -> Vec<(&'static str, u64)> {
    vec![("D", (s.get("D").max(1) as u64).next_power_of_two())]
}

fn cumsum(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n) = (s.get("M"), s.get("N"));
    let x = Random::new(seed).tensor(elem, &[m, n], 1.0);
    let want = reference::cumsum(&decode(&x), n as usize);
    let args = vec![tensor(x), tensor(output(elem, &[m, n]))];
    Problem { grid: row_grid(m), ..problem(args, 1, want, tolerance(elem, n), (m * n) as f64) }
}

fn argmax(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n, mut r) = (s.get("M"), s.get("N"), Random::new(seed));
    let x = r.tensor(elem, &[m, n], 1.0);
    let mut values = decode(&x);
    // NaN in a third of the places, whole rows of it, and rows of -inf.
    for (i, v) in values.iter_mut().enumerate() {
        let row = i as i64 / n;
        if row % 4 == 3 {
            *v = f64::NEG_INFINITY;
        } else if row % 4 == 2 || r.below(3) == 0 {
            *v = f64::NAN;
        }
    }
    let want = reference::argmax(&values, n as usize);
    let args = vec![tensor(encode(elem, &[m, n], &values)), tensor(output(ScalarType::I32, &[m]))];
    problem(args, 1, want, 0.0, (m * n) as f64)
}

fn cross_entropy(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n, mut r) = (s.get("M"), s.get("N"), Random::new(seed));
    let (x, t) = (r.tensor(elem, &[m, n], 8.0), r.indices(ScalarType::I32, &[m], n));
    let targets: Vec<usize> = decode(&t).iter().map(|&v| v as usize).collect();
    let want = reference::cross_entropy(&decode(&x), &targets, n as usize);
    let args = vec![tensor(x), tensor(t), tensor(output(F32, &[m]))];
    problem(args, 2, want, tolerance(F32, n), 4.0 * (m * n) as f64)
}

fn transpose(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n) = (s.get("M"), s.get("N"));
    let x = Random::new(seed).tensor(elem, &[m, n], 1.0);
    let want = reference::transpose(&decode(&x), m as usize, n as usize);
    problem(vec![tensor(x), tensor(output(elem, &[n, m]))], 1, want, 0.0, 0.0)
}

fn embedding(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (m, n, v, mut r) = (s.get("M"), s.get("N"), s.get("V"), Random::new(seed));
    let (table, ids) = (r.tensor(elem, &[v, n], 1.0), r.indices(ScalarType::I32, &[m], v));
    let rows = decode(&table);
    let want = decode(&ids).iter().flat_map(|&i| rows[i as usize * n as usize..][..n as usize].to_vec()).collect();
    problem(vec![tensor(table), tensor(ids), tensor(output(elem, &[m, n]))], 2, want, 0.0, 0.0)
}

fn rope(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (z, seq, heads, half) = (s.get("B"), s.get("S"), s.get("H"), s.get("D") / 2);
    let mut r = Random::new(seed);
    let x = r.tensor(elem, &[z, seq, heads, 2 * half], 1.0);
    let angle = |p: i64, i: i64| p as f64 * 10000f64.powf(-(i as f64) / half as f64);
    let angles: Vec<f64> = (0..seq).flat_map(|p| (0..half).map(move |i| angle(p, i))).collect();
    let cos = encode(F32, &[seq, half], &angles.iter().map(|a| a.cos()).collect::<Vec<_>>());
    let sin = encode(F32, &[seq, half], &angles.iter().map(|a| a.sin()).collect::<Vec<_>>());
    let (u, d) = (|v: i64| v as usize, 2 * half as usize);
    let want = reference::rope(&decode(&x), &decode(&cos), &decode(&sin), u(seq), u(heads), d);
    let out = output(elem, &[z, seq, heads, 2 * half]);
    let flops = 3.0 * (z * seq * heads * 2 * half) as f64;
    let args = vec![tensor(x), tensor(cos), tensor(sin), tensor(out)];
    let mut p = problem(args, 3, want, tolerance(elem, 1).max(tolerance(F32, 1)), flops);
    p.grid = Some(Grid([vec![(z * heads, None)], vec![(seq, Some("S"))], vec![]]));
    p
}

fn half_dim(s: &Sizes) -> Vec<(&'static str, u64)> {
    vec![("H", (s.get("D") / 2) as u64)]
}

fn dropout(s: &Sizes, elem: ScalarType, seed: u64) -> Problem {
    let (n, p, key) = (s.get("N"), 0.3f32, 0x1234_5678_9abc_def0u64);
    let x = Random::new(seed).tensor(elem, &[n], 1.0);
    let scale = 1.0 / (1.0 - f64::from(p));
    let keep = |i: u64| {
        let bits = reference::philox([i as u32, (i >> 32) as u32, 0, 0], [key as u32, (key >> 32) as u32])[0];
        // The upper 24 bits as a fraction: every f32 in 0..1 that is a multiple of 2^-24.
        (bits >> 8) as f32 * (1.0 / 16_777_216.0) >= p
    };
    let want = decode(&x).iter().enumerate().map(|(i, v)| if keep(i as u64) { v * scale } else { 0.0 }).collect();
    let seed = HostArg::Scalar(Literal::Int(key as i64));
    let args = vec![tensor(x), tensor(output(elem, &[n])), float(p.into()), seed];
    problem(args, 1, want, tolerance(elem, 1), n as f64)
}

const MNK: &[(&str, i64)] = &[("M", 1024), ("N", 1024), ("K", 1024)];
const MNK_TESTS: &[&[i64]] = &[&[1, 1, 1], &[7, 63, 65], &[65, 7, 1], &[64, 128, 32], &[100, 1, 257], &[131, 67, 1000]];
const ATTENTION: &[(&str, i64)] = &[("B", 1), ("H", 8), ("G", 8), ("M", 1024), ("N", 1024), ("D", 64)];
const ATTENTION_ELEMENTS: &[&[&str]] =
    &[&["B", "H", "M", "D"], &["B", "G", "N", "D"], &["B", "G", "N", "D"], &["B", "H", "M", "D"]];
const ATTENTION_TESTS: &[&[i64]] = &[
    &[1, 1, 1, 1, 1, 16],
    &[1, 2, 1, 7, 65, 32],
    &[2, 4, 2, 65, 63, 64],
    &[1, 1, 1, 100, 131, 40],
    &[1, 2, 2, 33, 33, 128],
    &[1, 1, 1, 5, 70, 256],
    // Any size of a head to 256.
    &[1, 1, 1, 7, 67, 1],
    &[1, 2, 1, 63, 1000, 33],
    &[1, 1, 1, 3, 40, 80],
    &[1, 1, 1, 5, 9, 255],
];

/// What the cases of `matmul_bias` share.
const MATMUL_BIAS: Case = Case {
    kernel: "matmul_bias",
    variant: "",
    sizes: MNK,
    elements: &[&["M", "K"], &["K", "N"], &["N"], &["M", "N"]],
    requires: any_sizes,
    test_sizes: MNK_TESTS,
    elems: FLOATS,
    dims: no_dims,
    build: float_kernel!(matmul::matmul_bias, (Activation::Identity,)),
    problem: |s, e, seed| matmul_bias(s, e, seed, |v| v),
};

/// Every case, grouped by kernel.
pub const CASES: &[Case] = &[
    Case {
        kernel: "add",
        variant: "",
        sizes: &[("N", 1 << 24)],
        elements: &[&["N"], &["N"], &["N"]],
        requires: any_sizes,
        test_sizes: FLAT,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(elementwise::add),
        problem: add,
    },
    Case {
        kernel: "copy",
        variant: "",
        sizes: &[("N", 1 << 24)],
        elements: &[&["N"], &["N"]],
        requires: any_sizes,
        test_sizes: FLAT,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(elementwise::copy),
        problem: |s, e, seed| map(s, e, seed, 4.0, 0.0, |v| v),
    },
    Case {
        kernel: "gelu",
        variant: "",
        sizes: &[("N", 1 << 24)],
        elements: &[&["N"], &["N"]],
        requires: any_sizes,
        test_sizes: FLAT,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(elementwise::gelu),
        problem: |s, e, seed| map(s, e, seed, 4.0, 10.0, reference::gelu),
    },
    Case {
        kernel: "silu",
        variant: "",
        sizes: &[("N", 1 << 24)],
        elements: &[&["N"], &["N"]],
        requires: any_sizes,
        test_sizes: FLAT,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(elementwise::silu),
        problem: |s, e, seed| map(s, e, seed, 8.0, 6.0, reference::silu),
    },
    Case {
        kernel: "softmax",
        variant: "",
        sizes: &[("M", 4096), ("N", 4096)],
        elements: &[&["M", "N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: ROWS,
        elems: FLOATS,
        dims: row_dim,
        build: float_kernel!(softmax::softmax),
        problem: softmax,
    },
    Case {
        kernel: "softmax_long",
        variant: "",
        sizes: &[("M", 256), ("N", 65536)],
        elements: &[&["M", "N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: &[&[1, 1], &[7, 63], &[5, 65], &[3, 1000], &[2, 1025], &[3, 5003]],
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(softmax::softmax_long),
        problem: softmax_long,
    },
    Case {
        kernel: "layernorm",
        variant: "",
        sizes: &[("M", 4096), ("N", 4096)],
        elements: &[&["M", "N"], &["N"], &["N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: ROWS,
        elems: FLOATS,
        dims: row_dim,
        build: float_kernel!(norm::layernorm),
        problem: layernorm,
    },
    Case {
        kernel: "rmsnorm",
        variant: "",
        sizes: &[("M", 4096), ("N", 4096)],
        elements: &[&["M", "N"], &["N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: ROWS,
        elems: FLOATS,
        dims: row_dim,
        build: float_kernel!(norm::rmsnorm),
        problem: rmsnorm,
    },
    Case {
        kernel: "matmul",
        variant: "",
        sizes: MNK,
        elements: &[&["M", "K"], &["K", "N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: MNK_TESTS,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(matmul::matmul),
        problem: matmul,
    },
    Case {
        kernel: "matmul",
        variant: "strided",
        sizes: MNK,
        elements: &[&["M", "K"], &["K", "N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: MNK_TESTS,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(matmul::matmul),
        problem: matmul_strided,
    },
    Case {
        kernel: "matmul_nt",
        variant: "",
        sizes: MNK,
        elements: &[&["M", "K"], &["N", "K"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: MNK_TESTS,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(matmul::matmul_nt),
        problem: matmul_nt,
    },
    MATMUL_BIAS,
    Case {
        variant: "gelu",
        elems: &[F32],
        build: float_kernel!(matmul::matmul_bias, (Activation::Gelu,)),
        problem: |s, e, seed| matmul_bias(s, e, seed, reference::gelu),
        ..MATMUL_BIAS
    },
    Case {
        variant: "relu",
        elems: &[F32],
        build: float_kernel!(matmul::matmul_bias, (Activation::Relu,)),
        problem: |s, e, seed| matmul_bias(s, e, seed, |v| v.max(0.0)),
        ..MATMUL_BIAS
    },
    Case {
        variant: "silu",
        elems: &[F32],
        build: float_kernel!(matmul::matmul_bias, (Activation::Silu,)),
        problem: |s, e, seed| matmul_bias(s, e, seed, reference::silu),
        ..MATMUL_BIAS
    },
    Case {
        kernel: "matmul_batched",
        variant: "",
        sizes: &[("B", 8), ("M", 512), ("N", 512), ("K", 512)],
        elements: &[&["B", "M", "K"], &["B", "K", "N"], &["B", "M", "N"]],
        requires: any_sizes,
        test_sizes: &[&[1, 1, 1, 1], &[3, 7, 65, 63], &[2, 100, 67, 40], &[2, 7, 5, 1000]],
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(matmul::matmul_batched),
        problem: matmul_batched,
    },
    Case {
        kernel: "matmul_split_k",
        variant: "",
        sizes: &[("M", 256), ("N", 256), ("K", 8192)],
        elements: &[&["M", "K"], &["K", "N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: &[&[1, 1, 1], &[7, 65, 63], &[65, 67, 1000]],
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(matmul::matmul_split_k),
        problem: matmul_split_k,
    },
    Case {
        kernel: "attention",
        variant: "",
        sizes: ATTENTION,
        elements: ATTENTION_ELEMENTS,
        requires: groups,
        test_sizes: ATTENTION_TESTS,
        elems: FLOATS,
        dims: head_dim,
        build: float_kernel!(attention::attention, (false,)),
        problem: attention,
    },
    Case {
        kernel: "attention",
        variant: "causal",
        sizes: ATTENTION,
        elements: ATTENTION_ELEMENTS,
        requires: groups,
        test_sizes: ATTENTION_TESTS,
        elems: FLOATS,
        dims: head_dim,
        build: float_kernel!(attention::attention, (true,)),
        problem: attention_causal,
    },
    Case {
        kernel: "cumsum",
        variant: "",
        sizes: &[("M", 1024), ("N", 8192)],
        elements: &[&["M", "N"], &["M", "N"]],
        requires: any_sizes,
        test_sizes: &[&[1, 1], &[7, 63], &[5, 65], &[2, 1000], &[3, 2053]],
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(rows::cumsum),
        problem: cumsum,
    },
    Case {
        kernel: "argmax",
        variant: "",
        sizes: &[("M", 4096), ("N", 4096)],
        elements: &[&["M", "N"], &["M"]],
        requires: a_column,
        test_sizes: ROWS,
        elems: FLOATS,
        dims: row_dim,
        build: float_kernel!(rows::argmax),
        problem: argmax,
    },
    Case {
        kernel: "cross_entropy",
        variant: "",
        sizes: &[("M", 4096), ("N", 4096)],
        elements: &[&["M", "N"], &["M"], &["M"]],
        requires: a_column,
        test_sizes: ROWS,
        elems: FLOATS,
        dims: row_dim,
        build: float_kernel!(rows::cross_entropy),
        problem: cross_entropy,
    },
    Case {
        kernel: "transpose",
        variant: "",
        sizes: &[("M", 4096), ("N", 4096)],
        elements: &[&["M", "N"], &["N", "M"]],
        requires: any_sizes,
        test_sizes: ROWS,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(movement::transpose),
        problem: transpose,
    },
    Case {
        kernel: "embedding",
        variant: "",
        sizes: &[("M", 4096), ("N", 1024), ("V", 32000)],
        elements: &[&["V", "N"], &["M"], &["M", "N"]],
        requires: a_table_row,
        test_sizes: &[&[1, 1, 1], &[7, 63, 5], &[65, 131, 100], &[3, 1000, 17]],
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(movement::embedding),
        problem: embedding,
    },
    Case {
        kernel: "rope",
        variant: "",
        sizes: &[("B", 1), ("S", 2048), ("H", 16), ("D", 128)],
        elements: &[&["B", "S", "H", "D"], &["S", "D"], &["B", "S", "H", "D"]],
        requires: pairs,
        test_sizes: &[
            &[1, 1, 1, 2],
            &[2, 7, 3, 16],
            &[1, 65, 2, 64],
            &[1, 17, 1, 126],
            &[2, 63, 1, 10],
            &[1, 67, 1, 6],
            &[1, 1000, 1, 2],
        ],
        elems: FLOATS,
        dims: half_dim,
        build: float_kernel!(movement::rope),
        problem: rope,
    },
    Case {
        kernel: "dropout",
        variant: "",
        sizes: &[("N", 1 << 22)],
        elements: &[&["N"], &["N"]],
        requires: any_sizes,
        test_sizes: FLAT,
        elems: FLOATS,
        dims: no_dims,
        build: float_kernel!(dropout::dropout),
        problem: dropout,
    },
];

/// The cases of a kernel.
pub fn cases_of(kernel: &str) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(move |c| c.kernel == kernel)
}
