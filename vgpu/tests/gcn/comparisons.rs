//! Every comparison of the vector unit, `v_cmp_*` and `v_cmpx_*`: all relations, all types, with values that are equal, ordered, infinite
//! and not numbers, and the classes of floats.

use crate::asm::{Result, Source, run_clean};
use std::cmp::Ordering::{self, Equal, Greater, Less};
use tegula_vgpu::numeric::f16_to_f32;

/// Words of two lanes' operands, in pairs of 64 bits, so that every value meets every other.
fn operands(wide: bool) -> Vec<u64> {
    let narrow: [u64; 8] = [
        0,
        0x8000_0000_8000_8000,
        0x3f80_0000_3f80_3c00,
        0xbf80_0000_bf80_bc00,
        0x7f80_0000_7f80_7c00,
        0x7fc0_0000_7fc0_7e00,
        0x0000_0001_0000_0001,
        0xff80_0000_ff80_fc00,
    ];
    let doubles: [u64; 8] = [
        0,
        1 << 63,
        1.0_f64.to_bits(),
        (-1.0_f64).to_bits(),
        f64::INFINITY.to_bits(),
        f64::NAN.to_bits(),
        1,
        f64::NEG_INFINITY.to_bits(),
    ];
    if wide { doubles.to_vec() } else { narrow.to_vec() }
}

/// A relation by what a comparison gave; none where one of the two is not a number.
type Relation = (&'static str, fn(Option<Ordering>) -> bool);

const FLOATS: [Relation; 16] = [
    ("f", |_| false),
    ("lt", |o| o == Some(Less)),
    ("eq", |o| o == Some(Equal)),
    ("le", |o| matches!(o, Some(Less | Equal))),
    ("gt", |o| o == Some(Greater)),
    ("lg", |o| matches!(o, Some(Less | Greater))),
    ("ge", |o| matches!(o, Some(Greater | Equal))),
    ("o", |o| o.is_some()),
    ("u", |o| o.is_none()),
    ("nge", |o| !matches!(o, Some(Greater | Equal))),
    ("nlg", |o| !matches!(o, Some(Less | Greater))),
    ("ngt", |o| o != Some(Greater)),
    ("nle", |o| !matches!(o, Some(Less | Equal))),
    ("neq", |o| o != Some(Equal)),
    ("nlt", |o| o != Some(Less)),
    ("tru", |_| true),
];

const INTEGERS: [Relation; 8] = [
    ("f", |_| false),
    ("lt", |o| o == Some(Less)),
    ("eq", |o| o == Some(Equal)),
    ("le", |o| o != Some(Greater)),
    ("gt", |o| o == Some(Greater)),
    ("ne", |o| o != Some(Equal)),
    ("ge", |o| o != Some(Less)),
    ("t", |_| true),
];

fn float(bits: u64, width: u32) -> f64 {
    match width {
        16 => f64::from(f16_to_f32(bits as u16)),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

fn integer(bits: u64, width: u32, signed: bool) -> i128 {
    let up = 64 - width;
    if signed { i128::from((bits << up) as i64 >> up) } else { i128::from(bits << up >> up) }
}

/// The class of a float, as the bit that the mask has for it.
fn class(bits: u64, width: u32) -> u32 {
    let (mantissa, exponent) = match width {
        16 => (10, 5),
        32 => (23, 8),
        _ => (52, 11),
    };
    let negative = bits >> (width - 1) & 1 != 0;
    let field = bits >> mantissa & ((1 << exponent) - 1);
    let fraction = bits & ((1 << mantissa) - 1);
    let kind = match (field, fraction) {
        (0, 0) => [6, 5],
        (0, _) => [7, 4],
        (f, 0) if f == (1 << exponent) - 1 => [9, 2],
        (f, _) if f == (1 << exponent) - 1 => return if fraction >> (mantissa - 1) & 1 != 0 { 1 } else { 0 },
        _ => [8, 3],
    };
    kind[usize::from(negative)]
}

/// A comparison, and whether it holds for two patterns.
type Case = (String, u32, Box<dyn Fn(u64, u64) -> bool>);

fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    for width in [16, 32, 64] {
        for (relation, holds) in FLOATS {
            all.push((
                format!("{relation}_f{width}"),
                width,
                Box::new(move |a, b| holds(float(a, width).partial_cmp(&float(b, width)))),
            ));
        }
        for (letter, signed) in [("i", true), ("u", false)] {
            for (relation, holds) in INTEGERS {
                let value = move |bits| integer(bits, width, signed);
                all.push((
                    format!("{relation}_{letter}{width}"),
                    width,
                    Box::new(move |a, b| holds(Some(value(a).cmp(&value(b))))),
                ));
            }
        }
        // The mask is the second operand: here the patterns' low bits.
        all.push((format!("class_f{width}"), width, Box::new(move |a, b| b >> class(a, width) & 1 != 0)));
    }
    all
}

#[test]
fn every_relation_of_every_type() -> Result<()> {
    for wide in [false, true] {
        let cases: Vec<_> = cases().into_iter().filter(|(_, width, _)| (*width == 64) == wide).collect();
        let values = operands(wide);
        let masks: [u64; 8] = [0, 0x3ff, 0x155, 0x2aa, 0x003, 0x060, 0x090, 0x204];
        let words: Vec<u32> = (0..64)
            .flat_map(|lane| {
                let [a, b, c] = [values[lane / 8], values[lane % 8], masks[lane % 8]];
                [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32, c as u32, 0]
            })
            .collect();
        let mut body = String::from(
            "s_load_dwordx4 s[4:7], s[0:1], 0x0
             v_mul_u32_u24 v1, 24, v0
             v_mov_b32 v9, 0
             s_waitcnt lgkmcnt(0)
             global_load_dwordx4 v[2:5], v1, s[4:5]
             global_load_dwordx2 v[6:7], v1, s[4:5] offset:16
             s_waitcnt vmcnt(0)
             s_mov_b64 s[8:9], exec\n",
        );
        for (name, width, _) in &cases {
            let (a, b) = match (name.starts_with("class"), width) {
                (true, 64) => ("v[2:3]", "v6"),
                (true, _) => ("v2", "v6"),
                (false, 64) => ("v[2:3]", "v[4:5]"),
                (false, _) => ("v2", "v4"),
            };
            // In the short form and in the long one; the one that sets exec leaves what it compared in both.
            for (form, result) in [("v_cmp", "vcc"), ("v_cmpx", "exec"), ("v_cmp", "s[10:11]")] {
                let mask = if result == "exec" { "vcc" } else { result };
                body += &format!(
                    "{form}_{name} {mask}, {a}, {b}\n s_mov_b64 s[12:13], {result}\n s_mov_b64 exec, s[8:9]
                     v_mov_b32 v10, s12\n v_mov_b32 v11, s13\n s_mov_b64 exec, 1
                     global_store_dwordx2 v9, v[10:11], s[6:7]\n s_mov_b64 exec, s[8:9]
                     s_add_u32 s6, s6, 8\n s_addc_u32 s7, s7, 0\n s_nop 4\n"
                );
            }
        }
        let source = Source { directives: ".amdhsa_float_denorm_mode_32 3", ..Source::new(&body, 2) };
        let Some(out) = run_clean(source, 64, &[&words], cases.len() * 6)? else { return Ok(()) };
        for (n, (name, width, holds)) in cases.iter().enumerate() {
            let expected = (0..64).fold(0_u64, |mask, lane| {
                let second = if name.starts_with("class") { masks[lane % 8] } else { values[lane % 8] };
                let low = |bits: u64| if *width == 64 { bits } else { bits & ((1 << width) - 1) };
                mask | u64::from(holds(low(values[lane / 8]), low(second))) << lane
            });
            for (form, pair) in out[n * 6..][..6].chunks_exact(2).enumerate() {
                let got = u64::from(pair[0]) | u64::from(pair[1]) << 32;
                assert_eq!(got, expected, "v_cmp_{name}, form {form}: {:#x}", got ^ expected);
            }
        }
    }
    Ok(())
}
