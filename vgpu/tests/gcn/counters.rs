//! Counters against programs whose costs were counted by hand.

use crate::asm::{Result, Source, run};
use tegula_vgpu::counters::Class;

#[test]
fn sectors_conflicts_and_instructions() -> Result<()> {
    let body = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_lshlrev_b32 v2, 7, v0
    v_and_b32 v3, 31, v0
    v_lshlrev_b32 v4, 4, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v5, v1, s[4:5]
    global_load_dword v6, v2, s[4:5]
    ds_write_b32 v1, v0
    v_lshlrev_b32 v7, 3, v0
    v_and_b32 v7, 0xff, v7
    s_waitcnt vmcnt(0) lgkmcnt(0)
    ds_read_b32 v8, v7
    s_barrier
    s_waitcnt lgkmcnt(0)
    global_store_dwordx4 v4, v[0:3], s[6:7]
";
    let input = vec![1; 64 * 32];
    let source = Source { lds: 256, ..Source::new(body, 2) };
    let Some((_, outcome)) = run(source, 64, &[&input], 256)? else { return Ok(()) };
    let counters = outcome.counters;
    // 256 bytes in a row are 8 sectors; one word of every 128 bytes takes one each.
    assert_eq!(counters.global_load_sectors, 8 + 64);
    assert_eq!(counters.global_load_bytes, 2 * 256);
    assert_eq!((counters.global_store_sectors, counters.global_store_bytes), (32, 1024));
    // Every second bank: words 0, 2 .. 62 of half a wave meet two to a bank, in each half.
    assert_eq!(counters.shared_accesses, 2);
    assert_eq!(counters.bank_conflict_cycles, 2);
    assert_eq!(counters.barriers, 1);
    assert_eq!(counters.of(Class::Global), 3);
    assert_eq!(counters.of(Class::Shared), 2);
    assert_eq!(counters.of(Class::Integer), 6);
    Ok(())
}

#[test]
fn matrix_work() -> Result<()> {
    let body = "
    s_load_dwordx2 s[6:7], s[0:1], 0x0
    v_mov_b32 v2, 0
    v_mov_b32 v3, 0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    s_nop 4
    v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], 0
    v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[2:3], v[16:31]
    s_nop 15
    global_store_dword v1, v16, s[6:7]
";
    let Some((_, outcome)) = run(Source::new(body, 1), 64, &[], 64)? else { return Ok(()) };
    assert!(outcome.is_clean());
    assert_eq!(outcome.counters.matrix_multiply_adds, 2 * 32 * 32 * 8);
    assert_eq!(outcome.counters.of(Class::Matrix), 2);
    Ok(())
}
