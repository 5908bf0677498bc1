//! One program for each scalar instruction and modifier, against what the PTX ISA says it computes.

use crate::harness::{check32, check64};
use tegula_vgpu::numeric::{Format, Overflow, Rounding};

fn bit(value: u64, at: u32) -> u64 {
    if at < 64 { (value >> at) & 1 } else { 0 }
}

/// `bfe` as the PTX ISA's pseudocode has it.
fn extract(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (position & 255, length & 255);
    let fill = if !signed || length == 0 { 0 } else { bit(a, (position + length - 1).min(width - 1)) };
    (0..width).fold(0, |d, i| d | (if i < length && position + i < width { bit(a, position + i) } else { fill }) << i)
}

fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (position & 255, length & 255);
    (0..width).fold(b, |d, i| {
        if i < length && position + i < width { d & !(1 << (position + i)) | bit(a, i) << (position + i) } else { d }
    })
}

fn find(a: u32, signed: bool) -> u32 {
    let a = if signed && (a as i32) < 0 { !a } else { a };
    (0..32).rev().find(|&n| a >> n & 1 == 1).unwrap_or(u32::MAX)
}

#[test]
fn bit_fields() {
    check32("and.b32 %r5, %r2, 63; and.b32 %r6, %r3, 63; bfe.u32 %r10, %r1, %r5, %r6;", |a, b, c| {
        extract(a.into(), b & 63, c & 63, 32, false) as u32
    });
    check32("and.b32 %r5, %r2, 63; bfe.s32 %r10, %r1, %r5, %r3;", |a, b, c| {
        extract(a.into(), b & 63, c, 32, true) as u32
    });
    check64("bfe.s64 %rd3, %rd1, %r3, %r4;", |a, b| extract(a, b as u32, (b >> 32) as u32, 64, true));
    check64("bfe.u64 %rd3, %rd1, %r3, 17;", |a, b| extract(a, b as u32, 17, 64, false));
    check32("and.b32 %r5, %r3, 63; bfi.b32 %r10, %r1, %r2, %r5, 11;", |a, b, c| {
        insert(a.into(), b.into(), c & 63, 11, 32) as u32
    });
    check64("bfi.b64 %rd3, %rd1, %rd2, 5, %r3;", |a, b| insert(a, b, 5, b as u32, 64));
    check32("bfind.u32 %r10, %r1;", |a, _, _| find(a, false));
    check32("bfind.s32 %r10, %r1;", |a, _, _| find(a, true));
    let shift = |a, signed| match find(a, signed) {
        u32::MAX => u32::MAX,
        found => 31 - found,
    };
    check32("bfind.shiftamt.u32 %r10, %r1;", |a, _, _| shift(a, false));
    check32("bfind.shiftamt.s32 %r10, %r1;", |a, _, _| shift(a, true));
    check32("and.b32 %r5, %r2, 31; bfe.s32 %r6, %r3, 0, 4; fns.b32 %r10, %r1, %r5, %r6;", |a, b, c| {
        let (base, offset) = ((b & 31) as i32, (c << 28) as i32 >> 28);
        if offset == 0 {
            return if a >> base & 1 == 1 { base as u32 } else { u32::MAX };
        }
        let (mut at, mut left) = (base, offset.abs() - 1);
        while (0..32).contains(&at) {
            if a >> at & 1 == 1 {
                if left == 0 {
                    return at as u32;
                }
                left -= 1;
            }
            at += offset.signum();
        }
        u32::MAX
    });
    let mask = |a: u32, b: u32| {
        (0..32_u32).filter(|&i| i >= a && u64::from(i) < u64::from(a) + u64::from(b)).fold(0, |m, i| m | 1 << i)
    };
    check32("bmsk.clamp.b32 %r10, %r1, %r2;", |a, b, _| mask(a, b));
    check32("bmsk.wrap.b32 %r10, %r1, %r2;", |a, b, _| mask(a & 31, b & 31));
    let extend = |a: u32, n: u32, signed: bool| match n {
        0 => 0,
        1..=31 if signed => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
        1..=31 => a & ((1 << n) - 1),
        _ => a,
    };
    check32("szext.clamp.u32 %r10, %r1, %r2;", |a, b, _| extend(a, b, false));
    check32("szext.wrap.s32 %r10, %r1, %r2;", |a, b, _| extend(a, b & 31, true));
    check32("cnot.b32 %r10, %r1;", |a, _, _| u32::from(a == 0));
    check32("lop3.or.b32 %r5|%p1, %r1, %r2, %r3, 0x80, 0; selp.u32 %r10, %r5, 9, %p1;", |a, b, c| {
        if a & b & c != 0 { a & b & c } else { 9 }
    });
    check32(
        "setp.ne.u32 %p2, %r3, 0; lop3.and.b32 %r5|%p1, %r1, %r2, %r3, 0xC0, %p2; selp.u32 %r10, 1, 0, %p1;",
        |a, b, c| u32::from(a & b != 0 && c != 0),
    );
}

#[test]
fn byte_permutations() {
    let bytes = |a: u32, b: u32, picks: [u32; 4]| {
        let both = u64::from(b) << 32 | u64::from(a);
        // Listed from the highest byte down, as in the PTX ISA.
        picks.iter().fold(0, |d, &n| d << 8 | ((both >> (8 * n)) & 0xFF) as u32)
    };
    check32("prmt.b32 %r10, %r1, %r2, %r3;", |a, b, c| {
        let both = u64::from(b) << 32 | u64::from(a);
        (0..4).fold(0, |d, n| {
            let pick = c >> (4 * n) & 15;
            let byte = (both >> (8 * (pick & 7))) as u8;
            let byte = if pick & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
            d | u32::from(byte) << (8 * n)
        })
    });
    let tables: [(&str, [[u32; 4]; 4]); 6] = [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, table) in tables {
        check32(&format!("prmt.b32.{mode} %r10, %r1, %r2, %r3;"), |a, b, c| bytes(a, b, table[(c & 3) as usize]));
    }
}

#[test]
fn integer_products_and_saturation() {
    let (lo, hi) = (|a: u32| i64::from(a as u16 as i16), |a: u32| i64::from((a >> 16) as i16));
    let byte = |b: u32, n: u32| i64::from((b >> (8 * n)) as i8);
    check32("dp2a.lo.s32.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (i64::from(c as i32) + lo(a) * byte(b, 0) + hi(a) * byte(b, 1)) as u32
    });
    check32("dp2a.hi.s32.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (i64::from(c as i32) + lo(a) * byte(b, 2) + hi(a) * byte(b, 3)) as u32
    });
    check32("dp2a.lo.u32.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (i64::from(c) + i64::from(a & 0xFFFF) * byte(b, 0) + i64::from(a >> 16) * byte(b, 1)) as u32
    });
    check32("dp4a.u32.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (i64::from(c) + (0..4).map(|n| i64::from((a >> (8 * n)) as u8) * byte(b, n)).sum::<i64>()) as u32
    });
    let s24 = |x: u32| i64::from((x << 8) as i32 >> 8);
    check32("mul24.hi.s32 %r10, %r1, %r2;", |a, b, _| ((s24(a) * s24(b)) >> 16) as u32);
    check32("mad24.lo.u32 %r10, %r1, %r2, %r3;", |a, b, c| (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF).wrapping_add(c));
    check32("mad24.hi.sat.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (((s24(a) * s24(b)) >> 16) as i32).saturating_add(c as i32) as u32
    });
    check32("mad.hi.sat.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as i32).saturating_add(c as i32) as u32
    });
    check32("mad.hi.u32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)
    });
    check32("add.sat.s32 %r10, %r1, %r2;", |a, b, _| (a as i32).saturating_add(b as i32) as u32);
    check32("sub.sat.s32 %r10, %r1, %r2;", |a, b, _| (a as i32).saturating_sub(b as i32) as u32);
    let pairs = |a: u32, b: u32, f: &dyn Fn(i16, i16) -> i16| {
        u32::from(f(a as i16, b as i16) as u16) | u32::from(f((a >> 16) as i16, (b >> 16) as i16) as u16) << 16
    };
    check32("min.s16x2 %r10, %r1, %r2;", |a, b, _| pairs(a, b, &|a, b| a.min(b)));
    check32("max.relu.s16x2 %r10, %r1, %r2;", |a, b, _| pairs(a, b, &|a, b| a.max(b).max(0)));
    check32("add.u16x2 %r10, %r1, %r2;", |a, b, _| pairs(a, b, &i16::wrapping_add));
    check32("min.relu.s32 %r10, %r1, %r2;", |a, b, _| (a as i32).min(b as i32).max(0) as u32);
    check64("mad.hi.cc.u64 %rd3, %rd1, %rd2, %rd1;", |a, b| {
        (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(a)
    });
    // The low product's carry goes into the high one.
    check64("mad.lo.cc.u32 %r5, %r1, %r3, %r2; madc.hi.u32 %r6, %r1, %r3, %r4; mov.b64 %rd3, {%r5, %r6};", |a, b| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(a >> 32 | b >> 32 << 32)
    });
}

#[test]
fn comparisons_and_selections() {
    let f = f32::from_bits;
    check32("slct.u32.s32 %r10, %r1, %r2, %r3;", |a, b, c| if (c as i32) >= 0 { a } else { b });
    check32("slct.b32.f32 %r10, %r1, %r2, %r3;", |a, b, c| if f(c) >= 0.0 { a } else { b });
    check32("set.lt.u32.s32 %r10, %r1, %r2;", |a, b, _| if (a as i32) < b as i32 { u32::MAX } else { 0 });
    check32("set.hs.f32.u32 %r10, %r1, %r2;", |a, b, _| if a >= b { 1.0_f32.to_bits() } else { 0 });
    check32("setp.ne.u32 %p1, %r3, 1; set.gt.xor.s32.f32 %r10, %r1, %r2, !%p1;", |a, b, c| {
        if (f(a) > f(b)) != (c == 1) { u32::MAX } else { 0 }
    });
    type Compare = fn(f32, f32) -> bool;
    let unordered = |a: f32, b: f32| a.is_nan() || b.is_nan();
    for (name, compare) in [
        ("eq", (|a, b| a == b) as Compare),
        ("ne", |a, b| a.partial_cmp(&b).is_some_and(|order| order.is_ne())),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ] {
        check32(&format!("setp.{name}.f32 %p1, %r1, %r2; selp.u32 %r10, 1, 0, %p1;"), |a, b, _| {
            u32::from(compare(f(a), f(b)))
        });
        check32(&format!("setp.{name}u.f32 %p1, %r1, %r2; selp.u32 %r10, 1, 0, %p1;"), |a, b, _| {
            u32::from(compare(f(a), f(b)) || unordered(f(a), f(b)))
        });
    }
    check32("setp.num.f32 %p1, %r1, %r2; selp.u32 %r10, 1, 0, %p1;", |a, b, _| u32::from(!unordered(f(a), f(b))));
    check32("setp.nan.f32 %p1, %r1, %r2; selp.u32 %r10, 1, 0, %p1;", |a, b, _| u32::from(unordered(f(a), f(b))));
    type Test = fn(f32) -> bool;
    for (name, test) in [
        ("finite", (|x| x.is_finite()) as Test),
        ("infinite", |x| x.is_infinite()),
        ("number", |x| !x.is_nan()),
        ("notanumber", |x| x.is_nan()),
        ("normal", |x| x.is_normal()),
        ("subnormal", |x| x.is_subnormal()),
    ] {
        check32(&format!("testp.{name}.f32 %p1, %r1; selp.u32 %r10, 1, 0, %p1;"), |a, _, _| u32::from(test(f(a))));
    }
    // Halves of two words.
    let h = |x: u32| half::f16::from_bits(x as u16);
    check32("setp.lt.f16x2 %p1|%p2, %r1, %r2; selp.u32 %r10, 1, 0, %p1; @%p2 add.u32 %r10, %r10, 2;", |a, b, _| {
        u32::from(h(a) < h(b)) + 2 * u32::from(h(a >> 16) < h(b >> 16))
    });
    check32("set.geu.f16x2.f16x2 %r10, %r1, %r2;", |a, b, _| {
        let one = |a: half::f16, b: half::f16| if a >= b || a.is_nan() || b.is_nan() { 0x3C00 } else { 0 };
        one(h(a), h(b)) | one(h(a >> 16), h(b >> 16)) << 16
    });
    let x = |bits: u32| half::bf16::from_bits(bits as u16);
    check32("mov.b32 {%h1, %h2}, %r1; setp.gt.bf16 %p1, %h1, %h2; selp.u32 %r10, 1, 0, %p1;", |a, _, _| {
        u32::from(x(a) > x(a >> 16))
    });
}

/// As [`check64`] for results in double precision, of which NaN may have any bits: they become those of the host's.
fn check_double(instruction: &str, reference: impl Fn(u64, u64) -> f64) {
    let bits = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    let nan = f64::NAN.to_bits();
    check64(&format!("{instruction} testp.notanumber.f64 %p8, %rd3; @%p8 mov.u64 %rd3, {nan};"), |a, b| {
        bits(reference(a, b))
    });
}

fn canonical(value: f32) -> u32 {
    if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() }
}

#[test]
fn single_and_double_precision() {
    let f = f32::from_bits;
    let d = f64::from_bits;
    check32("copysign.f32 %r10, %r1, %r2;", |a, b, _| a & 0x8000_0000 | b & 0x7FFF_FFFF);
    check32("abs.ftz.f32 %r10, %r1;", |a, _, _| if f(a).is_subnormal() { 0 } else { a & 0x7FFF_FFFF });
    check32("max.xorsign.abs.f32 %r10, %r1, %r2;", |a, b, _| {
        let most = f(a).abs().max(f(b).abs());
        if most.is_nan() { 0x7FFF_FFFF } else { most.to_bits() | (a ^ b) & 0x8000_0000 }
    });
    check32("fma.rn.sat.f32 %r10, %r1, %r2, %r3;", |a, b, c| {
        let sum = f(a).mul_add(f(b), f(c));
        if sum > 0.0 { sum.min(1.0).to_bits() } else { 0 }
    });
    check_double("add.rn.f64 %rd3, %rd1, %rd2;", |a, b| d(a) + d(b));
    check_double("mul.rn.f64 %rd3, %rd1, %rd2;", |a, b| d(a) * d(b));
    check_double("fma.rn.f64 %rd3, %rd1, %rd2, %rd1;", |a, b| d(a).mul_add(d(b), d(a)));
    check_double("div.rn.f64 %rd3, %rd1, %rd2;", |a, b| d(a) / d(b));
    check_double("sqrt.rn.f64 %rd3, %rd1;", |a, _| d(a).sqrt());
    check_double("rcp.rn.f64 %rd3, %rd1;", |a, _| 1.0 / d(a));
    check64("copysign.f64 %rd3, %rd1, %rd2;", |a, b| a & 1 << 63 | b & !(1 << 63));
    check64("neg.f64 %rd3, %rd1;", |a, _| if d(a).is_nan() { a ^ 1 << 63 } else { (-d(a)).to_bits() });
    // Directed sums are off by less than one place, on the right side.
    for (mode, below, above) in [("rz", true, true), ("rm", true, false), ("rp", false, true)] {
        check32(&format!("cvt.{mode}.f32.u32 %r10, %r1;"), |a, _, _| {
            let rounding = match (below, above) {
                (true, true) => Rounding::TowardZero,
                (true, false) => Rounding::Down,
                _ => Rounding::Up,
            };
            Format::F32.encode(a.into(), rounding, Overflow::Infinite) as u32
        });
    }
}

#[test]
fn conversions_of_all_widths() {
    let f = f32::from_bits;
    let nan0 = |x: f32, value: i64| if x.is_nan() { 0 } else { value };
    // Into 64 bits NaN becomes the smallest number, else zero.
    check64(
        "cvt.rzi.s64.f32 %rd3, %r1;",
        |a, _| if f(a as u32).is_nan() { 1 << 63 } else { f(a as u32) as i64 as u64 },
    );
    check64("cvt.rzi.s32.f64 %r5, %rd1; cvt.u64.u32 %rd3, %r5;", |a, _| match f64::from_bits(a) {
        x if x.is_nan() => 1 << 31,
        x => u64::from(x as i32 as u32),
    });
    check32("cvt.rmi.s32.f32 %r10, %r1;", |a, _, _| nan0(f(a), (f(a).floor() as i32).into()) as u32);
    check32("cvt.rpi.u32.f32 %r10, %r1;", |a, _, _| nan0(f(a), (f(a).ceil() as u32).into()) as u32);
    check32("cvt.sat.u8.s32 %r10, %r1;", |a, _, _| (a as i32).clamp(0, 255) as u32);
    check32("cvt.sat.u32.s32 %r10, %r1;", |a, _, _| (a as i32).max(0) as u32);
    check32("cvt.sat.s16.u32 %r10, %r1;", |a, _, _| a.min(0x7FFF));
    check32("cvt.rn.f16.s32 %h1, %r1; cvt.u32.u16 %r10, %h1;", |a, _, _| {
        Format::F16.encode(f64::from(a as i32), Rounding::NearestEven, Overflow::Infinite) as u32
    });
    check32("mov.b32 {%h1, %h2}, %r1; cvt.f32.f16 %r10, %h1;", |a, _, _| {
        canonical(half::f16::from_bits(a as u16).to_f32())
    });
    check32("mov.b32 {%h1, %h2}, %r1; cvt.rni.s32.f16 %r10, %h2;", |a, _, _| {
        let x = half::f16::from_bits((a >> 16) as u16).to_f32();
        nan0(x, (x.round_ties_even() as i32).into()) as u32
    });
    check64("cvt.rn.f32.f64 %r5, %rd1; cvt.u64.u32 %rd3, %r5;", |a, _| canonical(f64::from_bits(a) as f32).into());
    check_double("cvt.f64.f32 %rd3, %r1;", |a, _| f64::from(f(a as u32)));
    let clamp = |a: u32, low: i32, high: i32| (a as i32).clamp(low, high) as u32;
    check32("cvt.pack.sat.s16.s32 %r10, %r1, %r2;", |a, b, _| {
        clamp(a, -32768, 32767) << 16 | clamp(b, -32768, 32767) & 0xFFFF
    });
    check32("cvt.pack.sat.u8.s32.b32 %r10, %r1, %r2, %r3;", |a, b, c| {
        c << 16 | clamp(a, 0, 255) << 8 | clamp(b, 0, 255)
    });
    check32("cvt.pack.sat.s4.s32.b32 %r10, %r1, %r2, %r3;", |a, b, c| {
        c << 8 | (clamp(a, -8, 7) & 15) << 4 | clamp(b, -8, 7) & 15
    });
    check32("cvt.rz.bf16x2.f32 %r10, %r1, %r2;", |a, b, _| {
        let x = |bits: u32| if f(bits).is_nan() { 0x7FFF } else { bits >> 16 };
        x(a) << 16 | x(b)
    });
    check32("cvt.rn.satfinite.e5m2x2.f16x2 %h1, %r1; cvt.u32.u16 %r10, %h1;", |a, _, _| {
        let x = |bits: u32| {
            let value = half::f16::from_bits(bits as u16).to_f64();
            if value.is_nan() {
                0x7F
            } else {
                Format::E5M2.encode(value, Rounding::NearestEven, Overflow::Saturate) as u32
            }
        };
        x(a >> 16) << 8 | x(a)
    });
}

#[test]
fn half_operations() {
    use half::{bf16, f16};
    type Half = fn(u16, u16) -> u16;
    let both = |g: Half| {
        move |a: u32, b: u32, _: u32| {
            u32::from(g(a as u16, b as u16)) | u32::from(g((a >> 16) as u16, (b >> 16) as u16)) << 16
        }
    };
    fn f(x: u16) -> f32 {
        f16::from_bits(x).to_f32()
    }
    fn narrow(x: f32) -> u16 {
        if x.is_nan() { 0x7FFF } else { f16::from_f32(x).to_bits() }
    }
    fn b(x: u16) -> f32 {
        bf16::from_bits(x).to_f32()
    }
    fn brain(x: f32) -> u16 {
        if x.is_nan() { 0x7FFF } else { bf16::from_f32(x).to_bits() }
    }
    check32("sub.f16x2 %r10, %r1, %r2;", both(|x, y| narrow(f(x) - f(y))));
    check32("mul.rn.f16x2 %r10, %r1, %r2;", both(|x, y| narrow(f(x) * f(y))));
    check32("mul.bf16x2 %r10, %r1, %r2;", both(|x, y| brain(b(x) * b(y))));
    check32(
        "add.sat.f16x2 %r10, %r1, %r2;",
        both(|x, y| match f(x) + f(y) {
            sum if sum > 0.0 => narrow(sum.min(1.0)),
            _ => 0,
        }),
    );
    check32(
        "max.NaN.f16x2 %r10, %r1, %r2;",
        both(|x, y| {
            if f(x).is_nan() || f(y).is_nan() {
                0x7FFF
            } else if f(x) == f(y) {
                x & y
            } else {
                narrow(f(x).max(f(y)))
            }
        }),
    );
    // What a tensor copy fills in counts as zero; other numbers are multiplied.
    check32(
        "fma.rn.oob.f16x2 %r10, %r1, %r2, %r1;",
        both(|x, y| {
            if x == 0x7FF7 || y == 0x7FF7 {
                return 0;
            }
            let exact = f16::from_bits(x).to_f64().mul_add(f16::from_bits(y).to_f64(), f16::from_bits(x).to_f64());
            if exact.is_nan() {
                0x7FFF
            } else {
                Format::F16.encode(exact, Rounding::NearestEven, Overflow::Infinite) as u16
            }
        }),
    );
    check32(
        "mov.u32 %r5, 0x7FF73C00; fma.rn.oob.bf16x2 %r10, %r5, %r1, %r1; and.b32 %r10, %r10, 0xFFFF0000;",
        |_, _, _| 0,
    );
}
