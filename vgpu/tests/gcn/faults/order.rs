//! Programs for gfx942 that do not wait, or do not wait for each other.

use super::Fault;
use tegula_vgpu::finding::FindingKind::*;

pub const FAULTS: &[Fault] = &[
    Fault::new(
        "a barrier is no wait for a load's result",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         s_barrier
         <<||s_waitcnt vmcnt(0)>>
         v_add_u32 v2, 1, v2
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "the second of two loads into one register not awaited",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         global_load_dword v2, v1, s[4:5] offset:256
         s_waitcnt vmcnt(<<1||0>>)
         v_add_u32 v2, 1, v2
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a count that a store before it has used up",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         global_store_dword v1, v0, s[6:7] offset:1024
         s_waitcnt vmcnt(<<2||1>>)
         v_add_u32 v2, 1, v2
         s_waitcnt vmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "data of a store still being loaded",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         <<||s_waitcnt vmcnt(0)>>
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "an address still being loaded",
        MissingWaitcnt,
        "global_load_dword v2, v1, s[4:5]
         v_mov_b32 v3, 0
         ds_write_b32 v1, v3
         <<||s_waitcnt vmcnt(0)>>
         v_and_b32 v5, 0xfc, v2
         s_waitcnt vmcnt(0) lgkmcnt(0)
         ds_read_b32 v3, v5
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "an atomic's old value used without a wait",
        MissingWaitcnt,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 1
         global_atomic_add v4, v2, v3, s[4:5] sc0
         <<||s_waitcnt vmcnt(0)>>
         v_add_u32 v4, 1, v4
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "a buffer load into accumulation registers not awaited",
        MissingWaitcnt,
        "s_mov_b32 s8, s4
         s_and_b32 s9, s5, 0xffff
         s_mov_b32 s10, 0x400
         s_mov_b32 s11, 0x27000
         buffer_load_dword a2, v1, s[8:11], 0 offen
         <<||s_waitcnt vmcnt(0)>>
         v_accvgpr_read_b32 v3, a2
         s_waitcnt vmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    ),
    Fault::new(
        "a load by generic address from the LDS awaited as one from memory",
        MissingWaitcnt,
        "ds_write_b32 v1, v0
         s_waitcnt lgkmcnt(0)
         s_mov_b64 s[8:9], src_shared_base
         v_mov_b32 v3, s9
         v_mov_b32 v2, v1
         flat_load_dword v4, v[2:3]
         s_waitcnt vmcnt(0)<<|| lgkmcnt(0)>>
         v_add_u32 v4, 1, v4
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v4, s[6:7]",
    ),
    Fault::new(
        "scratch read back without a wait",
        MissingWaitcnt,
        "scratch_store_dword off, v0, off offset:8
         scratch_load_dword v2, off, off offset:8
         <<||s_waitcnt vmcnt(0)>>
         v_add_u32 v2, 1, v2
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a scalar overwritten while a load into it is outstanding",
        MissingWaitcnt,
        "s_load_dword s8, s[4:5], 0x0
         <<||s_waitcnt lgkmcnt(0)>>
         s_mov_b32 s8, 3
         s_waitcnt lgkmcnt(0)
         v_mov_b32 v2, s8
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "the time read without a wait",
        MissingWaitcnt,
        "s_memtime s[8:9]
         <<||s_waitcnt lgkmcnt(0)>>
         v_mov_b32 v2, s8
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a wave's own load into the LDS not awaited",
        MissingWaitcnt,
        "v_mov_b32 v3, 0
         ds_write_b32 v1, v3
         s_waitcnt lgkmcnt(0)
         s_mov_b32 m0, 0
         s_nop 0
         global_load_lds_dword v1, s[4:5]
         <<||s_waitcnt vmcnt(0)>>
         ds_read_b32 v2, v1
         s_waitcnt vmcnt(0) lgkmcnt(0)
         global_store_dword v1, v2, s[6:7]",
    ),
    Fault::new(
        "a load into the LDS where other waves may still read",
        SharedRace,
        "ds_write_b32 v1, v0
         s_waitcnt lgkmcnt(0)
         s_barrier
         v_xor_b32 v2, 0x100, v1
         ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         <<||s_barrier>>
         v_readfirstlane_b32 s12, v1
         s_mov_b32 m0, s12
         s_nop 0
         global_load_lds_dword v1, s[4:5]
         s_waitcnt vmcnt(0)
         s_barrier
         ds_read_b32 v4, v2
         s_waitcnt lgkmcnt(0)
         v_add_u32 v3, v3, v4
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "a load into the LDS that began before the readers were done, and was awaited behind the barrier",
        SharedRace,
        "ds_write_b32 v1, v0
         v_readfirstlane_b32 s12, v1
         s_mov_b32 m0, s12
         s_waitcnt lgkmcnt(0)
         s_barrier
         v_xor_b32 v2, 0x100, v1
         <<global_load_lds_dword v1, s[4:5]
         ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         s_barrier||ds_read_b32 v3, v2
         s_waitcnt lgkmcnt(0)
         s_barrier
         global_load_lds_dword v1, s[4:5]>>
         s_waitcnt vmcnt(0)
         s_barrier
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "a read of the LDS outstanding at the barrier that lets others overwrite it",
        SharedRace,
        "ds_write_b32 v1, v0
         s_waitcnt lgkmcnt(0)
         s_barrier
         v_xor_b32 v2, 0x100, v1
         ds_read_b32 v3, v2
         <<||s_waitcnt lgkmcnt(0)>>
         s_barrier
         ds_write_b32 v1, v1
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "a read of the LDS issued before the barrier and awaited behind it",
        SharedRace,
        "ds_write_b32 v1, v0
         s_waitcnt lgkmcnt(0)
         v_xor_b32 v2, 0x100, v1
         <<ds_read_b32 v3, v2
         s_barrier||s_barrier
         ds_read_b32 v3, v2>>
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "halves of words of the LDS read without a barrier",
        SharedRace,
        "v_lshlrev_b32 v2, 1, v0
         ds_write_b16 v2, v0
         s_waitcnt lgkmcnt(0)
         v_xor_b32 v2, 0x80, v2
         <<||s_barrier>>
         ds_read_u16 v3, v2
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "halves of one word written by two waves, then read by one of them",
        SharedRace,
        "v_lshrrev_b32 v2, 6, v0
         v_and_b32 v3, 63, v0
         v_lshl_add_u32 v2, v3, 1, v2
         v_lshlrev_b32 v2, 1, v2
         ds_write_b16 v2, v0
         s_waitcnt lgkmcnt(0)
         <<||s_barrier>>
         v_and_b32 v2, 0xfc, v2
         ds_read_b32 v4, v2
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v4, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "an atomic on the LDS against a plain read",
        SharedRace,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 1
         ds_write_b32 v1, v0
         s_waitcnt lgkmcnt(0)
         s_barrier
         ds_add_u32 v2, v3
         <<||s_waitcnt lgkmcnt(0)
         s_barrier>>
         ds_read_b32 v4, v2
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v4, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "pairs of an LDS exchange against another wave",
        SharedRace,
        "v_lshlrev_b32 v2, 3, v0
         v_and_b32 v2, <<0x1f8||0x3f8>>, v2
         v_mov_b32 v3, v0
         v_mov_b32 v4, v0
         ds_write2_b32 v2, v3, v4 offset0:0 offset1:1
         s_waitcnt lgkmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "an atomic on memory against a plain store by another workgroup",
        GlobalRace,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 1
         s_cmp_lg_u32 s2, 0
         s_cbranch_scc1 .Lother
         global_atomic_add v2, v3, s[4:5]
         s_branch .Ldone
         .Lother:
         <<global_store_dword||global_atomic_add>> v2, v3, s[4:5]
         .Ldone:",
    )
    .of(2, 64),
    Fault::new(
        "a word read while another workgroup adds to it; harmless where a compare-and-swap follows",
        GlobalRace,
        "v_mov_b32 v2, 0
         v_mov_b32 v3, 1
         s_cmp_lg_u32 s2, 0
         s_cbranch_scc1 .Lother
         global_atomic_add v2, v3, s[4:5]
         s_branch .Ldone
         .Lother:
         global_load_dword v5, v2, s[4:5]
         s_waitcnt vmcnt(0)
         v_add_u32 v4, v5, v3
         <<||global_atomic_cmpswap v2, v[4:5], s[4:5]>>
         .Ldone:",
    )
    .of(2, 64),
    Fault::new(
        "bytes of one word written by one workgroup and read by another",
        GlobalRace,
        "v_mov_b32 v2, s2
         v_mov_b32 v3, 1
         global_store_byte v2, v3, s[4:5]
         s_waitcnt vmcnt(0)
         v_xor_b32 v2, <<1||2>>, v2
         global_load_ubyte v4, v2, s[4:5]
         s_waitcnt vmcnt(0)
         s_lshl_b32 s8, s2, 8
         v_add_u32 v1, s8, v1
         global_store_dword v1, v4, s[6:7]",
    )
    .of(2, 64),
    Fault::new(
        "what another wave stored, read without a barrier",
        GlobalRace,
        "global_store_dword v1, v0, s[4:5]
         s_waitcnt vmcnt(0)
         <<||s_barrier>>
         v_xor_b32 v2, 0x100, v1
         global_load_dword v3, v2, s[4:5]
         s_waitcnt vmcnt(0)
         global_store_dword v1, v3, s[6:7]",
    )
    .of(1, 128),
    Fault::new(
        "a scalar load of what a lane of another wave stores",
        GlobalRace,
        "v_readfirstlane_b32 s8, v0
         s_cmp_lg_u32 s8, 0
         s_cbranch_scc1 .Lread
         v_mov_b32 v2, 0
         v_mov_b32 v3, 1
         global_store_dword v2, v3, s[4:5]
         s_branch .Ldone
         .Lread:
         s_load_dword s9, s[4:5], <<0x0||0x20>>
         s_waitcnt lgkmcnt(0)
         v_mov_b32 v2, s9
         global_store_dword v1, v2, s[6:7]
         .Ldone:",
    )
    .of(1, 128),
];
