//! Fundamental types of PTX.

/// A type as instructions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    Pred,
    B1,
    B8,
    B16,
    B32,
    B64,
    B128,
    U2,
    S2,
    U4,
    S4,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    U16x2,
    S16x2,
    F16,
    F16x2,
    BF16,
    BF16x2,
    TF32,
    F32,
    F32x2,
    F64,
    E4M3,
    E5M2,
    E4M3x2,
    E5M2x2,
    E2M3x2,
    E3M2x2,
    E2M1x2,
    UE8M0x2,
}

impl Ty {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "pred" => Self::Pred,
            "b1" => Self::B1,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u2" => Self::U2,
            "s2" => Self::S2,
            "u4" => Self::U4,
            "s4" => Self::S4,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "u16x2" => Self::U16x2,
            "s16x2" => Self::S16x2,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::BF16,
            "bf16x2" => Self::BF16x2,
            "tf32" => Self::TF32,
            "f32" => Self::F32,
            "f32x2" => Self::F32x2,
            "f64" => Self::F64,
            "e4m3" => Self::E4M3,
            "e5m2" => Self::E5M2,
            "e4m3x2" => Self::E4M3x2,
            "e5m2x2" => Self::E5M2x2,
            "e2m3x2" => Self::E2M3x2,
            "e3m2x2" => Self::E3M2x2,
            "e2m1x2" => Self::E2M1x2,
            "ue8m0x2" => Self::UE8M0x2,
            _ => return None,
        })
    }

    /// Bits of a value.
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred | Self::B1 => 1,
            Self::U2 | Self::S2 => 2,
            Self::U4 | Self::S4 => 4,
            Self::B8 | Self::U8 | Self::S8 | Self::E4M3 | Self::E5M2 | Self::E2M1x2 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::BF16 => 16,
            Self::E4M3x2 | Self::E5M2x2 | Self::E2M3x2 | Self::E3M2x2 | Self::UE8M0x2 => 16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::TF32 => 32,
            Self::U16x2 | Self::S16x2 | Self::F16x2 | Self::BF16x2 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32x2 => 64,
            Self::B128 => 128,
        }
    }

    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Self::S2 | Self::S4 | Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64 | Self::TF32)
    }

    /// Whether it is a plain integer or untyped bits.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::B8
                | Self::B16
                | Self::B32
                | Self::B64
                | Self::U8
                | Self::U16
                | Self::U32
                | Self::U64
                | Self::S8
                | Self::S16
                | Self::S32
                | Self::S64
        )
    }
}
