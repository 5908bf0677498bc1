//! Kernels that Clang compiles from OpenCL C, at several levels of optimisation and for every architecture, against the same computed here.

use crate::asm::Result;
use std::path::PathBuf;
use std::process::Command;
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Launch};
use tegula_vgpu::memory::{Fill, GlobalMemory};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gcn/kernels.cl");
const ARCHES: [&str; 4] = ["gfx942", "gfx950", "gfx1100", "gfx1201"];

/// Compiles the kernels; `None` where Clang is missing.
fn compile(arch: &str, level: &str) -> Result<Option<Module>> {
    compile_version(arch, level, "5")
}

/// The same to a version of code objects.
fn compile_version(arch: &str, level: &str, version: &str) -> Result<Option<Module>> {
    let bin = std::env::var_os("LLVM_BIN").map_or_else(|| PathBuf::from("/usr/lib/llvm-22/bin"), PathBuf::from);
    let clang = bin.join("clang");
    if !clang.exists() {
        eprintln!("skipped: no clang in {} (set LLVM_BIN)", bin.display());
        return Ok(None);
    }
    let test = std::thread::current().name().unwrap_or("main").replace("::", "-");
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{arch}{level}-{version}.hsaco"));
    let output = Command::new(clang)
        .args([
            "-x",
            "cl",
            "-cl-std=CL2.0",
            "-target",
            "amdgcn-amd-amdhsa",
            "-nogpulib",
            "-cl-fp32-correctly-rounded-divide-sqrt",
        ])
        .args([&format!("-mcpu={arch}"), &format!("-mcode-object-version={version}"), level, SOURCE, "-o"])
        .arg(&out)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let bytes = std::fs::read(&out)?;
    std::fs::remove_file(&out)?;
    Ok(Some(Module::load(&bytes)?))
}

/// Every architecture with and without optimisation.
fn for_all(mut run: impl FnMut(&str, &Module) -> Result<()>) -> Result<()> {
    for arch in ARCHES {
        for level in ["-O0", "-O2"] {
            let Some(module) = compile(arch, level)? else { return Ok(()) };
            run(&format!("{arch} {level}"), &module)?;
        }
    }
    Ok(())
}

trait Word: Copy {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! words {
    ($($t:ty),*) => { $(impl Word for $t { fn bytes(self) -> Vec<u8> { self.to_le_bytes().to_vec() } })* };
}
words!(u8, i16, i32, i64, f32, f64);

/// A kernel with buffers given, and one more that it fills.
fn run<T: Word>(
    what: &str,
    module: &Module,
    kernel: &str,
    (groups, threads): (u32, u32),
    inputs: &[Vec<u8>],
    out: usize,
    from: fn(&[u8]) -> T,
) -> Result<Vec<T>> {
    let memory = GlobalMemory::default();
    let mut launch = Launch::new(kernel).grid([groups, 1, 1]).block([threads, 1, 1]);
    for (n, bytes) in inputs.iter().enumerate() {
        let address = memory.allocate(format!("in{n}"), bytes.len() as u64, Fill::Poison)?;
        memory.write(address, bytes)?;
        launch = launch.arg(Argument::pointer(address));
    }
    let size = size_of::<T>();
    let result = memory.allocate("out", (out * size) as u64, Fill::Poison)?;
    launch = launch.arg(Argument::pointer(result));
    if kernel == "reduction" {
        let count = memory.allocate("count", 4, Fill::Zero)?;
        launch = launch.arg(Argument::pointer(count));
    }
    let outcome = module.launch(&launch, &memory)?;
    let text: String = outcome.findings.iter().take(5).map(|finding| finding.to_string()).collect();
    assert!(outcome.is_clean(), "{kernel} for {what}: {text}");
    let mut bytes = vec![0; out * size];
    memory.read(result, &mut bytes)?;
    Ok(bytes.chunks_exact(size).map(from).collect())
}

fn bytes<T: Word>(values: impl IntoIterator<Item = T>) -> Vec<u8> {
    values.into_iter().flat_map(Word::bytes).collect()
}

fn i32_of(bytes: &[u8]) -> i32 {
    bytes.iter().rev().fold(0, |v, &b| v << 8 | i32::from(b))
}

fn i64_of(bytes: &[u8]) -> i64 {
    bytes.iter().rev().fold(0, |v, &b| v << 8 | i64::from(b))
}

fn f32_of(bytes: &[u8]) -> f32 {
    f32::from_bits(i32_of(bytes) as u32)
}

fn f64_of(bytes: &[u8]) -> f64 {
    f64::from_bits(i64_of(bytes) as u64)
}

/// Numbers of all sizes.
fn numbers(count: usize) -> Vec<i64> {
    let mut state = 88_172_645_463_325_252_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state as i64) >> (state % 61)
        })
        .collect()
}

#[test]
fn integers() -> Result<()> {
    let input = numbers(256);
    for_all(|what, module| {
        let got = run(what, module, "integers", (2, 64), &[bytes(input.iter().copied())], 128 * 16, i64_of)?;
        for (i, got) in got.chunks_exact(16).enumerate() {
            let (a, b) = (input[i * 2], input[i * 2 + 1]);
            let (x, y) = (a as i32, (b >> 7) as i32);
            let expected = [
                a.wrapping_div(b | 1),
                (a as u64 / (b as u64 | 1)) as i64,
                a.wrapping_rem(b | 1),
                i64::from(x.wrapping_div(y | 1)),
                i64::from(x as u32 % (y as u32 | 1)),
                a.wrapping_mul(b),
                i64::from(x) * i64::from(y),
                i64::from((a as u64 | 1).leading_zeros() + (b as u64).count_ones()),
                a >> (b & 63),
                i64::from((x as u32).rotate_right(y as u32 & 31)),
                i64::from(i32::from(x as i16) * i32::from(y as i16) + i32::from(x as i8)),
                i64::from(if a < b { x } else { y }),
                // Bytes swapped are an unsigned value, bits reversed too.
                i64::from(x.swap_bytes() as u32 ^ (y as u32).reverse_bits()),
                i64::from(x as u8 / (y as u8 | 1)),
                i64::from(x.saturating_add(y)),
                i64::from((x as u16).saturating_sub(y as u16)),
            ];
            for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
                assert_eq!(*got, expected, "{what}: result {n} of {a}, {b}");
            }
        }
        Ok(())
    })
}

#[test]
fn floats() -> Result<()> {
    let input: Vec<f64> = numbers(256).iter().map(|&n| n as f64 / 4_294_967_296.0 + 0.37).collect();
    for_all(|what, module| {
        let got = run(what, module, "floats", (2, 64), &[bytes(input.iter().copied())], 128 * 16, f64_of)?;
        for (i, got) in got.chunks_exact(16).enumerate() {
            let (a, b) = (input[i * 2], input[i * 2 + 1]);
            let (x, y) = (a as f32, b as f32);
            let expected = [
                a / b,
                f64::from(x / y),
                a.abs().sqrt(),
                f64::from(x.abs().sqrt()),
                a.mul_add(b, a),
                f64::from(x.mul_add(y, x)),
                (a * 1e6) as i64 as f64,
                (b * 1e6).abs() as u64 as f64,
                f64::from((b * 1e12) as i64 as f32),
                a.floor() + b.round_ties_even(),
                f64::from(half::f16::from_f32(x).to_f32()),
                f64::from(x.max(y) - x.min(1.0)),
                a * 32.0 + f64::from(y * 0.125),
                f64::from((x * 100.0) as i32 as f32 + (y * 100.0).abs() as u32 as f32),
                f64::from(u8::from(x > y)) + f64::from(u8::from(a == b)) * 2.0 + f64::from(u8::from(x >= y)) * 4.0,
                f64::from(x.copysign(y) + y.trunc()),
            ];
            for (n, (got, expected)) in got.iter().zip(expected).enumerate() {
                // Conversions of what an integer does not hold are not defined.
                let undefined = match n {
                    6 => (a * 1e6).abs() > 9e18,
                    7 => (b * 1e6).abs() > 1.8e19,
                    8 => (b * 1e12).abs() > 9e18,
                    13 => (x * 100.0).abs() > 2e9 || (y * 100.0).abs() > 4e9,
                    _ => false,
                };
                assert!(
                    undefined || got.to_bits() == expected.to_bits(),
                    "{what}: result {n} of {a}, {b}: {got}, not {expected}"
                );
            }
        }
        Ok(())
    })
}

#[test]
fn reduction() -> Result<()> {
    let input: Vec<f32> = (0..768).map(|n| (n * 37 % 101) as f32).collect();
    for_all(|what, module| {
        let got = run(what, module, "reduction", (3, 256), &[bytes(input.iter().copied())], 3, f32_of)?;
        for (group, got) in got.iter().enumerate() {
            assert_eq!(*got, input[group * 256..][..256].iter().sum::<f32>(), "{what}");
        }
        Ok(())
    })
}

#[test]
fn stack() -> Result<()> {
    let input: Vec<i32> = numbers(256).iter().map(|&n| n as i32 / 4).collect();
    for_all(|what, module| {
        let got = run(what, module, "stack", (2, 128), &[bytes(input.iter().copied())], 256, i32_of)?;
        for (i, got) in got.iter().enumerate() {
            let mut values: Vec<i32> = (0..16).map(|n| input[(i + n * 5) % 256]).collect();
            values.sort_unstable();
            let mut n = i as u64 + 1;
            let mut steps = 0;
            while n != 1 {
                n = if n % 2 == 1 { n * 3 + 1 } else { n / 2 };
                steps += 1;
            }
            assert_eq!(*got, values[i % 16] + steps, "{what}: item {i}");
        }
        Ok(())
    })
}

#[test]
fn control() -> Result<()> {
    let input: Vec<i32> = numbers(192).iter().map(|&n| n as i32).collect();
    for_all(|what, module| {
        let got = run(what, module, "control", (3, 64), &[bytes(input.iter().copied())], 192, i32_of)?;
        const TABLE: [i32; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
        for (i, got) in got.iter().enumerate() {
            let v = input[i];
            let expected = match v & 7 {
                0 => v.wrapping_mul(3),
                1 => v.wrapping_neg(),
                2 => (0..v >> 4 & 15).map(|n| n * n).sum(),
                3 => TABLE[(v >> 3 & 15) as usize],
                4 => match (v & 64 != 0, v & 128 != 0) {
                    (true, true) => 1,
                    (true, false) => 2,
                    _ => 3,
                },
                5 => v.count_ones() as i32,
                _ => {
                    let mut result = 0;
                    while result < v >> 5 & 31 {
                        result += 3;
                        if result == 9 {
                            break;
                        }
                    }
                    result
                }
            };
            assert_eq!(*got, expected.wrapping_add(192), "{what}: item {i} of {v}");
        }
        Ok(())
    })
}

#[test]
fn lanes() -> Result<()> {
    let input: Vec<i32> = numbers(64).iter().map(|&n| n as i32).collect();
    for_all(|what, module| {
        let wave = if what.starts_with("gfx9") { 64 } else { 32 };
        let got = run(what, module, "lanes", (1, 64), &[bytes(input.iter().copied())], 64, i32_of)?;
        for (i, got) in got.iter().enumerate() {
            let (base, lane) = (i / wave * wave, i % wave);
            let above = input[base + (lane + 1) % wave];
            let shifted = if lane % 16 == 0 { 0 } else { input[i - 1] };
            let expected = above ^ input[base] ^ input[i ^ 1].wrapping_mul(3) ^ shifted.wrapping_mul(5);
            assert_eq!(*got, expected, "{what}: item {i}");
        }
        Ok(())
    })
}

#[test]
fn vectors() -> Result<()> {
    let bytes_in: Vec<u8> = numbers(1024).iter().map(|&n| n as u8).collect();
    let shorts: Vec<i16> = numbers(512).iter().map(|&n| (n % 9000) as i16).collect();
    for_all(|what, module| {
        let inputs = [bytes(bytes_in.iter().copied()), bytes(shorts.iter().copied())];
        let got = run(what, module, "vectors", (1, 64), &inputs, 256, f32_of)?;
        for (at, got) in got.iter().enumerate() {
            let (i, n) = (at / 4, at % 4);
            let bytes: f32 = (0..4).map(|q| f32::from(bytes_in[i * 16 + q * 4 + n])).sum();
            let shorts: f32 =
                (0..2).map(|q| f32::from(shorts[i * 8 + q * 4 + n].wrapping_mul(3).wrapping_add(1))).sum();
            assert_eq!(*got, (bytes - shorts) * 0.5, "{what}: element {n} of item {i}");
        }
        Ok(())
    })
}

#[test]
fn code_objects_of_every_version() -> Result<()> {
    // The kernel asks for the sizes of the grid and the group, which are hidden arguments of one version and in the dispatch packet of
    // another.
    let input: Vec<f32> = (0..768).map(|n| (n * 37 % 101) as f32).collect();
    let sums: Vec<f32> = input.chunks(256).map(|group| group.iter().sum()).collect();
    for (version, arches) in [
        ("4", &ARCHES[..]),
        ("5", &ARCHES),
        ("6", &["gfx942", "gfx950", "gfx1100", "gfx1201", "gfx9-4-generic", "gfx11-generic", "gfx12-generic"]),
    ] {
        for arch in arches {
            let Some(module) = compile_version(arch, "-O2", version)? else { return Ok(()) };
            let what = format!("{arch}, version {version}");
            let got = run(&what, &module, "reduction", (3, 256), &[bytes(input.iter().copied())], 3, f32_of)?;
            assert_eq!(got, sums, "{what}");
        }
    }
    Ok(())
}
