//! The architectures this machine executes, and what differs between them outside the instruction tables.

use std::fmt;

/// A processor, or a family of processors with one instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// CDNA 3: MI300.
    Gfx942,
    /// CDNA 4: MI350.
    Gfx950,
    /// RDNA 3.
    Gfx1100,
    /// RDNA 4.
    Gfx1201,
}

impl Arch {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gfx942, Self::Gfx950, Self::Gfx1100, Self::Gfx1201];

    /// The processor that an ELF header's flags name (`EF_AMDGPU_MACH`).
    pub fn from_elf_flags(flags: u32) -> Option<Self> {
        match flags & 0xff {
            // Code for a generic processor (version 6) runs on each that it stands for.
            0x4c | 0x5f => Some(Self::Gfx942),
            0x4f => Some(Self::Gfx950),
            // gfx1100 to gfx1102 share one instruction set, and so do gfx1200 and gfx1201.
            0x41 | 0x46 | 0x47 | 0x54 => Some(Self::Gfx1100),
            0x48 | 0x4e | 0x59 => Some(Self::Gfx1201),
            _ => None,
        }
    }

    /// LLVM's name of a processor that an ELF header's flags name, whether there is a machine for it or not.
    pub fn name_of_elf_flags(flags: u32) -> &'static str {
        const NAMES: [(u32, &str); 29] = [
            (0x2c, "gfx900"),
            (0x2f, "gfx906"),
            (0x30, "gfx908"),
            (0x31, "gfx909"),
            (0x32, "gfx90c"),
            (0x3f, "gfx90a"),
            (0x33, "gfx1010"),
            (0x34, "gfx1011"),
            (0x35, "gfx1012"),
            (0x36, "gfx1030"),
            (0x37, "gfx1031"),
            (0x38, "gfx1032"),
            (0x41, "gfx1100"),
            (0x46, "gfx1101"),
            (0x47, "gfx1102"),
            (0x44, "gfx1103"),
            (0x43, "gfx1150"),
            (0x4a, "gfx1151"),
            (0x55, "gfx1152"),
            (0x58, "gfx1153"),
            (0x5a, "gfx1251"),
            (0x48, "gfx1200"),
            (0x4e, "gfx1201"),
            (0x49, "gfx1250"),
            (0x4c, "gfx942"),
            (0x4f, "gfx950"),
            (0x5f, "gfx9-4-generic"),
            (0x54, "gfx11-generic"),
            (0x59, "gfx12-generic"),
        ];
        NAMES.iter().find(|(code, _)| *code == flags & 0xff).map_or("an unknown processor", |(_, name)| name)
    }

    /// The processor with a name such as `gfx942`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.split(':').next()? {
            "gfx942" | "gfx9-4-generic" => Some(Self::Gfx942),
            "gfx950" => Some(Self::Gfx950),
            "gfx1100" | "gfx1101" | "gfx1102" | "gfx11-generic" => Some(Self::Gfx1100),
            "gfx1200" | "gfx1201" | "gfx12-generic" => Some(Self::Gfx1201),
            _ => None,
        }
    }

    /// LLVM's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gfx942 => "gfx942",
            Self::Gfx950 => "gfx950",
            Self::Gfx1100 => "gfx1100",
            Self::Gfx1201 => "gfx1201",
        }
    }

    /// Whether it belongs to the CDNA line (encodings of GFX9, matrix cores with accumulation registers).
    pub fn is_cdna(self) -> bool {
        matches!(self, Self::Gfx942 | Self::Gfx950)
    }

    /// Whether it is of the GFX12 generation.
    pub fn is_gfx12(self) -> bool {
        self == Self::Gfx1201
    }

    /// Bytes of LDS that one workgroup may have.
    pub fn lds_bytes(self) -> u32 {
        if self == Self::Gfx950 { 160 << 10 } else { 64 << 10 }
    }

    /// Banks of the LDS, four bytes wide each.
    pub fn lds_banks(self) -> u32 {
        if self == Self::Gfx950 { 64 } else { 32 }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
