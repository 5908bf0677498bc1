//! Loads and stores of every width in every memory: by address, generic address, buffer, scratch, and in the LDS.

use crate::asm::{Result, Source, other_addresses, registers, run_clean};

/// A load by its names in memory and in the LDS; what it makes of memory's bytes and of the register before.
struct Load {
    memory: &'static str,
    lds: &'static str,
    registers: usize,
    value: fn(&[u8; 16], u32) -> [u32; 4],
}

fn word(bytes: &[u8; 16], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn one(value: u32) -> [u32; 4] {
    [value, 0, 0, 0]
}

fn short(bytes: &[u8; 16]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

/// The low or the high half of what was there, replaced.
fn low(old: u32, half: u16) -> [u32; 4] {
    one(old & 0xffff_0000 | u32::from(half))
}

fn high(old: u32, half: u16) -> [u32; 4] {
    one(old & 0xffff | u32::from(half) << 16)
}

#[rustfmt::skip]
const LOADS: &[Load] = &[
    Load { memory: "ubyte", lds: "u8", registers: 1, value: |b, _| one(b[0].into()) },
    Load { memory: "sbyte", lds: "i8", registers: 1, value: |b, _| one(i32::from(b[0] as i8) as u32) },
    Load { memory: "ushort", lds: "u16", registers: 1, value: |b, _| one(short(b).into()) },
    Load { memory: "sshort", lds: "i16", registers: 1, value: |b, _| one(i32::from(short(b) as i16) as u32) },
    Load { memory: "ubyte_d16", lds: "u8_d16", registers: 1, value: |b, old| low(old, b[0].into()) },
    Load { memory: "ubyte_d16_hi", lds: "u8_d16_hi", registers: 1, value: |b, old| high(old, b[0].into()) },
    Load { memory: "sbyte_d16", lds: "i8_d16", registers: 1, value: |b, old| low(old, i16::from(b[0] as i8) as u16) },
    Load { memory: "sbyte_d16_hi", lds: "i8_d16_hi", registers: 1, value: |b, old| high(old, i16::from(b[0] as i8) as u16) },
    Load { memory: "short_d16", lds: "u16_d16", registers: 1, value: |b, old| low(old, short(b)) },
    Load { memory: "short_d16_hi", lds: "u16_d16_hi", registers: 1, value: |b, old| high(old, short(b)) },
    Load { memory: "dword", lds: "b32", registers: 1, value: |b, _| one(word(b, 0)) },
    Load { memory: "dwordx2", lds: "b64", registers: 2, value: |b, _| [word(b, 0), word(b, 4), 0, 0] },
    Load { memory: "dwordx3", lds: "b96", registers: 3, value: |b, _| [word(b, 0), word(b, 4), word(b, 8), 0] },
    Load { memory: "dwordx4", lds: "b128", registers: 4, value: |b, _| [word(b, 0), word(b, 4), word(b, 8), word(b, 12)] },
];

/// A store by its names, its registers, and the bytes that it writes: how many, from which byte of the data.
const STORES: &[(&str, &str, usize, usize, usize)] = &[
    ("byte", "b8", 1, 1, 0),
    ("byte_d16_hi", "b8_d16_hi", 1, 1, 2),
    ("short", "b16", 1, 2, 0),
    ("short_d16_hi", "b16_d16_hi", 1, 2, 2),
    ("dword", "b32", 1, 4, 0),
    ("dwordx2", "b64", 2, 8, 0),
    ("dwordx3", "b96", 3, 12, 0),
    ("dwordx4", "b128", 4, 16, 0),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Memory {
    Global,
    Flat,
    Buffer,
    Scratch,
    Lds,
}

impl Memory {
    /// An instruction on the lane's sixteen bytes: v6 has their offset, v[4:5] their address, s[8:11] the resource.
    fn instruction(self, what: &str, name: (&str, &str), data: &str) -> String {
        let (memory, lds) = name;
        let load = what == "load";
        match self {
            Self::Lds if load => format!("ds_read_{lds} {data}, v6"),
            Self::Lds => format!("ds_write_{lds} v6, {data}"),
            Self::Global if load => format!("global_load_{memory} {data}, v6, s[6:7]"),
            Self::Global => format!("global_store_{memory} v6, {data}, s[6:7]"),
            Self::Flat if load => format!("flat_load_{memory} {data}, v[4:5]"),
            Self::Flat => format!("flat_store_{memory} v[4:5], {data}"),
            Self::Buffer => format!("buffer_{what}_{memory} {data}, v6, s[8:11], 0 offen"),
            Self::Scratch if load => format!("scratch_load_{memory} {data}, off, off offset:16"),
            Self::Scratch => format!("scratch_store_{memory} off, {data}, off offset:16"),
        }
    }
}

fn check(memory: Memory) -> Result<()> {
    const WAIT: &str = "s_waitcnt vmcnt(0) lgkmcnt(0)\n s_nop 1\n";
    let mut body = String::from(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0
         v_lshlrev_b32 v1, 5, v0
         v_lshlrev_b32 v6, 4, v0
         s_waitcnt lgkmcnt(0)
         global_load_dwordx4 v[8:11], v1, s[4:5]
         global_load_dwordx4 v[16:19], v1, s[4:5] offset:16
         s_waitcnt vmcnt(0)\n",
    );
    let prepare = other_addresses(1024);
    let wide = ("dwordx4", "b128");
    let finish = format!(
        "{WAIT}global_store_dwordx4 v6, v[12:15], s[6:7] offset:1024
         s_add_u32 s6, s6, 0x800\n s_addc_u32 s7, s7, 0\n s_nop 1\n"
    );
    for load in LOADS {
        body += &prepare;
        body += &memory.instruction("store", wide, "v[8:11]");
        body += &format!("\n{WAIT}v_mov_b32 v12, v16\n v_mov_b32 v13, 0\n v_mov_b32 v14, 0\n v_mov_b32 v15, 0\n");
        body += &memory.instruction("load", (load.memory, load.lds), &registers(12, load.registers));
        body += &format!("\n{finish}");
    }
    for &(name, lds, count, ..) in STORES {
        body += &prepare;
        body += &memory.instruction("store", wide, "v[16:19]");
        body += &format!("\n{WAIT}{}\n{WAIT}", memory.instruction("store", (name, lds), &registers(8, count)));
        body += &memory.instruction("load", wide, "v[12:15]");
        body += &format!("\n{finish}");
    }
    let input: Vec<u32> = (0..512_u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 13).collect();
    let source = Source { lds: 1024, scratch: 32, ..Source::new(&body, 2) };
    let results = (LOADS.len() + STORES.len()) * 512;
    let Some(out) = run_clean(source, 64, &[&input], results)? else { return Ok(()) };
    let bytes = |words: &[u32]| -> [u8; 16] { std::array::from_fn(|n| words[n / 4].to_le_bytes()[n % 4]) };
    for lane in 0..64 {
        let data = bytes(&input[lane * 8..][..4]);
        let other = bytes(&input[lane * 8 + 4..][..4]);
        let got = |case: usize| &out[case * 512 + 256 + lane * 4..][..4];
        for (case, load) in LOADS.iter().enumerate() {
            let expected = (load.value)(&data, word(&other, 0));
            assert_eq!(got(case), expected, "{memory:?} load {} in lane {lane}", load.memory);
        }
        for (case, &(name, _, _, count, from)) in STORES.iter().enumerate() {
            let mut expected = other;
            expected[..count].copy_from_slice(&data[from..from + count]);
            assert_eq!(bytes(got(LOADS.len() + case)), expected, "{memory:?} store {name} in lane {lane}");
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
fn in_scratch() -> Result<()> {
    check(Memory::Scratch)
}

#[test]
fn in_the_lds() -> Result<()> {
    check(Memory::Lds)
}
