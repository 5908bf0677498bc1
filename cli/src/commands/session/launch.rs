//! What a launch costs the host: of kernels with few and many arguments, from one thread and from eight.

use std::time::{Duration, Instant};

use serde::Serialize;
use tegula::runtime::backend::gpu;
#[cfg(feature = "compiler")]
use tegula::runtime::{Config, WarmUp};
use tegula::runtime::{Launch, Stream, Tensor};
use tegula::{Device, Result};

/// Published costs of a launch in microseconds, to compare with.
pub const PUBLISHED: &str =
    "published, in us a launch: Triton 5.7 without arguments and 13.2 with 19; cuTile Rust 1.6 to 1.9";

/// Numbers of arguments that are measured, and of threads that launch at the same time.
const ARGUMENTS: [usize; 3] = [0, 4, 19];
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

use kernels::{four, nineteen, nothing};

mod kernels {
    //! Kernels whose launch is measured.

    use tegula::prelude::*;

    #[kernel]
    pub fn nothing() {}

    #[kernel(defaults(B = 64))]
    pub fn four<B: Dim>(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, a: Scalar<f32>, out: &mut Tiles<f32, (B,)>) {
        let i = out.index();
        out.store(x.tile::<(B,)>(i).load() * a + y.tile::<(B,)>(i).load());
    }

    #[kernel(defaults(B = 64))]
    pub fn nineteen<B: Dim>(
        x0: &Tensor<f32, 1>,
        x1: &Tensor<f32, 1>,
        x2: &Tensor<f32, 1>,
        x3: &Tensor<f32, 1>,
        x4: &Tensor<f32, 1>,
        x5: &Tensor<f32, 1>,
        x6: &Tensor<f32, 1>,
        x7: &Tensor<f32, 1>,
        x8: &Tensor<f32, 1>,
        a0: Scalar<f32>,
        a1: Scalar<f32>,
        a2: Scalar<f32>,
        a3: Scalar<f32>,
        a4: Scalar<f32>,
        a5: Scalar<f32>,
        a6: Scalar<i32>,
        a7: Scalar<i32>,
        a8: Scalar<i64>,
        out: &mut Tiles<f32, (B,)>,
    ) {
        let i = out.index();
        let t = |x: &Tensor<f32, 1>| x.tile::<(B,)>(i).load();
        let n = (a6 + a7).cast::<f32>() + a8.cast::<f32>();
        let sum = t(x0) * a0 + t(x1) * a1 + t(x2) * a2 + t(x3) * a3 + t(x4) * a4 + t(x5) * a5;
        out.store(sum + t(x6) + t(x7) + t(x8) + n);
    }
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
    // Without tensors a call does not say where it belongs.
    let empty = nothing::Kernel::<(), ()>::new(()).warm_up(device, [Config::new()]);
    if let Err(mut e) = empty {
        return Err(e.failures.remove(0).1);
    }
    let mut fixture = Fixture::new(device)?;
    ARGUMENTS.into_iter().filter(|&n| n > 0).try_for_each(|arguments| fixture.once(arguments, false))
}

/// Tensors and a stream of one thread.
struct Fixture {
    stream: Stream,
    x: Vec<Tensor<f32>>,
    out: Tensor<f32>,
}

impl Fixture {
    fn new(device: &Device) -> Result<Self> {
        let x = (0..9).map(|_| device.zeros::<f32>([1000])).collect::<Result<_>>()?;
        Ok(Self { stream: device.stream()?, x, out: device.zeros::<f32>([1000])? })
    }

    /// A launch, or only its compilation.
    fn once(&mut self, arguments: usize, launched: bool) -> Result<()> {
        let (x, stream, out) = (&self.x, &self.stream, &mut self.out);
        match arguments {
            0 => nothing().grid([1, 1, 1]).launch_on(stream),
            4 => {
                let call = four(&x[0], &x[1], 2.0, out);
                if launched { call.launch_on(stream) } else { call.warm_up() }
            }
            _ => {
                let [x0, x1, x2, x3, x4, x5, x6, x7, x8] = std::array::from_fn(|i| &x[i]);
                let call = nineteen(x0, x1, x2, x3, x4, x5, x6, x7, x8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7, 8, 9, out);
                if launched { call.launch_on(stream) } else { call.warm_up() }
            }
        }
    }
}

/// The best time of a round, of the slowest thread, when all are at it.
fn measure(device: &Device, threads: usize, arguments: usize, launches: u32, rounds: u32) -> Result<Duration> {
    let one = || -> Result<Duration> {
        let mut fixture = Fixture::new(device)?;
        let mut best = Duration::MAX;
        // The first round compiles, and is not timed.
        for round in 0..=rounds {
            fixture.stream.synchronize()?;
            let start = Instant::now();
            for _ in 0..launches {
                fixture.once(arguments, true)?;
            }
            if round > 0 {
                best = best.min(start.elapsed());
            }
        }
        fixture.stream.synchronize()?;
        Ok(best)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let times = threads.into_iter().map(|t| t.join().expect("a thread that measures does not panic"));
        Ok(times.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or_default())
    })
}
