//! NVIDIA architectures. Sources: CUDA C++ Programming Guide, table "Technical Specifications per Compute
//! Capability"; PTX ISA 8.x, the "Target ISA Notes" of `cvt`, `atom`, `min`/`max` and `fma`.

use tegula_ir::ops::UnaryOp;

use super::AtomicOp::{Add, And, CompareExchange, Exchange, Max, Min, Or, Xor};
use super::Element::{BF16, F8E4M3, F8E5M2, F16, F32, F64, I32, I64};
use super::{Architecture, AtomicOp, Convergence, Element, Family, ShuffleKind};

const KIB: u32 = 1024;

const ATOMICS_SM80: &[(AtomicOp, Element)] = &[
    (Add, I32),
    (Add, I64),
    (Add, F16),
    (Add, F32),
    (Add, F64),
    (Min, I32),
    (Min, I64),
    (Max, I32),
    (Max, I64),
    (And, I32),
    (And, I64),
    (Or, I32),
    (Or, I64),
    (Xor, I32),
    (Xor, I64),
    (Exchange, I32),
    (Exchange, I64),
    (CompareExchange, I32),
    (CompareExchange, I64),
];

const ATOMICS_SM90: &[(AtomicOp, Element)] = &[
    (Add, I32),
    (Add, I64),
    (Add, F16),
    (Add, BF16),
    (Add, F32),
    (Add, F64),
    (Min, I32),
    (Min, I64),
    (Max, I32),
    (Max, I64),
    (And, I32),
    (And, I64),
    (Or, I32),
    (Or, I64),
    (Xor, I32),
    (Xor, I64),
    (Exchange, I32),
    (Exchange, I64),
    (CompareExchange, I32),
    (CompareExchange, I64),
];

const CONVERSIONS_SM80: &[(Element, Element)] =
    &[(F32, F16), (F16, F32), (F32, BF16), (BF16, F32), (F64, F32), (F32, F64), (F64, F16), (F16, F64)];

const CONVERSIONS_SM89: &[(Element, Element)] = &[
    (F32, F16),
    (F16, F32),
    (F32, BF16),
    (BF16, F32),
    (F64, F32),
    (F32, F64),
    (F64, F16),
    (F16, F64),
    (F32, F8E4M3),
    (F32, F8E5M2),
    (F16, F8E4M3),
    (F16, F8E5M2),
    (F8E4M3, F16),
    (F8E5M2, F16),
];

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
    max_access_bytes: 16,
    shared_banks: 32,
    shared_bank_bytes: 4,
    max_registers: 255,
    shuffle: ShuffleKind::ShflSync,
    convergence: Convergence::Independent,
    conversions: CONVERSIONS_SM80,
    atomics: ATOMICS_SM80,
    fp8_saturates: true,
    nan_min_max: true,
    packed_f16: true,
    bf16_arithmetic: false,
    // `ex2.approx` and its like are off by up to two units in the last place.
    native_math: &[],
    approximate_math: &[UnaryOp::Exp2, UnaryOp::Log2, UnaryOp::Recip, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Tanh],
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
        conversions: CONVERSIONS_SM89,
        ..BASE
    },
    Architecture {
        name: "sm_90a",
        description: "Hopper (H100, H200)",
        features: "+ptx83",
        max_shared_bytes: 227 * KIB,
        conversions: CONVERSIONS_SM89,
        atomics: ATOMICS_SM90,
        bf16_arithmetic: true,
        ..BASE
    },
];
