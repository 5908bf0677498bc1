//! The properties of arguments that kernels are compiled for. Where one of them changes from launch to launch, the kernel
//! is compiled for both; nothing else of the arguments makes another kernel.

use std::fmt;

use tegula_ir::function::ParamKind;

/// Extents, strides and integers that are multiples of this are worth knowing.
pub const DIVISOR: u32 = 16;

/// Addresses that are multiples of this are worth knowing: the widest access of a thread is of so many bytes.
pub const ALIGNMENT: u32 = 16;

/// Something that an argument has or has not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// A tensor's or pointer's address is a multiple of [`ALIGNMENT`].
    Address,
    /// An integer is a multiple of [`DIVISOR`].
    Value,
    /// The last axis of a tensor has stride 1.
    UnitInner,
    /// No element of a tensor lies before its first, and none 2 GiB or more behind it.
    Fits32,
    /// No other argument that is written, or with which this is written, has the tensor's memory.
    NoAlias,
    /// The extent of an axis is a multiple of [`DIVISOR`].
    Extent(u8),
    /// The stride of an axis is a multiple of [`DIVISOR`].
    Stride(u8),
}

impl Property {
    /// The properties of the arguments of a parameter. One that is not to be specialised has none.
    pub fn of(kind: &ParamKind) -> Vec<Self> {
        match kind {
            ParamKind::View { rank, .. } => {
                let first = [Self::Address, Self::UnitInner, Self::Fits32, Self::NoAlias];
                first.into_iter().chain((0..*rank).map(Self::Extent)).chain((0..*rank).map(Self::Stride)).collect()
            }
            ParamKind::Scalar { elem, .. } if elem.is_int() => vec![Self::Value],
            ParamKind::Scalar { .. } => Vec::new(),
            ParamKind::Ptr { .. } => vec![Self::Address],
        }
    }

    /// The bit that stands for it in a [`super::specialize::Class`].
    pub(super) const fn bit(self) -> u32 {
        match self {
            // An argument has an address or a value.
            Self::Address | Self::Value => 1 << 0,
            Self::UnitInner => 1 << 1,
            Self::Fits32 => 1 << 2,
            Self::NoAlias => 1 << 3,
            Self::Extent(axis) => 1 << (4 + axis),
            Self::Stride(axis) => 1 << (12 + axis),
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => write!(f, "address % {ALIGNMENT}"),
            Self::Value => write!(f, "value % {DIVISOR}"),
            Self::UnitInner => f.write_str("unit inner stride"),
            Self::Fits32 => f.write_str("below 2 GiB"),
            Self::NoAlias => f.write_str("no alias"),
            Self::Extent(axis) => write!(f, "extent {axis} % {DIVISOR}"),
            Self::Stride(axis) => write!(f, "stride {axis} % {DIVISOR}"),
        }
    }
}
