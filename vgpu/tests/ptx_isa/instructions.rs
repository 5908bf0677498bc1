//! Instructions that compute, exchange, call and branch.

use crate::harness::*;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::{Format, Overflow, Rounding};
use tegula_vgpu::ptx::Module;

#[test]
fn integers_of_32_bits() {
    check32("add.s32 %r10, %r1, %r2;", |a, b, _| a.wrapping_add(b));
    check32("add.sat.s32 %r10, %r1, %r2;", |a, b, _| (a as i32).saturating_add(b as i32) as u32);
    check32("sub.u32 %r10, %r1, %r2;", |a, b, _| a.wrapping_sub(b));
    check32("mul.lo.s32 %r10, %r1, %r2;", |a, b, _| a.wrapping_mul(b));
    check32("mul.hi.u32 %r10, %r1, %r2;", |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    check32("mul.hi.s32 %r10, %r1, %r2;", |a, b, _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    check32("mad.lo.u32 %r10, %r1, %r2, %r3;", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check32("div.u32 %r10, %r1, %r2;", |a, b, _| a.checked_div(b).unwrap_or(u32::MAX));
    check32("or.b32 %r5, %r2, 1; div.s32 %r10, %r1, %r5;", |a, b, _| (a as i32).wrapping_div((b | 1) as i32) as u32);
    check32("or.b32 %r5, %r2, 1; rem.s32 %r10, %r1, %r5;", |a, b, _| (a as i32).wrapping_rem((b | 1) as i32) as u32);
    check32("shl.b32 %r10, %r1, %r2;", |a, b, _| a.checked_shl(b).unwrap_or(0));
    check32("shr.s32 %r10, %r1, %r2;", |a, b, _| (a as i32 >> b.min(31)) as u32);
    check32("shr.u32 %r10, %r1, %r2;", |a, b, _| a.checked_shr(b).unwrap_or(0));
    check32("shf.l.wrap.b32 %r10, %r1, %r2, %r3;", |a, b, c| {
        (((u64::from(b) << 32 | u64::from(a)) << (c % 32)) >> 32) as u32
    });
    check32("shf.r.clamp.b32 %r10, %r1, %r2, %r3;", |a, b, c| {
        ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
    });
    check32("lop3.b32 %r10, %r1, %r2, %r3, 0x96;", |a, b, c| a ^ b ^ c);
    check32("lop3.b32 %r10, %r1, %r2, %r3, 0xCA;", |a, b, c| (a & b) | (!a & c));
    check32("min.s32 %r10, %r1, %r2;", |a, b, _| (a as i32).min(b as i32) as u32);
    check32("max.u32 %r10, %r1, %r2;", |a, b, _| a.max(b));
    check32("popc.b32 %r10, %r1;", |a, _, _| a.count_ones());
    check32("clz.b32 %r10, %r1;", |a, _, _| a.leading_zeros());
    check32("brev.b32 %r10, %r1;", |a, _, _| a.reverse_bits());
    check32("sad.s32 %r10, %r1, %r2, %r3;", |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c));
    check32("dp4a.s32.s32 %r10, %r1, %r2, %r3;", |a, b, c| {
        let parts = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        c.wrapping_add(parts.map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum::<i32>() as u32)
    });
    check32("mul24.lo.u32 %r10, %r1, %r2;", |a, b, _| (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF));
    check32(
        "setp.lt.s32 %p1, %r1, %r2; selp.u32 %r10, %r3, 7, %p1;",
        |a, b, c| if (a as i32) < b as i32 { c } else { 7 },
    );
    check32("setp.gtu.f32 %p1, %r1, %r2; selp.u32 %r10, 1, 0, %p1;", |a, b, _| {
        let (a, b) = (f32::from_bits(a), f32::from_bits(b));
        u32::from(a > b || a.is_nan() || b.is_nan())
    });
    check32("setp.eq.and.u32 %p1|%p2, %r1, %r2, 1; @%p2 mov.u32 %r10, 5;", |a, b, _| if a == b { 0 } else { 5 });
    check32("{ .reg .b16 a, b; mov.b32 {a, b}, %r1; mul.wide.s16 %r10, a, b; }", |a, _, _| {
        (i32::from(a as u16 as i16) * i32::from((a >> 16) as u16 as i16)) as u32
    });
}

#[test]
fn integers_of_64_bits_and_carries() {
    check64("add.s64 %rd3, %rd1, %rd2;", u64::wrapping_add);
    check64("mul.lo.u64 %rd3, %rd1, %rd2;", u64::wrapping_mul);
    check64("mul.hi.s64 %rd3, %rd1, %rd2;", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
    check64("mul.hi.u64 %rd3, %rd1, %rd2;", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check64("or.b64 %rd4, %rd2, 1; rem.u64 %rd3, %rd1, %rd4;", |a, b| a % (b | 1));
    check64("shl.b64 %rd3, %rd1, %r3;", |a, b| if b as u32 > 63 { 0 } else { a << (b as u32) });
    check64("shr.s64 %rd3, %rd1, %r3;", |a, b| (a as i64 >> (b as u32).min(63)) as u64);
    check64("mad.wide.u32 %rd3, %r1, %r2, %rd2;", |a, b| u64::from(a as u32).wrapping_mul(a >> 32).wrapping_add(b));
    // 64-bit sums out of 32-bit ones, through the carry flag.
    check64("add.cc.u32 %r5, %r1, %r3; addc.u32 %r6, %r2, %r4; mov.b64 %rd3, {%r5, %r6};", u64::wrapping_add);
    check64("sub.cc.u32 %r5, %r1, %r3; subc.u32 %r6, %r2, %r4; mov.b64 %rd3, {%r5, %r6};", u64::wrapping_sub);
    check64("cvt.rn.f64.s64 %rd3, %rd1;", |a, _| (a as i64 as f64).to_bits());
    // Integers in registers that are larger than their types: cut off as sources, extended as results.
    check64("cvt.s64.s32 %rd3, %rd1;", |a, _| a as i32 as i64 as u64);
    check64("cvt.u64.u16 %rd3, %rd1;", |a, _| u64::from(a as u16));
    check64("cvt.s64.s8 %rd3, %rd1;", |a, _| a as i8 as i64 as u64);
    check64("cvt.s32.s64 %rd3, %rd1;", |a, _| a as i32 as i64 as u64);
    check64("cvt.u32.u64 %rd3, %rd1;", |a, _| u64::from(a as u32));
    check64("cvt.s8.s16 %rd3, %rd1;", |a, _| a as i8 as i64 as u64);
}

fn canonical(value: f32) -> u32 {
    if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() }
}

#[test]
fn floats() {
    let f = f32::from_bits;
    let z = |bits: u32| if f(bits).is_subnormal() { f(bits & 0x8000_0000) } else { f(bits) };
    check32("add.f32 %r10, %r1, %r2;", |a, b, _| canonical(f(a) + f(b)));
    check32("mul.ftz.f32 %r10, %r1, %r2;", |a, b, _| canonical(z((z(a) * z(b)).to_bits())));
    check32("fma.rn.f32 %r10, %r1, %r2, %r3;", |a, b, c| canonical(f(a).mul_add(f(b), f(c))));
    check32("add.sat.f32 %r10, %r1, %r2;", |a, b, _| {
        let sum = f(a) + f(b);
        if sum > 0.0 { sum.min(1.0).to_bits() } else { 0 }
    });
    check32("max.NaN.f32 %r10, %r1, %r2;", |a, b, _| {
        if f(a).is_nan() || f(b).is_nan() {
            0x7FFF_FFFF
        } else if f(a) == f(b) {
            a & b
        } else {
            canonical(f(a).max(f(b)))
        }
    });
    check32("neg.f32 %r10, %r1;", |a, _, _| a ^ 0x8000_0000);
    check32("div.rn.f32 %r10, %r1, %r2;", |a, b, _| canonical(f(a) / f(b)));
    check32("sqrt.rn.f32 %r10, %r1;", |a, _, _| canonical(f(a).sqrt()));
    let directed = |mode, value: f64| Format::F32.encode(value, mode, Overflow::Infinite) as u32;
    for (name, mode) in [("rz", Rounding::TowardZero), ("rp", Rounding::Up), ("rm", Rounding::Down)] {
        check32(&format!("mul.{name}.f32 %r10, %r1, %r2;"), |a, b, _| {
            let product = f64::from(f(a)) * f64::from(f(b));
            if product.is_nan() { 0x7FFF_FFFF } else { directed(mode, product) }
        });
    }
}

#[test]
fn conversions() {
    let f = f32::from_bits;
    let small =
        |format: Format, mode, overflow| move |a: u32| format.encode(f32::from_bits(a).into(), mode, overflow) as u32;
    let clean = "and.b32 %r5, %r1, 0xBFFFFFFF;";
    let cleaned = |a: u32| a & 0xBFFF_FFFF;
    for (name, mode) in [("rn", Rounding::NearestEven), ("rz", Rounding::TowardZero)] {
        let half = small(Format::F16, mode, Overflow::Infinite);
        check32(&format!("{clean} cvt.{name}.f16.f32 %h1, %r5; cvt.u32.u16 %r10, %h1;"), |a, _, _| half(cleaned(a)));
        let brain = small(Format::BF16, mode, Overflow::Infinite);
        check32(&format!("{clean} cvt.{name}.bf16.f32 %h1, %r5; cvt.u32.u16 %r10, %h1;"), |a, _, _| brain(cleaned(a)));
    }
    let e4m3 = small(Format::E4M3, Rounding::NearestEven, Overflow::Saturate);
    check32("cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2; cvt.u32.u16 %r10, %h1;", |a, b, _| e4m3(a) << 8 | e4m3(b));
    check32("mov.b32 {%h1, %h2}, %r1; cvt.rn.f16x2.e4m3x2 %r10, %h1;", |a, _, _| {
        let h = |byte: u32| match Format::E4M3.decode(byte.into()) {
            x if x.is_nan() => 0x7FFF,
            x => Format::F16.encode(x, Rounding::NearestEven, Overflow::Infinite) as u32,
        };
        h((a >> 8) & 0xFF) << 16 | h(a & 0xFF)
    });
    check32("cvt.rna.tf32.f32 %r10, %r1;", |a, _, _| {
        if f(a).is_nan() {
            0x7FFF_FFFF
        } else {
            (Format::TF32.encode(f(a).into(), Rounding::NearestAway, Overflow::Infinite) as u32) << 13
        }
    });
    check32(
        "cvt.rni.s32.f32 %r10, %r1;",
        |a, _, _| if f(a).is_nan() { 0 } else { f(a).round_ties_even() as i32 as u32 },
    );
    check32("cvt.rzi.u32.f32 %r10, %r1;", |a, _, _| if f(a).is_nan() { 0 } else { f(a) as u32 });
    check32("cvt.rn.f32.u32 %r10, %r1;", |a, _, _| (a as f32).to_bits());
    // A narrower signed result fills the register that holds it with its sign.
    check32("cvt.sat.s8.s32 %r10, %r1;", |a, _, _| (a as i32).clamp(-128, 127) as u32);
    check32("cvt.s8.s32 %h1, %r1; cvt.u32.u16 %r10, %h1;", |a, _, _| u32::from(a as i8 as i16 as u16));
    check32("cvt.rpi.f32.f32 %r10, %r1;", |a, _, _| canonical(f(a).ceil()));
    check32("cvt.rn.relu.f16x2.f32 %r10, %r1, %r2;", |a, b, _| {
        let h = |x: u32| match f(x) {
            x if x.is_nan() => 0x7FFF,
            x if x <= 0.0 => 0,
            x => u32::from(half::f16::from_f32(x).to_bits()),
        };
        h(a) << 16 | h(b)
    });
}

#[test]
fn halves() {
    use half::{bf16, f16};
    type Half = fn(u16, u16, u16) -> u16;
    let f: Half = |a, b, c| {
        let [a, b, c] = [a, b, c].map(|x| f16::from_bits(x).to_f64());
        let sum = a.mul_add(b, c);
        if sum.is_nan() { 0x7FFF } else { Format::F16.encode(sum, Rounding::NearestEven, Overflow::Infinite) as u16 }
    };
    let add: Half = |a, b, _| {
        let sum = bf16::from_bits(a).to_f32() + bf16::from_bits(b).to_f32();
        if sum.is_nan() { 0x7FFF } else { bf16::from_f32(sum).to_bits() }
    };
    let both = |g: Half| {
        move |a: u32, b: u32, c: u32| {
            u32::from(g(a as u16, b as u16, c as u16))
                | u32::from(g((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16)) << 16
        }
    };
    check32("fma.rn.f16x2 %r10, %r1, %r2, %r3;", both(f));
    check32("add.rn.bf16x2 %r10, %r1, %r2;", both(add));
}

#[test]
fn lanes_talk_to_each_other() {
    let i = inputs(3);
    let shuffled = |instruction: &str| eval(instruction, &i);
    let [down, valid] = shuffled("shfl.sync.down.b32 %r10|%p1, %r1, 5, 31, -1; selp.u32 %r11, 1, 0, %p1;");
    let [index, _] = shuffled("and.b32 %r5, %r2, 31; shfl.sync.idx.b32 %r10, %r1, %r5, 0x181f, -1;");
    let [up, _] = shuffled("shfl.sync.up.b32 %r10, %r1, 3, 0, -1;");
    let [ballot, any] = shuffled(
        "setp.lt.s32 %p1, %r1, 0; vote.sync.ballot.b32 %r10, %p1, -1; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r11, 1, 0, %p2;",
    );
    let [matched, _] = shuffled("and.b32 %r5, %r1, 3; match.any.sync.b32 %r10, %r5, -1;");
    let [sum, max] = shuffled("redux.sync.add.u32 %r10, %r1, -1; redux.sync.max.s32 %r11, %r1, -1;");
    let [leader, elected] = shuffled("elect.sync %r10|%p1, -1; selp.u32 %r11, 1, 0, %p1;");
    let negative = (0..32).filter(|&l| (i[0][l] as i32) < 0).fold(0, |m, l| m | 1_u32 << l);
    for lane in 0..32 {
        let inside = lane + 5 < 32;
        assert_eq!((down[lane], valid[lane]), (i[0][if inside { lane + 5 } else { lane }], u32::from(inside)));
        // Segments of 8 lanes.
        assert_eq!(index[lane], i[0][(lane & 24) | (i[1][lane] as usize & 7)]);
        assert_eq!(up[lane], i[0][lane.checked_sub(3).unwrap_or(lane)]);
        assert_eq!((ballot[lane], any[lane]), (negative, u32::from(negative != 0)));
        assert_eq!(matched[lane], (0..32).filter(|&l| i[0][l] & 3 == i[0][lane] & 3).fold(0, |m, l| m | 1_u32 << l));
        assert_eq!(sum[lane], i[0].iter().fold(0, |s, x| u32::wrapping_add(s, *x)));
        assert_eq!(max[lane] as i32, i[0].iter().map(|x| *x as i32).max().expect("32 lanes"));
        assert_eq!((leader[lane], elected[lane]), (0, u32::from(lane == 0)));
    }
}

#[test]
fn calls_recursion_and_branch_tables() {
    let text = "
.version 8.8
.target sm_90a
.address_size 64
.func (.param .b32 r) fib(.param .b32 n) {
    .reg .pred %p<2>; .reg .b32 %r<8>;
    ld.param.u32 %r1, [n];
    setp.lt.u32 %p1, %r1, 2;
    @%p1 bra BASE;
    sub.u32 %r2, %r1, 1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }
    sub.u32 %r2, %r1, 2;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }
    add.u32 %r5, %r3, %r4;
    st.param.b32 [r], %r5;
    ret;
BASE:
    st.param.b32 [r], %r1;
    ret;
}
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd1, %r1, 8, %rd1;
    and.b32 %r2, %r1, 7;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }
    and.b32 %r4, %r1, 3;
    T: .branchtargets A, B, C, A;
    brx.idx %r4, T;
A:  mov.u32 %r5, 10; bra.uni D;
B:  mov.u32 %r5, 20; bra.uni D;
C:  mov.u32 %r5, 30;
D:  st.global.v2.u32 [%rd1], {%r3, %r5};
    ret;
}";
    let memory = GlobalMemory::default();
    let out = memory.allocate("out", 256, Fill::Poison).expect("memory");
    let module = Module::load(text, None, &memory).expect("it parses");
    let outcome = module.launch(&memory, &Launch::new("k").arg(Argument::pointer(out))).expect("it runs");
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    let mut bytes = vec![0; 256];
    memory.read(out, &mut bytes).expect("in bounds");
    for (lane, pair) in bytes.chunks_exact(8).enumerate() {
        let word = |at: usize| u32::from_le_bytes(pair[at..at + 4].try_into().expect("4 bytes"));
        assert_eq!(word(0), [0, 1, 1, 2, 3, 5, 8, 13][lane % 8], "lane {lane}");
        assert_eq!(word(4), [10, 20, 30, 10][lane % 4], "lane {lane}");
    }
}

#[test]
fn atomics_of_all_kinds() {
    let memory = GlobalMemory::default();
    let out = memory.allocate("out", 64, Fill::Zero).expect("memory");
    let text = "
.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b16 %h<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    atom.global.add.u32 %r2, [%rd1], %r1;
    red.global.max.s32 [%rd1+4], %r1;
    cvt.rn.f32.u32 %r3, %r1;
    red.global.add.f32 [%rd1+8], %r3;
    mov.u32 %r4, 0x3C003C00;
    red.global.add.noftz.f16x2 [%rd1+12], %r4;
    cvt.rn.f64.u32 %rd2, %r1;
    red.global.add.f64 [%rd1+16], %rd2;
    atom.global.inc.u32 %r5, [%rd1+24], 9;
    mov.u64 %rd3, 1;
    shl.b64 %rd3, %rd3, %r1;
    red.global.or.b64 [%rd1+32], %rd3;
L:  ld.relaxed.gpu.global.u32 %r6, [%rd1+40];
    add.u32 %r7, %r6, 3;
    atom.global.cas.b32 %r8, [%rd1+40], %r6, %r7;
    setp.ne.u32 %p1, %r8, %r6;
    @%p1 bra L;
    mov.u32 %r9, 0x3F800000;
    red.global.add.v4.f32 [%rd1+48], {%r9, %r3, %r9, %r3};
    ret;
}";
    let module = Module::load(text, None, &memory).expect("it parses");
    let outcome =
        module.launch(&memory, &Launch::new("k").block([64, 1, 1]).arg(Argument::pointer(out))).expect("it runs");
    assert!(outcome.is_clean(), "{}", outcome.findings[0]);
    let mut bytes = vec![0; 64];
    memory.read(out, &mut bytes).expect("in bounds");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let double = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let sum = 63 * 64 / 2;
    assert_eq!((word(0), word(4), f32::from_bits(word(8))), (sum, 63, sum as f32));
    assert_eq!(word(12), u32::from(half::f16::from_f32(64.0).to_bits()) * 0x1_0001);
    assert_eq!((f64::from_bits(double(16)), word(24), double(32), word(40)), (f64::from(sum), 4, u64::MAX, 192));
    assert_eq!([48, 52, 56, 60].map(|at| f32::from_bits(word(at))), [64.0, sum as f32, 64.0, sum as f32]);
}
