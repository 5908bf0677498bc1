//! Every atomic operation in every memory: by address, generic address, buffer, and in the LDS; with the old value returned and without.

use crate::asm::{Result, Source, other_addresses, registers, run_clean};
use tegula_vgpu::numeric::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// What memory holds after an operation on its old content with an operand; compare-and-swap has a second one.
type Update = fn(old: u64, data: u64, second: u64) -> u64;

/// An operation by its names: on memory, in the LDS; empty where there is none.
struct Op {
    memory: &'static str,
    lds: &'static str,
    bytes: usize,
    /// Words with two operands: the second is compared with.
    compares: bool,
    update: Update,
}

const fn op(memory: &'static str, lds: &'static str, bytes: usize, update: Update) -> Op {
    Op { memory, lds, bytes, compares: false, update }
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn halves(old: u64, data: u64, decode: fn(u16) -> f32, encode: fn(f32) -> u16) -> u64 {
    let sum = |shift: u32| u64::from(encode(decode((old >> shift) as u16) + decode((data >> shift) as u16))) << shift;
    sum(0) | sum(16)
}

#[rustfmt::skip]
const OPS: &[Op] = &[
    op("swap", "wrxchg_rtn_b32", 4, |_, d, _| d),
    op("swap_x2", "wrxchg_rtn_b64", 8, |_, d, _| d),
    op("add", "add_u32", 4, |o, d, _| (o as u32).wrapping_add(d as u32).into()),
    op("add_x2", "add_u64", 8, |o, d, _| o.wrapping_add(d)),
    op("sub", "sub_u32", 4, |o, d, _| (o as u32).wrapping_sub(d as u32).into()),
    op("sub_x2", "sub_u64", 8, |o, d, _| o.wrapping_sub(d)),
    op("", "rsub_u32", 4, |o, d, _| (d as u32).wrapping_sub(o as u32).into()),
    op("", "rsub_u64", 8, |o, d, _| d.wrapping_sub(o)),
    op("smin", "min_i32", 4, |o, d, _| ((o as i32).min(d as i32) as u32).into()),
    op("smin_x2", "min_i64", 8, |o, d, _| (o as i64).min(d as i64) as u64),
    op("umin", "min_u32", 4, |o, d, _| o.min(d)),
    op("umin_x2", "min_u64", 8, |o, d, _| o.min(d)),
    op("smax", "max_i32", 4, |o, d, _| ((o as i32).max(d as i32) as u32).into()),
    op("smax_x2", "max_i64", 8, |o, d, _| (o as i64).max(d as i64) as u64),
    op("umax", "max_u32", 4, |o, d, _| o.max(d)),
    op("umax_x2", "max_u64", 8, |o, d, _| o.max(d)),
    op("and", "and_b32", 4, |o, d, _| o & d),
    op("and_x2", "and_b64", 8, |o, d, _| o & d),
    op("or", "or_b32", 4, |o, d, _| o | d),
    op("or_x2", "or_b64", 8, |o, d, _| o | d),
    op("xor", "xor_b32", 4, |o, d, _| o ^ d),
    op("xor_x2", "xor_b64", 8, |o, d, _| o ^ d),
    op("inc", "inc_u32", 4, |o, d, _| if o >= d { 0 } else { o + 1 }),
    op("inc_x2", "inc_u64", 8, |o, d, _| if o >= d { 0 } else { o + 1 }),
    op("dec", "dec_u32", 4, |o, d, _| if o == 0 || o > d { d } else { o - 1 }),
    op("dec_x2", "dec_u64", 8, |o, d, _| if o == 0 || o > d { d } else { o - 1 }),
    op("add_f32", "add_f32", 4, |o, d, _| (single(o) + single(d)).to_bits().into()),
    op("add_f64", "add_f64", 8, |o, d, _| (f64::from_bits(o) + f64::from_bits(d)).to_bits()),
    op("min_f64", "min_f64", 8, |o, d, _| f64::from_bits(o).min(f64::from_bits(d)).to_bits()),
    op("max_f64", "max_f64", 8, |o, d, _| f64::from_bits(o).max(f64::from_bits(d)).to_bits()),
    op("", "min_f32", 4, |o, d, _| single(o).min(single(d)).to_bits().into()),
    op("", "max_f32", 4, |o, d, _| single(o).max(single(d)).to_bits().into()),
    op("pk_add_f16", "pk_add_f16", 4, |o, d, _| halves(o, d, f16_to_f32, f32_to_f16)),
    op("pk_add_bf16", "pk_add_bf16", 4, |o, d, _| halves(o, d, bf16_to_f32, f32_to_bf16)),
    Op { memory: "cmpswap", lds: "cmpst_b32", bytes: 4, compares: true, update: |o, d, c| if o == c { d } else { o } },
    Op { memory: "cmpswap_x2", lds: "cmpst_b64", bytes: 8, compares: true, update: |o, d, c| if o == c { d } else { o } },
    Op { memory: "", lds: "cmpst_f32", bytes: 4, compares: true, update: |o, d, c| if single(o) == single(c) { d } else { o } },
    Op { memory: "", lds: "cmpst_f64", bytes: 8, compares: true, update: |o, d, c| {
        if f64::from_bits(o) == f64::from_bits(c) { d } else { o }
    } },
    Op { memory: "", lds: "mskor_b32", bytes: 4, compares: true, update: |o, d, c| o & !d | c },
    Op { memory: "", lds: "mskor_b64", bytes: 8, compares: true, update: |o, d, c| o & !d | c },
];

/// Old content, operand, second operand, by lane. Floats of all widths are ordinary numbers.
fn values(lane: usize, bytes: usize, float: bool) -> [u64; 3] {
    let mix = |n: u64| (lane as u64 * 3 + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let of = |n: u64| {
        let bits = match (float, bytes) {
            (true, 4) => 0x3c00_3c00 + (mix(n) & 0x03ff_03ff),
            (true, _) => 0x3ff0_0000_0000_0000 + (mix(n) >> 12),
            // Small ones too, so that some are equal and some wrap.
            _ if lane.is_multiple_of(2) => mix(n) % 4,
            _ => mix(n),
        };
        if bytes == 4 { bits & 0xffff_ffff } else { bits }
    };
    let old = of(0);
    [old, of(1), if lane.is_multiple_of(3) { old } else { of(2) }]
}

/// Where an operation is carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Memory {
    Global,
    Flat,
    Buffer,
    Lds,
}

/// The instruction: the operands in v[8:9] and v[10:11], the old value to v[12:13].
fn instruction(op: &Op, memory: Memory, returns: bool) -> Option<String> {
    let words = op.bytes / 4;
    let (data, second, result) = (registers(8, words), registers(10, words), registers(12, words));
    if memory == Memory::Lds {
        let swap = op.lds.starts_with("wrxchg");
        if op.lds.is_empty() || (swap && !returns) {
            return None;
        }
        let name = match (returns && !swap, op.lds.rsplit_once('_')) {
            (true, Some((stem, kind))) => format!("{stem}_rtn_{kind}"),
            _ => op.lds.to_owned(),
        };
        let result = if returns { format!("{result}, ") } else { String::new() };
        // The comparison comes before the new value.
        let operands = match (op.compares, op.lds.starts_with("mskor")) {
            (true, false) => format!("{second}, {data}"),
            (true, true) => format!("{data}, {second}"),
            _ => data,
        };
        return Some(format!("ds_{name} {result}v6, {operands}"));
    }
    if op.memory.is_empty() || (memory == Memory::Buffer && op.memory == "pk_add_bf16") {
        return None;
    }
    // New value and comparison lie together.
    let data = if op.compares { registers(8, words * 2) } else { data };
    let scope = if returns { " sc0" } else { "" };
    let name = op.memory;
    Some(match (memory, returns) {
        (Memory::Buffer, true) => format!(
            "v_mov_b32 v12, v8\n{}buffer_atomic_{name} {}, v6, s[8:11], 0 offen{scope}",
            copies(words * if op.compares { 2 } else { 1 }),
            registers(12, words * if op.compares { 2 } else { 1 })
        ),
        (Memory::Buffer, false) => format!("buffer_atomic_{name} {data}, v6, s[8:11], 0 offen"),
        (Memory::Global, true) => format!("global_atomic_{name} {result}, v6, {data}, s[6:7]{scope}"),
        (Memory::Global, false) => format!("global_atomic_{name} v6, {data}, s[6:7]"),
        (_, true) => format!("flat_atomic_{name} {result}, v[4:5], {data}{scope}"),
        (_, false) => format!("flat_atomic_{name} v[4:5], {data}"),
    })
}

/// Buffer atomics return into the registers of their operands: copies of these.
fn copies(count: usize) -> String {
    (1..count).map(|n| format!("v_mov_b32 v{}, v{}\n", 12 + n, 8 + n)).collect()
}

fn check(memory: Memory) -> Result<()> {
    for returns in [false, true] {
        let cases: Vec<_> = OPS.iter().filter_map(|op| instruction(op, memory, returns).map(|asm| (op, asm))).collect();
        let mut body = String::from(
            "s_load_dwordx4 s[4:7], s[0:1], 0x0
             v_mul_u32_u24 v1, 24, v0
             v_lshlrev_b32 v2, 4, v0
             v_lshlrev_b32 v6, 3, v0
             s_waitcnt lgkmcnt(0)\n",
        );
        for (op, asm) in &cases {
            let words = op.bytes / 4;
            let wide = if words == 2 { "dwordx2" } else { "dword" };
            let (old, data, second) = (registers(3 + 27, words), registers(8, words), registers(8 + words, words));
            // Operands of compare-and-swap lie together in memory's form, and apart in the LDS's.
            let second = if memory == Memory::Lds { registers(10, words) } else { second };
            body += &format!(
                "global_load_{wide} {old}, v1, s[4:5]
                 global_load_{wide} {data}, v1, s[4:5] offset:8
                 s_waitcnt vmcnt(0)\n"
            );
            if op.compares {
                body += &format!("global_load_{wide} {second}, v1, s[4:5] offset:16\n s_waitcnt vmcnt(0)\n");
            }
            body += "v_mov_b32 v12, 0\n v_mov_b32 v13, 0\n v_mov_b32 v14, 0\n v_mov_b32 v15, 0\n";
            if words == 1 {
                body += "v_mov_b32 v31, 0\n";
            }
            // Memory is where the result will be: eight bytes a lane, then the old values.
            body += &match memory {
                Memory::Lds => format!("ds_write_b{} v6, {old}\n s_waitcnt lgkmcnt(0)\n", op.bytes * 8),
                _ => format!("global_store_{wide} v6, {old}, s[6:7]\n s_waitcnt vmcnt(0)\n"),
            };
            body += &other_addresses(512);
            body += &format!("{asm}\n s_waitcnt vmcnt(0) lgkmcnt(0)\n");
            body += &match memory {
                Memory::Lds => format!("ds_read_b{} {old}, v6\n s_waitcnt lgkmcnt(0)\n", op.bytes * 8),
                _ => format!("global_load_{wide} {old}, v6, s[6:7]\n s_waitcnt vmcnt(0)\n"),
            };
            body += "global_store_dwordx2 v6, v[30:31], s[6:7] offset:512
                     global_store_dwordx2 v6, v[12:13], s[6:7] offset:1024
                     s_add_u32 s6, s6, 0x600\n s_addc_u32 s7, s7, 0
                     s_add_u32 s4, s4, 0x600\n s_addc_u32 s5, s5, 0\n s_nop 4\n";
        }
        let float = |op: &Op| op.memory.contains("_f") || op.lds.contains("_f") || op.memory.contains("pk_");
        let words: Vec<u32> = cases
            .iter()
            .flat_map(|(op, _)| {
                (0..64).flat_map(|lane| values(lane, op.bytes, float(op))).flat_map(|v| [v as u32, (v >> 32) as u32])
            })
            .collect();
        let source = Source { lds: 512, directives: ".amdhsa_float_denorm_mode_32 3", ..Source::new(&body, 2) };
        let Some(out) = run_clean(source, 64, &[&words], cases.len() * 384)? else { return Ok(()) };
        for (n, (op, asm)) in cases.iter().enumerate() {
            let at = |part: usize, lane: usize| {
                let word = n * 384 + part * 128 + lane * 2;
                u64::from(out[word]) | u64::from(out[word + 1]) << 32
            };
            for lane in 0..64 {
                let [old, data, second] = values(lane, op.bytes, float(op));
                let expected = (op.update)(old, data, second);
                assert_eq!(at(1, lane), expected, "{asm} in lane {lane} on {old:#x}, {data:#x}, {second:#x}");
                if returns {
                    let mask = if op.bytes == 4 { 0xffff_ffff } else { u64::MAX };
                    assert_eq!(at(2, lane) & mask, old, "the old value of {asm} in lane {lane}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn by_address() -> Result<()> {
    check(Memory::Global)
}

#[test]
fn by_generic_address() -> Result<()> {
    check(Memory::Flat)
}

#[test]
fn through_buffers() -> Result<()> {
    check(Memory::Buffer)
}

#[test]
fn in_the_lds() -> Result<()> {
    check(Memory::Lds)
}
