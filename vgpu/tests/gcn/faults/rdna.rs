//! Programs for gfx1100 and gfx1201: their own counters, barriers in two halves, and the distances that they need.

use super::Fault;
use tegula_vgpu::finding::FindingKind::*;

pub const FAULTS: &[Fault] = &[
    Fault::new(
        "a load's result used without a wait (gfx1100)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         <<||s_waitcnt vmcnt(0)>>
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "stores count apart from loads (gfx1100)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         global_store_b32 v1, v0, s[6:7] offset:1024
         s_waitcnt vmcnt(<<1||0>>)
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a store that another wave reads behind a barrier, not awaited (gfx1100)",
        GlobalRace,
        "global_store_b32 v1, v0, s[4:5]
         <<||s_waitcnt_vscnt null, 0x0>>
         s_barrier
         v_xor_b32 v2, 0x80, v1
         global_load_b32 v3, v2, s[4:5]
         s_waitcnt vmcnt(0)
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 64)
    .on("gfx1100"),
    // The LDS serves what came before the barrier first, without a wait.
    Fault::new(
        "a barrier missing (gfx1100)",
        SharedRace,
        "ds_store_b32 v1, v0
         v_xor_b32 v2, 0x80, v1
         <<||s_barrier>>
         ds_load_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 64)
    .on("gfx1100"),
    Fault::new(
        "a store beyond the end (gfx1100)",
        OutOfBounds,
        "global_store_b32 v1, v0, s[6:7] offset:<<1924||1920>>",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a load's result used without a wait (gfx1201)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         <<||s_wait_loadcnt 0x0>>
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "an LDS load used without a wait (gfx1201)",
        MissingWaitcnt,
        "ds_store_b32 v1, v0
         ds_load_b32 v2, v1
         s_wait_dscnt <<0x1||0x0>>
         v_add_nc_u32 v2, 1, v2
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "a scalar load awaited with the counter of the LDS (gfx1201)",
        MissingWaitcnt,
        "s_load_b32 s8, s[4:5], 0x0
         <<s_wait_dscnt||s_wait_kmcnt>> 0x0
         v_mov_b32 v2, s8
         s_wait_kmcnt 0x0
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "a store that another wave reads behind a barrier, not awaited (gfx1201)",
        GlobalRace,
        "global_store_b32 v1, v0, s[4:5]
         <<s_wait_loadcnt_dscnt||s_wait_storecnt>> 0x0
         s_barrier_signal -1
         s_barrier_wait -1
         v_xor_b32 v2, 0x80, v1
         global_load_b32 v3, v2, s[4:5]
         s_wait_loadcnt 0x0
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 64)
    .on("gfx1201"),
    Fault::new(
        "a write to the LDS between the halves of the barrier (gfx1201)",
        SharedRace,
        "v_xor_b32 v2, 0x80, v1
         <<s_barrier_signal -1
         ds_store_b32 v1, v0
         s_wait_dscnt 0x0||ds_store_b32 v1, v0
         s_wait_dscnt 0x0
         s_barrier_signal -1>>
         s_barrier_wait -1
         ds_load_b32 v3, v2
         s_wait_dscnt 0x0
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 64)
    .on("gfx1201"),
    Fault::new(
        "a barrier waited for without a signal (gfx1201)",
        BarrierDivergence,
        "<<||s_barrier_signal -1>>
         s_barrier_wait -1
         global_store_b32 v1, v0, s[6:7]",
    )
    .of(1, 64)
    .on("gfx1201"),
    Fault::new(
        "two workgroups write one word (gfx1201)",
        GlobalRace,
        "<<||s_lshl_b32 s8, ttmp9, 7
         v_add_nc_u32 v1, s8, v1>>
         global_store_b32 v1, v0, s[6:7]",
    )
    .of(2, 32)
    .on("gfx1201"),
    Fault::new(
        "one of two loads and the LDS awaited together (gfx1201)",
        MissingWaitcnt,
        "ds_store_b32 v1, v0
         s_wait_dscnt 0x0
         global_load_b32 v2, v1, s[4:5]
         ds_load_b32 v3, v1
         s_wait_loadcnt_dscnt <<0x1||0x0>>
         v_add_nc_u32 v2, v2, v3
         s_wait_dscnt 0x0
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "a store and the LDS awaited together, the LDS not (gfx1201)",
        MissingWaitcnt,
        "ds_store_b32 v1, v0
         s_wait_dscnt 0x0
         global_store_b32 v1, v0, s[6:7] offset:1024
         ds_load_b32 v3, v1
         s_wait_storecnt_dscnt <<0x1||0x0>>
         v_add_nc_u32 v2, 1, v3
         s_wait_dscnt 0x0
         global_store_b32 v1, v2, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "an atomic's old value awaited as a store (gfx1201)",
        MissingWaitcnt,
        "v_mov_b32 v2, 1
         v_mov_b32 v3, 0
         global_atomic_add_u32 v4, v3, v2, s[4:5] th:TH_ATOMIC_RETURN
         <<s_wait_storecnt||s_wait_loadcnt>> 0x0
         v_add_nc_u32 v4, 1, v4
         global_store_b32 v1, v4, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
    Fault::new(
        "a wait of its own for vector memory that is too lenient (gfx1100)",
        MissingWaitcnt,
        "global_load_b32 v2, v1, s[4:5]
         global_load_b32 v3, v1, s[4:5] offset:128
         s_waitcnt_vmcnt null, <<0x1||0x0>>
         v_add_nc_u32 v3, 1, v3
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a wait of its own for the LDS that is too lenient (gfx1100)",
        MissingWaitcnt,
        "ds_store_b32 v1, v0
         ds_load_b32 v3, v1
         s_waitcnt_lgkmcnt null, <<0x1||0x0>>
         v_add_nc_u32 v3, 1, v3
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a transcendental result used at once (gfx1100)",
        Hazard,
        "v_cvt_f32_u32 v2, v0
         v_exp_f32 v3, v2
         <<||s_waitcnt_depctr 0xfff>>
         v_add_f32 v4, 1.0, v3
         global_store_b32 v1, v4, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    // A move beside another instruction has a field for a second source, which means nothing: v0 here.
    Fault::new(
        "a transcendental result moved at once beside another move (gfx1100)",
        Hazard,
        "v_cvt_f32_u32 v0, v0
         v_mov_b32 v6, 1
         v_exp_f32 v0, v0
         v_dual_mov_b32 v3, <<v0||v1>> :: v_dual_mov_b32 v2, v6
         global_store_b32 v1, v3, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a transcendental result used after five other instructions (gfx1100)",
        Hazard,
        "v_cvt_f32_u32 v2, v0
         v_exp_f32 v3, v2
         v_mov_b32 v5, 1
         v_mov_b32 v6, 1
         v_mov_b32 v7, 1
         v_mov_b32 v8, 1
         v_mov_b32 v9, 1
         <<||v_mov_b32 v10, 1>>
         v_add_f32 v4, 1.0, v3
         global_store_b32 v1, v4, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a matrix result that is a factor of the next product (gfx1100)",
        Hazard,
        "v_mov_b32 v8, 0
         v_mov_b32 v9, 0
         v_mov_b32 v10, 0
         v_mov_b32 v11, 0
         v_mov_b32 v12, 0
         v_mov_b32 v13, 0
         v_mov_b32 v14, 0
         v_mov_b32 v15, 0
         v_wmma_f32_16x16x16_f16 v[16:23], v[8:15], v[8:15], 0
         <<||v_nop>>
         v_wmma_f32_16x16x16_f16 v[24:31], v[16:23], v[8:15], 0
         global_store_b32 v1, v24, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1100"),
    Fault::new(
        "a matrix result that is a factor of the next product (gfx1201)",
        Hazard,
        "v_mov_b32 v8, 0
         v_mov_b32 v9, 0
         v_mov_b32 v10, 0
         v_mov_b32 v11, 0
         v_wmma_f32_16x16x16_f16 v[16:23], v[8:11], v[8:11], 0
         <<||v_nop>>
         v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[16:19], 0
         global_store_b32 v1, v24, s[6:7]",
    )
    .of(1, 32)
    .on("gfx1201"),
];
