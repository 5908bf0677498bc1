//! Programs for gfx942 that are wrong in ways of every kind.

use super::Fault;
use tegula_vgpu::finding::FindingKind::*;

pub const FAULTS: &[Fault] = &[
    Fault::new(
        "a load's result used without a wait",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         <<||s_waitcnt vmcnt(0)>>
         v_add_u32 v2, 1, v2
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a wait that leaves the newer of two loads outstanding",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         global_load_dword v3, v1, s[4:5] offset:256
         s_waitcnt vmcnt(<<1||0>>)
         v_add_u32 v3, 1, v3
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a scalar load used without a wait",
        MissingWaitcnt,
        "s_load_dword s8, s[4:5], 0x0
         <<||s_waitcnt lgkmcnt(0)>>
         s_add_u32 s8, s8, 1
         v_mov_b32 v2, s8
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "one of two scalar loads awaited, which come in any order",
        MissingWaitcnt,
        "s_load_dword s8, s[4:5], 0x0
         s_load_dword s9, s[4:5], 0x4
         s_waitcnt lgkmcnt(<<1||0>>)
         v_mov_b32 v2, s8
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "an LDS load used without a wait",
        MissingWaitcnt,
        "ds_write_b32 v1, v0
         ds_read_b32 v2, v1
         <<||s_waitcnt lgkmcnt(0)>>
         v_add_u32 v2, 1, v2
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a permutation's result used without a wait",
        MissingWaitcnt,
        "ds_bpermute_b32 v2, v1, v0
         <<||s_waitcnt lgkmcnt(0)>>
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "the destination of an outstanding load overwritten",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         <<||s_waitcnt vmcnt(0)>>
         v_mov_b32 v2, 5
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "two loads into one register",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         <<||s_waitcnt vmcnt(0)>>
         ds_bpermute_b32 v2, v1, v0
         s_waitcnt vmcnt(0) lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a barrier missing between writes and reads of the LDS",
        SharedRace,
        "ds_write_b32 v1, v0
         v_xor_b32 v2, 0x100, v1
         s_waitcnt lgkmcnt(0)
         <<||s_barrier>>
         ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "a write to the LDS not awaited before the barrier",
        SharedRace,
        "ds_write_b32 v1, v0
         v_xor_b32 v2, 0x100, v1
         <<||s_waitcnt lgkmcnt(0)>>
         s_barrier
         ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "the LDS overwritten while others may still read it",
        SharedRace,
        "ds_write_b32 v1, v0
         v_xor_b32 v2, 0x100, v1
         s_waitcnt lgkmcnt(0)
         s_barrier
         ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         <<||s_barrier>>
         ds_write_b32 v1, v3
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "a fill of the LDS from memory not awaited before the barrier",
        SharedRace,
        "s_mov_b32 s10, 0x400
         s_mov_b32 s8, s4
         s_and_b32 s9, s5, 0xffff
         s_mov_b32 s11, 0x27000
         v_readfirstlane_b32 s12, v1
         s_mov_b32 m0, s12
         v_xor_b32 v2, 0x100, v1
         s_nop 4
         buffer_load_dword v1, s[8:11], 0 offen lds
         <<||s_waitcnt vmcnt(0)>>
         s_barrier
         ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0) vmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "two lanes of different waves write one word",
        GlobalRace,
        "v_and_b32 v2, <<0xfc||0x1fc>>, v1
         global_store_dword v2, v0, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "two workgroups write one word",
        GlobalRace,
        "<<||s_lshl_b32 s8, s2, 8
         v_add_u32 v1, s8, v1>>
         global_store_dword v1, v0, s[6:7]",
    )
    .of(2, 64),
    Fault::new(
        "one workgroup writes what another reads",
        GlobalRace,
        "s_lshl_b32 s8, s2, 8
         v_add_u32 v2, s8, v1
         global_store_dword v2, v0, s[4:5]
         v_xor_b32 v3, <<0x100||0x200>>, v2
         s_waitcnt vmcnt(0)
         global_load_dword v4, v3, s[4:5]
         s_waitcnt vmcnt(0)
         global_store_dword v2, v4, s[6:7]",
    )
    .of(2, 64),
    Fault::new(
        "a store one element beyond the end",
        OutOfBounds,
        "global_store_dword v1, v0, s[6:7] offset:<<1796||1792>>",
    ),
    Fault::new(
        "a load before the start",
        OutOfBounds,
        "global_load_dword v2, v1, s[4:5] offset:<<-||>>4
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a wide load that reaches beyond the end",
        OutOfBounds,
        "global_load_dwordx4 v[4:7], v1, s[4:5] offset:<<764||756>>
         s_waitcnt vmcnt(0)
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a null pointer",
        OutOfBounds,
        "v_mov_b32 v2, <<0||s4>>
         v_mov_b32 v3, <<0||s5>>
         global_load_dword v4, v[2:3], off
         s_waitcnt vmcnt(0)
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a scalar load beyond the end",
        OutOfBounds,
        "s_load_dwordx2 s[8:9], s[4:5], <<0x3fc||0x3f8>>
         s_waitcnt lgkmcnt(0)
         v_mov_b32 v2, s8
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a buffer whose extent lies",
        OutOfBounds,
        "s_mov_b32 s8, s4
         s_and_b32 s9, s5, 0xffff
         s_mov_b32 s10, <<0x7ffffffe||0x400>>
         s_mov_b32 s11, 0x27000
         v_lshlrev_b32 v2, 5, v0
         buffer_load_dword v3, v2, s[8:11], 0 offen
         s_waitcnt vmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a resource that is none",
        BadDescriptor,
        "s_mov_b32 s8, s4
         s_and_b32 s9, s5, 0xffff
         s_mov_b32 s10, 0x400
         s_mov_b32 s11, <<0xc0027000||0x27000>>
         buffer_load_dword v3, v1, s[8:11], 0 offen
         s_waitcnt vmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new("an LDS write beyond the workgroup's", OutOfBounds, "ds_write_b32 v1, v0 offset:<<772||768>>"),
    Fault::new("scratch beyond the work item's", OutOfBounds, "scratch_store_dword off, v0, off offset:<<64||60>>"),
    Fault::new(
        "a dword at an odd address",
        Misaligned,
        "global_load_dword v2, v1, s[4:5] offset:<<2||4>>
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a wide LDS access at an address for a narrow one",
        Misaligned,
        "v_lshlrev_b32 v2, 4, v0
         v_and_b32 v2, 0x1f0, v2
         v_mov_b32 v4, 0
         v_mov_b32 v5, 0
         v_mov_b32 v6, 0
         v_mov_b32 v7, 0
         ds_write_b128 v2, v[4:7] offset:<<8||16>>",
    ),
    Fault::new(
        "an atomic across words",
        Misaligned,
        "v_mov_b32 v2, 1
         v_mov_b32 v3, 0
         <<||v_lshlrev_b32 v1, 3, v0>>
         global_atomic_add_x2 v1, v[2:3], s[4:5]",
    ),
    Fault::new(
        "memory read that nobody wrote",
        UninitializedRead,
        "global_load_dword v2, v1, s[<<6:7||4:5>>]
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7] offset:256",
    ),
    Fault::new(
        "LDS read that nobody wrote",
        UninitializedRead,
        "ds_write_b32 v1, v0
         ds_read_b32 v2, v1 <<offset:4||>>
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "scratch read that was not written",
        UninitializedRegister,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 0
         <<scratch_store_dword off, v2, off offset:4||scratch_store_dwordx2 off, v[2:3], off>>
         scratch_load_dwordx2 v[4:5], off, off
         s_waitcnt vmcnt(0)
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a register stored that nobody wrote",
        UninitializedRegister,
        "<<||v_mov_b32 v2, 0>>
         v_add_u32 v3, v2, v0
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a bit field of a register that nobody wrote",
        UninitializedRegister,
        "s_mov_b32 s20, 5
         s_bfe_i64 s[22:23], s[20:21], <<0x80020||0x80000>>
         v_mov_b32 v3, s23
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "an address from a register that nobody wrote",
        UninitializedRegister,
        "<<||v_mov_b32 v2, 0>>
         global_load_dword v3, v2, s[4:5]
         s_waitcnt vmcnt(0)
         v_mov_b32 v3, 0
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a branch on a condition that nobody set",
        UninitializedRegister,
        "<<||s_cmp_lg_u32 s2, 0>>
         s_cbranch_scc1 .Lskip
         global_store_dword v1, v0, s[6:7]
         .Lskip:",
    ),
    Fault::new(
        "an execution mask from registers that nobody wrote",
        UninitializedRegister,
        "<<||s_mov_b64 s[20:21], -1>>
         s_and_b64 exec, exec, s[20:21]
         global_store_dword v1, v0, s[6:7]",
    ),
    Fault::new(
        "a wave that leaves before the barrier",
        BarrierDivergence,
        "v_cmp_gt_u32 vcc, 64, v0
         <<s_cbranch_vccz .Ldone||>>
         s_barrier
         .Ldone:
         global_store_dword v1, v0, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        // With a barrier for the others behind, halves of the workgroup take turns, as compilers have it.
        "waves that pass different numbers of barriers",
        BarrierDivergence,
        "v_cmp_gt_u32 vcc, 64, v0
         s_cbranch_vccz .Lother
         s_barrier
         .Lother:
         s_barrier
         global_store_dword v1, v0, s[6:7]
         s_cbranch_vccnz .Ldone
         <<||s_barrier>>
         .Ldone:",
    )
    .of(1, 128),
    Fault::new(
        "a matrix result read too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 4
         v_mfma_f32_32x32x2_f32 v[16:31], v2, v3, 0
         s_nop <<9||15
         s_nop 1>>
         v_add_f32 v4, 1.0, v16
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a matrix result stored too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 4
         v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[2:3], 0
         s_nop <<3||6>>
         global_store_dword v1, v16, s[6:7]",
    ),
    Fault::new(
        "a matrix result taken as a factor too early",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         s_nop 4
         v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[2:3], 0
         <<||s_nop 6>>
         v_mfma_f32_16x16x16_f16 v[20:23], v[16:17], v[2:3], 0
         s_nop 15
         global_store_dword v1, v20, s[6:7]",
    ),
    Fault::new(
        "an addend overwritten while the matrix core reads it",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         v_mov_b32 v20, 0
         v_mov_b32 v21, 0
         v_mov_b32 v22, 0
         v_mov_b32 v23, 0
         s_nop 4
         v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[2:3], v[20:23]
         <<||s_nop 2>>
         v_mov_b32 v20, 1.0
         s_nop 15
         global_store_dword v1, v16, s[6:7]",
    ),
    Fault::new(
        "a factor too young for the matrix core",
        Hazard,
        "v_mov_b32 v2, 1.0
         v_mov_b32 v3, 1.0
         <<||s_nop 1>>
         v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[2:3], 0
         s_nop 15
         global_store_dword v1, v16, s[6:7]",
    ),
    Fault::new(
        "a register read through DPP right after it was written",
        Hazard,
        "v_mov_b32 v2, v0
         v_mov_b32 v3, 0
         <<||s_nop 0>>
         v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a transcendental result read at once",
        Hazard,
        "v_cvt_f32_u32 v2, v0
         v_exp_f32 v2, v2
         <<||s_nop 0>>
         v_add_f32 v2, 1.0, v2
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a comparison's mask read at once",
        Hazard,
        "v_cmp_gt_u32 vcc, 7, v0
         <<||s_nop 1>>
         v_cndmask_b32 v2, 1, v0, vcc
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a scalar from the vector unit given to memory at once",
        Hazard,
        "s_mov_b32 s8, s4
         s_and_b32 s9, s5, 0xffff
         s_mov_b32 s10, 0x400
         s_mov_b32 s11, 0x27000
         v_readfirstlane_b32 s12, v0
         <<||s_nop 4>>
         buffer_load_dword v3, v1, s[8:11], s12 offen
         s_waitcnt vmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a lane number from the vector unit used at once",
        Hazard,
        "v_readfirstlane_b32 s12, v0
         s_nop <<1||3>>
         v_readlane_b32 s13, v0, s12
         v_mov_b32 v2, 0
         s_nop 1
         v_mov_b32 v2, s13
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "the data of a wide store overwritten at once",
        Hazard,
        "v_mov_b32 v4, 0
         v_mov_b32 v5, 0
         v_mov_b32 v6, 0
         v_mov_b32 v7, 0
         v_lshlrev_b32 v2, 4, v0
         global_store_dwordx4 v2, v[4:7], s[6:7]
         <<||s_nop 1>>
         v_mov_b32 v5, 1",
    ),
];
