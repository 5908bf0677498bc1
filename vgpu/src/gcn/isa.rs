//! The instruction sets as tables: which opcodes an architecture has, as LLVM knows them, and which of them this machine executes.

use super::arch::Arch;
use super::decode::tables::Table;
use super::exec;

/// One opcode of one encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Opcode {
    /// The encoding, as the ISA documents call it.
    pub encoding: &'static str,
    /// Its number there.
    pub number: u16,
    /// The mnemonic, without the suffix of the encoding.
    pub mnemonic: &'static str,
    /// Whether this machine executes it.
    pub supported: bool,
}

/// All opcodes of an architecture, by encoding and number.
pub fn opcodes(arch: Arch) -> Vec<Opcode> {
    let mut all: Vec<_> = Table::of(arch)
        .rows()
        .map(|(encoding, number, row)| Opcode {
            encoding: encoding.name(),
            number,
            mnemonic: row.mnemonic,
            supported: exec::resolve(row.name, arch).is_some(),
        })
        .collect();
    all.sort_unstable();
    all
}

/// The family that a mnemonic belongs to, for summaries.
pub fn family(mnemonic: &str) -> &'static str {
    const PREFIXES: &[(&str, &str)] = &[
        ("s_load", "scalar memory"),
        ("s_buffer", "scalar memory"),
        ("s_dcache", "scalar memory"),
        ("s_mem", "scalar memory"),
        ("s_wait", "waits and barriers"),
        ("s_barrier", "waits and barriers"),
        ("s_sleep", "waits and barriers"),
        ("s_nop", "waits and barriers"),
        ("s_delay", "waits and barriers"),
        ("s_cbranch", "branches"),
        ("s_branch", "branches"),
        ("s_setpc", "branches"),
        ("s_swappc", "branches"),
        ("s_call", "branches"),
        ("s_endpgm", "branches"),
        ("s_", "scalar"),
        ("v_mfma", "matrix"),
        ("v_smfmac", "matrix"),
        ("v_wmma", "matrix"),
        ("v_swmmac", "matrix"),
        ("v_accvgpr", "matrix"),
        ("v_pk_", "vector, packed"),
        ("v_dot", "vector, dot products"),
        ("v_cmp", "vector, comparisons"),
        ("v_cvt", "vector, conversions"),
        ("v_dual", "vector, dual issue"),
        ("v_", "vector"),
        ("ds_", "LDS"),
        ("global_atomic", "atomics"),
        ("flat_atomic", "atomics"),
        ("buffer_atomic", "atomics"),
        ("global_", "global memory"),
        ("flat_", "flat memory"),
        ("scratch_", "scratch"),
        ("buffer_", "buffers"),
        ("tbuffer_", "buffers"),
    ];
    PREFIXES.iter().find(|(prefix, _)| mnemonic.starts_with(prefix)).map_or("other", |(_, family)| family)
}
