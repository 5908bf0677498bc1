//! Matrix instructions against a plain product, with the layouts written down once more from the ISA documents.

use crate::asm::{Result, Source, run_clean};
use tegula_vgpu::numeric::{Format, Overflow, Rounding};

/// An instruction: its name, extents, blocks, registers of a factor, elements of a factor in a lane, and their format.
struct Shape {
    name: &'static str,
    m: usize,
    n: usize,
    k: usize,
    blocks: usize,
    registers: usize,
    format: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Float(Format),
    Int8,
}

impl Kind {
    fn bits(self) -> usize {
        match self {
            Self::Float(format) => format.bits() as usize,
            Self::Int8 => 8,
        }
    }

    /// A small number, exact in every format.
    fn encode(self, value: i32) -> u64 {
        match self {
            Self::Float(format) => format.encode(f64::from(value), Rounding::NearestEven, Overflow::Infinite),
            Self::Int8 => u64::from(value as u8),
        }
    }
}

/// Small factors that tell every place apart.
fn factor(which: usize, block: usize, at: usize, k: usize) -> i32 {
    ((which * 5 + block * 3 + at * 7 + k * 11) % 9) as i32 - 4
}

fn check(shape: &Shape) -> Result<()> {
    let (m, n, k, blocks) = (shape.m, shape.n, shape.k, shape.blocks);
    let sum_registers = m * n * blocks / 64;
    let per_lane = m * k * blocks / 64;
    let integer = shape.format == Kind::Int8;
    // Registers of both factors, lane by lane.
    let mut input = vec![0_u32; 64 * shape.registers * 2];
    for which in 0..2 {
        let extent = if which == 0 { m } else { n };
        for lane in 0..64 {
            for e in 0..per_lane {
                // Lanes go through rows, then blocks, then groups of k.
                let at = lane % extent;
                let block = lane / extent % blocks;
                let p = lane / extent / blocks * per_lane + e;
                let bits = shape.format.encode(factor(which, block, at, p));
                let place = e * shape.format.bits();
                input[(lane * 2 + which) * shape.registers + place / 32] |= (bits as u32) << (place % 32);
            }
        }
    }
    let stride = shape.registers * 8;
    let load = match shape.registers {
        1 => "dwordx2",
        2 => "dwordx4",
        _ => "",
    };
    let registers = |first: usize, count: usize| {
        if count == 1 { format!("v{first}") } else { format!("v[{first}:{}]", first + count - 1) }
    };
    let load = if load.is_empty() {
        "    global_load_dwordx4 v[2:5], v1, s[4:5]\n    global_load_dwordx4 v[6:9], v1, s[4:5] offset:16\n".to_owned()
    } else {
        format!("    global_load_{load} {}, v1, s[4:5]\n", registers(2, shape.registers * 2))
    };
    let clear: String = (0..sum_registers)
        .map(|r| format!("    v_mov_b32 v{}, {}\n", 16 + r, if integer { "3" } else { "2.0" }))
        .collect();
    let store: String = (0..sum_registers)
        .map(|r| {
            format!(
                "    global_store_dword v1, v{}, s[6:7]\n    s_add_u32 s6, s6, 256\n    s_addc_u32 s7, s7, 0\n",
                16 + r
            )
        })
        .collect();
    let body = format!(
        "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_mul_u32_u24 v1, {stride}, v0
    s_waitcnt lgkmcnt(0)
{load}{clear}    s_waitcnt vmcnt(0)
    s_nop 4
    {name} {d}, {a}, {b}, {d}
    s_nop 15
    s_nop 15
    v_lshlrev_b32 v1, 2, v0
{store}",
        name = shape.name,
        d = registers(16, sum_registers),
        a = registers(2, shape.registers),
        b = registers(2 + shape.registers, shape.registers),
    );
    let arch = if shape.registers > 2 { "gfx950" } else { "gfx942" };
    let source = Source { arch, ..Source::new(&body, 2) };
    let Some(out) = run_clean(source, 64, &[&input], sum_registers * 64)? else { return Ok(()) };
    for block in 0..blocks {
        for row in 0..m {
            for column in 0..n {
                let (register, lane) = match m {
                    32 => (block * 16 + row / 8 * 4 + row % 4, column + 32 * (row / 4 % 2)),
                    16 => (block * 4 + row % 4, column + 16 * (row / 4)),
                    _ => (row, column + 4 * block),
                };
                let product: i32 = (0..k).map(|p| factor(0, block, row, p) * factor(1, block, column, p)).sum();
                let expected = if integer { (product + 3) as u32 } else { (product as f32 + 2.0).to_bits() };
                assert_eq!(out[register * 64 + lane], expected, "{} at ({row}, {column}) of block {block}", shape.name);
            }
        }
    }
    Ok(())
}

#[test]
fn every_shape_of_cdna() -> Result<()> {
    use Format as F;
    let float = Kind::Float;
    let rows = [
        ("v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, 1, float(F::F32)),
        ("v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, 4, 1, float(F::F32)),
        ("v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, 1, float(F::F32)),
        ("v_mfma_f32_32x32x2_f32", 32, 32, 2, 1, 1, float(F::F32)),
        ("v_mfma_f32_16x16x4_f32", 16, 16, 4, 1, 1, float(F::F32)),
        ("v_mfma_f32_16x16x8_xf32", 16, 16, 8, 1, 2, float(F::F32)),
        ("v_mfma_f32_32x32x4_xf32", 32, 32, 4, 1, 2, float(F::F32)),
        ("v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, 2, float(F::F16)),
        ("v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, 2, float(F::F16)),
        ("v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, 2, float(F::F16)),
        ("v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, 2, float(F::F16)),
        ("v_mfma_f32_16x16x16_f16", 16, 16, 16, 1, 2, float(F::F16)),
        ("v_mfma_f32_32x32x4_2b_bf16", 32, 32, 4, 2, 2, float(F::BF16)),
        ("v_mfma_f32_16x16x4_4b_bf16", 16, 16, 4, 4, 2, float(F::BF16)),
        ("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 4, 16, 2, float(F::BF16)),
        ("v_mfma_f32_32x32x8_bf16", 32, 32, 8, 1, 2, float(F::BF16)),
        ("v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, 2, float(F::BF16)),
        ("v_mfma_i32_32x32x4_2b_i8", 32, 32, 4, 2, 1, Kind::Int8),
        ("v_mfma_i32_16x16x4_4b_i8", 16, 16, 4, 4, 1, Kind::Int8),
        ("v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, 1, Kind::Int8),
        ("v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, 2, Kind::Int8),
        ("v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, 2, Kind::Int8),
        ("v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, 1, 2, float(F::E4M3_FNUZ)),
        ("v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, 1, 2, float(F::E5M2_FNUZ)),
        ("v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, 4, float(F::F16)),
        ("v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, 4, float(F::BF16)),
        ("v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, 4, Kind::Int8),
        ("v_mfma_f32_16x16x32_f16", 16, 16, 32, 1, 4, float(F::F16)),
        ("v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, 4, float(F::BF16)),
        ("v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, 4, Kind::Int8),
    ];
    for (name, m, n, k, blocks, registers, format) in rows {
        check(&Shape { name, m, n, k, blocks, registers, format })?;
    }
    Ok(())
}

#[test]
fn doubles() -> Result<()> {
    let body = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    s_waitcnt lgkmcnt(0)
    global_load_dwordx4 v[2:5], v1, s[4:5]
    s_waitcnt vmcnt(0)
    s_nop 4
    v_mfma_f64_16x16x4_f64 v[16:23], v[2:3], v[4:5], 0
    v_mfma_f64_4x4x4_4b_f64 v[24:25], v[2:3], v[4:5], 1.0
    s_nop 15
    s_nop 15
    v_mul_u32_u24 v1, 40, v0
    global_store_dwordx4 v1, v[16:19], s[6:7]
    global_store_dwordx4 v1, v[20:23], s[6:7] offset:16
    global_store_dwordx2 v1, v[24:25], s[6:7] offset:32
";
    let value = |which: usize, lane: usize| f64::from(factor(which, 1, lane % 16, lane / 16)) + 0.5;
    let input: Vec<u32> = (0..64)
        .flat_map(|lane| [value(0, lane), value(1, lane)])
        .flat_map(|v| [v.to_bits() as u32, (v.to_bits() >> 32) as u32])
        .collect();
    let Some(out) = run_clean(Source::new(body, 2), 64, &[&input], 640)? else { return Ok(()) };
    let double = |lane: usize, n: usize| {
        f64::from_bits(u64::from(out[lane * 10 + n * 2]) | u64::from(out[lane * 10 + n * 2 + 1]) << 32)
    };
    for lane in 0..64 {
        for register in 0..4 {
            let (row, column) = (register * 4 + lane / 16, lane % 16);
            let expected: f64 = (0..4).map(|k| value(0, row + 16 * k) * value(1, column + 16 * k)).sum();
            assert_eq!(double(lane, register), expected, "({row}, {column})");
        }
        // Four blocks of 4 by 4: the row is the group of lanes.
        let (row, block, column) = (lane / 16, lane / 4 % 4, lane % 4);
        let expected: f64 =
            (0..4).map(|k| value(0, row + 4 * block + 16 * k) * value(1, column + 4 * block + 16 * k)).sum();
        assert_eq!(double(lane, 4), expected + 1.0, "({row}, {column}) of block {block}");
    }
    Ok(())
}

#[test]
fn broadcasts_of_blocks_and_lanes() -> Result<()> {
    // 4 by 4 blocks with the first factor of block 2 of each four for all four, and the second factor rotated by 16 lanes.
    let body = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 3, v0
    s_waitcnt lgkmcnt(0)
    global_load_dwordx2 v[2:3], v1, s[4:5]
    s_waitcnt vmcnt(0)
    s_nop 4
    v_mfma_f32_4x4x1_16b_f32 v[4:7], v2, v3, 0 cbsz:2 abid:2 blgp:3
    s_nop 15
    v_lshlrev_b32 v1, 4, v0
    global_store_dwordx4 v1, v[4:7], s[6:7]
";
    let input: Vec<u32> = (0..128).map(|n| (n as f32 + 1.0).to_bits()).collect();
    let Some(out) = run_clean(Source::new(body, 2), 64, &[&input], 256)? else { return Ok(()) };
    let at = |lane: usize, which: usize| f32::from_bits(input[lane * 2 + which]);
    for lane in 0..64 {
        for row in 0..4 {
            let block = lane / 4;
            let first = at(row + 4 * (block / 4 * 4 + 2), 0);
            let second = at((lane + 16) % 64, 1);
            assert_eq!(f32::from_bits(out[lane * 4 + row]), first * second, "lane {lane}, row {row}");
        }
    }
    Ok(())
}

#[test]
fn sparse() -> Result<()> {
    // Every lane's four stored elements are of places 1, 3 and 0, 2; the second set of indices is chosen.
    let body = "
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_mul_u32_u24 v1, 24, v0
    s_waitcnt lgkmcnt(0)
    global_load_dwordx2 v[2:3], v1, s[4:5]
    global_load_dwordx4 v[4:7], v1, s[4:5] offset:8
    v_mov_b32 v8, 0x8d00
    s_waitcnt vmcnt(0)
    v_mov_b32 v12, 1.0
    v_mov_b32 v13, 1.0
    v_mov_b32 v14, 1.0
    v_mov_b32 v15, 1.0
    s_nop 4
    v_smfmac_f32_16x16x32_f16 v[12:15], v[2:3], v[4:7], v8 abid:1
    s_nop 15
    v_lshlrev_b32 v1, 4, v0
    global_store_dwordx4 v1, v[12:15], s[6:7]
";
    let half = |value: i32| Format::F16.encode(f64::from(value), Rounding::NearestEven, Overflow::Infinite) as u32;
    let stored = |lane: usize, e: usize| factor(0, 0, lane % 16, lane / 16 * 4 + e);
    let dense = |column: usize, k: usize| factor(1, 0, column, k);
    let mut input = Vec::new();
    for lane in 0..64 {
        for pair in 0..2 {
            input.push(half(stored(lane, pair * 2)) | half(stored(lane, pair * 2 + 1)) << 16);
        }
        for pair in 0..4 {
            let k = lane / 16 * 8 + pair * 2;
            input.push(half(dense(lane % 16, k)) | half(dense(lane % 16, k + 1)) << 16);
        }
    }
    let Some(out) = run_clean(Source::new(body, 2), 64, &[&input], 256)? else { return Ok(()) };
    for lane in 0..64 {
        for register in 0..4 {
            let (row, column) = (lane / 16 * 4 + register, lane % 16);
            let expected: i32 = (0..4)
                .flat_map(|group| (0..4).map(move |e| (group, e)))
                .map(|(group, e)| stored(row + 16 * group, e) * dense(column, group * 8 + [1, 3, 4, 6][e]))
                .sum();
            assert_eq!(f32::from_bits(out[lane * 4 + register]), expected as f32 + 1.0, "({row}, {column})");
        }
    }
    Ok(())
}
