//! Linear bulk copies, reductions into global memory, and `st.bulk`.

use super::harness::{Run, WAIT, bytes, words};
use half::{bf16, f16};

#[test]
fn there_and_back() {
    for size in [16, 48, 1024, 16384] {
        let input: Vec<u8> = (0..size).map(|n| (n * 7 + n / 256) as u8).collect();
        let run = Run { input: &input, output: vec![0; size as usize], ..Run::default() };
        for space in ["shared::cluster", "shared::cta"] {
            let out = run.run(&format!(
                "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1; fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r10, {size};
                @!%p1 bra E; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], %r10;
                cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r3+512], [%rd1], %r10, [%r4], %rd1;
                {WAIT} cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3+512], %r10;
                cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"
            ));
            assert_eq!(out, input);
        }
    }
}

/// Reduces 64 bytes in shared memory (the input) into the output.
fn reduce(operation: &str, input: &[u8], output: &[u8]) -> Vec<u8> {
    assert_eq!((input.len(), output.len()), (64, 64));
    let run = Run { input, output: output.to_vec(), grid: [1, 1, 1], ..Run::default() };
    run.run(&format!(
        "cvt.u64.u32 %rd5, %r1; setp.lt.u32 %p2, %r1, 16; @!%p2 bra S;
        mad.wide.u32 %rd5, %r1, 4, %rd1; shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, %r3; ld.global.u32 %r11, [%rd5]; st.shared.u32 [%r10], %r11;
        S: fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra E;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%rd2], [%r3], 64;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"
    ))
}

#[test]
fn reductions_of_integers() {
    let a: Vec<u32> = (0..16).map(|n| if n % 3 == 0 { u32::MAX - n } else { n * 5 }).collect();
    let b: Vec<u32> = (0..16).map(|n| if n % 4 == 1 { 0x8000_0000 + n } else { n * 7 % 11 }).collect();
    type Reduction = fn(u32, u32) -> u32;
    let cases: [(&str, Reduction); 11] = [
        ("add.u32", u32::wrapping_add),
        ("add.s32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("max.u32", u32::max),
        ("min.s32", |x, y| (x as i32).min(y as i32) as u32),
        ("max.s32", |x, y| (x as i32).max(y as i32) as u32),
        ("inc.u32", |x, old| if old >= x { 0 } else { old + 1 }),
        ("dec.u32", |x, old| if old == 0 || old > x { x } else { old - 1 }),
        ("and.b32", |x, y| x & y),
        ("or.b32", |x, y| x | y),
        ("xor.b32", |x, y| x ^ y),
    ];
    for (operation, f) in cases {
        let out = words(&reduce(operation, &bytes(a.iter().copied()), &bytes(b.iter().copied())));
        let expected: Vec<u32> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
        assert_eq!(out, expected, "{operation}");
    }
    let wide = |x: &[u32]| -> Vec<u64> { x.chunks(2).map(|p| u64::from(p[0]) | u64::from(p[1]) << 32).collect() };
    type Wide = fn(u64, u64) -> u64;
    let cases: [(&str, Wide); 8] = [
        ("add.u64", u64::wrapping_add),
        ("min.u64", u64::min),
        ("max.u64", u64::max),
        ("min.s64", |x, y| (x as i64).min(y as i64) as u64),
        ("max.s64", |x, y| (x as i64).max(y as i64) as u64),
        ("and.b64", |x, y| x & y),
        ("or.b64", |x, y| x | y),
        ("xor.b64", |x, y| x ^ y),
    ];
    for (operation, f) in cases {
        let out = wide(&words(&reduce(operation, &bytes(a.iter().copied()), &bytes(b.iter().copied()))));
        let expected: Vec<u64> = wide(&a).into_iter().zip(wide(&b)).map(|(a, b)| f(a, b)).collect();
        assert_eq!(out, expected, "{operation}");
    }
}

#[test]
fn reductions_of_floats() {
    let value = |n: usize, salt: usize| ((n * 13 + salt * 7) % 29) as f64 / 4.0 - 3.0;
    let encode = |encode: &dyn Fn(f64) -> Vec<u8>, count: usize, salt: usize| -> Vec<u8> {
        (0..count).flat_map(|n| encode(value(n, salt))).collect()
    };
    let f16s = |x: f64| f16::from_f64(x).to_le_bytes().to_vec();
    let bf16s = |x: f64| bf16::from_f64(x).to_le_bytes().to_vec();
    let f32s = |x: f64| (x as f32).to_le_bytes().to_vec();
    let f64s = |x: f64| x.to_le_bytes().to_vec();
    let check = |operation: &str, code: &dyn Fn(f64) -> Vec<u8>, f: fn(f64, f64) -> f64| {
        let count = 64 / code(0.0).len();
        let out = reduce(operation, &encode(code, count, 1), &encode(code, count, 2));
        let expected: Vec<u8> = (0..count).flat_map(|n| code(f(value(n, 1), value(n, 2)))).collect();
        assert_eq!(out, expected, "{operation}");
    };
    check("add.noftz.f16", &f16s, |a, b| a + b);
    check("min.f16", &f16s, f64::min);
    check("max.f16", &f16s, f64::max);
    check("add.noftz.bf16", &bf16s, |a, b| a + b);
    check("min.bf16", &bf16s, f64::min);
    check("max.bf16", &bf16s, f64::max);
    check("add.f32", &f32s, |a, b| a + b);
    check("add.f64", &f64s, |a, b| a + b);
}

#[test]
fn shared_memory_zeroed_in_bulk() {
    let run = Run { output: vec![1; 128], ..Run::default() };
    let out = words(&run.run(
        "shl.b32 %r10, %r1, 2; add.u32 %r10, %r10, %r3; st.shared.u32 [%r10], 7; bar.sync 0;
        @%p1 st.bulk.weak.shared::cta [%r3+8], 48, 0; bar.sync 0;
        ld.shared.u32 %r11, [%r10]; mad.wide.u32 %rd10, %r1, 4, %rd2; st.global.u32 [%rd10], %r11;",
    ));
    for (index, word) in out.into_iter().enumerate() {
        assert_eq!(word, if (2..14).contains(&index) { 0 } else { 7 });
    }
}
