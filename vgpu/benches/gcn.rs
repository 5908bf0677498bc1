//! How fast the AMD machine is: lane operations a second of one core, one 128×128×64 step of fp16 products, and a 128×128×128 block of a
//! matrix multiplication that Triton compiled, in the fast mode and under the sanitizer. `cargo bench -p tegula-vgpu --bench gcn`; it needs
//! `llvm-mc` and `ld.lld` (in `LLVM_BIN`), and for the last the folder of Triton's kernels (`TEGULA_ARTIFACTS`).
//!
//! Times are those that the processor spent in this process, where the system tells them.

#[path = "../tests/gcn/asm.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod asm;
#[path = "support/moment.rs"]
mod moment;

use asm::Source;
use moment::Moment;
use std::time::{Duration, Instant};
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};

/// The time of a run, and its lane operations.
fn time(module: &Module, grid: u32, block: u32, strict: bool) -> asm::Result<(Duration, u64)> {
    let memory = GlobalMemory::default();
    let data = memory.allocate("data", 1 << 20, Fill::Zero)?;
    let launch = Launch::new("k").grid([grid, 1, 1]).block([block, 1, 1]).arg(Argument::pointer(data));
    fastest(module, &launch, &memory, strict)
}

fn fastest(module: &Module, launch: &Launch, memory: &GlobalMemory, strict: bool) -> asm::Result<(Duration, u64)> {
    let launch = if strict { launch.clone() } else { launch.clone().fast() };
    let mut best = (Duration::MAX, 0);
    for _ in 0..6 {
        // The system tells the time of a running thread to some milliseconds: measure many runs at once.
        let (clock, start) = (Instant::now(), Moment::now());
        let (mut runs, mut operations) = (0, 0);
        while clock.elapsed() < Duration::from_millis(200) {
            let outcome = module.launch(&launch, memory)?;
            assert!(outcome.is_clean(), "{:?}", outcome.findings.first());
            operations = outcome.counters.lane_operations;
            runs += 1;
        }
        best = best.min((start.elapsed() / runs, operations));
    }
    Ok(best)
}

/// A block of Triton's matrix multiplication, 128 by 128 by 128. Zeroes take as long as any other numbers.
fn block_of_triton(strict: bool) -> asm::Result<Option<Duration>> {
    const N: u32 = 128;
    let Some(folder) = std::env::var_os("TEGULA_ARTIFACTS") else { return Ok(None) };
    let file = std::path::PathBuf::from(folder).join("gfx942/matmul_fp16_128x128x64_w4_s2.hsaco");
    let module = Module::load(&std::fs::read(file)?)?;
    let memory = GlobalMemory::default();
    let mut launch = Launch::new("matmul").block([256, 1, 1]).dynamic_shared(32768);
    for name in ["a", "b", "c"] {
        launch = launch.arg(Argument::pointer(memory.allocate(name, u64::from(N * N * 2), Fill::Zero)?));
    }
    for _ in 0..6 {
        launch = launch.arg(Argument::i32(N as i32));
    }
    launch = launch.arg(Argument::pointer(0)).arg(Argument::pointer(0));
    Ok(Some(fastest(&module, &launch, &memory, strict)?.0))
}

fn looped(body: &str, times: u32) -> String {
    format!(
        "s_load_dwordx2 s[4:5], s[0:1], 0x0
         v_lshlrev_b32 v1, 2, v0
         s_lshl_b32 s6, s2, 12
         s_waitcnt lgkmcnt(0)
         s_add_u32 s4, s4, s6
         s_addc_u32 s5, s5, 0
         v_mov_b32 v2, 0
         v_mov_b32 v3, 1.0
         s_mov_b32 s8, 0
         .Lloop:
         {body}
         s_add_u32 s8, s8, 1
         s_cmp_lt_u32 s8, {times}
         s_cbranch_scc1 .Lloop"
    )
}

/// The work of one of four waves: 64 by 64 of the sum, as two by two of 32 by 32, in eight steps of k.
fn matrix_step() -> String {
    let mut body = String::new();
    for k in 0..8 {
        for part in 0..4 {
            body += &format!("ds_read_b64 v[{}:{}], v4 offset:{}\n", 8 + part * 2, 9 + part * 2, (k * 4 + part) * 512);
        }
        body += "s_waitcnt lgkmcnt(0)\n";
        for (tile, (a, b)) in [(8, 12), (8, 14), (10, 12), (10, 14)].into_iter().enumerate() {
            let sum = format!("a[{}:{}]", tile * 16, tile * 16 + 15);
            body += &format!("v_mfma_f32_32x32x8_f16 {sum}, v[{a}:{}], v[{b}:{}], {sum}\n", a + 1, b + 1);
        }
    }
    body
}

fn main() -> asm::Result<()> {
    let arithmetic: String = (0..8)
        .map(|n| {
            format!(
                "v_fma_f32 v{a}, v3, v3, v2\n v_mad_u32_u24 v{b}, v0, v1, v2\n v_xor_b32 v{c}, v0, v1\n",
                a = 10 + n,
                b = 20 + n,
                c = 30 + n
            )
        })
        .collect();
    let memory = "global_load_dword v4, v1, s[4:5]
         s_waitcnt vmcnt(0)
         ds_write_b32 v1, v4
         s_waitcnt lgkmcnt(0)
         s_barrier
         ds_read_b32 v5, v1
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v5, s[4:5]
         s_waitcnt vmcnt(0)";
    for (name, body) in [("arithmetic", looped(&arithmetic, 2000)), ("memory", looped(memory, 500))] {
        let Some(module) = (Source { lds: 4096, ..Source::new(&body, 1) }).load()? else { return Ok(()) };
        for strict in [false, true] {
            let (elapsed, operations) = time(&module, 16, 256, strict)?;
            let rate = operations as f64 / elapsed.as_secs_f64();
            println!("{name:<12} strict={strict:<5} {rate:>10.3e} lane operations a second and core");
        }
    }
    let fill: String = (0..32).map(|n| format!("ds_write_b64 v4, v[2:3] offset:{}\n", n * 512)).collect();
    let clear: String = (0..64).map(|n| format!("v_accvgpr_write_b32 a{n}, 0\n")).collect();
    let body = |steps| {
        let start = format!("v_lshlrev_b32 v4, 3, v0\n v_and_b32 v4, 0x1f8, v4\n{clear}");
        let first = format!(
            "v_mov_b32 v2, 0\n v_mov_b32 v3, 0\n{start}v_cmp_gt_u32 vcc, 64, v0\n s_and_saveexec_b64 s[10:11], vcc\n{fill}s_mov_b64 exec, s[10:11]\n s_waitcnt lgkmcnt(0)\n s_barrier\n"
        );
        first + &looped(&matrix_step(), steps)
    };
    // The difference of two lengths is free of what happens once.
    let (short, long) = (body(4), body(36));
    for strict in [false, true] {
        let mut times = Vec::new();
        for body in [&short, &long] {
            let Some(module) = (Source { lds: 16384, ..Source::new(body, 1) }).load()? else { return Ok(()) };
            times.push(time(&module, 1, 256, strict)?.0.as_secs_f64());
        }
        println!("128x128x64 of fp16 by MFMA strict={strict:<5} {:.3} ms", (times[1] - times[0]) / 32.0 * 1e3);
    }
    for strict in [false, true] {
        if let Some(time) = block_of_triton(strict)? {
            println!("128x128x128 block of Triton's strict={strict:<5} {:.2} ms", time.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}
