//! Buffer resources: typed elements of every format, swizzled addresses, and bounds in every mode.

use crate::asm::{Result, Source, run, run_clean};
use tegula_vgpu::finding::FindingKind;
use tegula_vgpu::numeric::f16_to_f32;

/// Every layout, named from the highest bits as the assembler does, with the meanings that its components may have.
const LAYOUTS: &[(&str, &[&str])] = &[
    ("8", SMALL),
    ("16", HALF),
    ("8_8", SMALL),
    ("32", WORD),
    ("16_16", HALF),
    ("10_11_11", &["FLOAT"]),
    ("11_11_10", &["FLOAT"]),
    ("10_10_10_2", &["UNORM", "SNORM", "UINT", "SINT"]),
    ("2_10_10_10", SMALL),
    ("8_8_8_8", SMALL),
    ("32_32", WORD),
    ("16_16_16_16", HALF),
    ("32_32_32", WORD),
    ("32_32_32_32", WORD),
];
const SMALL: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"];
const HALF: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"];
const WORD: &[&str] = &["UINT", "SINT", "FLOAT"];

/// Records in the buffer, fewer than lanes of a wave.
const RECORDS: usize = 24;

fn is_cdna(arch: &str) -> bool {
    arch.starts_with("gfx9")
}

fn lanes(arch: &str) -> usize {
    if is_cdna(arch) { 64 } else { 32 }
}

/// The names of the loads, stores and waits of an architecture.
fn spell(arch: &str, text: &str) -> String {
    let names: &[(&str, &str)] = match arch {
        "gfx942" => &[
            ("LOAD2", "s_load_dwordx4"),
            ("WAIT_SCALAR", "s_waitcnt lgkmcnt(0)"),
            ("WAIT", "s_waitcnt vmcnt(0)"),
            ("STORE4", "global_store_dwordx4"),
            ("STORE1", "global_store_dword"),
            ("ZERO", "0"),
        ],
        "gfx1100" => &[
            ("LOAD2", "s_load_b128"),
            ("WAIT_SCALAR", "s_waitcnt lgkmcnt(0)"),
            ("WAIT", "s_waitcnt vmcnt(0)\n s_waitcnt_vscnt null, 0x0"),
            ("STORE4", "global_store_b128"),
            ("STORE1", "global_store_b32"),
            ("ZERO", "0"),
        ],
        _ => &[
            ("LOAD2", "s_load_b128"),
            ("WAIT_SCALAR", "s_wait_kmcnt 0x0"),
            ("WAIT", "s_wait_loadcnt 0x0\n s_wait_storecnt 0x0"),
            ("STORE4", "global_store_b128"),
            ("STORE1", "global_store_b32"),
            ("ZERO", "null"),
        ],
    };
    names.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// s[4:5] input and s[6:7] result, with a resource over the input in s[8:11] and one over the result in s[12:15]; the words are the second
/// without the address, the third, and the fourth.
fn start(arch: &str, words: [u32; 3]) -> String {
    let [second, third, fourth] = words;
    spell(
        arch,
        &format!(
            "LOAD2 s[4:7], s[0:1], 0x0
            v_lshlrev_b32_e32 v1, 2, v0
            v_lshlrev_b32_e32 v2, 4, v0
            WAIT_SCALAR
            s_mov_b32 s8, s4
            s_and_b32 s9, s5, 0xffff
            s_or_b32 s9, s9, {second:#x}
            s_mov_b32 s10, {third:#x}
            s_mov_b32 s11, {fourth:#x}
            s_mov_b32 s12, s6
            s_and_b32 s13, s7, 0xffff
            s_or_b32 s13, s13, {second:#x}
            s_mov_b32 s14, s10
            s_mov_b32 s15, s11
            "
        ),
    )
}

/// A component's bits as the register has them; none where a float is no number.
fn component(raw: u32, bits: u32, kind: &str) -> Option<u32> {
    let signed = (raw << (32 - bits)) as i32 >> (32 - bits);
    let top = ((1_u64 << bits) - 1) as f64;
    let small_float = |mantissa: u32| {
        let (exponent, fraction) = (raw >> mantissa, raw & ((1 << mantissa) - 1));
        let fraction = f64::from(fraction) / f64::from(1 << mantissa);
        (exponent != 31).then(|| match exponent {
            0 => fraction * 2.0_f64.powi(-14),
            _ => (1.0 + fraction) * 2.0_f64.powi(exponent as i32 - 15),
        })
    };
    Some(match (kind, bits) {
        ("UNORM", _) => ((f64::from(raw) / top) as f32).to_bits(),
        ("SNORM", _) => ((f64::from(signed) / ((1_u64 << (bits - 1)) - 1) as f64).max(-1.0) as f32).to_bits(),
        ("USCALED", _) => (raw as f32).to_bits(),
        ("SSCALED", _) => (signed as f32).to_bits(),
        ("SINT", _) => signed as u32,
        ("FLOAT", 16) if raw >> 10 & 31 == 31 => return None,
        ("FLOAT", 16) => f16_to_f32(raw as u16).to_bits(),
        ("FLOAT", 11) => (small_float(6)? as f32).to_bits(),
        ("FLOAT", 10) => (small_float(5)? as f32).to_bits(),
        _ => raw,
    })
}

#[test]
fn typed_elements_of_every_format() -> Result<()> {
    for arch in ["gfx942", "gfx1100", "gfx1201"] {
        for &(layout, kinds) in LAYOUTS {
            typed(arch, layout, kinds)?;
        }
    }
    Ok(())
}

/// Loads all kinds of a layout and stores them again.
fn typed(arch: &str, layout: &str, kinds: &[&str]) -> Result<()> {
    let widths: Vec<u32> = layout.split('_').rev().map(str::parse).collect::<Result<_, _>>()?;
    let bytes = widths.iter().sum::<u32>() as usize / 8;
    let lanes = lanes(arch);
    let stored = kinds.len() * lanes * 16;
    let mut body = start(arch, [(bytes as u32) << 16, RECORDS as u32, 0]);
    for (n, kind) in kinds.iter().enumerate() {
        let format = if is_cdna(arch) {
            format!("[BUF_DATA_FORMAT_{layout},BUF_NUM_FORMAT_{kind}]")
        } else {
            format!("[BUF_FMT_{layout}_{kind}]")
        };
        // Behind the loaded values of all kinds lie the elements that each stores.
        body += &spell(
            arch,
            &format!(
                "tbuffer_load_format_xyzw v[4:7], v0, s[8:11], ZERO format:{format} idxen
                WAIT
                STORE4 v2, v[4:7], s[6:7]
                s_add_u32 s6, s6, {loaded}
                s_addc_u32 s7, s7, 0
                s_add_u32 s16, s12, {at}
                s_addc_u32 s17, s13, 0
                s_mov_b64 s[18:19], s[14:15]
                tbuffer_store_format_xyzw v[4:7], v0, s[16:19], ZERO format:{format} idxen
                WAIT
                ",
                loaded = lanes * 16,
                at = stored + n * lanes * 16,
            ),
        );
    }
    let input: Vec<u32> = (0..128_u32).map(|n| (n + 3).wrapping_mul(0x9e37_79b9) ^ n << 13).collect();
    let source = Source { arch, ..Source::new(&body, 2) };
    let Some(out) = run_clean(source, lanes as u32, &[&input], stored / 2)? else { return Ok(()) };
    let raw: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let written: Vec<u8> = out.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (n, kind) in kinds.iter().enumerate() {
        for lane in 0..lanes {
            let loaded = &out[(n * lanes + lane) * 4..][..4];
            if lane >= RECORDS {
                assert_eq!(loaded, [0; 4], "{arch}: {layout}_{kind} beyond the end, lane {lane}");
                continue;
            }
            let mut element = [0; 16];
            element[..bytes].copy_from_slice(&raw[lane * bytes..][..bytes]);
            let bits = u128::from_le_bytes(element);
            let stored = &written[stored + n * lanes * 16 + lane * bytes..][..bytes];
            let mut back = [0; 16];
            back[..bytes].copy_from_slice(stored);
            let back = u128::from_le_bytes(back);
            let mut at = 0;
            for (part, &width) in widths.iter().enumerate() {
                let mask = ((1_u64 << width) - 1) as u32;
                let value = (bits >> at) as u32 & mask;
                if let Some(expected) = component(value, width, kind) {
                    assert_eq!(loaded[part], expected, "{arch}: {layout}_{kind}, lane {lane}, component {part}");
                    // The lowest of the signed fractions is -1 as well, and so comes back as the next one.
                    let lowest = *kind == "SNORM" && value == 1 << (width - 1);
                    let again = if lowest { value + 1 } else { value };
                    assert_eq!((back >> at) as u32 & mask, again, "{arch}: {layout}_{kind} stored, lane {lane}");
                }
                at += width;
            }
            let one = if matches!(*kind, "UINT" | "SINT") { 1 } else { 1.0_f32.to_bits() };
            let missing = [0, 0, 0, one];
            assert_eq!(loaded[widths.len()..], missing[widths.len()..], "{arch}: {layout}_{kind}, lane {lane}");
        }
    }
    Ok(())
}

#[test]
fn resources_choose_components() -> Result<()> {
    // Selections W, Z, one and zero of a format of four bytes: on loads the registers get these, on stores the components come back.
    let select = 7 | 6 << 3 | 1 << 6;
    for (arch, format) in [("gfx942", 10 << 15 | 4 << 12), ("gfx1100", 46 << 12), ("gfx1201", 46 << 12)] {
        let lanes = lanes(arch);
        let mut body = start(arch, [4 << 16, lanes as u32, select | format]);
        body += &spell(
            arch,
            &format!(
                "s_add_u32 s12, s12, {}
                s_addc_u32 s13, s13, 0
                buffer_load_format_xyzw v[4:7], v0, s[8:11], ZERO idxen
                WAIT
                STORE4 v2, v[4:7], s[6:7]
                buffer_store_format_xyzw v[4:7], v0, s[12:15], ZERO idxen
                WAIT",
                lanes * 16
            ),
        );
        let input: Vec<u32> = (0..64_u32).map(|n| 0x0403_0201 + n * 0x0404_0404 % 0x3f3f_3f3f).collect();
        let source = Source { arch, ..Source::new(&body, 2) };
        let Some(out) = run_clean(source, lanes as u32, &[&input], lanes * 5)? else { return Ok(()) };
        for lane in 0..lanes {
            let [_, _, z, w] = input[lane].to_le_bytes();
            assert_eq!(out[lane * 4..][..4], [u32::from(w), u32::from(z), 1, 0], "{arch}, lane {lane}");
            assert_eq!(out[lanes * 4 + lane], input[lane] & 0xffff_0000, "{arch}, stored by lane {lane}");
        }
    }
    Ok(())
}

#[test]
fn halves_of_typed_elements() -> Result<()> {
    for arch in ["gfx942", "gfx1100", "gfx1201"] {
        let lanes = lanes(arch);
        let cdna = is_cdna(arch);
        let d16 = if cdna { "format_d16" } else { "d16_format" };
        let hi = if cdna { "format_d16_hi_x" } else { "d16_hi_format_x" };
        let (float, int) = if cdna {
            ("[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_FLOAT]", "[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_SINT]")
        } else {
            ("[BUF_FMT_32_32_FLOAT]", "[BUF_FMT_32_32_SINT]")
        };
        // The fourth word is that of a format of one 32-bit float whose register is X.
        let fourth = if cdna { 4 << 15 | 7 << 12 | 4 } else { 22 << 12 | 4 };
        let mut body = start(arch, [8 << 16, lanes as u32, fourth]);
        body += &spell(
            arch,
            &format!(
                "tbuffer_load_{d16}_xy v4, v0, s[8:11], ZERO format:{float} idxen
                v_mov_b32_e32 v6, 0x1234
                buffer_load_{hi} v6, v0, s[8:11], ZERO idxen
                WAIT
                v_mov_b32_e32 v5, 0xfffe0003
                s_mov_b32 s15, {all}
                STORE1 v1, v4, s[6:7]
                STORE1 v1, v6, s[6:7] offset:{row}
                s_add_u32 s12, s12, {twice}
                s_addc_u32 s13, s13, 0
                tbuffer_store_{d16}_xy v5, v0, s[12:15], ZERO format:{int} idxen
                WAIT",
                all = if cdna { fourth } else { 0 },
                row = lanes * 4,
                twice = lanes * 8,
            ),
        );
        let input: Vec<u32> = (0..128).map(|n| (n as f32 * 0.5 - 7.0).to_bits()).collect();
        let source = Source { arch, ..Source::new(&body, 2) };
        let Some(out) = run_clean(source, lanes as u32, &[&input], lanes * 4)? else { return Ok(()) };
        let half = |lane: usize, part: usize| {
            u32::from(tegula_vgpu::numeric::f32_to_f16(f32::from_bits(input[lane * 2 + part])))
        };
        for lane in 0..lanes {
            assert_eq!(out[lane], half(lane, 0) | half(lane, 1) << 16, "{arch}, lane {lane}");
            assert_eq!(out[lanes + lane], 0x1234 | half(lane, 0) << 16, "{arch}, lane {lane}");
            assert_eq!(out[lanes * 2 + lane * 2..][..2], [3, -2_i32 as u32], "{arch}, stored by lane {lane}");
        }
    }
    Ok(())
}

/// Where a swizzled buffer has a byte.
fn swizzled(index: usize, offset: usize, stride: usize, group: usize, element: usize) -> usize {
    (index / group * stride + offset / element * element) * group + index % group * element + offset % element
}

#[test]
fn swizzles_and_lane_numbers() -> Result<()> {
    // (architecture, element size, its code in the second word)
    for (arch, element, code) in
        [("gfx942", 4, 2_u32), ("gfx1100", 4, 1), ("gfx1100", 8, 2), ("gfx1100", 16, 3), ("gfx1201", 8, 2)]
    {
        let lanes = lanes(arch);
        let stride = 32;
        for (group_code, group) in [(0, 8), (1, 16), (2, 32)] {
            for add_lane in [false, true] {
                let cdna = is_cdna(arch);
                let out_of_bounds = if cdna { 0 } else { 1 << 28 };
                let fourth = group_code << 21 | u32::from(add_lane) << 23 | out_of_bounds;
                let mut body = start(arch, [stride << 16 | code << 30, 0x1000, fourth]);
                let (address, mode) = if add_lane { ("off", "") } else { ("v0", "idxen") };
                let dword = if cdna { "dword" } else { "b32" };
                for offset in (0..32).step_by(4) {
                    body += &format!("v_add_nc_u32_e32 v4, {offset}, v2\n")
                        .replace("v_add_nc_u32_e32", if cdna { "v_add_u32_e32" } else { "v_add_nc_u32_e32" });
                    body += &spell(
                        arch,
                        &format!("buffer_store_{dword} v4, {address}, s[12:15], ZERO {mode} offset:{offset}\n WAIT\n"),
                    );
                }
                let source = Source { arch, ..Source::new(&body, 2) };
                let Some(out) = run_clean(source, lanes as u32, &[&[0]], lanes * 8)? else { return Ok(()) };
                for lane in 0..lanes {
                    for offset in (0..32).step_by(4) {
                        let at = swizzled(lane, offset, stride as usize, group, element);
                        assert_eq!(
                            out[at / 4],
                            (lane * 16 + offset) as u32,
                            "{arch}: lane {lane}, byte {offset}, groups of {group}, elements of {element}"
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_format_holds_upper_bits_of_the_stride_of_lanes() -> Result<()> {
    // On CDNA a stride of 2^14 + 4 bytes needs the field of the data format, which is free where lanes number the records.
    let mut body = start("gfx942", [4 << 16, 0x7fff_ffff, 1 << 23 | 1 << 15]);
    body += "v_cmp_gt_u32 vcc, 2, v0
        s_and_saveexec_b64 s[20:21], vcc
        buffer_store_dword v0, off, s[12:15], 0
        s_waitcnt vmcnt(0)";
    let Some(out) = run_clean(Source::new(&body, 2), 64, &[&[0]], 4104)? else { return Ok(()) };
    assert_eq!([out[0], out[4097]], [0, 1]);
    Ok(())
}

#[test]
fn bounds_in_every_mode() -> Result<()> {
    // Lanes read eight bytes at their records, 16 bytes apart, and 12 bytes on. (architecture, records, mode, what of word 0 and 1 is
    // in range by lane)
    type InRange = fn(usize) -> [bool; 2];
    let cases: &[(&str, u32, u32, InRange)] = &[
        // GFX9 counts records of what has an index, whatever the offset in them.
        ("gfx942", 5, 0, |lane| [lane < 5; 2]),
        // Structured: the last four bytes of what is read lie in the next record, so that all of it is out.
        ("gfx1100", 5, 0, |_| [false; 2]),
        ("gfx1100", 5, 1, |lane| [lane < 5; 2]),
        ("gfx1100", 0, 2, |_| [false; 2]),
        ("gfx1100", 1, 2, |_| [true; 2]),
        // Raw: bytes, by component.
        ("gfx1100", 48, 3, |lane| [lane < 3, lane < 2]),
        ("gfx1201", 5, 1, |lane| [lane < 5; 2]),
        ("gfx1201", 48, 3, |lane| [lane < 3, lane < 2]),
    ];
    for &(arch, records, mode, in_range) in cases {
        let lanes = lanes(arch);
        let mut body = start(arch, [16 << 16, records, mode << 28]);
        let name = if is_cdna(arch) { "buffer_load_dwordx2" } else { "buffer_load_b64" };
        body += &spell(
            arch,
            &format!(
                "{name} v[4:5], v0, s[8:11], ZERO idxen offset:12
                WAIT
                v_lshlrev_b32_e32 v3, 3, v0
                STORE1 v3, v4, s[6:7]
                STORE1 v3, v5, s[6:7] offset:4"
            ),
        );
        let input: Vec<u32> = (1..300).collect();
        let source = Source { arch, ..Source::new(&body, 2) };
        let Some(out) = run_clean(source, lanes as u32, &[&input], lanes * 2)? else { return Ok(()) };
        for lane in 0..lanes {
            for part in 0..2 {
                let expected = if in_range(lane)[part] { input[lane * 4 + 3 + part] } else { 0 };
                assert_eq!(out[lane * 2 + part], expected, "{arch}, mode {mode}, lane {lane}, word {part}");
            }
        }
    }
    Ok(())
}

#[test]
fn atomics_and_loads_into_the_lds_have_bounds_too() -> Result<()> {
    // Ten words are in range; beyond them atomics give zero and change nothing, and the LDS gets zeros.
    let mut body = start("gfx942", [0, 40, 0]);
    body += "global_store_dword v1, v1, s[6:7]
        s_waitcnt vmcnt(0)
        v_mov_b32 v4, 100
        buffer_atomic_add v4, v1, s[12:15], 0 offen sc0
        s_mov_b32 m0, 0
        s_nop 0
        buffer_load_dword v1, s[8:11], 0 offen lds
        s_waitcnt vmcnt(0)
        ds_read_b32 v5, v1
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v4, s[6:7] offset:256
        global_store_dword v1, v5, s[6:7] offset:512";
    let input: Vec<u32> = (1000..1064).collect();
    let source = Source { lds: 256, ..Source::new(&body, 2) };
    let Some(out) = run_clean(source, 64, &[&input], 192)? else { return Ok(()) };
    for lane in 0..64 {
        let (old, inside) = (lane as u32 * 4, lane < 10);
        assert_eq!(out[lane], if inside { old + 100 } else { old });
        assert_eq!(out[64 + lane], if inside { old } else { 0 });
        assert_eq!(out[128 + lane], if inside { input[lane] } else { 0 });
    }
    Ok(())
}

#[test]
fn typed_accesses_need_a_format() -> Result<()> {
    let mut body = start("gfx942", [4 << 16, 64, 0]);
    body += "buffer_load_format_x v4, v0, s[8:11], 0 idxen\n s_waitcnt vmcnt(0)";
    let Some((_, outcome)) = run(Source::new(&body, 2), 64, &[&[0; 64]], 1)? else { return Ok(()) };
    assert_eq!(outcome.findings[0].kind, FindingKind::BadDescriptor);
    Ok(())
}
