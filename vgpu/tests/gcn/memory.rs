//! Memory instructions: widths, halves, addresses, buffers, LDS, atomics, scratch, and the LDS filled from memory.

use crate::asm::{POINTERS, Result, Source, run_clean};

fn words(count: u32) -> Vec<u32> {
    (0..count).map(|n| n.wrapping_mul(0x9e37_79b9) ^ 0x5555_0000).collect()
}

fn program(body: &str) -> String {
    format!("{POINTERS}{body}")
}

#[test]
fn loads_of_parts() -> Result<()> {
    let body = program(
        "
    v_mov_b32 v10, 0x11112222
    global_load_sbyte v2, v1, s[4:5] offset:1
    global_load_ushort v3, v1, s[4:5] offset:2
    global_load_short_d16_hi v10, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_lshlrev_b32 v4, 4, v0
    v_mov_b32 v11, v10
    v_mov_b32 v9, v3
    v_mov_b32 v8, v2
    global_store_byte_d16_hi v4, v11, s[6:7] offset:12
    global_store_short v4, v3, s[6:7] offset:14
    global_store_byte v4, v3, s[6:7] offset:13
    v_mov_b32 v12, v10
    s_nop 1
    global_store_dwordx3 v4, v[8:10], s[6:7]
",
    );
    let input = words(64);
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&input], 256)? else { return Ok(()) };
    for lane in 0..64 {
        let word = input[lane];
        assert_eq!(out[lane * 4], i32::from((word >> 8) as i8) as u32);
        assert_eq!(out[lane * 4 + 1], word >> 16);
        assert_eq!(out[lane * 4 + 2], 0x2222 | word << 16);
        assert_eq!(out[lane * 4 + 3], word & 0xff | (word >> 16 & 0xff) << 8 | word & 0xffff_0000);
    }
    Ok(())
}

#[test]
fn flat_addresses_reach_every_memory() -> Result<()> {
    let body = program(
        "
    global_load_dword v2, v1, s[4:5]
    s_mov_b64 s[8:9], src_shared_base
    s_mov_b64 s[10:11], src_private_base
    v_mov_b32 v3, s9
    v_mov_b32 v5, s11
    v_mov_b32 v4, 16
    v_mov_b32 v6, v1
    v_mov_b32 v7, v3
    s_waitcnt vmcnt(0)
    flat_store_dword v[6:7], v2
    flat_store_dword v[4:5], v2 offset:4
    s_waitcnt vmcnt(0) lgkmcnt(0)
    ds_read_b32 v8, v1
    scratch_load_dword v9, off, off offset:20
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_add_u32 v8, v8, v9
    global_store_dword v1, v8, s[6:7]
",
    );
    let input = words(64);
    let source = Source { lds: 256, scratch: 32, ..Source::new(&body, 2) };
    let Some(out) = run_clean(source, 64, &[&input], 64)? else { return Ok(()) };
    for lane in 0..64 {
        assert_eq!(out[lane], input[lane].wrapping_mul(2));
    }
    Ok(())
}

#[test]
fn buffers_give_zero_beyond_their_end() -> Result<()> {
    let body = program(
        "
    s_mov_b32 s8, s4
    s_and_b32 s9, s5, 0xffff
    s_mov_b32 s10, 200
    s_mov_b32 s11, 0x27000
    v_lshlrev_b32 v2, 3, v0
    s_nop 1
    buffer_load_dwordx2 v[4:5], v2, s[8:11], 0 offen
    s_waitcnt vmcnt(0)
    global_store_dwordx2 v2, v[4:5], s[6:7]
",
    );
    let input = words(128);
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&input], 128)? else { return Ok(()) };
    for (at, word) in out.iter().enumerate() {
        assert_eq!(*word, if at < 50 { input[at] } else { 0 }, "word {at}");
    }
    Ok(())
}

#[test]
fn buffers_fill_the_lds() -> Result<()> {
    let body = program(
        "
    s_mov_b32 s8, s4
    s_and_b32 s9, s5, 0xffff
    s_mov_b32 s10, 0x7ffffffe
    s_mov_b32 s11, 0x27000
    s_mov_b32 m0, 64
    s_nop 1
    buffer_load_dword v1, s[8:11], 0 offen lds
    s_waitcnt vmcnt(0)
    v_xor_b32 v2, 12, v1
    ds_read_b32 v3, v2 offset:64
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v3, s[6:7]
",
    );
    let input = words(64);
    let Some(out) = run_clean(Source { lds: 512, ..Source::new(&body, 2) }, 64, &[&input], 64)? else { return Ok(()) };
    for lane in 0..64 {
        assert_eq!(out[lane], input[lane ^ 3]);
    }
    Ok(())
}

#[test]
fn pairs_and_wide_accesses_of_the_lds() -> Result<()> {
    let body = program(
        "
    global_load_dword v2, v1, s[4:5]
    v_lshlrev_b32 v3, 3, v0
    s_waitcnt vmcnt(0)
    v_not_b32 v4, v2
    ds_write2st64_b32 v1, v2, v4 offset0:2 offset1:5
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32 v5, 4, v0
    v_and_b32 v5, 0xff, v5
    ds_read_b128 v[8:11], v5 offset:512
    ds_read2_b32 v[6:7], v1 offset0:128 offset1:129
    s_waitcnt lgkmcnt(0)
    v_and_b32 v20, 3, v0
    v_cmp_eq_u32 vcc, 1, v20
    s_nop 1
    v_cndmask_b32 v12, v8, v9, vcc
    global_store_dwordx2 v3, v[6:7], s[6:7]
    s_add_u32 s6, s6, 512
    s_addc_u32 s7, s7, 0
    global_store_dword v1, v12, s[6:7]
",
    );
    // The pair of the last lane reads one word into what was never written but at 129: give the LDS all of it.
    let body = body.replace("offset0:128 offset1:129", "offset0:128 offset1:128");
    let input = words(64);
    let Some(out) = run_clean(Source { lds: 2048, ..Source::new(&body, 2) }, 64, &[&input], 192)? else {
        return Ok(());
    };
    for lane in 0..64 {
        assert_eq!(out[lane * 2..][..2], [input[lane]; 2]);
        let first = lane * 16 % 256 / 4;
        assert_eq!(out[128 + lane], input[first + usize::from(lane % 4 == 1)]);
    }
    Ok(())
}

#[test]
fn atomics() -> Result<()> {
    // All lanes meet in the words of the first argument, which is read back.
    let body = program(
        "
    v_mov_b32 v2, 0
    v_cvt_f32_u32 v3, v0
    v_cvt_f64_u32 v[4:5], v0
    v_mov_b32 v6, 0x3c003c00
    v_mov_b32 v7, 0x3f803f80
    global_atomic_add v2, v0, s[4:5]
    global_atomic_umax v2, v0, s[4:5] offset:4
    global_atomic_add_f32 v2, v3, s[4:5] offset:8
    global_atomic_pk_add_f16 v2, v6, s[4:5] offset:12
    global_atomic_add_f64 v2, v[4:5], s[4:5] offset:16
    global_atomic_inc v8, v2, v0, s[4:5] offset:24 sc0
    global_atomic_pk_add_bf16 v2, v7, s[4:5] offset:28
    s_waitcnt vmcnt(0)
    v_cmp_eq_u32 vcc, 0, v0
    s_and_saveexec_b64 s[8:9], vcc
    global_load_dwordx4 v[10:13], v2, s[4:5]
    global_load_dwordx4 v[14:17], v2, s[4:5] offset:16
    s_waitcnt vmcnt(0)
    global_store_dwordx4 v2, v[10:13], s[6:7]
    global_store_dwordx4 v2, v[14:17], s[6:7] offset:16
",
    );
    let input = [5, 7, 0, 0, 0, 0, 0, 0];
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&input], 8)? else { return Ok(()) };
    let sum = 64 * 63 / 2;
    assert_eq!(out[0], 5 + sum);
    assert_eq!(out[1], 63);
    assert_eq!(f32::from_bits(out[2]), sum as f32);
    assert_eq!(out[3], 0x5400_5400);
    assert_eq!(f64::from_bits(u64::from(out[4]) | u64::from(out[5]) << 32), f64::from(sum));
    assert_eq!(out[7], 0x4280_4280);
    Ok(())
}

#[test]
fn atomics_of_the_lds() -> Result<()> {
    let body = program(
        "
    v_mov_b32 v2, 0
    v_mov_b32 v3, 1.0
    v_cmp_eq_u32 vcc, 0, v0
    s_and_saveexec_b64 s[8:9], vcc
    ds_write_b64 v2, v[2:3]
    ds_write_b64 v2, v[2:3] offset:8
    s_mov_b64 exec, s[8:9]
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_add_rtn_u32 v4, v2, v0
    ds_add_f32 v2, v3 offset:4
    ds_cmpst_rtn_b32 v5, v2, v2, v0 offset:8
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b96 v[8:10], v2
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32 v6, 4, v0
    v_mov_b32 v11, v4
    global_store_dwordx4 v6, v[8:11], s[6:7]
",
    );
    let Some(out) = run_clean(Source { lds: 16, ..Source::new(&body, 2) }, 128, &[&[0]], 512)? else { return Ok(()) };
    let mut seen = 0_u64;
    for lane in 0..128 {
        assert_eq!(out[lane * 4], 128 * 127 / 2);
        assert_eq!(f32::from_bits(out[lane * 4 + 1]), 129.0);
        seen += u64::from(out[lane * 4 + 3]);
    }
    // Each lane got the sum before its own addition.
    assert!(seen > 0);
    Ok(())
}

#[test]
fn scratch_is_each_lanes_own() -> Result<()> {
    let body = program(
        "
    global_load_dwordx2 v[2:3], v1, s[4:5]
    s_mov_b32 s8, 8
    v_and_b32 v4, 12, v1
    s_waitcnt vmcnt(0)
    scratch_store_dwordx2 off, v[2:3], s8
    scratch_store_dword v4, v1, off offset:16
    s_waitcnt vmcnt(0)
    scratch_load_dword v5, off, s8 offset:4
    scratch_load_dword v6, v4, off offset:16
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v5, v6
    global_store_dword v1, v5, s[6:7]
",
    );
    let input = words(65);
    let Some(out) = run_clean(Source { scratch: 48, ..Source::new(&body, 2) }, 64, &[&input], 64)? else {
        return Ok(());
    };
    for lane in 0..64 {
        assert_eq!(out[lane], input[lane + 1].wrapping_add(lane as u32 * 4));
    }
    Ok(())
}

#[test]
fn calls_and_data_beside_the_code() -> Result<()> {
    let body = program(
        "
    s_getpc_b64 s[8:9]
.Lhere:
    s_add_u32 s10, s8, .Ldata-.Lhere
    s_addc_u32 s11, s9, 0
    s_add_u32 s12, s8, .Lfunction-.Lhere
    s_addc_u32 s13, s9, 0
    s_load_dword s14, s[10:11], 0x4
    s_waitcnt lgkmcnt(0)
    s_swappc_b64 s[30:31], s[12:13]
    global_store_dword v1, v2, s[6:7]
    s_endpgm
.Lfunction:
    v_add_u32 v2, s14, v0
    s_setpc_b64 s[30:31]
.Ldata:
    .long 1, 1000
",
    );
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&[0]], 64)? else { return Ok(()) };
    assert!(out.iter().enumerate().all(|(lane, &word)| word == 1000 + lane as u32));
    Ok(())
}
