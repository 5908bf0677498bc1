//! Counters of the PTX machine, against kernels counted by hand.

use tegula_vgpu::counters::{Class, Counters};
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::ptx::Module;

fn count(body: &str, grid: u32, block: u32) -> Counters {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data) {{
        .reg .b32 %r<40>; .reg .b64 %rd<9>; .shared .align 128 .b8 tile[8192];
        ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;\n{body}\nret;\n}}"
    );
    let memory = GlobalMemory::default();
    let data = memory.allocate("data", 1 << 16, Fill::Zero).expect("memory");
    let module = Module::load(&text, None, &memory).expect("it parses");
    let launch = Launch::new("k").grid([grid, 1, 1]).block([block, 1, 1]).arg(Argument::pointer(data)).fast();
    module.launch(&memory, &launch).expect("it runs").counters
}

#[test]
fn sectors_of_global_accesses() {
    let coalesced =
        count("mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r3, [%rd2]; st.global.u32 [%rd2+4], %r3;", 1, 64);
    assert_eq!((coalesced.global_load_sectors, coalesced.global_load_bytes), (2 * 4, 256));
    // One word further: a fifth sector for each warp.
    assert_eq!((coalesced.global_store_sectors, coalesced.global_store_bytes), (2 * 5, 256));
    let vectors = count("mad.wide.u32 %rd2, %r1, 16, %rd1; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd2];", 1, 32);
    assert_eq!((vectors.global_load_sectors, vectors.global_load_bytes), (16, 512));
    let strided = count("mad.wide.u32 %rd2, %r1, 128, %rd1; ld.global.u32 %r3, [%rd2];", 1, 32);
    assert_eq!((strided.global_load_sectors, strided.global_load_bytes), (32, 128));
    let broadcast = count("ld.global.u32 %r3, [%rd1];", 3, 32);
    assert_eq!((broadcast.global_load_sectors, broadcast.global_load_bytes), (3, 3 * 128));
}

#[test]
fn bank_conflicts_of_shared_accesses() {
    let conflicts = |address: &str, access: &str| {
        let counters = count(&format!("{address} add.u32 %r4, %r2, %r3; {access}"), 1, 32);
        (counters.shared_accesses, counters.bank_conflict_cycles)
    };
    let store = "st.shared.u32 [%r4], %r1;";
    assert_eq!(conflicts("shl.b32 %r3, %r1, 2;", store), (1, 0));
    assert_eq!(conflicts("shl.b32 %r3, %r1, 3;", store), (1, 1));
    assert_eq!(conflicts("shl.b32 %r3, %r1, 7;", store), (1, 31));
    // A column of a tile of 32 words a row, padded by one word.
    assert_eq!(conflicts("mul.lo.u32 %r3, %r1, 132;", store), (1, 0));
    // The same, swizzled: word ^ row.
    assert_eq!(conflicts("shl.b32 %r3, %r1, 7; shl.b32 %r5, %r1, 2; xor.b32 %r3, %r3, %r5;", store), (1, 0));
    let wide = "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];";
    assert_eq!(conflicts("shl.b32 %r3, %r1, 4;", wide), (1, 0));
    assert_eq!(conflicts("shl.b32 %r3, %r1, 7;", wide), (1, 4 * 7));
    let matrices = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r4];";
    assert_eq!(conflicts("shl.b32 %r3, %r1, 7;", matrices), (1, 4 * 7));
    let swizzled = "shl.b32 %r3, %r1, 7; and.b32 %r5, %r1, 7; shl.b32 %r5, %r5, 4; xor.b32 %r3, %r3, %r5;";
    assert_eq!(conflicts(swizzled, matrices), (1, 0));
}

#[test]
fn instructions_by_class() {
    let counters = count(
        "mov.u32 %r3, 3; add.u32 %r4, %r1, %r3; cvt.rn.f32.u32 %r5, %r4; mul.f32 %r6, %r5, %r5; ex2.approx.f32 %r7, %r6;
         bar.sync 0; shfl.sync.bfly.b32 %r8, %r7, 1, 31, -1; atom.global.add.u32 %r9, [%rd1], 1;
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13}, {%r3, %r3, %r3, %r3}, {%r3, %r3}, {%r3, %r3, %r3, %r3};
         cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.wait_all;",
        2,
        64,
    );
    // Two programs of two warps; the prelude loads a parameter and moves twice.
    for (class, each) in [
        (Class::Constant, 1),
        (Class::Move, 3),
        (Class::Integer, 1),
        (Class::Convert, 1),
        (Class::Float, 1),
        (Class::Special, 1),
        (Class::Sync, 1),
        (Class::Warp, 1),
        (Class::Atomic, 1),
        (Class::Matrix, 1),
        (Class::Async, 2),
        (Class::Control, 1),
    ] {
        assert_eq!(counters.of(class), 4 * each, "{class:?}");
    }
    assert_eq!(counters.lane_operations, 32 * counters.total());
    assert_eq!(counters.matrix_multiply_adds, 4 * 16 * 8 * 16);
    assert_eq!(counters.barriers, 4);
    assert_eq!(counters.async_copy_bytes, 128 * 16);
    assert_eq!(counters.max_bytes_in_flight, 32 * 16);
}

#[test]
fn occupancy_from_shared_memory_and_registers() {
    let o = count("", 1, 256).occupancy;
    // 58 registers are declared, given out by 8: 4 programs of 8 warps.
    assert_eq!((o.registers, o.programs, o.warps, o.limited_by.as_str()), (64, 4, 32, "registers"));
    // 8192 bytes and 1024 that the system takes, of 164 KiB: 18 programs.
    let o = count("", 1, 32).occupancy;
    assert_eq!((o.programs, o.limited_by.as_str()), (18, "shared memory"));
}
