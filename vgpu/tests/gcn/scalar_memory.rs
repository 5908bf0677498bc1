//! Scalar stores and atomics, through the scalar cache and buffer resources.

use crate::asm::{POINTERS, Result, Source, run, run_clean};
use tegula_vgpu::finding::FindingKind;

#[test]
fn stores_of_every_width_and_offset() -> Result<()> {
    let body = format!(
        "{POINTERS}
        s_load_dwordx4 s[12:15], s[4:5], 0x0
        s_movk_i32 s8, 32
        s_movk_i32 s9, 1
        s_add_u32 s20, s6, 48
        s_addc_u32 s21, s7, 0
        s_waitcnt lgkmcnt(0)
        s_store_dword s12, s[6:7], 0x4
        s_store_dwordx2 s[12:13], s[6:7], 0x8
        s_store_dwordx4 s[12:15], s[6:7], s8
        s_store_dword s15, s[20:21], -0x30
        s_scratch_store_dwordx2 s[14:15], s[6:7], s9
        s_waitcnt lgkmcnt(0)
        s_scratch_load_dwordx4 s[24:27], s[6:7], 0x20
        s_waitcnt lgkmcnt(0)
        s_store_dwordx4 s[24:27], s[6:7], 0x30
        s_store_dwordx2 s[26:27], s[6:7], 0x10
        s_store_dwordx2 s[24:25], s[6:7], 0x18
        s_store_dwordx2 s[24:25], s[6:7], 0x48
        s_dcache_wb"
    );
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&[1, 2, 3, 4]], 20)? else { return Ok(()) };
    assert_eq!(out, [4, 1, 1, 2, 3, 4, 1, 2, 1, 2, 3, 4, 1, 2, 3, 4, 3, 4, 1, 2]);
    Ok(())
}

#[test]
fn buffers_bound_scalar_stores_and_atomics() -> Result<()> {
    // A buffer of 20 bytes: of a wide store only the words in range are written, and an atomic beyond the end gives zero.
    let body = format!(
        "{POINTERS}
        s_mov_b32 s8, s6
        s_and_b32 s9, s7, 0xffff
        s_mov_b32 s10, 20
        s_mov_b32 s11, 0x27000
        s_load_dwordx4 s[12:15], s[4:5], 0x0
        s_mov_b32 s16, 7
        s_mov_b32 s17, 9
        s_waitcnt lgkmcnt(0)
        s_store_dwordx4 s[12:15], s[6:7], 0x0
        s_store_dwordx4 s[12:15], s[6:7], 0x10
        s_waitcnt lgkmcnt(0)
        s_buffer_store_dwordx2 s[14:15], s[8:11], 0x10
        s_buffer_atomic_add s16, s[8:11], 0x0 glc
        s_buffer_atomic_add s17, s[8:11], 0x14 glc
        s_waitcnt lgkmcnt(0)
        s_store_dwordx2 s[16:17], s[6:7], 0x20
        s_dcache_wb"
    );
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&[1, 2, 3, 4]], 10)? else { return Ok(()) };
    assert_eq!(out, [8, 2, 3, 4, 3, 2, 3, 4, 1, 0]);
    Ok(())
}

/// A scalar atomic: its name without `_x2`, and what it makes of old value and operand in so many bits.
type Update = fn(u64, u64, u32) -> u64;

const UPDATES: &[(&str, Update)] = &[
    ("swap", |_, data, _| data),
    ("add", |old, data, _| old.wrapping_add(data)),
    ("sub", |old, data, _| old.wrapping_sub(data)),
    ("smin", |old, data, bits| if signed(data, bits) < signed(old, bits) { data } else { old }),
    ("umin", |old, data, _| old.min(data)),
    ("smax", |old, data, bits| if signed(data, bits) > signed(old, bits) { data } else { old }),
    ("umax", |old, data, _| old.max(data)),
    ("and", |old, data, _| old & data),
    ("or", |old, data, _| old | data),
    ("xor", |old, data, _| old ^ data),
    ("inc", |old, data, _| if old >= data { 0 } else { old + 1 }),
    ("dec", |old, data, _| if old == 0 || old > data { data } else { old - 1 }),
];

fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

#[test]
fn atomics_of_both_widths() -> Result<()> {
    // Every operation on its own word, by address without and through a buffer with the old value.
    let pairs: [(u64, u64); 4] =
        [(5, 9), (0xffff_ffff_ffff_fff0, 3), (0, 7), (0x8000_0000_8000_0000, 0x7fff_ffff_7fff_ffff)];
    for wide in [false, true] {
        let (bytes, suffix, bits) = if wide { (8, "_x2", 64) } else { (4, "", 32) };
        let data = if wide { "s[16:17]" } else { "s16" };
        let (old, new) = if wide { ("s[18:19]", "s[20:21]") } else { ("s18", "s20") };
        let copy = if wide { "s[20:21], s[16:17]" } else { "s20, s16" };
        let width = if wide { "dwordx2" } else { "dword" };
        let mut body = format!(
            "{POINTERS}
            s_mov_b32 s8, s6
            s_and_b32 s9, s7, 0xffff
            s_mov_b32 s10, 0x1000
            s_mov_b32 s11, 0x27000
            "
        );
        for (n, (name, _)) in UPDATES.iter().enumerate() {
            for pair in 0..pairs.len() {
                let at = (n * pairs.len() + pair) * 16;
                body += &format!(
                    "s_load_{width} {old}, s[4:5], {from:#x}
                    s_load_{width} {data}, s[4:5], {from:#x}+8
                    s_waitcnt lgkmcnt(0)
                    s_store_{width} {old}, s[6:7], {at:#x}
                    s_mov_b{bits} {copy}
                    s_waitcnt lgkmcnt(0)
                    s_atomic_{name}{suffix} {new}, s[6:7], {at:#x}
                    s_waitcnt lgkmcnt(0)
                    s_load_{width} s[22:23], s[6:7], {at:#x}
                    s_waitcnt lgkmcnt(0)
                    s_buffer_atomic_swap{suffix} {old}, s[8:11], {at:#x} glc
                    s_waitcnt lgkmcnt(0)
                    s_store_{width} {old}, s[6:7], {at:#x}+8
                    s_waitcnt lgkmcnt(0)
                    ",
                    from = pair * 16,
                )
                .replace("s_load_dword s[22:23]", "s_load_dword s22");
            }
        }
        body += "s_dcache_wb";
        let input: Vec<u32> = pairs
            .iter()
            .flat_map(|&(old, data)| [old as u32, (old >> 32) as u32, data as u32, (data >> 32) as u32])
            .collect();
        let words = UPDATES.len() * pairs.len() * 4;
        let Some((out, outcome)) = run(Source::new(&body, 2), 64, &[&input], words)? else { return Ok(()) };
        assert!(outcome.is_clean(), "{}", outcome.findings[0]);
        let mask = if wide { u64::MAX } else { 0xffff_ffff };
        for (n, (name, update)) in UPDATES.iter().enumerate() {
            for (pair, &(old, data)) in pairs.iter().enumerate() {
                let at = (n * pairs.len() + pair) * 4;
                let value = |at: usize| u64::from(out[at]) | if wide { u64::from(out[at + 1]) << 32 } else { 0 };
                let expected = update(old & mask, data & mask, bits) & mask;
                assert_eq!(value(at + 2), expected, "{name}{suffix} of {old:#x} and {data:#x}");
                assert_eq!(value(at), old & mask, "{name}{suffix}, {bytes} bytes: the exchange put the old value back");
            }
        }
    }
    Ok(())
}

#[test]
fn compare_and_swap() -> Result<()> {
    // New value first, comparison second; the first fails, the second succeeds.
    let body = format!(
        "{POINTERS}
        s_load_dword s8, s[4:5], 0x0
        s_waitcnt lgkmcnt(0)
        s_store_dword s8, s[6:7], 0x0
        s_mov_b32 s12, 100
        s_mov_b32 s13, 6
        s_mov_b32 s14, 200
        s_mov_b32 s15, 5
        s_waitcnt lgkmcnt(0)
        s_atomic_cmpswap s[12:13], s[6:7], 0x0 glc
        s_waitcnt lgkmcnt(0)
        s_atomic_cmpswap s[14:15], s[6:7], 0x0 glc
        s_waitcnt lgkmcnt(0)
        s_store_dword s12, s[6:7], 0x4
        s_store_dword s14, s[6:7], 0x8
        s_dcache_wb"
    );
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&[5]], 3)? else { return Ok(()) };
    assert_eq!(out, [200, 5, 5]);
    Ok(())
}

#[test]
fn waits_and_write_backs_are_needed() -> Result<()> {
    // An atomic's result without a wait, and a store that the cache may keep.
    let body = format!(
        "{POINTERS}
        s_mov_b32 s8, 1
        s_store_dword s8, s[6:7], 0x0
        s_waitcnt lgkmcnt(0)
        s_atomic_add s8, s[6:7], 0x0 glc
        s_add_u32 s9, s8, 1"
    );
    let Some((_, outcome)) = run(Source::new(&body, 2), 64, &[&[0]], 1)? else { return Ok(()) };
    let kinds: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::UnfinishedAsync, FindingKind::MissingWaitcnt]);
    let body = format!("{POINTERS}\n s_mov_b32 s8, 1\n s_store_dword s8, s[6:7], 0x10");
    let Some((_, outcome)) = run(Source::new(&body, 2), 64, &[&[0]], 1)? else { return Ok(()) };
    assert_eq!(outcome.findings[0].kind, FindingKind::OutOfBounds);
    Ok(())
}
