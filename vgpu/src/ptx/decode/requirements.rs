//! Which instructions a module may have: each needs a `.target` and a `.version` from which on it exists, as the pages of
//! the PTX ISA list them, and an assembler refuses it below.
//!
//! What follows from operands alone (a count given to `mbarrier.arrive`, the predicate of `cp.async`) is not looked at.

use crate::ptx::syntax::ast::{Instruction, Operand};
use Needs::{Accelerated, From, Only};

/// The targets that have an instruction.
#[derive(Clone, Copy)]
enum Needs {
    /// `sm_N` and all later ones.
    From(u32),
    /// `sm_90a` and what is particular to later architectures (`sm_100a`, `sm_120f`...).
    Accelerated,
    /// One target, and no later one.
    Only(&'static str),
}

/// Opcodes (`*`: all), words of the instruction, and what it needs. All words must be there: one of several between bars,
/// none of what has `!` before it. A word is one modifier, several in a row, or the start of an operand's name (`%...`).
type Row = (&'static str, &'static str, Needs, (u32, u32));

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("*", "shared::cluster", From(90), (7, 8)),
    ("*", "shared::cta !ca.shared::cta", From(75), (7, 8)),
    ("*", "b128", From(75), (8, 3)),
    ("*", "param::entry|param::func", From(75), (8, 3)),
    ("*", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate", From(75), (7, 4)),
    ("*", "L2::64B|L2::128B", From(75), (7, 4)),
    ("*", "L2::256B|L2::cache_hint", From(80), (7, 4)),
    ("add|sub|mul", "bf16|bf16x2", From(90), (7, 8)),
    ("add|min|max", "u16x2|s16x2", From(90), (8, 0)),
    ("fma|abs|neg", "bf16|bf16x2", From(80), (7, 0)),
    ("fma", "relu", From(80), (7, 0)),
    ("fma", "oob", From(90), (8, 1)),
    ("min|max", "f16|f16x2|bf16|bf16x2|NaN", From(80), (7, 0)),
    ("min|max", "relu s32", From(90), (8, 0)),
    ("min|max", "xorsign", From(86), (7, 8)),
    ("ex2|tanh", "bf16|bf16x2", From(90), (7, 8)),
    ("set|setp", "bf16|bf16x2", From(90), (7, 8)),
    ("bmsk|szext", "", From(75), (7, 6)),
    ("lop3", "and|or|xor", From(75), (8, 2)),
    ("cvt", "bf16|bf16x2", From(80), (7, 0)),
    ("cvt", "bf16 !f32", From(90), (7, 8)),
    ("cvt", "ftz f32.bf16", From(90), (7, 8)),
    ("cvt", "relu", From(80), (7, 0)),
    ("cvt", "f16x2 f32", From(80), (7, 0)),
    ("cvt", "tf32", From(80), (7, 0)),
    ("cvt", "tf32 rn|rz", From(90), (7, 8)),
    ("cvt", "e4m3x2|e5m2x2", From(89), (7, 8)),
    ("cvt", "satfinite f16|f16x2|bf16|bf16x2|tf32 f32", From(75), (8, 1)),
    ("alloca|stacksave|stackrestore", "", From(75), (7, 3)),
    ("cvta|isspacep", "param", From(75), (7, 7)),
    ("applypriority|discard|createpolicy", "", From(80), (7, 4)),
    ("prefetch", "L2::evict_last|L2::evict_normal", From(80), (7, 4)),
    ("prefetch", "tensormap", From(90), (8, 0)),
    ("mapa|getctarank", "", From(90), (7, 8)),
    ("st", "async", From(90), (8, 1)),
    ("red", "async", From(90), (8, 1)),
    ("atom|red", "bf16|bf16x2", From(90), (7, 8)),
    ("atom", "b128", From(90), (8, 3)),
    ("atom|red", "v2|v4|v8", From(90), (8, 1)),
    ("membar|fence", "proxy", From(75), (7, 5)),
    ("fence", "async|async::generic|mbarrier_init|generic::async", From(90), (8, 0)),
    ("fence", "tensormap::generic", From(90), (8, 3)),
    ("fence", "acquire|release !proxy !mbarrier_init", From(90), (8, 6)),
    ("fence", "sync_restrict::shared::cta|sync_restrict::shared::cluster", From(90), (8, 6)),
    ("*", "cluster", From(90), (7, 8)),
    ("bar|barrier", "cta", From(75), (7, 8)),
    ("barrier", "cluster", From(90), (7, 8)),
    ("barrier", "cluster acquire|release|relaxed", From(90), (8, 0)),
    ("griddepcontrol", "", From(90), (7, 8)),
    ("setmaxnreg", "", Accelerated, (8, 0)),
    ("elect", "", From(90), (8, 0)),
    ("redux", "", From(80), (7, 0)),
    ("movmatrix", "", From(75), (7, 8)),
    ("stmatrix", "", From(90), (7, 8)),
    ("cp", "async", From(80), (7, 0)),
    ("cp", "bulk|reduce", From(90), (8, 0)),
    ("cp", "bulk global shared::cta mbarrier::complete_tx::bytes", From(90), (8, 6)),
    ("mbarrier", "", From(80), (7, 0)),
    ("mbarrier", "try_wait", From(90), (7, 8)),
    ("mbarrier", "expect_tx|complete_tx", From(90), (8, 0)),
    ("mbarrier", "acquire|release", From(80), (8, 0)),
    ("mbarrier", "arrive.expect_tx.relaxed", From(90), (8, 6)),
    ("mbarrier", "arrive_drop shared::cluster", From(90), (8, 0)),
    ("mbarrier", "relaxed !expect_tx !complete_tx", From(90), (8, 6)),
    ("tensormap", "", From(90), (8, 3)),
    ("tensormap", "replace", Accelerated, (8, 3)),
    ("wgmma", "", Only("sm_90a"), (8, 0)),
    ("wgmma", "sp", Only("sm_90a"), (8, 2)),
    ("wgmma", "s8 u8", Only("sm_90a"), (8, 4)),
    ("mma", "m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256|bf16|tf32|f64|sp", From(80), (7, 0)),
    ("mma", "sp::ordered_metadata", From(80), (8, 5)),
    ("mma", "and popc", From(80), (7, 1)),
    ("mma", "e4m3|e5m2", From(89), (8, 4)),
    ("mma", "e4m3|e5m2 f16", From(89), (8, 7)),
    ("mma", "e4m3|e5m2 m16n8k16", From(89), (8, 7)),
    ("mma", "m16n8k4|m16n8k8|m16n8k16 f64", From(90), (7, 8)),
    ("wmma", "bf16|tf32|f64|m16n16k8", From(80), (7, 0)),
    ("wmma", "and", From(80), (7, 1)),
    ("mov", "%clusterid|%nclusterid|%cluster_|%is_explicit_cluster", From(90), (7, 8)),
    ("mov", "%aggr_smem_size", From(90), (8, 1)),
    ("mov", "%reserved_smem_offset", From(80), (7, 6)),
    ("mov", "%current_graph_exec", From(75), (8, 0)),
];

/// What an instruction needs and a module does not have, as a sentence for people.
pub(super) fn unmet(instruction: &Instruction, target: &str, version: (u32, u32)) -> Option<String> {
    let opcode = instruction.opcode.as_str();
    let rows = || TABLE.iter().filter(|(opcodes, ..)| *opcodes == "*" || opcodes.split('|').any(|name| name == opcode));
    rows().next()?;
    let mnemonic = format!("{}.", instruction.mnemonic());
    let matching: Vec<&Row> = rows().filter(|(_, words, ..)| has_words(instruction, &mnemonic, words)).collect();
    // The row that asks for most is the one to name.
    let needs = matching.iter().map(|row| row.2).filter(|needs| !needs.met(target)).max_by_key(|needs| needs.rank());
    if let Some(needs) = needs {
        return Some(format!("this needs {needs}, and the module has `.target {target}`"));
    }
    let newest = matching.iter().map(|row| row.3).max().filter(|&newest| newest > version)?;
    let (of, is) = (format!("{}.{}", newest.0, newest.1), format!("{}.{}", version.0, version.1));
    Some(format!("this needs `.version {of}` or later, and the module has `.version {is}`"))
}

fn has_words(instruction: &Instruction, mnemonic: &str, words: &str) -> bool {
    let has = |word: &str| match word.starts_with('%') {
        true => instruction.operands.iter().any(|o| matches!(o, Operand::Name(name) if name.starts_with(word))),
        false => mnemonic
            .match_indices(word)
            .any(|(at, _)| mnemonic[..at].ends_with('.') && mnemonic[at + word.len()..].starts_with('.')),
    };
    words.split_whitespace().all(|word| match word.strip_prefix('!') {
        Some(word) => !has(word),
        None => word.split('|').any(has),
    })
}

/// The number of a target such as `sm_90a`, and whether it is one of an architecture's own (`a`) or of a family (`f`).
fn parts(target: &str) -> Option<(u32, bool)> {
    let name = target.strip_prefix("sm_")?;
    let number = name.trim_end_matches(['a', 'f']);
    Some((number.parse().ok()?, number.len() < name.len()))
}

impl Needs {
    /// Whether a target has it. One that is not known has everything.
    fn met(self, target: &str) -> bool {
        let Some((number, own)) = parts(target) else { return true };
        match self {
            Self::From(least) => number >= least,
            Self::Accelerated => number >= 90 && own,
            Self::Only(name) => target == name,
        }
    }

    fn rank(self) -> u32 {
        match self {
            Self::From(least) => least,
            Self::Accelerated | Self::Only(_) => u32::MAX,
        }
    }
}

impl std::fmt::Display for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::From(least) => write!(f, "`.target sm_{least}` or a later one"),
            Self::Accelerated => write!(f, "`.target sm_90a`, or one of a later architecture's own"),
            Self::Only(name) => write!(f, "`.target {name}`"),
        }
    }
}
