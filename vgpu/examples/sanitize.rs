//! What the virtual GPU finds in a kernel that forgets a barrier, and how the kernel runs once it is there.
//!
//! ```text
//! cargo run -p tegula-vgpu --example sanitize
//! ```

use tegula_vgpu::counters::Class;
use tegula_vgpu::error::Result;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

/// Turns 64 numbers around through shared memory. Warp 1 reads what warp 0 writes.
const KERNEL: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry reverse(.param .u64 data)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    ld.global.u32 %r2, [%rd2];
    mov.u32 %r3, tile;
    mad.lo.u32 %r4, %r1, 4, %r3;
    st.shared.u32 [%r4], %r2;
    // BARRIER
    sub.u32 %r5, 63, %r1;
    mad.lo.u32 %r6, %r5, 4, %r3;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%rd2], %r7;
    ret;
}";

fn main() -> Result<()> {
    let memory = GlobalMemory::default();
    // Poisoned memory: to read what nobody wrote would be a finding too.
    let data = memory.allocate("data", 64 * 4, Fill::Poison)?;
    for barrier in ["", "bar.sync 0;"] {
        let numbers: Vec<u8> = (0..64_u32).flat_map(u32::to_le_bytes).collect();
        memory.write(data, &numbers)?;
        let text = KERNEL.replace("// BARRIER", barrier);
        let module = Module::load(&text, Some("reverse.ptx"), &memory)?;
        let launch = Launch::new("reverse").block([64, 1, 1]).arg(Argument::pointer(data));
        let outcome = module.launch(&memory, &launch)?;
        for finding in &outcome.findings {
            println!("{finding}");
        }
        if outcome.is_clean() {
            let counters = &outcome.counters;
            println!(
                "clean: {} warp instructions, {} barriers, {} sectors loaded, {} bank conflicts, {} accesses to shared memory",
                counters.total(),
                counters.barriers,
                counters.global_load_sectors,
                counters.bank_conflict_cycles,
                counters.of(Class::Shared),
            );
        }
    }
    Ok(())
}
