//! What a kernel costs that was compiled before: from the Rust function to code on the device.

use std::time::{Duration, Instant};

use serde::Serialize;
use tegula::lang::kernel::{BuildOptions, KernelInfo};
use tegula::runtime::cache::Origins;
use tegula::runtime::dynamic::DynKernel;
use tegula::{Device, Error, Result};

use crate::Library;

/// The kernels that are measured, of those that the library has.
const KERNELS: [&str; 5] = ["add", "softmax", "layernorm", "matmul", "attention"];

/// What a kernel costs.
#[derive(Serialize)]
pub struct CacheCost {
    /// The kernel, with its default sizes.
    pub kernel: &'static str,
    /// Where it came from in the end: `disk`, `embedded`, or `compiled` where there is no cache.
    pub origin: &'static str,
    /// Microseconds of the first time in this process, which may compile it.
    pub first_us: f64,
    /// Of another time: the median of everything.
    pub hit_us: f64,
    /// Of which tracing the Rust function takes this much.
    pub trace_us: f64,
}

/// Measures.
pub fn run(library: &Library, device: &Device, filter: &str, quick: bool) -> Result<Vec<CacheCost>> {
    let rounds = if quick { 3 } else { 51 };
    chosen(library, filter).map(|info| one(device, info, rounds)).collect()
}

/// Compiles what [`run`] takes.
#[cfg(feature = "compiler")]
pub fn compile(library: &Library, device: &Device, filter: &str) -> Result<()> {
    chosen(library, filter).try_for_each(|info| DynKernel::new(device, trace(device, info)?).map(drop))
}

fn chosen(library: &Library, filter: &str) -> impl Iterator<Item = &'static KernelInfo> {
    let kernels = KERNELS.into_iter().filter(move |name| name.contains(filter));
    kernels.filter_map(|name| library.kernel(name).ok())
}

fn one(device: &Device, info: &'static KernelInfo, rounds: usize) -> Result<CacheCost> {
    let us = |d: Duration| d.as_secs_f64() * 1e6;
    let make = || DynKernel::new(device, trace(device, info)?);
    let start = Instant::now();
    make()?;
    let first = start.elapsed();
    let before = device.kernel_origins();
    let hit = median(rounds, make)?;
    Ok(CacheCost {
        kernel: info.name,
        origin: origin(before, device.kernel_origins()),
        first_us: us(first),
        hit_us: us(hit),
        trace_us: us(median(rounds, || trace(device, info))?),
    })
}

fn trace(device: &Device, info: &KernelInfo) -> Result<tegula::ir::Function> {
    info.build(&BuildOptions::default()).map_err(|e| Error::compile(info.name, device.target(), &e.diagnostics))
}

fn origin(before: Origins, after: Origins) -> &'static str {
    match () {
        () if after.compiled > before.compiled => "compiled",
        () if after.disk > before.disk => "disk",
        () => "embedded",
    }
}

/// The median time of `work`; what it gives is dropped outside of it.
fn median<R>(rounds: usize, work: impl Fn() -> Result<R>) -> Result<Duration> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        let made = work()?;
        times.push(start.elapsed());
        drop(made);
    }
    times.sort_unstable();
    Ok(times[rounds / 2])
}
