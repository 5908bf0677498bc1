//! What a memory instruction does, read from its mnemonic: the names are regular, and both generations of names are known.

use crate::gcn::inst::MemFields;

/// Which memory, and how it is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// A generic address: global, LDS or scratch.
    Flat,
    Global,
    Scratch,
    /// Through a buffer resource.
    Buffer,
    /// LDS.
    Ds,
    /// Scalar, by address.
    Scalar,
    /// Scalar, through a buffer resource.
    ScalarBuffer,
    /// Scalar, by address, with offsets in registers that count 64 bytes.
    ScalarScratch,
}

/// Which half of a register a 16-bit load writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// The whole register, extended.
    Whole,
    Low,
    High,
}

/// A read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Swap,
    CmpSwap,
    Add,
    Sub,
    /// Memory is subtracted from the operand.
    Rsub,
    MinI,
    MinU,
    MaxI,
    MaxU,
    And,
    Or,
    Xor,
    /// Wraps to zero above the operand.
    Inc,
    /// Wraps to the operand below zero.
    Dec,
    /// Subtracts, not below zero.
    SubClamp,
    /// Subtracts where the value is large enough.
    CondSub,
    /// Masked or.
    MskOr,
    /// Subtract or add, to stay in a ring.
    Wrap,
    /// Each half is exchanged where its new value's top bit is set, and loses that bit.
    CondXchg,
    AddF,
    MinF,
    MaxF,
    /// Compare and swap with float equality.
    CmpSwapF,
    PkAddF16,
    PkAddBf16,
}

/// Lanes as a matrix is transposed on its way to registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transpose {
    B16,
    B8,
    B6,
    B4,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Load {
        bytes: u8,
        signed: bool,
        half: Half,
    },
    Store {
        bytes: u8,
        high: bool,
    },
    Atomic {
        op: AtomicOp,
        bytes: u8,
    },
    /// To the LDS, at m0 and the lane's place.
    LoadLds {
        bytes: u8,
        signed: bool,
    },
    /// Through a buffer's data format, so many components.
    LoadFormat {
        components: u8,
        d16: bool,
        high: bool,
    },
    StoreFormat {
        components: u8,
        d16: bool,
        high: bool,
    },
    /// LDS, two at once; offsets count elements, or 64 of them.
    Load2 {
        bytes: u8,
        stride64: bool,
    },
    Store2 {
        bytes: u8,
        stride64: bool,
    },
    Exchange2 {
        bytes: u8,
        stride64: bool,
    },
    LoadTranspose(Transpose),
    /// LDS, addressed by lane and m0.
    LoadLane,
    StoreLane,
    Swizzle,
    Permute,
    /// Reads of lanes that are off give zero, unless they are to be fetched.
    Bpermute {
        fetch_inactive: bool,
    },
    Append,
    Consume,
}

/// A memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemOp {
    pub space: Space,
    pub act: Act,
}

impl Act {
    /// Registers of data that it takes from the wave: of its first data operand, and of its second.
    pub(crate) fn data_registers(self) -> [u8; 2] {
        match self {
            Self::Store { bytes, .. } => [bytes.div_ceil(4), 0],
            Self::Store2 { bytes, .. } | Self::Exchange2 { bytes, .. } => [bytes / 4, bytes / 4],
            Self::Atomic { op, bytes } => match op {
                AtomicOp::CmpSwap | AtomicOp::CmpSwapF | AtomicOp::MskOr | AtomicOp::Wrap => [bytes / 4, bytes / 4],
                _ => [bytes / 4, 0],
            },
            Self::StoreFormat { components, d16, .. } => [if d16 { components.div_ceil(2) } else { components }, 0],
            Self::StoreLane | Self::Swizzle | Self::Permute | Self::Bpermute { .. } => [1, 0],
            _ => [0, 0],
        }
    }
}

impl MemOp {
    /// Registers of each source operand: address, data, and the second data or the resource.
    pub(crate) fn source_registers(&self, fields: &MemFields, scalar_base: bool) -> [u8; 3] {
        let [data, second] = self.act.data_registers();
        match self.space {
            Space::Flat => [2, data + second, 0],
            Space::Global if matches!(self.act, Act::LoadLane | Act::StoreLane) => [0, data, 0],
            Space::Global => [if scalar_base { 1 } else { 2 }, data + second, 0],
            Space::Scratch => [u8::from(fields.use_vaddr), data, 0],
            Space::Buffer => [u8::from(fields.idxen) + u8::from(fields.offen), data + second, 4],
            Space::Ds => match self.act {
                Act::LoadLane | Act::Append | Act::Consume => [0, 0, 0],
                Act::StoreLane => [0, 1, 0],
                Act::Swizzle => [1, 0, 0],
                _ => [1, data, second],
            },
            Space::Scalar | Space::ScalarScratch => [2, data + second, 0],
            Space::ScalarBuffer => [4, data + second, 0],
        }
    }
}

/// Reads a mnemonic; `None` where it is no memory instruction that this machine has.
pub(crate) fn parse(name: &str) -> Option<MemOp> {
    const SPACES: [(&str, Space); 9] = [
        ("flat_", Space::Flat),
        ("global_", Space::Global),
        ("scratch_", Space::Scratch),
        ("tbuffer_", Space::Buffer),
        ("buffer_", Space::Buffer),
        ("ds_", Space::Ds),
        ("s_buffer_", Space::ScalarBuffer),
        ("s_scratch_", Space::ScalarScratch),
        ("s_", Space::Scalar),
    ];
    let (rest, space) = SPACES.iter().find_map(|&(prefix, space)| Some((name.strip_prefix(prefix)?, space)))?;
    let act = match space {
        Space::Ds => lds(rest)?,
        Space::Scalar | Space::ScalarBuffer | Space::ScalarScratch => scalar(rest)?,
        _ => vector(rest)?,
    };
    Some(MemOp { space, act })
}

fn scalar(rest: &str) -> Option<Act> {
    if let Some(what) = rest.strip_prefix("load_") {
        return load(what).filter(|act| matches!(act, Act::Load { half: Half::Whole, .. }));
    }
    if let Some(what) = rest.strip_prefix("store_") {
        return store(what).filter(|act| matches!(act, Act::Store { bytes: 4.., .. }));
    }
    atomic(rest.strip_prefix("atomic_")?)
}

fn vector(rest: &str) -> Option<Act> {
    if let Some(what) = rest.strip_prefix("load_lds_") {
        return match load(what)? {
            Act::Load { bytes, signed, .. } => Some(Act::LoadLds { bytes, signed }),
            _ => None,
        };
    }
    match rest {
        "load_addtid_b32" => return Some(Act::LoadLane),
        "store_addtid_b32" => return Some(Act::StoreLane),
        _ => {}
    }
    if let Some(what) = rest.strip_prefix("load_tr_") {
        return Some(Act::LoadTranspose(match what {
            "b128" => Transpose::B16,
            "b64" => Transpose::B8,
            _ => return None,
        }));
    }
    if let Some(what) = rest.strip_prefix("load_") {
        return format(what)
            .map(|(components, d16, high)| Act::LoadFormat { components, d16, high })
            .or_else(|| load(what));
    }
    if let Some(what) = rest.strip_prefix("store_") {
        return format(what)
            .map(|(components, d16, high)| Act::StoreFormat { components, d16, high })
            .or_else(|| store(what));
    }
    atomic(rest.strip_prefix("atomic_")?)
}

/// `format_xy`, `format_d16_hi_x`, `d16_format_xyz`, `d16_hi_format_x`.
fn format(what: &str) -> Option<(u8, bool, bool)> {
    let (d16, high, components) = match what.strip_prefix("format_") {
        Some(rest) => match (rest.strip_prefix("d16_hi_"), rest.strip_prefix("d16_")) {
            (Some(rest), _) => (true, true, rest),
            (_, Some(rest)) => (true, false, rest),
            _ => (false, false, rest),
        },
        None => match what.strip_prefix("d16_hi_format_") {
            Some(rest) => (true, true, rest),
            None => (true, false, what.strip_prefix("d16_format_")?),
        },
    };
    let count = ["x", "xy", "xyz", "xyzw"].iter().position(|&c| c == components)?;
    Some((count as u8 + 1, d16, high))
}

fn load(what: &str) -> Option<Act> {
    let (bytes, signed, half) = match what {
        "dword" | "b32" => (4, false, Half::Whole),
        "dwordx2" | "b64" => (8, false, Half::Whole),
        "dwordx3" | "b96" => (12, false, Half::Whole),
        "dwordx4" | "b128" => (16, false, Half::Whole),
        "dwordx8" | "b256" => (32, false, Half::Whole),
        "dwordx16" | "b512" => (64, false, Half::Whole),
        "ubyte" | "u8" => (1, false, Half::Whole),
        "sbyte" | "i8" => (1, true, Half::Whole),
        "ushort" | "u16" => (2, false, Half::Whole),
        "sshort" | "i16" => (2, true, Half::Whole),
        "ubyte_d16" | "d16_u8" | "u8_d16" => (1, false, Half::Low),
        "ubyte_d16_hi" | "d16_hi_u8" | "u8_d16_hi" => (1, false, Half::High),
        "sbyte_d16" | "d16_i8" | "i8_d16" => (1, true, Half::Low),
        "sbyte_d16_hi" | "d16_hi_i8" | "i8_d16_hi" => (1, true, Half::High),
        "short_d16" | "d16_b16" | "u16_d16" => (2, false, Half::Low),
        "short_d16_hi" | "d16_hi_b16" | "u16_d16_hi" => (2, false, Half::High),
        _ => return None,
    };
    Some(Act::Load { bytes, signed, half })
}

fn store(what: &str) -> Option<Act> {
    let (bytes, high) = match what {
        "byte" | "b8" => (1, false),
        "byte_d16_hi" | "d16_hi_b8" | "b8_d16_hi" => (1, true),
        "short" | "b16" => (2, false),
        "short_d16_hi" | "d16_hi_b16" | "b16_d16_hi" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        _ => return None,
    };
    Some(Act::Store { bytes, high })
}

/// The names of vector-memory atomics: `add`, `add_x2`, `add_u32`, `smin_x2`, `min_i64`, `pk_add_f16`, `max_num_f32`...
fn atomic(what: &str) -> Option<Act> {
    use AtomicOp::*;
    let (op, bytes) = match what {
        "pk_add_f16" => (PkAddF16, 4),
        "pk_add_bf16" => (PkAddBf16, 4),
        "add_f32" => (AddF, 4),
        "add_f64" => (AddF, 8),
        "min_f32" | "min_num_f32" => (MinF, 4),
        "max_f32" | "max_num_f32" => (MaxF, 4),
        "min_f64" => (MinF, 8),
        "max_f64" => (MaxF, 8),
        "cmpswap_f32" => (CmpSwapF, 4),
        "csub_u32" | "sub_clamp_u32" => (SubClamp, 4),
        "cond_sub_u32" => (CondSub, 4),
        _ => {
            let (stem, bytes) = if let Some(stem) = what.strip_suffix("_x2") {
                (stem, 8)
            } else if let Some((stem, suffix)) = what.rsplit_once('_') {
                match suffix {
                    "u32" | "b32" => (stem, 4),
                    "u64" | "b64" => (stem, 8),
                    "i32" if matches!(stem, "min" | "max") => return integer_minmax(stem, 4),
                    "i64" if matches!(stem, "min" | "max") => return integer_minmax(stem, 8),
                    _ => return None,
                }
            } else {
                (what, 4)
            };
            let op = match stem {
                "swap" => Swap,
                "cmpswap" => CmpSwap,
                "add" => Add,
                "sub" => Sub,
                "smin" => MinI,
                "umin" | "min" => MinU,
                "smax" => MaxI,
                "umax" | "max" => MaxU,
                "and" => And,
                "or" => Or,
                "xor" => Xor,
                "inc" => Inc,
                "dec" => Dec,
                _ => return None,
            };
            (op, bytes)
        }
    };
    Some(Act::Atomic { op, bytes })
}

fn integer_minmax(stem: &str, bytes: u8) -> Option<Act> {
    let op = if stem == "min" { AtomicOp::MinI } else { AtomicOp::MaxI };
    Some(Act::Atomic { op, bytes })
}

fn lds(rest: &str) -> Option<Act> {
    use AtomicOp::*;
    let fixed = match rest {
        "swizzle_b32" => Act::Swizzle,
        "permute_b32" => Act::Permute,
        "bpermute_b32" => Act::Bpermute { fetch_inactive: false },
        "bpermute_fi_b32" => Act::Bpermute { fetch_inactive: true },
        "condxchg32_rtn_b64" => Act::Atomic { op: CondXchg, bytes: 8 },
        "append" => Act::Append,
        "consume" => Act::Consume,
        "read_addtid_b32" | "load_addtid_b32" => Act::LoadLane,
        "write_addtid_b32" | "store_addtid_b32" => Act::StoreLane,
        "read_b64_tr_b16" => Act::LoadTranspose(Transpose::B16),
        "read_b64_tr_b8" => Act::LoadTranspose(Transpose::B8),
        "read_b96_tr_b6" => Act::LoadTranspose(Transpose::B6),
        "read_b64_tr_b4" => Act::LoadTranspose(Transpose::B4),
        "read2_b32" | "load_2addr_b32" => Act::Load2 { bytes: 4, stride64: false },
        "read2_b64" | "load_2addr_b64" => Act::Load2 { bytes: 8, stride64: false },
        "read2st64_b32" | "load_2addr_stride64_b32" => Act::Load2 { bytes: 4, stride64: true },
        "read2st64_b64" | "load_2addr_stride64_b64" => Act::Load2 { bytes: 8, stride64: true },
        "write2_b32" | "store_2addr_b32" => Act::Store2 { bytes: 4, stride64: false },
        "write2_b64" | "store_2addr_b64" => Act::Store2 { bytes: 8, stride64: false },
        "write2st64_b32" | "store_2addr_stride64_b32" => Act::Store2 { bytes: 4, stride64: true },
        "write2st64_b64" | "store_2addr_stride64_b64" => Act::Store2 { bytes: 8, stride64: true },
        "wrxchg2_rtn_b32" | "storexchg_2addr_rtn_b32" => Act::Exchange2 { bytes: 4, stride64: false },
        "wrxchg2_rtn_b64" | "storexchg_2addr_rtn_b64" => Act::Exchange2 { bytes: 8, stride64: false },
        "wrxchg2st64_rtn_b32" | "storexchg_2addr_stride64_rtn_b32" => Act::Exchange2 { bytes: 4, stride64: true },
        "wrxchg2st64_rtn_b64" | "storexchg_2addr_stride64_rtn_b64" => Act::Exchange2 { bytes: 8, stride64: true },
        _ => {
            if let Some(what) = rest.strip_prefix("read_").or_else(|| rest.strip_prefix("load_")) {
                return load(what).filter(|act| matches!(act, Act::Load { bytes: ..=16, .. }));
            }
            if let Some(what) = rest.strip_prefix("write_").or_else(|| rest.strip_prefix("store_")) {
                return store(what);
            }
            let plain = rest.replace("_rtn_", "_").replace("_num_", "_");
            let (stem, suffix) = plain.rsplit_once('_')?;
            let bytes = match suffix {
                "u32" | "i32" | "b32" | "f32" | "f16" | "bf16" => 4,
                "u64" | "i64" | "b64" | "f64" => 8,
                _ => return None,
            };
            let (signed, float) = (suffix.starts_with('i'), suffix.starts_with('f'));
            let op = match stem {
                "add" if float => AddF,
                "min" if float => MinF,
                "max" if float => MaxF,
                "cmpst" | "cmpstore" if float => CmpSwapF,
                "pk_add" if suffix == "f16" => PkAddF16,
                "pk_add" if suffix == "bf16" => PkAddBf16,
                "add" => Add,
                "sub" => Sub,
                "rsub" => Rsub,
                "inc" => Inc,
                "dec" => Dec,
                "min" => {
                    if signed {
                        MinI
                    } else {
                        MinU
                    }
                }
                "max" => {
                    if signed {
                        MaxI
                    } else {
                        MaxU
                    }
                }
                "and" => And,
                "or" => Or,
                "xor" => Xor,
                "mskor" => MskOr,
                "wrxchg" | "storexchg" => Swap,
                "cmpst" | "cmpstore" => CmpSwap,
                "wrap" => Wrap,
                "sub_clamp" => SubClamp,
                "cond_sub" => CondSub,
                _ => return None,
            };
            Act::Atomic { op, bytes }
        }
    };
    Some(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_generations() {
        let global = |act| Some(MemOp { space: Space::Global, act });
        let dword = Act::Load { bytes: 4, signed: false, half: Half::Whole };
        assert_eq!(parse("global_load_dword"), global(dword));
        assert_eq!(parse("global_load_b32"), global(dword));
        assert_eq!(parse("global_load_short_d16_hi"), parse("global_load_d16_hi_b16"));
        assert_eq!(parse("global_atomic_smin_x2"), parse("global_atomic_min_i64"));
        assert_eq!(parse("ds_cmpst_rtn_b64"), parse("ds_cmpstore_rtn_b64"));
        assert_eq!(parse("buffer_load_lds_dword").map(|m| m.act), Some(Act::LoadLds { bytes: 4, signed: false }));
        assert_eq!(
            parse("tbuffer_load_format_d16_xy").map(|m| m.act),
            Some(Act::LoadFormat { components: 2, d16: true, high: false })
        );
        assert_eq!(
            parse("s_load_dwordx16").map(|m| m.act),
            Some(Act::Load { bytes: 64, signed: false, half: Half::Whole })
        );
        assert_eq!(
            parse("s_scratch_store_dwordx2"),
            Some(MemOp { space: Space::ScalarScratch, act: Act::Store { bytes: 8, high: false } })
        );
        assert_eq!(parse("s_add_u32"), None);
        assert_eq!(parse("global_wbinv"), None);
    }
}
