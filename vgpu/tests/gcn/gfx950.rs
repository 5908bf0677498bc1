//! What gfx950 adds to gfx942 outside its matrix instructions: conversions with a shared scale, exchanges of lanes, wide loads into the LDS.

use crate::asm::{Result, Source, run_clean};
use crate::vector::{Expect, Lanes, One, Two, check, check_values};

/// A narrow or wide float by its fields; none of its codes is infinite here, as the values of these tests are small.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    name: &'static str,
    exponent: u32,
    mantissa: u32,
}

const fn kind(name: &'static str, exponent: u32, mantissa: u32) -> Kind {
    Kind { name, exponent, mantissa }
}

const F32: Kind = kind("f32", 8, 23);
const F16: Kind = kind("f16", 5, 10);
const BF16: Kind = kind("bf16", 8, 7);
const FP8: Kind = kind("fp8", 4, 3);
const BF8: Kind = kind("bf8", 5, 2);
const FP6: Kind = kind("fp6", 2, 3);
const BF6: Kind = kind("bf6", 3, 2);
const FP4: Kind = kind("fp4", 2, 1);

impl Kind {
    fn bits(self) -> usize {
        (1 + self.exponent + self.mantissa) as usize
    }

    fn value(self, code: u32) -> f64 {
        let field = code >> self.mantissa & ((1 << self.exponent) - 1);
        let fraction = f64::from(code & ((1 << self.mantissa) - 1)) / f64::from(1 << self.mantissa);
        let bias = (1 << (self.exponent - 1)) - 1;
        let magnitude = match field {
            0 => fraction * 2.0_f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2.0_f64.powi(field as i32 - bias),
        };
        if code >> (self.exponent + self.mantissa) & 1 != 0 { -magnitude } else { magnitude }
    }

    /// The codes of the nearest values toward zero and away from it, with the value's sign.
    fn neighbours(self, value: f64) -> [u32; 2] {
        let sign = u32::from(value.is_sign_negative()) << (self.exponent + self.mantissa);
        // Magnitudes ascend with their codes.
        let (mut low, mut high) = (0, (1 << (self.exponent + self.mantissa)) - 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.value(middle) <= value.abs() { low = middle } else { high = middle }
        }
        let exact = self.value(low) == value.abs();
        [sign | low, sign | if exact { low } else { high }]
    }

    /// The nearest, to the even code of two that are as near.
    fn nearest(self, value: f64) -> u32 {
        let [below, above] = self.neighbours(value);
        let distance = |code| (self.value(code) - value).abs();
        match distance(below).total_cmp(&distance(above)) {
            std::cmp::Ordering::Less => below,
            std::cmp::Ordering::Greater => above,
            std::cmp::Ordering::Equal => [below, above][usize::from(below & 1 != 0)],
        }
    }
}

/// The elements of registers, by their width.
fn element(words: &[u32], bits: usize, at: usize) -> u32 {
    (0..bits).fold(0, |all, n| {
        let bit = at * bits + n;
        all | (words[bit / 32] >> (bit % 32) & 1) << n
    })
}

fn range(first: usize, count: usize) -> String {
    if count == 1 { format!("v{first}") } else { format!("v[{first}:{}]", first + count - 1) }
}

/// How elements are rounded.
#[derive(Clone, Copy, PartialEq)]
enum Rounds {
    Nearest,
    Random,
}

/// Runs one conversion of so many elements in all lanes, and compares.
fn conversion(prefix: &str, count: usize, from: Kind, to: Kind, rounds: Rounds) -> Result<()> {
    let name = format!("v_cvt_scalef32_{prefix}{}_{}", to.name, from.name);
    let paired = prefix == "2xpk16_" || (count == 2 && from == F32 && rounds == Rounds::Nearest);
    let sources = (count * from.bits()).div_ceil(32);
    let results = (count * to.bits()).div_ceil(32);
    // Sources lie from v16 on, the scale in v48, random bits in v49, results from v64 on.
    let operands = match (paired, rounds) {
        (true, _) => format!("{}, {}, v48", range(16, sources / 2), range(16 + sources / 2, sources / 2)),
        (_, Rounds::Nearest) => format!("{}, v48", range(16, sources)),
        (_, Rounds::Random) => format!("{}, v49, v48", range(16, sources)),
    };
    let mut body = String::from(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_mul_u32_u24 v1, 136, v0
        v_lshlrev_b32 v2, 7, v0
        s_waitcnt lgkmcnt(0)\n",
    );
    for n in 0..34 {
        body += &format!("global_load_dword v{}, v1, s[4:5] offset:{}\n", 16 + n, n * 4);
    }
    body += "s_waitcnt vmcnt(0)\n";
    for n in 0..results {
        body += &format!("v_mov_b32 v{}, 0\n", 64 + n);
    }
    body += &format!("s_nop 4\n {name} {}, {operands}\n s_nop 4\n", range(64, results));
    for n in 0..results {
        body += &format!("global_store_dword v2, v{}, s[6:7] offset:{}\n", 64 + n, n * 4);
    }
    // What a lane converts: scale times a number that both formats hold about, up to six in the narrow one.
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let widening = from.bits() < to.bits();
    let mut input = Vec::new();
    let mut numbers = Vec::new();
    for lane in 0..64_u32 {
        let scale = 2.0_f64.powi(lane as i32 % 7 - 3);
        let codes: Vec<u32> = (0..count)
            .map(|_| match widening {
                true => {
                    let code = next() & ((1 << from.bits()) - 1);
                    // Without NaNs and infinities.
                    if from.value(code).abs() > 400.0 { code & 0x8f } else { code }
                }
                false => from.nearest(f64::from(next() % 4096) / 4096.0 * 12.0 - 6.0),
            })
            .map(|code| if widening { code } else { from.nearest(from.value(code) * scale) })
            .collect();
        let mut words = vec![0_u32; 34];
        for (n, &code) in codes.iter().enumerate() {
            // Of two operands the elements come by turns.
            let at = if paired { n % 2 * (count / 2) + n / 2 } else { n } * from.bits();
            words[at / 32] |= code << (at % 32);
            if at % 32 + from.bits() > 32 {
                words[at / 32 + 1] |= code >> (32 - at % 32);
            }
        }
        words[32] = (scale as f32).to_bits();
        words[33] = next() << 8 | next() & 0xff;
        input.extend(words);
        numbers.push(
            codes.iter().map(|&code| from.value(code) * if widening { scale } else { 1.0 / scale }).collect::<Vec<_>>(),
        );
    }
    let source = Source { arch: "gfx950", ..Source::new(&body, 2) };
    let Some(out) = run_clean(source, 64, &[&input], 64 * 32)? else { return Ok(()) };
    for (lane, numbers) in numbers.iter().enumerate() {
        for (n, &number) in numbers.iter().enumerate() {
            let got = element(&out[lane * 32..][..32], to.bits(), n);
            match rounds {
                Rounds::Nearest => assert_eq!(got, to.nearest(number), "{name}, lane {lane}, element {n}: {number}"),
                Rounds::Random => assert!(
                    to.neighbours(number).contains(&got),
                    "{name}, lane {lane}, element {n}: {number} became {}",
                    to.value(got)
                ),
            }
        }
    }
    Ok(())
}

#[test]
fn conversions_with_a_scale_from_narrow_floats() -> Result<()> {
    for narrow in [FP8, BF8] {
        conversion("", 1, narrow, F32, Rounds::Nearest)?;
        conversion("", 1, narrow, F16, Rounds::Nearest)?;
    }
    for wide in [F32, F16, BF16] {
        for narrow in [FP8, BF8, FP4] {
            conversion("pk_", 2, narrow, wide, Rounds::Nearest)?;
        }
        for narrow in [FP6, BF6] {
            conversion("pk32_", 32, narrow, wide, Rounds::Nearest)?;
        }
    }
    Ok(())
}

#[test]
fn conversions_with_a_scale_to_narrow_floats() -> Result<()> {
    for wide in [F32, F16, BF16] {
        for narrow in [FP8, BF8, FP4] {
            conversion("pk_", 2, wide, narrow, Rounds::Nearest)?;
        }
    }
    for narrow in [FP6, BF6] {
        conversion("2xpk16_", 32, F32, narrow, Rounds::Nearest)?;
        conversion("pk32_", 32, F16, narrow, Rounds::Nearest)?;
        conversion("pk32_", 32, BF16, narrow, Rounds::Nearest)?;
    }
    Ok(())
}

#[test]
fn stochastic_conversions_with_a_scale() -> Result<()> {
    for wide in [F32, F16, BF16] {
        for narrow in [FP8, BF8] {
            conversion("sr_", 1, wide, narrow, Rounds::Random)?;
        }
        conversion("sr_pk_", 2, wide, FP4, Rounds::Random)?;
        for narrow in [FP6, BF6] {
            conversion("sr_pk32_", 32, wide, narrow, Rounds::Random)?;
        }
    }
    Ok(())
}

fn wide(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// A shift right that is cut to eight bits.
fn shifted(l: &Lanes<'_>, n: usize, low: i32, high: i32) -> u32 {
    ((l.i(n) >> (l.v(3) & 31)).clamp(low, high) & 0xff) as u32
}

/// Pairs of two, three, four or six from the bits of an input.
fn small(bits: u32) -> f32 {
    wide(bits & 0xc0 | 0x4000)
}

/// The two registers that exchange rows of so many lanes: odd rows of the first with even rows of the second.
fn exchanged(l: &Lanes<'_>, rows: usize) -> u64 {
    let odd = l.lane() / rows % 2 == 1;
    let first = if odd { l.of(l.lane() - rows, 2) } else { l.v(1) };
    let second = if odd { l.v(2) } else { l.of(l.lane() + rows, 1) };
    u64::from(first) | u64::from(second) << 32
}

#[test]
fn vector_instructions() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        ("v_mov_b32 v10, v1; v_mov_b32 v11, v2; v_permlane16_swap_b32 v10, v11", Two(|l| exchanged(l, 16))),
        ("v_mov_b32 v10, v1; v_mov_b32 v11, v2; v_permlane32_swap_b32 v10, v11", Two(|l| exchanged(l, 32))),
        ("v_ashr_pk_i8_i32 v10, v1, v2, v3", One(|l| shifted(l, 1, -128, 127) | shifted(l, 2, -128, 127) << 8)),
        ("v_ashr_pk_u8_i32 v10, v1, v2, v3", One(|l| shifted(l, 1, 0, 255) | shifted(l, 2, 0, 255) << 8)),
        ("v_bitop3_b16 v10, v1, v2, v3 bitop3:0xe8", One(|l| {
            (l.v(1) & l.v(2) | l.v(1) & l.v(3) | l.v(2) & l.v(3)) & 0xffff
        })),
        ("v_and_b32 v12, 0xc000c0, v1; v_or_b32 v12, 0x40004000, v12; \
          v_and_b32 v13, 0xc000c0, v2; v_or_b32 v13, 0x40004000, v13; v_dot2_f32_bf16 v10, v12, v13, 1.0", One(|l| {
            (small(l.v(1)) * small(l.v(2)) + small(l.v(1) >> 16) * small(l.v(2) >> 16) + 1.0).to_bits()
        })),
        ("v_and_b32 v12, 0xc000c0, v1; v_or_b32 v12, 0x40004000, v12; v_mov_b32 v10, 2.0; \
          v_and_b32 v13, 0xc000c0, v2; v_or_b32 v13, 0x40004000, v13; v_dot2c_f32_bf16 v10, v12, v13", One(|l| {
            (small(l.v(1)) * small(l.v(2)) + small(l.v(1) >> 16) * small(l.v(2) >> 16) + 2.0).to_bits()
        })),
    ];
    check("gfx950", cases)?;
    #[rustfmt::skip]
    let floats: &[(&str, Expect)] = &[
        ("v_cvt_f32_bf16 v10, v1", One(|l| l.v(1) << 16)),
        ("v_cvt_pk_f16_f32 v10, v20, v21", One(|l| {
            let half = |n| u32::from(half::f16::from_f32(f32::from_bits(l.v(n) & 0xbbff_bbff)).to_bits());
            half(1) | half(2) << 16
        })),
        ("v_maximum3_f32 v10, v20, v21, v22", One(|l| {
            let of = |n| f32::from_bits(l.v(n) & 0xbbff_bbff);
            of(1).max(of(2)).max(of(3)).to_bits()
        })),
        ("v_pk_minimum3_f16 v10, v20, v21, v22", One(|l| triple(l, f64::min))),
        ("v_pk_maximum3_f16 v10, v20, v21, v22", One(|l| triple(l, f64::max))),
    ];
    check_values("gfx950", floats, true)
}

/// The least or the greatest of three in both halves.
fn triple(l: &Lanes<'_>, f: fn(f64, f64) -> f64) -> u32 {
    let bits = |value: f64| u32::from(half::f16::from_f64(value).to_bits());
    bits(f(f(l.h(1), l.h(2)), l.h(3))) | bits(f(f(l.hh(1), l.hh(2)), l.hh(3))) << 16
}

#[test]
fn stochastic_rounding_takes_a_neighbour() -> Result<()> {
    #[rustfmt::skip]
    let cases: &[(&str, Expect)] = &[
        // Cut off where no random bit is set, and never rounded down where all are and something is cut off.
        ("v_and_b32 v12, 0x43ffffff, v1; v_cvt_sr_bf16_f32 v10, v12, 0", One(|l| (l.v(1) & 0x43ff_ffff) >> 16)),
        ("v_and_b32 v12, 0x43ffffff, v1; v_cvt_sr_bf16_f32 v10, v12, -1", One(|l| {
            let bits = l.v(1) & 0x43ff_ffff;
            (bits >> 16) + u32::from(bits & 0xffff != 0)
        })),
        ("v_mov_b32 v12, 0x3f801fff; v_cvt_sr_f16_f32 v10, v12, 0", One(|_| 0x3c00)),
        ("v_mov_b32 v12, 0x3f801fff; v_cvt_sr_f16_f32 v10, v12, -1", One(|_| 0x3c01)),
        ("v_mov_b32 v12, 0x3f802000; v_cvt_sr_f16_f32 v10, v12, -1", One(|_| 0x3c01)),
    ];
    check("gfx950", cases)
}

#[test]
fn wide_loads_into_the_lds() -> Result<()> {
    for (count, name) in [(3_usize, "dwordx3"), (4, "dwordx4")] {
        for buffer in [false, true] {
            let load = if buffer {
                format!("buffer_load_{name} v1, s[8:11], 0 offen lds")
            } else {
                format!("global_load_lds_{name} v1, s[4:5]")
            };
            // Lanes read backwards; the LDS has them one after another, whatever their addresses.
            let body = format!(
                "s_load_dwordx4 s[4:7], s[0:1], 0x0
                v_sub_u32 v1, 63, v0
                v_mul_u32_u24 v1, {size}, v1
                v_mul_u32_u24 v2, {size}, v0
                s_waitcnt lgkmcnt(0)
                s_mov_b32 s8, s4
                s_and_b32 s9, s5, 0xffff
                s_movk_i32 s10, 0x400
                s_mov_b32 s11, 0
                s_mov_b32 m0, 0
                s_nop 0
                {load}
                s_waitcnt vmcnt(0)
                {reads}
                s_waitcnt lgkmcnt(0)
                global_store_{name} v2, v[4:{last}], s[6:7]",
                size = count * 4,
                reads =
                    (0..count).map(|n| format!("ds_read_b32 v{}, v2 offset:{}\n", 4 + n, n * 4)).collect::<String>(),
                last = 3 + count,
            );
            let input: Vec<u32> = (0..64 * count as u32).map(|n| n * 77 + 5).collect();
            let source = Source { arch: "gfx950", lds: 1024, ..Source::new(&body, 2) };
            let Some(out) = run_clean(source, 64, &[&input], 64 * count)? else { return Ok(()) };
            for lane in 0..64 {
                assert_eq!(out[lane * count..][..count], input[(63 - lane) * count..][..count], "{name}, lane {lane}");
            }
        }
    }
    Ok(())
}

#[test]
fn pairs_of_bf16_are_added_through_buffers() -> Result<()> {
    let body = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        s_mov_b32 s8, s4
        s_and_b32 s9, s5, 0xffff
        s_movk_i32 s10, 0x400
        s_mov_b32 s11, 0
        v_mov_b32 v2, 0x3f804000
        global_store_dword v1, v2, s[4:5]
        s_waitcnt vmcnt(0)
        v_mov_b32 v3, 0x40003f80
        buffer_atomic_pk_add_bf16 v3, v1, s[8:11], 0 offen sc0
        s_waitcnt vmcnt(0)
        v_sub_u32 v3, v3, v2
        global_store_dword v1, v3, s[4:5] offset:256";
    let source = Source { arch: "gfx950", ..Source::new(body, 1) };
    let Some(out) = run_clean(source, 64, &[], 128)? else { return Ok(()) };
    assert_eq!(out[..64], [0x4040_4040; 64]);
    assert_eq!(out[64..], [0; 64]);
    Ok(())
}
