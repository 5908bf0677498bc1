//! AMD architectures. Sources: the CDNA2, CDNA3, CDNA4, RDNA3 and RDNA4 ISA documents; LLVM's AMDGPUUsage, sections
//! "Processors" and "Address Spaces".

use tegula_ir::ops::UnaryOp;

use super::AtomicOp::Add;
use super::Element::{BF16, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, F32, F64};
use super::{Architecture, AtomicOp, Element, Family, INTEGER_ATOMICS};

const KIB: u32 = 1024;

/// Float addition, which CDNA has for coarse-grained memory.
const CDNA_ATOMICS: &[(AtomicOp, Element)] = &[(Add, F32), (Add, F64)];

const CONVERSIONS: &[(Element, Element)] = &[(F32, F16), (F16, F32), (BF16, F32), (F64, F32), (F32, F64)];

const CONVERSIONS_FNUZ: &[(Element, Element)] =
    &[(F32, F8E4M3Fnuz), (F32, F8E5M2Fnuz), (F8E4M3Fnuz, F32), (F8E5M2Fnuz, F32)];

const CONVERSIONS_OCP: &[(Element, Element)] = &[(F32, F8E4M3), (F32, F8E5M2), (F8E4M3, F32), (F8E5M2, F32)];

/// What all CDNA architectures share.
///
/// Without `unaligned-access-mode` LLVM joins accesses only where their alignment is known, so that the code does not depend
/// on how the driver sets `SH_MEM_CONFIG.alignment_mode`.
const CDNA: Architecture = Architecture {
    name: "",
    description: "",
    family: Family::Amd,
    triple: "amdgcn-amd-amdhsa",
    features: "-unaligned-access-mode",
    warp_size: 64,
    max_threads: 1024,
    max_shared_bytes: 64 * KIB,
    max_static_shared_bytes: 64 * KIB,
    // Of the language's own: the packet that launches a kernel points to its arguments.
    max_argument_bytes: 64 * KIB,
    max_access_bytes: 16,
    shared_banks: 32,
    shared_bank_bytes: 4,
    conversions: &[CONVERSIONS],
    atomics: &[INTEGER_ATOMICS, CDNA_ATOMICS],
    // `v_exp_f32` and `v_log_f32` are within one unit in the last place; LLVM scales subnormals around them.
    native_math: &[UnaryOp::Exp2, UnaryOp::Log2],
    approximate_math: &[UnaryOp::Exp2, UnaryOp::Log2, UnaryOp::Recip, UnaryOp::Sin, UnaryOp::Cos],
    dependent_launches: false,
};

/// What all RDNA architectures share. Programs run on a workgroup processor, two compute units with one LDS.
const RDNA: Architecture = Architecture {
    features: "+wavefrontsize32,-unaligned-access-mode",
    warp_size: 32,
    atomics: &[INTEGER_ATOMICS],
    ..CDNA
};

pub(super) const ARCHITECTURES: &[Architecture] = &[
    Architecture { name: "gfx90a", description: "CDNA2 (MI210, MI250)", ..CDNA },
    Architecture {
        name: "gfx942",
        description: "CDNA3 (MI300, MI325)",
        conversions: &[CONVERSIONS, CONVERSIONS_FNUZ],
        ..CDNA
    },
    Architecture {
        name: "gfx950",
        description: "CDNA4 (MI350, MI355)",
        max_shared_bytes: 160 * KIB,
        max_static_shared_bytes: 160 * KIB,
        shared_banks: 64,
        conversions: &[CONVERSIONS, CONVERSIONS_OCP, &[(F32, BF16)]],
        ..CDNA
    },
    Architecture { name: "gfx1100", description: "RDNA3 (RX 7900)", ..RDNA },
    Architecture {
        name: "gfx1201",
        description: "RDNA4 (RX 9070)",
        conversions: &[CONVERSIONS, CONVERSIONS_OCP],
        ..RDNA
    },
];
