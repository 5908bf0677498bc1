//! Triton's kernels for gfx942, each broken in one place: a wait or a barrier that was removed, a matrix instruction that comes too early,
//! arguments that lie, memory that is gone. The sanitizer has to find every one.

use crate::harness::*;
use object::{Object, ObjectSegment};
use tegula_vgpu::finding::FindingKind;
use tegula_vgpu::gcn::Module;
use tegula_vgpu::launch::{Argument, Outcome};
use tegula_vgpu::memory::{Fill, GlobalMemory};

/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;

/// A kernel with a small problem for it.
struct Case {
    artifact: Artifact,
    buffers: Vec<(&'static str, Vec<u8>)>,
    /// Bytes of the result.
    out: usize,
    /// The result comes before the inputs.
    out_first: bool,
    /// Bytes of another result.
    second_out: Option<usize>,
    more: Vec<Argument>,
    grid: [u32; 3],
}

/// What is wrong about a launch. Buffers are named.
#[derive(Clone, Copy, Debug)]
enum Lie {
    None,
    /// So many bytes less than the kernel was told of.
    Short(&'static str, usize),
    /// An address so many bytes further.
    Shifted(&'static str, u64),
    Unwritten(&'static str),
    Freed(&'static str),
    /// The result lies over an input, so many bytes from its start.
    Overlaps(&'static str, u64),
    /// One of the scalar arguments is another.
    Scalar(usize, i32),
    /// Less LDS than the kernel needs.
    SmallLds(u32),
    /// Fewer threads than the kernel was compiled for.
    Threads(u32),
    Grid([u32; 3]),
}

impl Case {
    fn run(&self, module: &Module, lie: Lie) -> Result<Outcome> {
        let memory = GlobalMemory::default();
        let mut addresses = Vec::new();
        let allocate = |name: &'static str, bytes: usize, content: Option<&[u8]>| -> Result<u64> {
            let bytes = match lie {
                Lie::Short(which, less) if which == name => bytes - less,
                _ => bytes,
            };
            let address = memory.allocate(name, bytes as u64, Fill::Poison)?;
            match (content, lie) {
                (_, Lie::Unwritten(which)) if which == name => {}
                (Some(content), _) => memory.write(address, &content[..bytes])?,
                (None, _) => {}
            }
            match lie {
                Lie::Freed(which) if which == name => memory.free(address)?,
                Lie::Shifted(which, by) if which == name => return Ok(address + by),
                _ => {}
            }
            Ok(address)
        };
        for (name, bytes) in &self.buffers {
            addresses.push(allocate(name, bytes.len(), Some(bytes))?);
        }
        let mut out = allocate("out", self.out, None)?;
        if let Lie::Overlaps(which, by) = lie {
            let input = self.buffers.iter().position(|(name, _)| *name == which).ok_or("no such buffer")?;
            out = addresses[input] + by;
        }
        addresses.insert(if self.out_first { 0 } else { addresses.len() }, out);
        if let Some(bytes) = self.second_out {
            addresses.push(allocate("second out", bytes, None)?);
        }
        let mut args: Vec<_> = addresses.into_iter().map(Argument::pointer).collect();
        let mut more = self.more.clone();
        if let Lie::Scalar(index, value) = lie {
            more[index] = Argument::i32(value);
        }
        args.extend(more);
        let grid = if let Lie::Grid(grid) = lie { grid } else { self.grid };
        let mut launch = self.artifact.launch(grid, &args);
        match lie {
            Lie::SmallLds(less) => launch.dynamic_shared -= less,
            Lie::Threads(threads) => launch.block[0] = threads,
            _ => {}
        }
        // Broken kernels may run on for ever.
        launch.instruction_limit = 10_000_000;
        Ok(module.launch_on(&launch, &memory, None).1)
    }

    /// Where an address of the image is in the file.
    fn offset(&self, address: u64) -> Result<usize> {
        let file = object::File::parse(&self.artifact.bytes[..])?;
        let segment = file.segments().find(|s| (s.address()..s.address() + s.size()).contains(&address));
        let segment = segment.ok_or("the address is in no segment")?;
        Ok((segment.file_range().0 + address - segment.address()) as usize)
    }

    fn word(&self, address: u64) -> Result<u32> {
        let at = self.offset(address)?;
        Ok(u32::from_le_bytes(self.artifact.bytes[at..at + 4].try_into()?))
    }

    /// The code object with another word at an address of its image.
    fn patched(&self, address: u64, word: u32) -> Result<Module> {
        let mut bytes = self.artifact.bytes.clone();
        let at = self.offset(address)?;
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        Ok(Module::load(&bytes)?)
    }
}

fn matmul(m: usize, n: usize, k: usize) -> Result<Option<Case>> {
    let Some(artifact) = artifact("gfx942", "matmul_fp16_128x128x64_w4_s2")? else { return Ok(None) };
    let mut numbers = Numbers(7);
    let (a, b) = (numbers.halves(m * k), numbers.halves(k * n));
    Ok(Some(Case {
        artifact,
        buffers: vec![("a", halves_to_bytes(&a)), ("b", halves_to_bytes(&b))],
        out: m * n * 2,
        out_first: false,
        second_out: None,
        more: [m, n, k, k, n, n].map(int).to_vec(),
        grid: [(m.div_ceil(128) * n.div_ceil(128)) as u32, 1, 1],
    }))
}

/// Eight-bit factors, the second one transposed.
fn matmul_fp8(m: usize, n: usize, k: usize) -> Result<Option<Case>> {
    let Some(artifact) = artifact("gfx942", "matmul_fp8e4b8_128x128x128_w4_s2_nt")? else { return Ok(None) };
    let bytes = |count: usize, seed: usize| (0..count).map(|at| (0x30 + (at * 7 + seed) % 16) as u8).collect();
    Ok(Some(Case {
        artifact,
        buffers: vec![("a", bytes(m * k, 1)), ("b", bytes(n * k, 2))],
        out: m * n * 2,
        out_first: false,
        second_out: None,
        more: [m, n, k, k, k, n].map(int).to_vec(),
        grid: [(m.div_ceil(128) * n.div_ceil(128)) as u32, 1, 1],
    }))
}

fn softmax(rows: usize, columns: usize, programs: u32) -> Result<Option<Case>> {
    let Some(artifact) = artifact("gfx942", "softmax_f32_b1024_w4")? else { return Ok(None) };
    Ok(Some(Case {
        artifact,
        buffers: vec![("in", floats_to_bytes(&Numbers(9).floats(rows * columns)))],
        out: rows * columns * 4,
        out_first: true,
        second_out: None,
        more: [columns, columns, rows, columns].map(int).to_vec(),
        grid: [programs, 1, 1],
    }))
}

fn attention(n: usize) -> Result<Option<Case>> {
    const D: usize = 64;
    let Some(artifact) = artifact("gfx942", "flash_fp16_d64_full_128x64_w4_s2")? else { return Ok(None) };
    let mut numbers = Numbers(5);
    let mut input = || halves_to_bytes(&numbers.halves(n * D));
    let buffers = vec![("q", input()), ("k", input()), ("v", input())];
    let mut more = vec![Argument::f32(0.125)];
    for _ in 0..4 {
        more.extend([n * D, n * D, D].map(int));
    }
    more.extend([1, n].map(int));
    Ok(Some(Case {
        artifact,
        buffers,
        out: n * D * 2,
        out_first: false,
        second_out: Some(n * 4),
        more,
        grid: [(n / 128) as u32, 1, 1],
    }))
}

/// A kernel with lies about its launch, each with what must be found.
type Lies = (Option<Case>, &'static [(Lie, FindingKind)]);

/// A name, the case, and the addresses of waits and barriers that the kernel could do without: nothing is outstanding there, or the
/// LDS was not used before.
type Subject = (&'static str, Option<Case>, &'static [u64]);

fn subjects() -> Result<[Subject; 4]> {
    Ok([
        ("matmul", matmul(128, 128, 192)?, &[]),
        ("fp8 matmul", matmul_fp8(128, 128, 384)?, &[]),
        ("softmax", softmax(4, 1024, 2)?, &[0x1b88]),
        ("attention", attention(256)?, &[0x2720, 0x2e00]),
    ])
}

/// Replaces each instruction that `mutate` has another word for, one at a time, and counts those of which findings of the right kind tell.
fn each(
    mutate: impl Fn(&str, u32) -> Option<u32>,
    expected: impl Fn(&str, FindingKind) -> bool,
    but: impl Fn(&Subject, u64) -> bool,
) -> Result<usize> {
    let mut found = 0;
    for subject in subjects()? {
        let (name, Some(case), _) = &subject else { return Ok(usize::MAX) };
        let kernel = case.artifact.module.kernels().next().ok_or("no kernel")?;
        assert!(case.run(&case.artifact.module, Lie::None)?.is_clean(), "{name}");
        for inst in kernel.listing() {
            let word = case.word(inst.address)?;
            let Some(other) = mutate(inst.mnemonic, word) else { continue };
            let outcome = case.run(&case.patched(inst.address, other)?, Lie::None)?;
            let told = outcome.findings.iter().any(|finding| expected(inst.mnemonic, finding.kind));
            let kinds: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
            assert_eq!(told, !but(&subject, inst.address), "{name}, {:#x} {}: {kinds:?}", inst.address, inst.text);
            found += usize::from(told);
        }
    }
    Ok(found)
}

#[test]
fn every_wait_barrier_and_distance_that_is_removed_is_missed() -> Result<()> {
    let found = each(
        |mnemonic, word| (matches!(mnemonic, "s_waitcnt" | "s_barrier" | "s_nop") && word != NOP).then_some(NOP),
        |mnemonic, kind| match mnemonic {
            "s_nop" => kind == FindingKind::Hazard,
            "s_barrier" => kind == FindingKind::SharedRace,
            _ => matches!(kind, FindingKind::MissingWaitcnt | FindingKind::SharedRace),
        },
        |(_, _, needless), address| needless.contains(&address),
    )?;
    assert!(found >= 140, "only {found}");
    Ok(())
}

/// A wait's counts, vector memory's and the LDS's; none where they are not waited for.
fn counts(word: u32) -> (Option<u32>, Option<u32>) {
    let (vector, lds) = (word & 15 | word >> 14 << 4 & 0x30, word >> 8 & 15);
    ((vector != 63).then_some(vector), (lds != 15).then_some(lds))
}

fn wait(vector: Option<u32>, lds: Option<u32>) -> u32 {
    let (vector, lds) = (vector.unwrap_or(63), lds.unwrap_or(15));
    0xbf8c_0070 | vector & 15 | vector >> 4 << 14 | lds << 8
}

#[test]
fn waits_that_leave_one_operation_too_many_outstanding() -> Result<()> {
    let found = each(
        |mnemonic, word| {
            let (vector, lds) = counts(word);
            (mnemonic == "s_waitcnt").then(|| wait(vector.map(|n| n + 1), lds.map(|n| n + 1)))
        },
        |_, kind| matches!(kind, FindingKind::MissingWaitcnt | FindingKind::SharedRace),
        |(_, _, needless), address| needless.contains(&address),
    )?;
    assert!(found >= 94, "only {found}");
    Ok(())
}

#[test]
fn launches_that_lie() -> Result<()> {
    use FindingKind::*;
    let cases: [Lies; 4] = [
        (
            matmul(144, 208, 336)?,
            &[
                (Lie::Short("a", 2), OutOfBounds),
                (Lie::Short("b", 2 * 208), OutOfBounds),
                (Lie::Short("out", 2), OutOfBounds),
                (Lie::Shifted("a", 2), Misaligned),
                (Lie::Shifted("out", 2), OutOfBounds),
                (Lie::Unwritten("b"), UninitializedRead),
                (Lie::Freed("a"), UseAfterFree),
                (Lie::Freed("out"), UseAfterFree),
                (Lie::Scalar(2, 352), OutOfBounds),
                (Lie::Scalar(0, 160), OutOfBounds),
                (Lie::Scalar(5, 0), GlobalRace),
                (Lie::SmallLds(1024), OutOfBounds),
                (Lie::Threads(192), UninitializedRead),
            ],
        ),
        (
            matmul_fp8(128, 128, 384)?,
            &[(Lie::Short("b", 1), OutOfBounds), (Lie::Freed("b"), UseAfterFree), (Lie::Shifted("b", 3), Misaligned)],
        ),
        (
            softmax(4, 1024, 2)?,
            &[
                (Lie::Short("in", 4), OutOfBounds),
                (Lie::Scalar(1, 0), GlobalRace),
                (Lie::Scalar(2, 5), OutOfBounds),
                (Lie::Overlaps("in", 4096), GlobalRace),
                (Lie::Unwritten("in"), UninitializedRead),
            ],
        ),
        (
            attention(256)?,
            &[
                (Lie::Short("second out", 4), OutOfBounds),
                (Lie::Short("v", 128), OutOfBounds),
                (Lie::Freed("k"), UseAfterFree),
                (Lie::Grid([2, 2, 1]), OutOfBounds),
                (Lie::Overlaps("v", 0), GlobalRace),
            ],
        ),
    ];
    for (case, lies) in cases {
        let Some(case) = case else { return Ok(()) };
        assert!(case.run(&case.artifact.module, Lie::None)?.is_clean());
        for &(lie, kind) in lies {
            let outcome = case.run(&case.artifact.module, lie)?;
            let kinds: Vec<_> = outcome.findings.iter().map(|finding| finding.kind).collect();
            assert!(kinds.contains(&kind), "{lie:?}: {kinds:?}, not {kind:?}");
            // Findings about buffers name them.
            if let Lie::Short(name, _) | Lie::Freed(name) | Lie::Unwritten(name) = lie {
                let named = |finding: &tegula_vgpu::finding::Finding| {
                    finding.kind == kind
                        && finding.address.as_ref().is_some_and(|a| a.allocation.as_deref() == Some(name))
                };
                assert!(outcome.findings.iter().any(named), "{lie:?} is not named");
            }
        }
    }
    Ok(())
}
