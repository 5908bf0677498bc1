//! What a launch costs beyond the driver's own call.
//!
//! `cargo bench -p tegula-runtime --bench launch [-- DEVICE]`. Without a device, the benchmark starts itself again on
//! the stand-in of CUDA, whose launches do nothing: what is measured then is the runtime, and what the stand-in takes
//! for a call is measured as well and taken off. On a real device launches are enqueued; the queue is emptied between
//! measurements. `checks` is the part of it that goes to the host's checks of the arguments, their classes and the look-up
//! of the compiled kernel.
//!
//! The best of several rounds counts: the machine has other things to do.

#[path = "../tests/devices/allocations.rs"]
mod allocations;
#[path = "../tests/devices/kernels.rs"]
mod kernels;

use std::time::{Duration, Instant};

use tegula_runtime::backend::gpu;
use tegula_runtime::{Device, Launch, Result, Stream, Tensor};

/// Launches of a round; a real device's queue holds them.
const LAUNCHES: u32 = 500;
const ROUNDS: u32 = 200;

/// Published costs of a launch in microseconds, to compare with.
const PUBLISHED: &[(&str, &str)] =
    &[("Triton, no arguments", "5.7"), ("Triton, 19 arguments", "13.2"), ("cuTile Rust", "1.6 to 1.9")];

fn main() -> Result<()> {
    let device = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    if device.is_none() && std::env::var_os("VGPU_TESTING").is_none() {
        let exe = std::env::current_exe().expect("a program has a path");
        let variables = [("VGPU_MODEL", "h200"), ("VGPU_NULL_LAUNCH", "1")];
        let mut command = tegula_vgpu_driver::testing::command(&exe, &variables).expect("stand-ins are beside it");
        let status = command.args(["cuda:0"]).status().expect("the benchmark starts again");
        std::process::exit(status.code().unwrap_or(1));
    }
    let name = device.unwrap_or_else(|| "cuda:0".into());
    let device = Device::open(&name)?;
    println!("{name}: {}", device.description());
    let driver = match name.split_once(':') {
        Some((kind @ ("cuda" | "hip"), _)) => gpu::bare::launches(&*gpu::driver(kind)?, LAUNCHES, ROUNDS)?,
        _ => None,
    };
    println!(
        "{:>9} {:>8} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "arguments", "threads", "ns/launch", "driver", "over it", "checks", "allocations"
    );
    for arguments in [0, 4, 19] {
        for threads in [1, 8] {
            let ours = measure(&device, threads, |fixture| fixture.launches(arguments))?;
            let allocations = allocations_of(&device, arguments)?;
            let ns = |d: Duration| d.as_nanos() as f64 / f64::from(LAUNCHES);
            let show = |d: Option<Duration>| d.map(|d| format!("{:.0}", ns(d))).unwrap_or_default();
            let driver = if threads == 1 { driver } else { None };
            let over = driver.map(|driver| ours.saturating_sub(driver));
            // A call without tensors does not know its device before it is launched.
            let checks = (threads == 1 && arguments > 0).then(|| checks(&device, arguments)).transpose()?;
            println!(
                "{arguments:>9} {threads:>8} {:>12.0} {:>12} {:>12} {:>12} {allocations:>12}",
                ns(ours),
                show(driver),
                show(over),
                show(checks)
            );
        }
    }
    println!("\npublished, in microseconds a launch:");
    for (what, time) in PUBLISHED {
        println!("  {what:<24} {time}");
    }
    Ok(())
}

/// A call with nineteen arguments.
#[inline]
fn nineteen<'a>(x: &'a [Tensor<f32>], out: &'a mut Tensor<f32>) -> impl Launch + use<'a> {
    let [x0, x1, x2, x3, x4, x5, x6, x7, x8] = std::array::from_fn(|i| &x[i]);
    kernels::nineteen(x0, x1, x2, x3, x4, x5, x6, x7, x8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7, 8, 9, out)
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

    /// A round of launches.
    fn launches(&mut self, arguments: usize) -> Result<()> {
        let (x, stream) = (&self.x, &self.stream);
        for _ in 0..LAUNCHES {
            match arguments {
                0 => kernels::nothing().grid([1, 1, 1]).launch_on(stream)?,
                4 => kernels::four(&x[0], &x[1], 2.0, &mut self.out).launch_on(stream)?,
                _ => nineteen(x, &mut self.out).launch_on(stream)?,
            }
        }
        Ok(())
    }
}

/// The best time of a round, of any thread, when all are at it.
fn measure(device: &Device, threads: usize, round: impl Fn(&mut Fixture) -> Result<()> + Sync) -> Result<Duration> {
    let best = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<Duration> {
                    let mut fixture = Fixture::new(device)?;
                    round(&mut fixture)?;
                    let mut best = Duration::MAX;
                    for _ in 0..ROUNDS {
                        fixture.stream.synchronize()?;
                        let start = Instant::now();
                        round(&mut fixture)?;
                        best = best.min(start.elapsed());
                    }
                    Ok(best)
                })
            })
            .collect();
        let times: Result<Vec<_>> = threads.into_iter().map(|t| t.join().expect("no panic")).collect();
        times
    })?;
    Ok(best.into_iter().max().unwrap_or_default())
}

/// The best time of a round of what a launch does before it asks the driver: it checks the arguments, finds their classes
/// and the compiled kernel. That is all that a second warm-up does.
fn checks(device: &Device, arguments: usize) -> Result<Duration> {
    let mut fixture = Fixture::new(device)?;
    let (x, out) = (&fixture.x, &mut fixture.out);
    match arguments {
        4 => warm_ups(&kernels::four(&x[0], &x[1], 2.0, out)),
        _ => warm_ups(&nineteen(x, out)),
    }
}

fn warm_ups(call: &impl Launch) -> Result<Duration> {
    call.warm_up()?;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            call.warm_up()?;
        }
        best = best.min(start.elapsed());
    }
    Ok(best)
}

/// Allocations of a round after the first.
fn allocations_of(device: &Device, arguments: usize) -> Result<usize> {
    let mut fixture = Fixture::new(device)?;
    fixture.launches(arguments)?;
    let mut result = Ok(());
    let count = allocations::count(|| result = fixture.launches(arguments));
    result.map(|()| count)
}
