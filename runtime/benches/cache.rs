//! What a hit of the kernel cache on disk costs, from the kernel's Rust function to code that can be launched, beside
//! compiling: `cargo bench -p tegula-runtime --bench cache`. The aim is below a millisecond.
//!
//! `first` is the first kernel of a process of its own, with what is done once a process; the other columns are medians
//! in this one. Everything is for the CPU: code for GPUs needs no linking.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tegula_kernels::library;
use tegula_lang::kernel::{BuildOptions, KernelInfo};
use tegula_runtime::backend::Backend;
use tegula_runtime::backend::cpu::CpuBackend;
use tegula_runtime::cache::{CacheKey, DiskCache, KernelCache};

const KERNELS: &[&str] = &["add", "softmax", "layernorm", "matmul", "attention"];
const ROUNDS: usize = 51;
const SIZE: u64 = 1 << 30;

/// The role of a child process: the kernel that it takes from the cache.
const CHILD: &str = "TEGULA_CACHE_BENCH";

fn main() {
    if let Ok(kernel) = std::env::var(CHILD) {
        let folder = std::env::var_os("TEGULA_CACHE_DIR").expect("the parent gives it");
        return println!("{}", first(&kernel, Path::new(&folder)).as_nanos());
    }
    // `cargo test` runs benches to see that they work.
    let rounds = if std::env::args().any(|a| a == "--bench") { ROUNDS } else { 1 };
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Arc::new(DiskCache::open(folder.path(), SIZE).expect("the folder is new"));
    let backend = CpuBackend::new(1);
    let target = backend.code_target().expect("the CPU runs code");
    println!(
        "{:<10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>7}",
        "kernel", "trace", "key", "read", "link", "hit", "first", "compile", "bytes"
    );
    for name in KERNELS {
        let info = kernel(name);
        let function = build(info);
        let key = CacheKey::new(&function, &target);
        let start = Instant::now();
        KernelCache::with_disk(Some(disk.clone())).make(function, &backend).expect("the kernel compiles");
        let compile = start.elapsed();

        let trace = median(rounds, || build(info));
        let function = build(info);
        let hash = median(rounds, || CacheKey::new(&function, &target));
        let read = median(rounds, || disk.get(&key).expect("it was written"));
        let artifact = disk.get(&key).expect("it was written");
        let link = median(rounds, || backend.load(&function, Some(&artifact)).expect("it was compiled here"));
        let hit = median(rounds, || {
            let cache = KernelCache::with_disk(Some(disk.clone()));
            let made = cache.make(build(info), &backend).expect("the kernel is there");
            assert_eq!(cache.origins().disk, 1, "a hit");
            made
        });
        let mut firsts: Vec<Duration> = (0..rounds.min(11)).map(|_| spawn(name, folder.path())).collect();
        firsts.sort_unstable();
        let first = firsts[firsts.len() / 2];
        let us = |t: Duration| format!("{:.0} us", t.as_secs_f64() * 1e6);
        println!(
            "{name:<10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>7}",
            us(trace),
            us(hash),
            us(read),
            us(link),
            us(hit),
            us(first),
            us(compile),
            artifact.code.len()
        );
    }
}

fn kernel(name: &str) -> &'static KernelInfo {
    library().into_iter().find(|k| k.name == name).expect("the library has it")
}

fn build(info: &KernelInfo) -> tegula_ir::Function {
    info.build(&BuildOptions::default()).expect("the kernel is right")
}

/// The median of the times of `work`; what it gives is dropped outside of them.
fn median<R>(rounds: usize, mut work: impl FnMut() -> R) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            let result = work();
            let time = start.elapsed();
            drop(result);
            time
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2]
}

fn spawn(kernel: &str, folder: &Path) -> Duration {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).env(CHILD, kernel).env("TEGULA_CACHE_DIR", folder).output();
    let output = output.expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    Duration::from_nanos(text.trim().parse().unwrap_or_else(|_| panic!("{text}")))
}

/// The time from nothing to a kernel that can be launched, in this process.
fn first(name: &str, folder: &Path) -> Duration {
    let start = Instant::now();
    let disk = DiskCache::open(folder, SIZE).expect("the parent made it");
    let cache = KernelCache::with_disk(Some(Arc::new(disk)));
    let backend = CpuBackend::new(1);
    let made = cache.make(build(kernel(name)), &backend).expect("the kernel is there");
    let time = start.elapsed();
    assert_eq!(cache.origins().disk, 1, "a hit");
    drop(made);
    time
}
