//! Kernels on the CPU side by side with what else could compute the same: OpenBLAS, a loop in Rust, a copy.
//!
//! `cargo bench --bench cpu [-- FILTER]`. Contenders take turns within one run. Times are medians
//! of the rounds, a ratio is the median of its ratios in each round, so that it holds on a machine that others use too;
//! `--cpu-time` counts the time that the process computed instead of the time that passed, for one thread on a crowded
//! machine. OpenBLAS is looked for where
//! Debian's `libopenblas0` puts it; without it the comparisons with it are left out. An OpenBLAS that does not know the
//! processor falls back to code for a very old one, so it is told which to use unless `OPENBLAS_CORETYPE` is set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tegula_codegen_cpu::{CpuArg, CpuCompiler, CpuKernel};
use tegula_ir::text::parse_function;

fn main() {
    let filter: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let chosen = |name: &str| filter.is_empty() || filter.iter().any(|f| name.contains(f.as_str()));
    let blas = Blas::load();
    if blas.is_none() {
        println!("libopenblas.so.0 is not there: no comparison with OpenBLAS");
    }
    let cpu_time = std::env::args().any(|a| a == "--cpu-time");
    CPU_TIME.store(cpu_time, Ordering::Relaxed);
    if let Some(blas) = &blas {
        println!("OpenBLAS uses its kernels for {}", blas.core_name());
    }
    let thread_counts: &[usize] = if cpu_time { &[1] } else { &[1, 2] };
    println!("{:<28} {:>10} {:>14}   against", "kernel", "ms", "rate");
    for n in [256, 1024, 2048] {
        for &threads in thread_counts {
            if chosen("gemm") {
                gemm(n, threads, blas.as_ref());
            }
            if chosen("gemm") && n == 1024 {
                gemm_narrow(n, threads);
            }
        }
    }
    for (name, text, host) in [
        ("softmax", SOFTMAX, softmax_in_rust as fn(&[f32], &mut [f32])),
        ("layernorm", LAYERNORM, layernorm_in_rust),
        ("gelu", GELU, gelu_in_rust),
    ] {
        for &threads in thread_counts {
            if chosen(name) {
                rows(name, text, host, threads);
            }
        }
    }
    for &threads in thread_counts {
        if chosen("attention") {
            attention(threads, blas.as_ref());
        }
    }
}

// --- measuring ---

static CPU_TIME: AtomicBool = AtomicBool::new(false);

/// Time of the clock that is measured by.
fn now() -> Duration {
    let clock = if CPU_TIME.load(Ordering::Relaxed) { libc::CLOCK_PROCESS_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and the time is written to a place of its type.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The times of each contender, by round; they take turns.
struct Rounds(Vec<Vec<f64>>);

impl Rounds {
    /// Median time of a contender, in seconds.
    fn time(&self, contender: usize) -> f64 {
        median(self.0.iter().map(|round| round[contender]))
    }

    /// How many times faster than another contender the first one is.
    fn ratio(&self, other: usize) -> f64 {
        median(self.0.iter().map(|round| round[other] / round[0]))
    }
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = of.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn compare(contenders: &mut [&mut dyn FnMut()]) -> Rounds {
    // The first round warms up.
    contenders.iter_mut().for_each(|run| run());
    let start = Instant::now();
    let mut rounds = Vec::new();
    while rounds.len() < 5 || (start.elapsed() < Duration::from_millis(2500) && rounds.len() < 400) {
        let time = |run: &mut &mut dyn FnMut()| {
            let begin = now();
            run();
            (now() - begin).as_secs_f64()
        };
        rounds.push(contenders.iter_mut().map(time).collect());
    }
    Rounds(rounds)
}

/// One line: `work` is what one run does, in units of `unit` times 10^9; `others` name the contenders after ours.
fn report(name: &str, rounds: &Rounds, work: f64, unit: &str, others: &[&str]) {
    let ratios: Vec<String> = others
        .iter()
        .enumerate()
        .map(|(i, what)| format!("{:.2} of {what} ({:.2} ms)", rounds.ratio(i + 1), rounds.time(i + 1) * 1e3))
        .collect();
    let rate = format!("{:.1} {unit}", work / rounds.time(0) / 1e9);
    println!("{name:<28} {:>10.3} {rate:>14}   {}", rounds.time(0) * 1e3, ratios.join(", "));
}

fn values(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// Elements at an address that is a multiple of 64, as the runtime's allocations are.
struct Aligned {
    data: Vec<f32>,
    from: usize,
    len: usize,
}

impl Aligned {
    fn new(values: &[f32]) -> Self {
        let data = vec![0f32; values.len() + 16];
        let from = data.as_ptr().align_offset(64);
        let mut this = Self { data, from, len: values.len() };
        this.copy_from_slice(values);
        this
    }
}

impl std::ops::Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[self.from..self.from + self.len]
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.from..self.from + self.len]
    }
}

fn compile(text: &str) -> CpuKernel {
    let func = parse_function(text, "bench.tile").unwrap_or_else(|e| panic!("{e}"));
    CpuCompiler::default().compile(&func).unwrap_or_else(|e| panic!("{e}"))
}

fn view<'a>(data: &'a mut [f32], extents: &'a [i64], strides: &'a [i64]) -> CpuArg<'a> {
    CpuArg::View { base: data.as_mut_ptr().cast(), extents, strides }
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

// --- matrix product ---

/// Tile extents for a product of this size.
fn gemm_tile(n: usize) -> (usize, usize, usize) {
    if n <= 256 { (128, 128, 256) } else { (256, 256, 256) }
}

fn gemm_text((bm, bn, bk): (usize, usize, usize), input: &str) -> String {
    format!(
        "kernel @gemm(
           %a: view<2d, {input}> read {{unit_inner, no_alias}}, %b: view<2d, {input}> read {{unit_inner, no_alias}},
           %c: view<2d, f32> write {{unit_inner, no_alias}}
         ) grid(%c = [{bm}, {bn}]) {{
           %pid = program_id 0 : i64
           %n = view_extent %c axis 1 : i64
           %bm = constant {bm} : i64
           %bn = constant {bn} : i64
           %bk = constant {bk} : i64
           %last = constant {last} : i64
           %up = add %n, %last : i64
           %columns = div %up, %bn : i64
           %i = div %pid, %columns : i64
           %j = rem %pid, %columns : i64
           %row = mul %i, %bm : i64
           %column = mul %j, %bn : i64
           %k = view_extent %a axis 1 : i64
           %zero = constant 0 : i64
           %start = constant 0.0 : tile<{bm}x{bn}xf32>
           %sum = for %at = %zero to %k step %bk iter(%acc = %start) -> tile<{bm}x{bn}xf32> {{
             %x = load %a[%row, %at] : tile<{bm}x{bk}x{input}>
             %y = load %b[%at, %column] : tile<{bk}x{bn}x{input}>
             %next = dot %x, %y, %acc : tile<{bm}x{bn}xf32>
             yield %next
           }}
           store %sum, %c[%row, %column]
           return
         }}",
        last = bn - 1
    )
}

fn gemm(n: usize, threads: usize, blas: Option<&Blas>) {
    let tile = gemm_tile(n);
    let kernel = compile(&gemm_text(tile, "f32"));
    let (mut a, mut b) = (values(n * n, 1), values(n * n, 2));
    let (mut c, mut d) = (vec![0f32; n * n], vec![0f32; n * n]);
    let extents = [n as i64, n as i64];
    let strides = [n as i64, 1];
    let grid = [(n.div_ceil(tile.0) * n.div_ceil(tile.1)) as u32, 1, 1];
    let (pa, pb, pd) = (a.as_ptr(), b.as_ptr(), d.as_mut_ptr());
    let mut ours = || {
        let args =
            [view(&mut a, &extents, &strides), view(&mut b, &extents, &strides), view(&mut c, &extents, &strides)];
        // SAFETY: three distinct tensors of the extents given.
        unsafe { kernel.launch(grid, &args, threads) }.expect("the kernel runs");
    };
    let mut theirs = || {
        if let Some(blas) = blas {
            blas.set_threads(threads);
            // SAFETY: three matrices of n * n elements.
            unsafe { blas.sgemm(false, n, n, n, pa, n, pb, n, 0.0, pd, n) };
        }
    };
    let rounds = compare(&mut [&mut ours, &mut theirs]);
    if blas.is_some() {
        assert!(largest_difference(&c, &d) < 1e-2, "results differ from OpenBLAS");
    }
    let others: &[&str] = if blas.is_some() { &["OpenBLAS"] } else { &[] };
    report(&format!("gemm {n} f32, {threads} threads"), &rounds, gemm_work(n), "GFLOP/s", others);
}

fn gemm_work(n: usize) -> f64 {
    2.0 * (n as f64).powi(3)
}

/// Inputs of 16 bits against ours with inputs of 32.
fn gemm_narrow(n: usize, threads: usize) {
    let tile = gemm_tile(n);
    let grid = [(n.div_ceil(tile.0) * n.div_ceil(tile.1)) as u32, 1, 1];
    let (extents, strides) = ([n as i64, n as i64], [n as i64, 1]);
    let inputs = [values(n * n, 1), values(n * n, 2)];
    // The upper halves of floats are bf16; as f16 they are other numbers, below 2 in magnitude as well.
    let halves = |v: &Vec<f32>| v.iter().map(|x| (x.to_bits() >> 16) as u16).collect::<Vec<u16>>();
    let narrow = [halves(&inputs[0]), halves(&inputs[1])];
    let mut out = vec![0f32; n * n];
    let kernels = ["f16", "bf16", "f32"].map(|input| compile(&gemm_text(tile, input)));
    let mut run = |which: usize| {
        let base = |i: usize| match which {
            2 => inputs[i].as_ptr().cast::<u8>().cast_mut(),
            _ => narrow[i].as_ptr().cast::<u8>().cast_mut(),
        };
        let arg = |i: usize| CpuArg::View { base: base(i), extents: &extents, strides: &strides };
        let args = [arg(0), arg(1), view(&mut out, &extents, &strides)];
        // SAFETY: three distinct tensors of the extents given, the first two only read.
        unsafe { kernels[which].launch(grid, &args, threads) }.expect("the kernel runs");
    };
    let run = std::cell::RefCell::new(&mut run);
    for (which, name) in [(0, "f16"), (1, "bf16")] {
        let rounds = compare(&mut [&mut || (run.borrow_mut())(which), &mut || (run.borrow_mut())(2)]);
        report(&format!("gemm {n} {name}, {threads} threads"), &rounds, gemm_work(n), "GFLOP/s", &["ours in f32"]);
    }
}

// --- rows ---

const ROWS: usize = 4096;
const COLUMNS: usize = 4096;

const SOFTMAX: &str = "kernel @softmax(
    %x: view<2d, f32> read {unit_inner, no_alias}, %y: view<2d, f32> write {unit_inner, no_alias}
  ) grid(%y = [4, 4096]) {
    %pid = program_id 0 : i64
    %four = constant 4 : i64
    %zero = constant 0 : i64
    %row = mul %pid, %four : i64
    %v = load %x[%row, %zero] : tile<4x4096xf32>
    %m = reduce max %v axes [1] : tile<4xf32>
    %m1 = reshape %m : tile<4x1xf32>
    %mb = broadcast %m1 : tile<4x4096xf32>
    %d = sub %v, %mb : tile<4x4096xf32>
    %e = exp %d : tile<4x4096xf32>
    %s = reduce sum %e axes [1] : tile<4xf32>
    %s1 = reshape %s : tile<4x1xf32>
    %sb = broadcast %s1 : tile<4x4096xf32>
    %q = div %e, %sb : tile<4x4096xf32>
    store %q, %y[%row, %zero]
    return
  }";

const LAYERNORM: &str = "kernel @layernorm(
    %x: view<2d, f32> read {unit_inner, no_alias}, %y: view<2d, f32> write {unit_inner, no_alias}
  ) grid(%y = [4, 4096]) {
    %pid = program_id 0 : i64
    %four = constant 4 : i64
    %zero = constant 0 : i64
    %row = mul %pid, %four : i64
    %v = load %x[%row, %zero] : tile<4x4096xf32>
    %n = constant 4096.0 : tile<4xf32>
    %s = reduce sum %v axes [1] : tile<4xf32>
    %mean = div %s, %n : tile<4xf32>
    %mean1 = reshape %mean : tile<4x1xf32>
    %meanb = broadcast %mean1 : tile<4x4096xf32>
    %d = sub %v, %meanb : tile<4x4096xf32>
    %dd = mul %d, %d : tile<4x4096xf32>
    %t = reduce sum %dd axes [1] : tile<4xf32>
    %var = div %t, %n : tile<4xf32>
    %eps = constant 1.0e-5 : tile<4xf32>
    %vare = add %var, %eps : tile<4xf32>
    %r = rsqrt %vare : tile<4xf32>
    %r1 = reshape %r : tile<4x1xf32>
    %rb = broadcast %r1 : tile<4x4096xf32>
    %o = mul %d, %rb : tile<4x4096xf32>
    store %o, %y[%row, %zero]
    return
  }";

const GELU: &str = "kernel @gelu(
    %x: view<2d, f32> read {unit_inner, no_alias}, %y: view<2d, f32> write {unit_inner, no_alias}
  ) grid(%y = [4, 4096]) {
    %pid = program_id 0 : i64
    %four = constant 4 : i64
    %zero = constant 0 : i64
    %row = mul %pid, %four : i64
    %v = load %x[%row, %zero] : tile<4x4096xf32>
    %g = gelu %v {fast} : tile<4x4096xf32>
    store %g, %y[%row, %zero]
    return
  }";

fn softmax_in_rust(x: &[f32], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(COLUMNS).zip(y.chunks_exact_mut(COLUMNS)) {
        let mut max = [f32::NEG_INFINITY; 16];
        for chunk in x.chunks_exact(16) {
            for (m, &v) in max.iter_mut().zip(chunk) {
                *m = if v > *m { v } else { *m };
            }
        }
        let max = max.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = [0f32; 16];
        for (x, y) in x.chunks_exact(16).zip(y.chunks_exact_mut(16)) {
            for ((s, y), &v) in sum.iter_mut().zip(y).zip(x) {
                *y = exp(v - max);
                *s += *y;
            }
        }
        let scale = 1.0 / sum.into_iter().sum::<f32>();
        y.iter_mut().for_each(|v| *v *= scale);
    }
}

fn layernorm_in_rust(x: &[f32], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(COLUMNS).zip(y.chunks_exact_mut(COLUMNS)) {
        let sum = |f: &dyn Fn(f32) -> f32| {
            let mut sum = [0f32; 16];
            for chunk in x.chunks_exact(16) {
                for (s, &v) in sum.iter_mut().zip(chunk) {
                    *s += f(v);
                }
            }
            sum.into_iter().sum::<f32>()
        };
        let mean = sum(&|v| v) / COLUMNS as f32;
        let variance = sum(&|v| (v - mean) * (v - mean)) / COLUMNS as f32;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        for (y, &v) in y.iter_mut().zip(x) {
            *y = (v - mean) * scale;
        }
    }
}

fn gelu_in_rust(x: &[f32], y: &mut [f32]) {
    for (y, &v) in y.iter_mut().zip(x) {
        let t = 0.797_884_6 * (v + 0.044_715 * v * v * v);
        *y = v / (1.0 + exp(-2.0 * t));
    }
}

/// e^x in arithmetic that rustc vectorises: what a careful author of a loop would write.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E + 12_582_912.0) - 12_582_912.0;
    let r = x - n * 0.693_145_75 - n * 1.428_606_8e-6;
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (0.166_666_5 + r * (0.041_665_7 + r * (0.008_374_5 + r * 0.001_388_9)))));
    p * f32::from_bits(((n as i32 + 127) as u32) << 23)
}

fn rows(name: &str, text: &str, host: fn(&[f32], &mut [f32]), threads: usize) {
    let kernel = compile(text);
    let source = Aligned::new(&values(ROWS * COLUMNS, 3));
    let mut x = Aligned::new(&source);
    let [mut y, mut z, mut w] = [(); 3].map(|()| Aligned::new(&source));
    let extents = [ROWS as i64, COLUMNS as i64];
    let strides = [COLUMNS as i64, 1];
    let mut ours = || {
        let args = [view(&mut x, &extents, &strides), view(&mut y, &extents, &strides)];
        // SAFETY: two distinct tensors of the extents given.
        unsafe { kernel.launch([(ROWS / 4) as u32, 1, 1], &args, threads) }.expect("the kernel runs");
    };
    let half = source.len() / threads;
    let mut theirs = || on_threads(threads, &source, &mut z, half, host);
    let mut copy = || on_threads(threads, &source, &mut w, half, |x, y| y.copy_from_slice(x));
    let rounds = compare(&mut [&mut ours, &mut theirs, &mut copy]);
    assert!(largest_difference(&y, &z) < 1e-3, "results differ from the loop in Rust");
    let bytes = 2.0 * 4.0 * (ROWS * COLUMNS) as f64;
    report(&format!("{name} 4096x4096, {threads} threads"), &rounds, bytes, "GB/s", &["the Rust loop", "a copy"]);
}

fn on_threads(threads: usize, x: &[f32], y: &mut [f32], part: usize, work: impl Fn(&[f32], &mut [f32]) + Sync) {
    if threads == 1 {
        return work(x, y);
    }
    std::thread::scope(|s| {
        for (x, y) in x.chunks(part).zip(y.chunks_mut(part)) {
            let work = &work;
            s.spawn(move || work(x, y));
        }
    });
}

// --- attention ---

const HEADS: usize = 8;
const SEQUENCE: usize = 1024;
const DEPTH: usize = 64;

const ATTENTION: &str = "kernel @attention(
    %q: view<3d, f32> read {unit_inner, no_alias}, %k: view<3d, f32> read {unit_inner, no_alias},
    %v: view<3d, f32> read {unit_inner, no_alias}, %o: view<3d, f32> write {unit_inner, no_alias}
  ) {
    %i = program_id 0 : i64
    %h = program_id 1 : i64
    %bm = constant 128 : i64
    %bn = constant 128 : i64
    %zero = constant 0 : i64
    %row = mul %i, %bm : i64
    %length = view_extent %k axis 1 : i64
    %q3 = load %q[%h, %row, %zero] : tile<1x128x64xf32>
    %q2 = reshape %q3 : tile<128x64xf32>
    %scale = constant 0.125 : tile<128x64xf32>
    %qs = mul %q2, %scale : tile<128x64xf32>
    %m0 = constant -inf : tile<128xf32>
    %l0 = constant 0.0 : tile<128xf32>
    %a0 = constant 0.0 : tile<128x64xf32>
    %s0 = constant 0.0 : tile<128x128xf32>
    %mm, %ll, %aa = for %j = %zero to %length step %bn iter(%m = %m0, %l = %l0, %a = %a0) -> tile<128xf32>, tile<128xf32>, tile<128x64xf32> {
      %k3 = load %k[%h, %j, %zero] : tile<1x128x64xf32>
      %k2 = reshape %k3 : tile<128x64xf32>
      %kt = permute %k2 [1, 0] : tile<64x128xf32>
      %s = dot %qs, %kt, %s0 : tile<128x128xf32>
      %rm = reduce max %s axes [1] : tile<128xf32>
      %mn = max %m, %rm : tile<128xf32>
      %mn1 = reshape %mn : tile<128x1xf32>
      %mnb = broadcast %mn1 : tile<128x128xf32>
      %d = sub %s, %mnb : tile<128x128xf32>
      %p = exp %d : tile<128x128xf32>
      %dm = sub %m, %mn : tile<128xf32>
      %alpha = exp %dm : tile<128xf32>
      %la = mul %l, %alpha : tile<128xf32>
      %ps = reduce sum %p axes [1] : tile<128xf32>
      %ln = add %la, %ps : tile<128xf32>
      %al1 = reshape %alpha : tile<128x1xf32>
      %alb = broadcast %al1 : tile<128x64xf32>
      %as = mul %a, %alb : tile<128x64xf32>
      %v3 = load %v[%h, %j, %zero] : tile<1x128x64xf32>
      %v2 = reshape %v3 : tile<128x64xf32>
      %an = dot %p, %v2, %as : tile<128x64xf32>
      yield %mn, %ln, %an
    }
    %l1 = reshape %ll : tile<128x1xf32>
    %lb = broadcast %l1 : tile<128x64xf32>
    %r = div %aa, %lb : tile<128x64xf32>
    %r3 = reshape %r : tile<1x128x64xf32>
    store %r3, %o[%h, %row, %zero]
    return
  }";

/// The same with one product for all scores, softmax over whole rows, and a second product.
fn attention_with_blas(blas: &Blas, q: &[f32], k: &[f32], v: &[f32], o: &mut [f32], scores: &mut [f32]) {
    let size = SEQUENCE * DEPTH;
    for h in 0..HEADS {
        let at = h * size;
        // SAFETY: matrices of one head, and scores of sequence * sequence.
        unsafe {
            blas.sgemm(
                true,
                SEQUENCE,
                SEQUENCE,
                DEPTH,
                q[at..].as_ptr(),
                DEPTH,
                k[at..].as_ptr(),
                DEPTH,
                0.0,
                scores.as_mut_ptr(),
                SEQUENCE,
            );
        }
        for row in scores.chunks_exact_mut(SEQUENCE) {
            let max = row.iter().fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m });
            let mut sum = [0f32; 16];
            for chunk in row.chunks_exact_mut(16) {
                for (s, v) in sum.iter_mut().zip(chunk) {
                    *v = exp((*v - max) * 0.125);
                    *s += *v;
                }
            }
            let scale = 1.0 / sum.into_iter().sum::<f32>();
            row.iter_mut().for_each(|v| *v *= scale);
        }
        // SAFETY: as above.
        unsafe {
            blas.sgemm(
                false,
                SEQUENCE,
                DEPTH,
                SEQUENCE,
                scores.as_ptr(),
                SEQUENCE,
                v[at..].as_ptr(),
                DEPTH,
                0.0,
                o[at..].as_mut_ptr(),
                DEPTH,
            );
        }
    }
}

fn attention(threads: usize, blas: Option<&Blas>) {
    let kernel = compile(ATTENTION);
    let n = HEADS * SEQUENCE * DEPTH;
    let (mut q, mut k, mut v) = (values(n, 5), values(n, 6), values(n, 7));
    let (source_q, source_k, source_v) = (q.clone(), k.clone(), v.clone());
    let (mut o, mut p) = (vec![0f32; n], vec![0f32; n]);
    let mut scores = vec![0f32; SEQUENCE * SEQUENCE];
    let extents = [HEADS as i64, SEQUENCE as i64, DEPTH as i64];
    let strides = [(SEQUENCE * DEPTH) as i64, DEPTH as i64, 1];
    let mut ours = || {
        let args = [
            view(&mut q, &extents, &strides),
            view(&mut k, &extents, &strides),
            view(&mut v, &extents, &strides),
            view(&mut o, &extents, &strides),
        ];
        // SAFETY: four distinct tensors of the extents given.
        unsafe { kernel.launch([(SEQUENCE / 128) as u32, HEADS as u32, 1], &args, threads) }.expect("the kernel runs");
    };
    let mut theirs = || {
        if let Some(blas) = blas {
            blas.set_threads(threads);
            attention_with_blas(blas, &source_q, &source_k, &source_v, &mut p, &mut scores);
        }
    };
    let rounds = compare(&mut [&mut ours, &mut theirs]);
    if blas.is_some() {
        assert!(largest_difference(&o, &p) < 1e-3, "results differ from OpenBLAS");
    }
    let flops = 4.0 * (HEADS * SEQUENCE * SEQUENCE * DEPTH) as f64;
    let others: &[&str] = if blas.is_some() { &["OpenBLAS and Rust loops"] } else { &[] };
    report(&format!("attention 8x1024x64, {threads} threads"), &rounds, flops, "GFLOP/s", others);
}

// --- OpenBLAS ---

type Sgemm =
    unsafe extern "C" fn(i32, i32, i32, i32, i32, i32, f32, *const f32, i32, *const f32, i32, f32, *mut f32, i32);

struct Blas {
    library: libloading::Library,
}

impl Blas {
    fn load() -> Option<Self> {
        if std::env::var_os("OPENBLAS_CORETYPE").is_none() {
            #[cfg(target_arch = "x86_64")]
            let core = if is_x86_feature_detected!("avx512bw") { Some("SKYLAKEX") } else { Some("HASWELL") };
            #[cfg(not(target_arch = "x86_64"))]
            let core: Option<&str> = None;
            if let Some(core) = core {
                // SAFETY: nothing else runs yet in this process.
                unsafe { std::env::set_var("OPENBLAS_CORETYPE", core) };
            }
        }
        // SAFETY: loading OpenBLAS starts its threads and does nothing else.
        unsafe { libloading::Library::new("libopenblas.so.0") }.ok().map(|library| Self { library })
    }

    fn core_name(&self) -> String {
        // SAFETY: the function is OpenBLAS's own, of this type; it gives a string that is never freed.
        unsafe {
            match self.library.get::<unsafe extern "C" fn() -> *const std::ffi::c_char>(b"openblas_get_corename") {
                Ok(name) => std::ffi::CStr::from_ptr(name()).to_string_lossy().into_owned(),
                Err(_) => "an unknown processor".to_owned(),
            }
        }
    }

    fn set_threads(&self, n: usize) {
        // SAFETY: the function is OpenBLAS's own, of this type.
        unsafe {
            if let Ok(set) = self.library.get::<unsafe extern "C" fn(i32)>(b"openblas_set_num_threads") {
                set(n as i32);
            }
        }
    }

    /// `c = a * b + beta * c` of row-major matrices; `b` is transposed where said.
    ///
    /// # Safety
    /// The matrices must have the extents given.
    #[expect(clippy::too_many_arguments, reason = "the interface of BLAS")]
    unsafe fn sgemm(
        &self,
        transposed: bool,
        m: usize,
        n: usize,
        k: usize,
        a: *const f32,
        lda: usize,
        b: *const f32,
        ldb: usize,
        beta: f32,
        c: *mut f32,
        ldc: usize,
    ) {
        const ROW_MAJOR: i32 = 101;
        const AS_IS: i32 = 111;
        const TRANSPOSED: i32 = 112;
        // SAFETY: the function is BLAS's own, of this type; the caller promises the extents.
        unsafe {
            let sgemm = self.library.get::<Sgemm>(b"cblas_sgemm").expect("OpenBLAS has cblas_sgemm");
            let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|v| v as i32);
            let b_order = if transposed { TRANSPOSED } else { AS_IS };
            sgemm(ROW_MAJOR, AS_IS, b_order, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
        }
    }
}
