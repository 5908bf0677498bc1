//! The other matrix instructions: factors of two formats, scaled and sparse ones of CDNA, and those of RDNA 3 and 4, with the layouts
//! written down once more.

use crate::asm::{Result, Source, run_clean};
use tegula_vgpu::numeric::{Format, Overflow, Rounding, bf16_to_f32, f16_to_f32};

/// Numbers that are exact in every format, as a format's bits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Float(Format),
    Int8,
    Unsigned8,
    Int4,
}

use Kind::{Float, Int4, Int8, Unsigned8};

impl Kind {
    fn bits(self) -> usize {
        match self {
            Float(format) => format.bits() as usize,
            Int8 | Unsigned8 => 8,
            Int4 => 4,
        }
    }

    fn is_integer(self) -> bool {
        !matches!(self, Float(_))
    }

    fn encode(self, value: i32) -> u32 {
        match self {
            Float(format) => format.encode(f64::from(value), Rounding::NearestEven, Overflow::Infinite) as u32,
            _ => value as u32 & ((1 << self.bits()) - 1),
        }
    }
}

/// Small factors that tell every place apart; none is negative where there are no signs.
fn factor(kind: Kind, which: usize, at: usize, k: usize) -> i32 {
    let value = ((which * 5 + at * 7 + k * 11 + at * k) % 7) as i32;
    if kind == Unsigned8 { value * 30 } else { value - 3 }
}

/// The registers of each lane, as the program reads them: operand after operand.
struct Registers {
    lanes: Vec<Vec<u32>>,
}

impl Registers {
    fn new(lanes: usize) -> Self {
        Self { lanes: vec![Vec::new(); lanes] }
    }

    /// Appends an operand of elements by lane and number.
    fn push(&mut self, count: usize, bits: usize, element: impl Fn(usize, usize) -> u32) -> usize {
        let registers = (count * bits).div_ceil(32);
        for (lane, words) in self.lanes.iter_mut().enumerate() {
            let start = words.len();
            words.resize(start + registers, 0);
            for n in 0..count {
                let at = n * bits;
                let value = u64::from(element(lane, n)) << (at % 32);
                words[start + at / 32] |= value as u32;
                if value >> 32 != 0 {
                    words[start + at / 32 + 1] |= (value >> 32) as u32;
                }
            }
        }
        registers
    }

    fn words(&self) -> Vec<u32> {
        self.lanes.concat()
    }
}

fn range(first: usize, count: usize) -> String {
    if count == 1 { format!("v{first}") } else { format!("v[{first}:{}]", first + count - 1) }
}

/// Runs one instruction whose operands lie from v32 on in the order in which they were pushed, with the sum in v8 and those that follow.
fn run(arch: &str, registers: &Registers, sum: usize, start: &str, instruction: &str) -> Result<Option<Vec<u32>>> {
    let lanes = registers.lanes.len();
    let per_lane = registers.lanes[0].len();
    let (wait, kernel_wait, load, store, add, carry) = match arch {
        "gfx1100" => ("s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "b32", "b32", "s_add_u32", "s_addc_u32"),
        "gfx1201" => ("s_wait_loadcnt 0x0", "s_wait_kmcnt 0x0", "b32", "b32", "s_add_co_u32", "s_add_co_ci_u32"),
        _ => ("s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "dword", "dword", "s_add_u32", "s_addc_u32"),
    };
    let scalar = if arch.starts_with("gfx9") { "s_load_dwordx4" } else { "s_load_b128" };
    let mut body = format!("{scalar} s[4:7], s[0:1], 0x0\n v_mul_u32_u24 v1, {}, v0\n {kernel_wait}\n", per_lane * 4);
    for n in 0..per_lane {
        body += &format!("global_load_{load} v{}, v1, s[4:5] offset:{}\n", 32 + n, n * 4);
    }
    for n in 0..sum {
        body += &format!("v_mov_b32 v{}, {start}\n", 8 + n);
    }
    body += &format!("{wait}\n v_lshlrev_b32 v1, 2, v0\n s_nop 4\n {instruction}\n s_nop 15\n s_nop 15\n");
    for n in 0..sum {
        body +=
            &format!("global_store_{store} v1, v{}, s[6:7]\n {add} s6, s6, {}\n {carry} s7, s7, 0\n", 8 + n, lanes * 4);
    }
    run_clean(Source { arch, ..Source::new(&body, 2) }, lanes as u32, &[&registers.words()], sum * lanes)
}

/// Where an element of a sum of CDNA's lies: register and lane.
fn place(m: usize, row: usize, column: usize) -> (usize, usize) {
    match m {
        32 => (row / 8 * 4 + row % 4, column + 32 * (row / 4 % 2)),
        _ => (row % 4, column + 16 * (row / 4)),
    }
}

#[test]
fn factors_of_two_formats() -> Result<()> {
    let (fp8, bf8) = (Float(Format::E4M3_FNUZ), Float(Format::E5M2_FNUZ));
    for (m, k, extents) in [(16, 32, "16x16x32"), (32, 16, "32x32x16")] {
        for (name, a, b) in [("fp8_bf8", fp8, bf8), ("bf8_fp8", bf8, fp8), ("fp8_fp8", fp8, fp8), ("bf8_bf8", bf8, bf8)]
        {
            let mut registers = Registers::new(64);
            registers.push(8, 8, |lane, e| a.encode(factor(a, 0, lane % m, lane / m * 8 + e)));
            registers.push(8, 8, |lane, e| b.encode(factor(b, 1, lane % m, lane / m * 8 + e)));
            let sum = m * m / 64;
            let d = range(8, sum);
            let instruction = format!("v_mfma_f32_{extents}_{name} {d}, v[32:33], v[34:35], {d}");
            let Some(out) = run("gfx942", &registers, sum, "2.0", &instruction)? else { return Ok(()) };
            for at in 0..m * m {
                let (row, column) = (at / m, at % m);
                let (register, lane) = place(m, row, column);
                let expected: i32 = (0..k).map(|p| factor(a, 0, row, p) * factor(b, 1, column, p)).sum();
                assert_eq!(
                    f32::from_bits(out[register * 64 + lane]),
                    expected as f32 + 2.0,
                    "{name} ({row}, {column})"
                );
            }
        }
    }
    Ok(())
}

/// Two of every four places.
const PLACES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

#[test]
fn sparse_factors() -> Result<()> {
    let (f16, bf16) = (Float(Format::F16), Float(Format::BF16));
    let (fp8, bf8) = (Float(Format::E4M3_FNUZ), Float(Format::E5M2_FNUZ));
    let (e4m3, e5m2) = (Float(Format::E4M3), Float(Format::E5M2));
    let rows = [
        ("gfx942", "v_smfmac_f32_16x16x32_f16", 16, 32, f16, f16),
        ("gfx942", "v_smfmac_f32_32x32x16_f16", 32, 16, f16, f16),
        ("gfx942", "v_smfmac_f32_16x16x32_bf16", 16, 32, bf16, bf16),
        ("gfx942", "v_smfmac_f32_32x32x16_bf16", 32, 16, bf16, bf16),
        ("gfx942", "v_smfmac_i32_16x16x64_i8", 16, 64, Int8, Int8),
        ("gfx942", "v_smfmac_i32_32x32x32_i8", 32, 32, Int8, Int8),
        ("gfx942", "v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, fp8, fp8),
        ("gfx942", "v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, fp8, bf8),
        ("gfx942", "v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, bf8, fp8),
        ("gfx942", "v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, bf8, bf8),
        ("gfx942", "v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, fp8, fp8),
        ("gfx942", "v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, fp8, bf8),
        ("gfx942", "v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, bf8, fp8),
        ("gfx942", "v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, bf8, bf8),
        ("gfx950", "v_smfmac_f32_16x16x64_f16", 16, 64, f16, f16),
        ("gfx950", "v_smfmac_f32_32x32x32_f16", 32, 32, f16, f16),
        ("gfx950", "v_smfmac_f32_16x16x64_bf16", 16, 64, bf16, bf16),
        ("gfx950", "v_smfmac_f32_32x32x32_bf16", 32, 32, bf16, bf16),
        ("gfx950", "v_smfmac_i32_16x16x128_i8", 16, 128, Int8, Int8),
        ("gfx950", "v_smfmac_i32_32x32x64_i8", 32, 64, Int8, Int8),
        ("gfx950", "v_smfmac_f32_16x16x128_fp8_fp8", 16, 128, e4m3, e4m3),
        ("gfx950", "v_smfmac_f32_16x16x128_fp8_bf8", 16, 128, e4m3, e5m2),
        ("gfx950", "v_smfmac_f32_16x16x128_bf8_fp8", 16, 128, e5m2, e4m3),
        ("gfx950", "v_smfmac_f32_16x16x128_bf8_bf8", 16, 128, e5m2, e5m2),
        ("gfx950", "v_smfmac_f32_32x32x64_fp8_fp8", 32, 64, e4m3, e4m3),
        ("gfx950", "v_smfmac_f32_32x32x64_fp8_bf8", 32, 64, e4m3, e5m2),
        ("gfx950", "v_smfmac_f32_32x32x64_bf8_fp8", 32, 64, e5m2, e4m3),
        ("gfx950", "v_smfmac_f32_32x32x64_bf8_bf8", 32, 64, e5m2, e5m2),
    ];
    for (arch, name, m, k, a, b) in rows {
        let (stored, dense) = (m * k / 2 / 64, m * k / 64);
        // The places of a lane's elements, pair by pair.
        let places = |lane: usize, pair: usize| PLACES[(lane * 5 + pair * 3) % 6];
        let sets = 32 / (stored * 2);
        for set in 0..sets {
            let mut registers = Registers::new(64);
            let a_registers =
                registers.push(stored, a.bits(), |lane, e| a.encode(factor(a, 0, lane % m, lane / m * stored + e)));
            let b_registers =
                registers.push(dense, b.bits(), |lane, e| b.encode(factor(b, 1, lane % m, lane / m * dense + e)));
            // Other sets hold other places.
            registers.push(1, 32, |lane, _| {
                let indices = |shift: usize| {
                    (0..stored).fold(0, |all, e| all | (places(lane + shift, e / 2)[e % 2] as u32) << (e * 2))
                };
                (0..sets).fold(0, |all, n| all | indices((n + sets - set) % sets) << (n * stored * 2))
            });
            let sum = m * m / 64;
            let instruction = format!(
                "{name} {}, {}, {}, v{} abid:{set}",
                range(8, sum),
                range(32, a_registers),
                range(32 + a_registers, b_registers),
                32 + a_registers + b_registers
            );
            let start = if a.is_integer() { "3" } else { "2.0" };
            let Some(out) = run(arch, &registers, sum, start, &instruction)? else { return Ok(()) };
            for at in 0..m * m {
                let (row, column) = (at / m, at % m);
                let (register, lane) = place(m, row, column);
                let expected: i32 = (0..64 / m)
                    .flat_map(|group| (0..stored).map(move |e| (group, e)))
                    .map(|(group, e)| {
                        let p = group * dense + e / 2 * 4 + places(row + m * group, e / 2)[e % 2];
                        factor(a, 0, row, group * stored + e) * factor(b, 1, column, p)
                    })
                    .sum();
                let got = out[register * 64 + lane];
                let want = if a.is_integer() { (expected + 3) as u32 } else { (expected as f32 + 2.0).to_bits() };
                assert_eq!(got, want, "{name}, set {set}, ({row}, {column})");
            }
        }
    }
    Ok(())
}

/// GFX950's formats, by their number in the instruction.
const NARROW: [Format; 5] = [Format::E4M3, Format::E5M2, Format::E2M3, Format::E3M2, Format::E2M1];

#[test]
fn formats_and_scales_of_gfx950() -> Result<()> {
    for (m, k, extents) in [(16, 128, "16x16x128"), (32, 64, "32x32x64")] {
        for (which_a, a) in NARROW.into_iter().enumerate() {
            for (which_b, b) in NARROW.into_iter().enumerate().skip(which_a % 2).step_by(2) {
                for scaled in [false, true] {
                    let number = |which: usize, at: usize, p: usize| factor(Int8, which, at, p) / 2;
                    let encode = |format: Format, value: i32| Float(format).encode(value);
                    // Bytes lie in two halves of k, in each of which a group of lanes has 16; narrower elements in one run.
                    let place_k = |format: Format, lane: usize, e: usize| match format.bits() {
                        8 => e / 16 * (k / 2) + lane / m * 16 + e % 16,
                        _ => lane / m * 32 + e,
                    };
                    let mut registers = Registers::new(64);
                    let ra = registers
                        .push(32, a.bits() as usize, |lane, e| encode(a, number(0, lane % m, place_k(a, lane, e))));
                    let rb = registers
                        .push(32, b.bits() as usize, |lane, e| encode(b, number(1, lane % m, place_k(b, lane, e))));
                    // Each lane's 32 elements share a power of two: byte 2 of one register, byte 1 of another.
                    let exponent = |which: usize, lane: usize| 127 + (lane * (3 + which) % 5) as u32 - 2;
                    registers.push(1, 32, |lane, _| exponent(0, lane) << 16 | 0x7f00_0011);
                    registers.push(1, 32, |lane, _| exponent(1, lane) << 8 | 0x1122_0033);
                    let sum = m * m / 64;
                    let (d, operands) = (range(8, sum), format!("{}, {}", range(32, ra), range(32 + ra, rb)));
                    let formats = format!("cbsz:{which_a} blgp:{which_b}");
                    let scales = 32 + ra + rb;
                    let instruction = match scaled {
                        true => format!(
                            "v_mfma_scale_f32_{extents}_f8f6f4 {d}, {operands}, {d}, v{scales}, v{} op_sel:[0,1,0] op_sel_hi:[1,0,0] {formats}",
                            scales + 1
                        ),
                        false => format!("v_mfma_f32_{extents}_f8f6f4 {d}, {operands}, {d} {formats}"),
                    };
                    let Some(out) = run("gfx950", &registers, sum, "2.0", &instruction)? else { return Ok(()) };
                    for at in 0..m * m {
                        let (row, column) = (at / m, at % m);
                        let (register, lane) = place(m, row, column);
                        let expected: f32 = (0..k)
                            .map(|p| {
                                let group = p / 32 * m;
                                let power = |which, at| 2.0_f32.powi(exponent(which, at + group) as i32 - 127);
                                let scale = if scaled { power(0, row) * power(1, column) } else { 1.0 };
                                (number(0, row, p) * number(1, column, p)) as f32 * scale
                            })
                            .sum();
                        let got = f32::from_bits(out[register * 64 + lane]);
                        assert_eq!(got, expected + 2.0, "{extents} {formats} scaled {scaled} ({row}, {column})");
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn transposing_loads_of_gfx950() -> Result<()> {
    // Sixteen lanes hold rows of 16 elements one after another; each gets a column.
    for (bits, per_lane, name) in [
        (16, 4, "ds_read_b64_tr_b16"),
        (8, 8, "ds_read_b64_tr_b8"),
        (4, 16, "ds_read_b64_tr_b4"),
        (6, 16, "ds_read_b96_tr_b6"),
    ] {
        // Elements of six bits come in three registers, from addresses that are multiples of 16.
        let registers = bits * per_lane / 32;
        let (last, wide) = (3 + registers, ["dwordx2", "dwordx3"][registers - 2]);
        let body = format!(
            "s_load_dwordx4 s[4:7], s[0:1], 0x0
             v_mul_u32_u24 v1, {size}, v0
             v_lshlrev_b32 v2, {shift}, v0
             s_waitcnt lgkmcnt(0)
             global_load_{wide} v[4:{last}], v1, s[4:5]
             s_waitcnt vmcnt(0)
             ds_write_b{store} v2, v[4:{last}]
             s_waitcnt lgkmcnt(0)
             {name} v[4:{last}], v2
             s_waitcnt lgkmcnt(0)
             global_store_{wide} v1, v[4:{last}], s[6:7]",
            size = registers * 4,
            shift = registers + 1,
            store = registers * 32
        );
        let input: Vec<u32> = (0..64 * registers as u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 7).collect();
        let source = Source { arch: "gfx950", lds: 1024, ..Source::new(&body, 2) };
        let Some(out) = run_clean(source, 64, &[&input], 64 * registers)? else { return Ok(()) };
        let element = |words: &[u32], at: usize| {
            let bit = |n: usize| words[n / 32] >> (n % 32) & 1;
            (0..bits).fold(0, |all, n| all | bit(at * bits + n) << n)
        };
        for lane in 0..64 {
            for row in 0..per_lane {
                let got = element(&out[lane * registers..][..registers], row);
                let group = &input[lane / 16 * 16 * registers..][..16 * registers];
                assert_eq!(got, element(group, row * 16 + lane % 16), "{name}, lane {lane}, row {row}");
            }
        }
    }
    Ok(())
}

/// How RDNA 3 and 4 lay out: elements of a lane by number, and rows by register and lane.
fn wave32(arch: &str, k: usize, lane: usize, e: usize) -> usize {
    // RDNA 3 repeats all of k in both halves of the wave, RDNA 4 splits it.
    if arch == "gfx1100" { e } else { lane / 16 * k / 2 + e }
}

fn row_of(arch: &str, register: usize, lane: usize) -> usize {
    if arch == "gfx1100" { register * 2 + lane / 16 } else { register + 8 * (lane / 16) }
}

#[test]
fn products_of_rdna() -> Result<()> {
    let (f16, bf16) = (Float(Format::F16), Float(Format::BF16));
    let (fp8, bf8) = (Float(Format::E4M3), Float(Format::E5M2));
    let rows = [
        ("v_wmma_f32_16x16x16_f16", 16, f16, f16, "", false),
        ("v_wmma_f32_16x16x16_bf16", 16, bf16, bf16, "", false),
        ("v_wmma_i32_16x16x16_iu8", 16, Int8, Unsigned8, "neg_lo:[1,0,0]", false),
        ("v_wmma_i32_16x16x16_iu4", 16, Int4, Int4, "neg_lo:[1,1,0]", false),
        ("v_wmma_f32_16x16x16_fp8_bf8", 16, fp8, bf8, "", true),
        ("v_wmma_f32_16x16x16_bf8_fp8", 16, bf8, fp8, "", true),
        ("v_wmma_f32_16x16x16_fp8_fp8", 16, fp8, fp8, "", true),
        ("v_wmma_f32_16x16x16_bf8_bf8", 16, bf8, bf8, "", true),
        ("v_wmma_i32_16x16x32_iu4", 32, Int4, Int4, "neg_lo:[1,1,0]", true),
    ];
    for arch in ["gfx1100", "gfx1201"] {
        for (name, k, a, b, modifiers, only_rdna4) in rows {
            if only_rdna4 && arch == "gfx1100" {
                continue;
            }
            let per_lane = if arch == "gfx1100" { k } else { k / 2 };
            let mut registers = Registers::new(32);
            let operand = |registers: &mut Registers, which: usize, kind: Kind| {
                registers.push(per_lane, kind.bits(), |lane, e| {
                    kind.encode(factor(kind, which, lane % 16, wave32(arch, k, lane, e)))
                })
            };
            let ra = operand(&mut registers, 0, a);
            let rb = operand(&mut registers, 1, b);
            let instruction = format!("{name} v[8:15], {}, {}, v[8:15] {modifiers}", range(32, ra), range(32 + ra, rb));
            let start = if a.is_integer() { "3" } else { "2.0" };
            let Some(out) = run(arch, &registers, 8, start, &instruction)? else { return Ok(()) };
            for register in 0..8 {
                for lane in 0..32 {
                    let (row, column) = (row_of(arch, register, lane), lane % 16);
                    let expected: i32 = (0..k).map(|p| factor(a, 0, row, p) * factor(b, 1, column, p)).sum();
                    let want = if a.is_integer() { (expected + 3) as u32 } else { (expected as f32 + 2.0).to_bits() };
                    assert_eq!(out[register * 32 + lane], want, "{arch} {name} ({row}, {column})");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn products_of_rdna_with_narrow_sums() -> Result<()> {
    for arch in ["gfx1100", "gfx1201"] {
        for (name, kind, decode) in [
            ("v_wmma_f16_16x16x16_f16", Float(Format::F16), f16_to_f32 as fn(u16) -> f32),
            ("v_wmma_bf16_16x16x16_bf16", Float(Format::BF16), bf16_to_f32),
        ] {
            let per_lane = if arch == "gfx1100" { 16 } else { 8 };
            let mut registers = Registers::new(32);
            // Small enough that bf16 holds the sums.
            let number = |which: usize, at: usize, p: usize| factor(kind, which, at, p) / 2;
            for which in 0..2 {
                registers
                    .push(per_lane, 16, |lane, e| kind.encode(number(which, lane % 16, wave32(arch, 16, lane, e))));
            }
            let words = per_lane / 2;
            let (sum, last) = if arch == "gfx1100" { (8, 15) } else { (4, 11) };
            let instruction =
                format!("{name} v[8:{last}], {}, {}, v[8:{last}]", range(32, words), range(32 + words, words));
            let Some(out) = run(arch, &registers, sum, "0", &instruction)? else { return Ok(()) };
            for register in 0..8 {
                for lane in 0..32 {
                    let (row, column) = (row_of(arch, register, lane), lane % 16);
                    let expected: i32 = (0..16).map(|p| number(0, row, p) * number(1, column, p)).sum();
                    // RDNA 3 uses half of each register, RDNA 4 both halves.
                    let word =
                        if arch == "gfx1100" { out[register * 32 + lane] } else { out[register / 2 * 32 + lane] };
                    let half = if arch == "gfx1100" { word } else { word >> (register % 2 * 16) } as u16;
                    assert_eq!(decode(half), expected as f32, "{arch} {name} ({row}, {column})");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn sparse_products_of_rdna4() -> Result<()> {
    let (f16, bf16) = (Float(Format::F16), Float(Format::BF16));
    let (fp8, bf8) = (Float(Format::E4M3), Float(Format::E5M2));
    let rows = [
        ("v_swmmac_f32_16x16x32_f16", 32, f16, f16, ""),
        ("v_swmmac_f32_16x16x32_bf16", 32, bf16, bf16, ""),
        ("v_swmmac_i32_16x16x32_iu8", 32, Int8, Int8, "neg_lo:[1,1,0]"),
        ("v_swmmac_i32_16x16x32_iu4", 32, Int4, Int4, "neg_lo:[1,1,0]"),
        ("v_swmmac_i32_16x16x64_iu4", 64, Int4, Int4, "neg_lo:[1,1,0]"),
        ("v_swmmac_f32_16x16x32_fp8_fp8", 32, fp8, fp8, ""),
        ("v_swmmac_f32_16x16x32_fp8_bf8", 32, fp8, bf8, ""),
        ("v_swmmac_f32_16x16x32_bf8_fp8", 32, bf8, fp8, ""),
        ("v_swmmac_f32_16x16x32_bf8_bf8", 32, bf8, bf8, ""),
    ];
    for (name, k, a, b, modifiers) in rows {
        let (stored, dense) = (k / 4, k / 2);
        let places = |lane: usize, pair: usize| PLACES[(lane * 5 + pair * 3) % 6];
        let mut registers = Registers::new(32);
        let ra = registers.push(stored, a.bits(), |lane, e| a.encode(factor(a, 0, lane % 16, lane / 16 * stored + e)));
        let rb = registers.push(dense, b.bits(), |lane, e| b.encode(factor(b, 1, lane % 16, lane / 16 * dense + e)));
        registers
            .push(1, 32, |lane, _| (0..stored).fold(0, |all, e| all | (places(lane, e / 2)[e % 2] as u32) << (e * 2)));
        let instruction =
            format!("{name} v[8:15], {}, {}, v{} {modifiers}", range(32, ra), range(32 + ra, rb), 32 + ra + rb);
        let start = if a.is_integer() { "3" } else { "2.0" };
        let Some(out) = run("gfx1201", &registers, 8, start, &instruction)? else { return Ok(()) };
        for register in 0..8 {
            for lane in 0..32 {
                let (row, column) = (register + 8 * (lane / 16), lane % 16);
                let expected: i32 = (0..2)
                    .flat_map(|group| (0..stored).map(move |e| (group, e)))
                    .map(|(group, e)| {
                        let p = group * dense + e / 2 * 4 + places(row + 16 * group, e / 2)[e % 2];
                        factor(a, 0, row, group * stored + e) * factor(b, 1, column, p)
                    })
                    .sum();
                let want = if a.is_integer() { (expected + 3) as u32 } else { (expected as f32 + 2.0).to_bits() };
                assert_eq!(out[register * 32 + lane], want, "{name} ({row}, {column})");
            }
        }
    }
    Ok(())
}

#[test]
fn sparse_products_of_rdna4_with_narrow_sums() -> Result<()> {
    for (name, kind, decode) in [
        ("v_swmmac_f16_16x16x32_f16", Float(Format::F16), f16_to_f32 as fn(u16) -> f32),
        ("v_swmmac_bf16_16x16x32_bf16", Float(Format::BF16), bf16_to_f32),
    ] {
        // Small enough that bf16 holds the sums.
        let number = |which: usize, at: usize, p: usize| factor(kind, which, at, p) / 2;
        let places = |lane: usize, pair: usize| PLACES[(lane * 5 + pair * 3) % 6];
        let mut registers = Registers::new(32);
        registers.push(8, 16, |lane, e| kind.encode(number(0, lane % 16, lane / 16 * 8 + e)));
        registers.push(16, 16, |lane, e| kind.encode(number(1, lane % 16, lane / 16 * 16 + e)));
        registers.push(1, 32, |lane, _| (0..8).fold(0, |all, e| all | (places(lane, e / 2)[e % 2] as u32) << (e * 2)));
        let instruction = format!("{name} v[8:11], v[32:35], v[36:43], v44");
        let Some(out) = run("gfx1201", &registers, 4, "0", &instruction)? else { return Ok(()) };
        for at in 0..256 {
            let (row, column) = (at / 16, at % 16);
            let (register, lane) = (row % 8, column + 16 * (row / 8));
            let expected: i32 = (0..16)
                .map(|n| {
                    let (group, e) = (n / 8, n % 8);
                    let p = group * 16 + e / 2 * 4 + places(row + 16 * group, e / 2)[e % 2];
                    number(0, row, group * 8 + e) * number(1, column, p)
                })
                .sum();
            let half = (out[register / 2 * 32 + lane] >> (register % 2 * 16)) as u16;
            assert_eq!(decode(half), expected as f32, "{name} ({row}, {column})");
        }
    }
    Ok(())
}
