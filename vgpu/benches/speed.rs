//! How fast the PTX machine is: lane operations a second of one core, one 128×128×64 step of fp16 products, and a whole attention program
//! that Triton compiled, in the fast mode and under the sanitizer. `cargo bench -p tegula-vgpu --bench speed`.
//!
//! Times are those that the processor spent in this process, where the system tells them, so that other work on the host does not
//! count; otherwise those of the clock.

#[path = "../tests/support/ptx.rs"]
mod launches;
#[path = "support/moment.rs"]
mod moment;
#[path = "../tests/support/mod.rs"]
mod support;

use moment::Moment;
use std::time::Duration;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

/// The fastest of some runs, and its lane operations. Each program has 64 KiB of `data`, zeroes, at `%rd1`.
fn time(body: &str, grid: u32, block: u32, strict: bool) -> (Duration, u64) {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data) {{
        .reg .pred %p<4>; .reg .b32 %r<64>; .reg .b32 %d<64>; .reg .b64 %rd<16>; .shared .align 1024 .b8 tile[65536];
        ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;
        mov.u32 %r3, %ctaid.x; mad.wide.u32 %rd1, %r3, 65536, %rd1;\n{body}\nret;\n}}"
    );
    let memory = GlobalMemory::default();
    let data = memory.allocate("data", u64::from(grid) << 16, Fill::Zero).expect("memory");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let launch = Launch::new("k").grid([grid, 1, 1]).block([block, 1, 1]).arg(Argument::pointer(data));
    fastest(&module, &memory, launch, strict)
}

fn fastest(module: &Module, memory: &GlobalMemory, launch: Launch, strict: bool) -> (Duration, u64) {
    let launch = if strict { launch } else { launch.fast() };
    let run = |_| {
        let start = Moment::now();
        let outcome = module.launch(memory, &launch).expect("it runs");
        let elapsed = start.elapsed();
        assert!(outcome.is_clean(), "{}", outcome.findings[0]);
        (elapsed, outcome.counters.lane_operations)
    };
    (0..5).map(run).min().expect("some runs")
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn looped(body: &str, times: u32) -> String {
    format!("mov.u32 %r3, 0; L: {body} add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {times}; @%p1 bra L;")
}

fn scalar() {
    let arithmetic = lines(8, |n| format!("mov.f32 %r{}, 0f3F80000{n};", 20 + n))
        + &looped(
            &lines(8, |n| {
                let (a, b, c) = (10 + n, 20 + n, 30 + n);
                format!(
                    "mad.lo.u32 %r{a}, %r1, %r3, 7; fma.rn.f32 %r{b}, %r{b}, 0f3F7FFFFF, 0f3C000000; xor.b32 %r{c}, %r{a}, %r3;\n"
                )
            }),
            2000,
        );
    let memory = looped(
        "mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r4, [%rd2]; shl.b32 %r5, %r1, 2; add.u32 %r5, %r2, %r5; st.shared.u32 [%r5], %r4; bar.sync 0; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;",
        500,
    );
    for (name, body) in [("arithmetic", &arithmetic), ("memory", &memory)] {
        for strict in [false, true] {
            let (elapsed, operations) = time(body, 16, 128, strict);
            let rate = operations as f64 / elapsed.as_secs_f64();
            println!("{name:<12} strict={strict:<5} {rate:>10.3e} lane operations a second and core");
        }
    }
}

/// One 128×128×64 step by 4 warps.
fn steps() {
    // Each warp has 64 by 64: 4 by 8 products of 16 by 8, 4 times along k.
    let zero = lines(64, |n| format!("mov.u32 %d{n}, 0;\n"));
    let mma = format!("mov.u32 %r10, 0x3C003C00; {zero}")
        + &looped(
            &lines(8, |n| {
                let d = (0..4).map(|i| format!("%d{}", n * 4 + i)).collect::<Vec<_>>().join(", ");
                format!(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{d}}}, {{%r10, %r10, %r10, %r10}}, {{%r10, %r10}}, {{{d}}};\n"
                )
            }),
            16,
        );
    let fill = "mov.u32 %r4, 0x3C003C00; shl.b32 %r5, %r1, 4; F: st.shared.v4.u32 [%r5], {%r4, %r4, %r4, %r4}; add.u32 %r5, %r5, 2048; setp.lt.u32 %p2, %r5, 65536; @%p2 bra F; fence.proxy.async.shared::cta; bar.sync 0;\n";
    let registers = (0..64).map(|n| format!("%d{n}")).collect::<Vec<_>>().join(", ");
    // 128-byte swizzle, groups of 8 rows 1024 bytes apart; B with columns contiguous, 64 of them 8192 bytes from the next.
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{registers}}}, %rd2, %rd3, %p3, 1, 1, 0, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    );
    let wgmma = format!(
        "{fill}{zero}mov.b64 %rd2, {}; mov.b64 %rd3, {}; setp.eq.u32 %p3, 1, 1; wgmma.fence.sync.aligned;\n{}",
        1_u64 << 62 | 64 << 32 | 512 << 16,
        1_u64 << 62 | 64 << 32 | 512 << 16 | 2048,
        looped(&product, 8),
    );
    for (name, body) in [("mma.sync", &mma), ("wgmma", &wgmma)] {
        for strict in [false, true] {
            let (elapsed, _) = time(body, 1, 128, strict);
            println!("{name:<12} strict={strict:<5} {elapsed:>10.2?} for a 128x128x64 step");
        }
    }
}

/// One program of Triton's attention: 128 rows of 64 against 1024 keys.
fn attention() {
    let Some((folder, artifacts)) = support::manifest() else { return };
    for artifact in artifacts.iter().filter(|a| a.target.starts_with("sm_") && a.entry == "flash_fwd") {
        let text = std::fs::read_to_string(folder.join(&artifact.file)).expect("the PTX file");
        let memory = GlobalMemory::default();
        let module = Module::load(&text, None, &memory).expect("it parses");
        let (launch, _) = launches::prepare(&memory, artifact, &support::flash(1, 1, 1024, 64));
        for strict in [false, true] {
            let (elapsed, operations) = fastest(&module, &memory, launch.clone().grid([1, 1, 1]), strict);
            let name = format!("attention {}", artifact.target);
            println!("{name:<12} strict={strict:<5} {elapsed:>10.2?} for a program, {operations} lane operations");
        }
    }
}

fn main() {
    scalar();
    steps();
    attention();
}
