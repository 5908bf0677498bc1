//! Programs for gfx1100 and gfx1201: their own counters, and barriers in two halves.

use super::Fault;
use tegula_vgpu::finding::FindingKind::*;

pub const FAULTS: &[Fault] = &[
    Fault::new(
        "a load's result used without a wait (gfx1100)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
        ("v_add_nc_u32 v2, 1, v2", "s_waitcnt vmcnt(0)\n v_add_nc_u32 v2, 1, v2"),
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "stores count apart from loads (gfx1100)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         global_store_b32 v1, v0, s[6:7] offset:1024
         s_waitcnt vmcnt(1)
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
        ("vmcnt(1)", "vmcnt(0)"),
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a store that another wave reads behind a barrier, not awaited (gfx1100)",
        GlobalRace,
        "global_store_b32 v1, v0, s[4:5]
         s_barrier
         v_xor_b32 v2, 0x80, v1
         global_load_b32 v3, v2, s[4:5]
         s_waitcnt vmcnt(0)
         global_store_b32 v1, v3, s[6:7]",
        ("s_barrier", "s_waitcnt_vscnt null, 0x0\n s_barrier"),
    )
    .of(1, 64)
    .on("gfx1100"),
    // The LDS serves what came before the barrier first, without a wait.
    Fault::new(
        "a barrier missing (gfx1100)",
        SharedRace,
        "ds_store_b32 v1, v0
         v_xor_b32 v2, 0x80, v1
         ds_load_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         global_store_b32 v1, v3, s[6:7]",
        ("ds_load", "s_barrier\n ds_load"),
    )
    .of(1, 64)
    .on("gfx1100"),
    Fault::new(
        "a store beyond the end (gfx1100)",
        OutOfBounds,
        "global_store_b32 v1, v0, s[6:7] offset:1924",
        ("offset:1924", "offset:1920"),
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a load's result used without a wait (gfx1201)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
        ("v_add_nc_u32 v2, 1, v2", "s_wait_loadcnt 0x0\n v_add_nc_u32 v2, 1, v2"),
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "an LDS load used without a wait (gfx1201)",
        MissingWaitcnt,
        "ds_store_b32 v1, v0
         ds_load_b32 v2, v1
         s_wait_dscnt 0x1
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
        ("s_wait_dscnt 0x1", "s_wait_dscnt 0x0"),
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "a scalar load awaited with the counter of the LDS (gfx1201)",
        MissingWaitcnt,
        "s_load_b32 s8, s[4:5], 0x0
         s_wait_dscnt 0x0
         v_mov_b32 v2, s8
         s_wait_kmcnt 0x0
         global_store_b32 v1, v2, s[6:7]",
        ("s_wait_dscnt 0x0", "s_wait_kmcnt 0x0"),
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "a store that another wave reads behind a barrier, not awaited (gfx1201)",
        GlobalRace,
        "global_store_b32 v1, v0, s[4:5]
         s_wait_loadcnt_dscnt 0x0
         s_barrier_signal -1
         s_barrier_wait -1
         v_xor_b32 v2, 0x80, v1
         global_load_b32 v3, v2, s[4:5]
         s_wait_loadcnt 0x0
         global_store_b32 v1, v3, s[6:7]",
        ("s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt 0x0"),
    )
    .of(1, 64)
    .on("gfx1201"),
    Fault::new(
        "a write to the LDS between the halves of the barrier (gfx1201)",
        SharedRace,
        "v_xor_b32 v2, 0x80, v1
         s_barrier_signal -1
         ds_store_b32 v1, v0
         s_wait_dscnt 0x0
         s_barrier_wait -1
         ds_load_b32 v3, v2
         s_wait_dscnt 0x0
         global_store_b32 v1, v3, s[6:7]",
        (
            "s_barrier_signal -1\n         ds_store_b32 v1, v0\n         s_wait_dscnt 0x0",
            "ds_store_b32 v1, v0\n s_wait_dscnt 0x0\n s_barrier_signal -1",
        ),
    )
    .of(1, 64)
    .on("gfx1201"),
    Fault::new(
        "a barrier waited for without a signal (gfx1201)",
        BarrierDivergence,
        "s_barrier_wait -1
         global_store_b32 v1, v0, s[6:7]",
        ("s_barrier_wait", "s_barrier_signal -1\n s_barrier_wait"),
    )
    .of(1, 64)
    .on("gfx1201"),
    Fault::new(
        "two workgroups write one word (gfx1201)",
        GlobalRace,
        "global_store_b32 v1, v0, s[6:7]",
        ("global_store", "s_lshl_b32 s8, ttmp9, 7\n v_add_nc_u32 v1, s8, v1\n global_store"),
    )
    .of(2, 32)
    .on("gfx1201"),
];
