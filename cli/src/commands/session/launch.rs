//! What a launch costs the host: of kernels with few and many arguments, from one thread and from eight.

use std::time::{Duration, Instant};

use serde::Serialize;
use tegula::runtime::backend::gpu;
use tegula::{Device, Result};
use tegula_kernels::launch::{ARGUMENTS, Arguments};

/// Published costs of a launch in microseconds, to compare with.
pub const PUBLISHED: &str =
    "published, in us a launch: Triton 5.7 without arguments and 13.2 with 19; cuTile Rust 1.6 to 1.9";

/// Numbers of threads that launch at the same time.
const THREADS: [usize; 2] = [1, 8];

/// What a launch costs.
#[derive(Serialize)]
pub struct LaunchCost {
    /// Arguments of the kernel.
    pub arguments: usize,
    /// Threads that launch at the same time.
    pub threads: usize,
    /// Nanoseconds a launch.
    pub ns: f64,
    /// Of which the driver's own call takes this much, where it can be measured by itself.
    pub driver_ns: Option<f64>,
}

/// Measures. The best of several rounds counts, since the machine has other things to do; a quick one only shows that it
/// works.
pub fn run(device: &Device, quick: bool) -> Result<Vec<LaunchCost>> {
    let (launches, rounds) = if quick { (5, 2) } else { (500, 100) };
    let ns = |d: Duration| d.as_nanos() as f64 / f64::from(launches);
    let driver_ns = match device.name().split_once(':') {
        Some((kind @ ("cuda" | "hip"), _)) => gpu::bare::launches(&*gpu::driver(kind)?, launches, rounds)?.map(ns),
        _ => None,
    };
    let mut costs = Vec::new();
    for arguments in ARGUMENTS {
        for threads in THREADS {
            let time = measure(device, threads, arguments, launches, rounds)?;
            costs.push(LaunchCost { arguments, threads, ns: ns(time), driver_ns });
        }
    }
    Ok(costs)
}

/// Compiles what [`run`] launches.
#[cfg(feature = "compiler")]
pub fn compile(device: &Device) -> Result<()> {
    let mut arguments = Arguments::new(device)?;
    ARGUMENTS.into_iter().try_for_each(|count| arguments.warm_up(count))
}

/// The best time of a round, of the slowest thread, when all are at it.
fn measure(device: &Device, threads: usize, arguments: usize, launches: u32, rounds: u32) -> Result<Duration> {
    let one = || -> Result<Duration> {
        let (stream, mut given) = (device.stream()?, Arguments::new(device)?);
        let mut best = Duration::MAX;
        // The first round compiles, and is not timed.
        for round in 0..=rounds {
            stream.synchronize()?;
            let start = Instant::now();
            for _ in 0..launches {
                given.launch(arguments, &stream)?;
            }
            if round > 0 {
                best = best.min(start.elapsed());
            }
        }
        stream.synchronize()?;
        Ok(best)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let times = threads.into_iter().map(|t| t.join().expect("a thread that measures does not panic"));
        Ok(times.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or_default())
    })
}
