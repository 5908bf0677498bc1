//! How fast the AMD machine runs: lane operations a second, and the time of a 128 by 128 by 128 block of half-precision matrix
//! multiplication, with all checks and without.
//!
//! The kernel is one that Triton compiled; `TEGULA_ARTIFACTS` names the folder with its manifest.
//!
//! ```text
//! TEGULA_ARTIFACTS=... cargo run --release -p tegula-vgpu --example gcn_speed
//! ```

use std::time::Instant;
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 128;
    let folder = std::env::var("TEGULA_ARTIFACTS").map_err(|_| "TEGULA_ARTIFACTS is not set")?;
    let bytes = std::fs::read(format!("{folder}/gfx942/matmul_fp16_128x128x64_w4_s2.hsaco"))?;
    let module = Module::load(&bytes)?;
    let memory = GlobalMemory::default();
    let mut launch = Launch::new("matmul").block([256, 1, 1]).dynamic_shared(32768);
    for name in ["a", "b", "c"] {
        // Zeroes take as long as any other numbers.
        launch = launch.arg(Argument::pointer(memory.allocate(name, (N * N * 2) as u64, Fill::Zero)?));
    }
    for _ in 0..6 {
        launch = launch.arg(Argument::i32(N as i32));
    }
    launch = launch.arg(Argument::pointer(0)).arg(Argument::pointer(0));
    for (what, launch) in [("strict, sanitized", launch.clone()), ("fast", launch.fast())] {
        // The first run decodes.
        module.launch(&launch, &memory)?;
        let runs = 20;
        let started = Instant::now();
        let mut lanes = 0;
        for _ in 0..runs {
            lanes += module.launch(&launch, &memory)?.counters.lane_operations;
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{what}: {:.2} ms a block, {:.0} million lane operations a second",
            seconds / f64::from(runs) * 1e3,
            lanes as f64 / seconds / 1e6
        );
    }
    Ok(())
}
