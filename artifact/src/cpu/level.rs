//! Processors by levels: what code that is compiled ahead of time may count on.

use serde::{Deserialize, Serialize};

/// A level of processors, each of which has what the levels before it have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CpuLevel {
    /// Any 64-bit x86 processor (SSE2).
    #[serde(rename = "x86-64")]
    X86V1,
    /// From about 2009 on (SSE4.2).
    #[serde(rename = "x86-64-v2")]
    X86V2,
    /// From about 2013 on (AVX2, FMA).
    #[serde(rename = "x86-64-v3")]
    X86V3,
    /// With AVX-512.
    #[serde(rename = "x86-64-v4")]
    X86V4,
    /// Any 64-bit Arm processor (NEON).
    #[serde(rename = "aarch64")]
    Arm64,
}

impl CpuLevel {
    /// All levels, the lowest of a kind first.
    pub const ALL: [Self; 5] = [Self::X86V1, Self::X86V2, Self::X86V3, Self::X86V4, Self::Arm64];

    /// The level's name, as compilers call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86V1 => "x86-64",
            Self::X86V2 => "x86-64-v2",
            Self::X86V3 => "x86-64-v3",
            Self::X86V4 => "x86-64-v4",
            Self::Arm64 => "aarch64",
        }
    }

    /// The level of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.name() == name)
    }

    /// What most machines in use have: the level for an architecture, as the first part of a target triple names it,
    /// where none is chosen.
    pub fn usual(architecture: &str) -> Option<Self> {
        match architecture {
            "x86_64" => Some(Self::X86V3),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }

    /// The architecture, as the first part of a target triple.
    pub fn architecture(self) -> &'static str {
        if self == Self::Arm64 { "aarch64" } else { "x86_64" }
    }

    /// LLVM's name of such a processor.
    pub fn llvm_cpu(self) -> &'static str {
        if self == Self::Arm64 { "generic" } else { self.name() }
    }

    /// The features that the level adds to its architecture, as LLVM writes them.
    pub fn llvm_features(self) -> &'static str {
        match self {
            Self::X86V1 | Self::Arm64 => "",
            Self::X86V2 => "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2",
            Self::X86V3 => "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe",
            Self::X86V4 => {
                "+cx16,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,\
                 +avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
            }
        }
    }

    /// Whether this processor is at the level.
    pub fn is_supported(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            match self {
                Self::X86V1 => true,
                Self::X86V2 => has!("cmpxchg16b") && has!("popcnt") && has!("sse4.2"),
                Self::X86V3 => {
                    Self::X86V2.is_supported()
                        && has!("avx2")
                        && has!("bmi1")
                        && has!("bmi2")
                        && has!("f16c")
                        && has!("fma")
                        && has!("lzcnt")
                        && has!("movbe")
                }
                Self::X86V4 => {
                    Self::X86V3.is_supported()
                        && has!("avx512f")
                        && has!("avx512bw")
                        && has!("avx512cd")
                        && has!("avx512dq")
                        && has!("avx512vl")
                }
                Self::Arm64 => false,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            cfg!(target_arch = "aarch64") && self == Self::Arm64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_stored_form() {
        for level in CpuLevel::ALL {
            assert_eq!(CpuLevel::by_name(level.name()), Some(level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.name());
        }
        assert_eq!(CpuLevel::by_name("x86-64-v5"), None);
    }

    #[test]
    fn levels_of_this_machine_have_no_gaps() {
        let same: Vec<CpuLevel> =
            CpuLevel::ALL.into_iter().filter(|l| l.architecture() == std::env::consts::ARCH).collect();
        assert!(same.iter().is_sorted_by_key(|l| !l.is_supported()), "{same:?}");
        for level in CpuLevel::ALL {
            assert!(!level.is_supported() || same.contains(&level), "{level:?}");
        }
    }
}
