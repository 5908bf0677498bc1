//! PTX as NVIDIA's compiler writes it: intrinsics, library functions, calls of all kinds, debug sections, fragments. The programs and
//! their PTX are in `ptx/nvcc`; what they must compute is computed again here.

use tegula_vgpu::finding::FindingKind;
use tegula_vgpu::launch::{Argument, Launch, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};
use tegula_vgpu::numeric::{Format, Overflow, Rounding};
use tegula_vgpu::ptx::Module;

const SCALAR: &str = include_str!("ptx/nvcc/scalar.ptx");
const WARP: &str = include_str!("ptx/nvcc/warp.ptx");
const CALLS: &str = include_str!("ptx/nvcc/calls.ptx");
const CALLS_LINES: &str = include_str!("ptx/nvcc/calls_lines.ptx");
const CALLS_DEBUG: &str = include_str!("ptx/nvcc/calls_debug.ptx");
const MATRIX: &str = include_str!("ptx/nvcc/matrix.ptx");

fn run(text: &str, launch: Launch, output: usize, inputs: &[&[u8]], more: &[Argument]) -> (Vec<u32>, Outcome) {
    let memory = GlobalMemory::default();
    let module = Module::load(text, None, &memory).unwrap_or_else(|error| panic!("{error}"));
    let out = memory.allocate("out", output as u64 * 4, Fill::Zero).expect("memory");
    let mut launch = launch.arg(Argument::pointer(out));
    for input in inputs {
        let address = memory.allocate("in", input.len() as u64, Fill::Zero).expect("memory");
        memory.write(address, input).expect("in bounds");
        launch = launch.arg(Argument::pointer(address));
    }
    for argument in more {
        launch = launch.arg(argument.clone());
    }
    let outcome = module.launch(&memory, &launch).unwrap_or_else(|error| panic!("{}: {error}", launch.entry));
    let mut bytes = vec![0; output * 4];
    memory.read(out, &mut bytes).expect("in bounds");
    (bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(), outcome)
}

fn clean(text: &str, launch: Launch, output: usize, inputs: &[&[u8]], more: &[Argument]) -> Vec<u32> {
    let entry = launch.entry.clone();
    let (words, outcome) = run(text, launch, output, inputs, more);
    assert!(outcome.is_clean(), "{entry}: {}", outcome.findings[0]);
    words
}

fn random(count: usize) -> Vec<u32> {
    let mut state = 0x1234_5678_9ABC_DEF1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Small ones too.
        (state >> 32) as u32 >> (state % 3 * 8)
    };
    (0..count).map(next).collect()
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn integer_intrinsics() {
    let input = random(128);
    let out = clean(SCALAR, Launch::new("integers").block([64, 1, 1]), 64 * 24, &[&bytes_of(&input)], &[]);
    for (pair, got) in input.chunks_exact(2).zip(out.chunks_exact(24)) {
        let (a, b) = (pair[0], pair[1]);
        let (sa, sb) = (a as i32, b as i32);
        let both = u64::from(b) << 32 | u64::from(a);
        let pick = |selector: u32| {
            (0..4).fold(0, |r, n| r | ((both >> (8 * ((selector >> (4 * n)) & 7)) & 0xFF) as u32) << (8 * n))
        };
        let signed24 = |x: u32| i64::from((x << 8) as i32 >> 8);
        let lanes = |f: &dyn Fn(u8, u8) -> u8| {
            u32::from_le_bytes(std::array::from_fn(|n| f(a.to_le_bytes()[n], b.to_le_bytes()[n])))
        };
        let dot4: i32 = (0..4).map(|n| i32::from(a.to_le_bytes()[n] as i8) * i32::from(b.to_le_bytes()[n] as i8)).sum();
        let dot2: i32 = (0..2).map(|n| i32::from((a >> (16 * n)) as i16) * i32::from(b.to_le_bytes()[n] as i8)).sum();
        let half_max = |n: u32| u32::from(((a >> n) as i16).max((b >> n) as i16) as u16) << n;
        let wide = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let expected = [
            a.count_ones(),
            a.leading_zeros(),
            if a == 0 { 0 } else { a.trailing_zeros() + 1 },
            a.reverse_bits(),
            pick(0x3715),
            ((both << 5) >> 32) as u32,
            (both >> (b & 63).min(32)) as u32,
            ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
            ((u64::from(a) * u64::from(b)) >> 32) as u32,
            (signed24(a) * signed24(b)) as u32,
            sa.abs_diff(sb).wrapping_add(7),
            (dot4 + 3) as u32,
            (dot2 + 3) as u32,
            ((i64::from(sa) + i64::from(sb)) >> 1) as u32,
            ((u64::from(a) + u64::from(b) + 1) >> 1) as u32,
            lanes(&u8::wrapping_add),
            half_max(0) | half_max(16),
            lanes(&|x, y| (u16::from(x) + u16::from(y)).div_ceil(2) as u8),
            a.abs_diff(b).wrapping_add(1),
            (wide >> 32) as u32,
            wide.count_ones(),
            wide.leading_zeros(),
            ((u128::from(wide) * u128::from(wide)) >> 64) as u32,
            (a / (b | 1)) ^ sa.wrapping_rem((b | 1) as i32) as u32,
        ];
        for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert_eq!(*got, expected, "output {n} of {a:#x}, {b:#x}");
        }
    }
}

/// Numbers of few bits, so that sums and products are exact in `f64`.
fn numbers(count: usize, scale: f32) -> Vec<f32> {
    random(count).into_iter().map(|x| ((x % 4001) as f32 - 2000.0) / scale + 0.125).collect()
}

#[test]
fn float_intrinsics() {
    let input = numbers(128, 256.0);
    let bits: Vec<u32> = input.iter().map(|x| x.to_bits()).collect();
    let out = clean(SCALAR, Launch::new("floats").block([64, 1, 1]), 64 * 20, &[&bytes_of(&bits)], &[]);
    for (pair, got) in input.chunks_exact(2).zip(out.chunks_exact(20)) {
        let (a, b) = (pair[0], pair[1]);
        let (wa, wb) = (f64::from(a), f64::from(b));
        let round = |mode, value: f64| f32::from_bits(Format::F32.encode(value, mode, Overflow::Infinite) as u32);
        let expected = [
            round(Rounding::TowardZero, wa + wb),
            round(Rounding::Up, wa * wb),
            round(Rounding::Down, wa * wb + 1.5),
            a / b,
            round(Rounding::TowardZero, wa.abs().sqrt()),
            round(Rounding::Up, 1.0 / wb),
            a.min(b),
            a.max(b),
            a.copysign(b),
            a.trunc(),
            b.round_ties_even(),
            a.clamp(0.0, 1.0),
            a.floor(),
            b.abs().round_ties_even(),
            a % b,
            -a,
            a / b,
            b.abs().sqrt(),
            a * 8.0,
            a.floor() + b.ceil(),
        ];
        for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert_eq!(f32::from_bits(*got), expected, "output {n} of {a}, {b}");
        }
    }
}

#[test]
fn library_functions() {
    let input = numbers(64, 700.0);
    let bits: Vec<u32> = input.iter().map(|x| x.to_bits()).collect();
    let out = clean(SCALAR, Launch::new("functions").block([64, 1, 1]), 64 * 16, &[&bytes_of(&bits)], &[]);
    for (&a, got) in input.iter().zip(out.chunks_exact(16)) {
        let x = f64::from(a);
        // The error function by its series.
        let mut erf = 0.0;
        let mut term = x;
        for n in 0..100 {
            erf += term / f64::from(2 * n + 1);
            term *= -x * x / f64::from(n + 1);
        }
        let expected = [
            x.sin(),
            x.cos(),
            x.exp(),
            x.abs().ln(),
            x.tanh(),
            erf * std::f64::consts::FRAC_2_SQRT_PI,
            x.abs().powf(f64::from(1.7_f32)),
            x.cbrt(),
            x.atan2(2.0),
            x.exp(),
            x.sin(),
            x.abs().ln(),
            x.abs().sqrt().recip(),
            x.exp2(),
            x.sin(),
            x.exp(),
        ];
        for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
            let got = f64::from(f32::from_bits(*got));
            assert!(
                (got - expected).abs() <= 2e-6 * expected.abs().max(1.0),
                "function {n} of {a}: {got}, not {expected}"
            );
        }
    }
}

#[test]
fn lanes_and_atomics() {
    let input = random(32);
    let out = clean(WARP, Launch::new("lanes"), 32 * 12, &[&bytes_of(&input)], &[]);
    let ballot = |f: &dyn Fn(u32) -> bool| (0..32).filter(|&l| f(input[l])).fold(0_u32, |m, l| m | 1 << l);
    for (t, got) in out.chunks_exact(12).enumerate() {
        let expected = [
            input[(t & !7) | 3],
            input[t ^ 5],
            input[t.checked_sub(2).unwrap_or(t)],
            input[if t % 16 + 7 < 16 { t + 7 } else { t }],
            ballot(&|x| x & 1 == 1),
            u32::from(input.iter().all(|&x| x != 0)) + 2 * u32::from(input.iter().any(|&x| x & 8 != 0)),
            ballot(&|x| x & 3 == input[t] & 3),
            input.iter().fold(0, |s, &x| s.wrapping_add(x)),
            input.iter().map(|&x| x as i32).max().unwrap_or(0) as u32,
            input.iter().fold(0, |s, &x| s ^ x),
            u32::MAX,
            input[t ^ 1],
        ];
        assert_eq!(got, expected, "lane {t}");
    }
    let input = random(1000);
    let launch = Launch::new("shared").block([128, 1, 1]).dynamic_shared(512);
    let out = clean(WARP, launch, 84, &[&bytes_of(&input)], &[Argument::i32(1000)]);
    let mut expected = vec![0; 84];
    for &x in &input {
        expected[(x & 15) as usize] += 1;
        expected[16 + (x & 63) as usize] = expected[16 + (x & 63) as usize].max(x);
    }
    expected[80] = expected[..16].iter().filter(|&&count| count > 4).count() as u32 + 1;
    expected[81..].copy_from_slice(&[1, 5, 0xF0F0]);
    assert_eq!(out, expected);
}

#[test]
fn half_precision() {
    use half::{bf16, f16};
    let input = numbers(64, 600.0);
    let bits: Vec<u32> = input.iter().map(|x| x.to_bits()).collect();
    let out = clean(WARP, Launch::new("halves"), 32 * 12, &[&bytes_of(&bits)], &[]);
    for (pair, got) in input.chunks_exact(2).zip(out.chunks_exact(12)) {
        let (a, b) = (pair[0], pair[1]);
        let (ha, hb) = (f16::from_f32(a), f16::from_f32(b));
        let (xa, xb) = (bf16::from_f32(a), bf16::from_f32(b));
        let fma = |a: f64, b: f64, c: f64| a * b + c;
        let expected = [
            f16::from_f64(fma(ha.to_f64(), hb.to_f64(), 1.0)).to_f32(),
            f16::from_f64(fma(hb.to_f64(), 0.5, 1.0)).to_f32(),
            ha.to_f32().max(hb.to_f32()),
            f16::from_f32(ha.to_f32() + hb.to_f32()).to_f32().clamp(0.0, 1.0),
            Format::F16.decode(Format::F16.encode(a.into(), Rounding::TowardZero, Overflow::Infinite)) as f32,
            f32::from(u8::from(ha > hb)),
            bf16::from_f64(fma(xa.to_f64(), xb.to_f64(), xa.to_f64())).to_f32(),
            bf16::from_f64(fma(xb.to_f64(), 2.0, xb.to_f64())).to_f32(),
            xa.to_f32().min(xb.to_f32()),
            xa.to_f32().abs(),
            f16::from_f32(ha.to_f32().exp2()).to_f32(),
            ha.to_f32().round_ties_even(),
        ];
        for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
            let got = f32::from_bits(*got);
            // The exponential is an approximation.
            let error = if n == 10 { expected.abs() / 512.0 } else { 0.0 };
            assert!((got - expected).abs() <= error, "output {n} of {a}, {b}: {got}, not {expected}");
        }
    }
}

const N: i32 = 7;

fn calls_expected(t: i32) -> [i32; 8] {
    fn recursive(n: i32) -> i32 {
        if n < 2 { n } else { recursive(n - 1) + 2 * recursive(n - 2) + n }
    }
    let table = [3, 1, 4, 1, 5, 9, 2, 6];
    let mut values = [0; 16];
    for i in 0..16 {
        values[((i * 7 + t) % 16) as usize] = i * table[(i % 8) as usize];
    }
    let chosen = match t % 11 {
        0 => t * 3,
        1 => t ^ 77,
        2 => t + N,
        3 => t * t,
        4 => -t,
        5 => t << 4,
        6 => t / 3,
        7 => N - t,
        8 => t % 5,
        _ => 1000,
    };
    [
        t + t + i32::from((t + 4) as i8),
        recursive(t % 9),
        [2 * t, t * t, -t][(t % 3) as usize],
        if t % 2 == 1 { t * N } else { N },
        (1..=4).fold(t, |x, n| x * 3 + n),
        values[((t + N) % 16) as usize],
        chosen,
        5,
    ]
}

/// Calls by name, through tables and by virtual functions, recursion, structures by value, jump tables, local memory, `printf` and
/// `assert`: optimised, with line information, and unoptimised with debug sections.
#[test]
fn calls_of_all_kinds() {
    for (name, text) in [("optimised", CALLS), ("with lines", CALLS_LINES), ("debug", CALLS_DEBUG)] {
        let launch = Launch::new("calls").block([64, 1, 1]);
        let (out, outcome) = run(text, launch, 64 * 8, &[], &[Argument::i32(N)]);
        assert!(outcome.is_clean(), "{name}: {}", outcome.findings[0]);
        for (t, got) in out.chunks_exact(8).enumerate() {
            assert_eq!(got, calls_expected(t as i32).map(|x| x as u32), "{name}: thread {t}");
        }
        assert_eq!(outcome.printed, "t=3 n=7 x=0.75 s=text\n", "{name}");
    }
}

/// Findings tell the line of the CUDA source, in code with lines and in code with debug sections.
#[test]
fn findings_name_lines_of_the_source() {
    for (text, has_lines) in [(CALLS, false), (CALLS_LINES, true), (CALLS_DEBUG, true)] {
        // The output has room for one thread only.
        let launch = Launch::new("calls").block([2, 1, 1]);
        let (_, outcome) = run(text, launch, 8, &[], &[Argument::i32(N)]);
        let finding = outcome.findings.iter().find(|f| f.kind == FindingKind::OutOfBounds).expect("a finding");
        let source = finding.instruction.source.as_ref();
        assert_eq!(source.is_some(), has_lines);
        if let Some(source) = source {
            assert!(source.file.ends_with("calls.cu"), "{}", source.file);
            assert!((19..=38).contains(&source.line), "line {}", source.line);
        }
    }
}

#[test]
fn an_assertion_that_fails() {
    let memory = GlobalMemory::default();
    let module = Module::load(CALLS, None, &memory).expect("it parses");
    let out = memory.allocate("out", 256, Fill::Zero).expect("memory");
    let launch = Launch::new("calls").arg(Argument::pointer(out)).arg(Argument::i32(12345)).block([1, 1, 1]);
    let (result, outcome) = module.launch_on(&memory, &launch, &tegula_vgpu::ptx::Model::for_target("sm_90a"), None);
    assert!(result.is_err());
    assert!(outcome.printed.contains("Assertion `n != 12345` failed"), "{}", outcome.printed);
}

#[test]
fn launch_bounds_are_kept() {
    let memory = GlobalMemory::default();
    let module = Module::load(WARP, None, &memory).expect("it parses");
    let info = module.survey("shared").expect("a kernel");
    assert_eq!(info.max_block, Some([128, 1, 1]));
    assert!(info.unsupported.is_empty());
    let launch = Launch::new("shared").block([256, 1, 1]).dynamic_shared(512);
    let launch = launch.arg(Argument::pointer(0)).arg(Argument::pointer(0)).arg(Argument::i32(0));
    let error = module.launch(&memory, &launch).expect_err("too many threads").to_string();
    assert!(error.contains("128"), "{error}");
}

#[test]
fn fragments_and_asynchronous_copies() {
    let half = |n: usize| half::f16::from_f32((n % 7) as f32 - 3.0);
    let (a, b): (Vec<_>, Vec<_>) = (0..256).map(|n| (half(n * 5 + n / 16), half(n * 3 + 1))).unzip();
    let bytes = |values: &[half::f16]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let out = clean(MATRIX, Launch::new("product"), 256, &[&bytes(&a), &bytes(&b)], &[]);
    for (at, got) in out.iter().enumerate() {
        let (row, column) = (at / 16, at % 16);
        let sum: f32 = (0..16).map(|k| a[row * 16 + k].to_f32() * b[column * 16 + k].to_f32()).sum();
        assert_eq!(f32::from_bits(*got), 2.0 * (sum + 1.0), "{row}, {column}");
    }
    let input: Vec<u32> = (0..256).map(|n| n * n).collect();
    let big: Vec<u32> = (0..40).map(|n| 1000 * n).collect();
    let out = clean(
        MATRIX,
        Launch::new("copies").block([64, 1, 1]),
        64,
        &[&bytes_of(&input)],
        &[Argument::bytes(bytes_of(&big))],
    );
    for (t, &got) in out.iter().enumerate() {
        let sum: u32 = (0..4).map(|i| input[(t * 5 + i) % 256]).sum();
        assert_eq!(got, sum + big[t % 40], "thread {t}");
    }
}
