//! How fast the PTX machine is: lane operations a second, and one 128×128×64 step of fp16 products, in the fast mode and under the
//! sanitizer. `cargo bench -p tegula-vgpu`.

use std::time::{Duration, Instant};
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

fn module(memory: &GlobalMemory, body: &str) -> Module {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data) {{
        .reg .pred %p<4>; .reg .b32 %r<64>; .reg .b32 %d<64>; .reg .b64 %rd<16>; .shared .align 1024 .b8 tile[65536];
        ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n{body}\nret;\n}}"
    );
    Module::load(&text, None, memory).expect("it parses")
}

/// The fastest of some runs, and its lane operations.
fn time(body: &str, grid: u32, block: u32, strict: bool) -> (Duration, u64) {
    let memory = GlobalMemory::default();
    let data = memory.allocate("data", 1 << 20, Fill::Zero).expect("memory");
    let module = module(&memory, body);
    let launch = Launch::new("k").grid([grid, 1, 1]).block([block, 1, 1]).arg(Argument::pointer(data));
    let launch = if strict { launch } else { launch.fast() };
    let run = |_| {
        let start = Instant::now();
        let outcome = module.launch(&memory, &launch).expect("it runs");
        (start.elapsed(), outcome.counters.lane_operations)
    };
    (0..5).map(run).min().expect("some runs")
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn main() {
    let threads = rayon::current_num_threads();
    let looped = |body: &str, times: u32| {
        format!("mov.u32 %r3, 0; L: {body} add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {times}; @%p1 bra L;")
    };
    let arithmetic = looped(
        &lines(8, |n| {
            format!(
                "mad.lo.u32 %r{a}, %r1, %r3, 7; fma.rn.f32 %r{b}, %r{a}, %r{a}, %r1; xor.b32 %r{c}, %r{b}, %r3;\n",
                a = 10 + n,
                b = 20 + n,
                c = 30 + n
            )
        }),
        2000,
    );
    let memory = looped(
        "mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r4, [%rd2]; shl.b32 %r5, %r1, 2; add.u32 %r5, %r2, %r5; st.shared.u32 [%r5], %r4; bar.sync 0; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;",
        500,
    );
    println!("{threads} threads");
    for (name, body) in [("arithmetic", &arithmetic), ("memory", &memory)] {
        for strict in [false, true] {
            let (elapsed, operations) = time(body, 16, 128, strict);
            let rate = operations as f64 / elapsed.as_secs_f64() / threads as f64;
            println!("{name:<12} strict={strict:<5} {rate:>10.3e} lane operations a second and thread");
        }
    }
    // 4 warps, each 64 by 64 of the 128 by 128: 4 by 8 products of 16 by 8, 4 times along k.
    let zero = lines(64, |n| format!("mov.u32 %d{n}, 0;\n"));
    let mma = zero.clone()
        + &looped(
            &lines(8, |n| {
                let d = n % 8 * 4;
                format!(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%d{d}, %d{}, %d{}, %d{}}}, {{%r1, %r1, %r1, %r1}}, {{%r1, %r1}}, {{%d{d}, %d{}, %d{}, %d{}}};\n",
                    d + 1,
                    d + 2,
                    d + 3,
                    d + 1,
                    d + 2,
                    d + 3
                )
            }),
            16,
        );
    let fill = "mov.u32 %r4, 0; shl.b32 %r5, %r1, 4; F: st.shared.v4.u32 [%r5], {%r4, %r4, %r4, %r4}; add.u32 %r5, %r5, 2048; setp.lt.u32 %p2, %r5, 65536; @%p2 bra F; fence.proxy.async.shared::cta; bar.sync 0;\n";
    let registers = (0..64).map(|n| format!("%d{n}")).collect::<Vec<_>>().join(", ");
    let wgmma = format!(
        "{fill}{zero}mov.b64 %rd2, {}; mov.b64 %rd3, {}; setp.eq.u32 %p3, 1, 1; wgmma.fence.sync.aligned;\n{}",
        1_u64 << 62 | 64 << 32 | 512 << 16,
        1_u64 << 62 | 64 << 32 | 512 << 16 | 2048,
        looped(
            &format!(
                "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{registers}}}, %rd2, %rd3, %p3, 1, 1, 0, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            ),
            8
        ),
    );
    for (name, body) in [("mma.sync", &mma), ("wgmma", &wgmma)] {
        for strict in [false, true] {
            let (elapsed, _) = time(body, 1, 128, strict);
            println!("{name:<12} strict={strict:<5} {elapsed:>10.2?} for a 128x128x64 step");
        }
    }
}
