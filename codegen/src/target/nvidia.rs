//! NVIDIA architectures. Sources: CUDA C++ Programming Guide, table "Technical Specifications per Compute
//! Capability"; PTX ISA 8.x, the "Target ISA Notes" of `cvt`, `atom`, `min`/`max` and `fma`, and "Kernel Function
//! Parameters".

use tegula_ir::ops::UnaryOp;

use super::AtomicOp::Add;
use super::Element::{BF16, F8E4M3, F8E5M2, F16, F32, F64};
use super::{Architecture, AtomicOp, Element, Family, INTEGER_ATOMICS};

const KIB: u32 = 1024;

/// From PTX version 8.1 and sm_70 on.
const LARGE_ARGUMENTS: u32 = 32764;

const FLOAT_ATOMICS: &[(AtomicOp, Element)] = &[(Add, F16), (Add, F32), (Add, F64)];

const CONVERSIONS: &[(Element, Element)] =
    &[(F32, F16), (F16, F32), (F32, BF16), (BF16, F32), (F64, F32), (F32, F64), (F64, F16), (F16, F64)];

const CONVERSIONS_FP8: &[(Element, Element)] =
    &[(F32, F8E4M3), (F32, F8E5M2), (F16, F8E4M3), (F16, F8E5M2), (F8E4M3, F16), (F8E5M2, F16)];

/// What all architectures of the family share.
const BASE: Architecture = Architecture {
    name: "",
    description: "",
    family: Family::Nvidia,
    triple: "nvptx64-nvidia-cuda",
    features: "",
    warp_size: 32,
    max_threads: 1024,
    max_shared_bytes: 99 * KIB,
    max_static_shared_bytes: 48 * KIB,
    // With PTX of versions before 8.1.
    max_argument_bytes: 4352,
    max_access_bytes: 16,
    shared_banks: 32,
    shared_bank_bytes: 4,
    conversions: &[CONVERSIONS],
    atomics: &[INTEGER_ATOMICS, FLOAT_ATOMICS],
    // `ex2.approx` and its like are off by up to two units in the last place.
    native_math: &[],
    approximate_math: &[UnaryOp::Exp2, UnaryOp::Log2, UnaryOp::Recip, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Tanh],
    dependent_launches: false,
};

pub(super) const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "sm_80",
        description: "Ampere (A100)",
        features: "+ptx74",
        max_shared_bytes: 163 * KIB,
        ..BASE
    },
    Architecture { name: "sm_86", description: "Ampere (RTX 30, A10, A40)", features: "+ptx74", ..BASE },
    Architecture {
        name: "sm_89",
        description: "Ada (RTX 40, L4, L40)",
        features: "+ptx81",
        max_argument_bytes: LARGE_ARGUMENTS,
        conversions: &[CONVERSIONS, CONVERSIONS_FP8],
        ..BASE
    },
    Architecture {
        name: "sm_90a",
        description: "Hopper (H100, H200)",
        features: "+ptx83",
        max_argument_bytes: LARGE_ARGUMENTS,
        max_shared_bytes: 227 * KIB,
        conversions: &[CONVERSIONS, CONVERSIONS_FP8],
        atomics: &[INTEGER_ATOMICS, FLOAT_ATOMICS, &[(Add, BF16)]],
        dependent_launches: true,
        ..BASE
    },
];
