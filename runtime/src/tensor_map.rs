//! Tensor maps: what an NVIDIA GPU from sm_90 on knows of a tensor to copy boxes of it between global and shared memory by
//! itself (TMA). The driver makes them on the host; a kernel takes one as a parameter of 128 bytes (`__grid_constant__`).
//!
//! A device keeps the maps it made: a map for the same memory, extents, strides and box is made once.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tegula_ir::types::ScalarType;

use crate::element::HostElement;
use crate::error::Result;
use crate::tensor::{AnyTensor, Tensor};

/// A tensor map. It keeps the tensor's memory.
#[derive(Clone)]
pub struct TensorMap {
    pub(crate) encoded: Arc<Encoded>,
    pub(crate) tensor: AnyTensor,
}

/// How the box lies in shared memory, what stands for elements out of bounds, and how L2 is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct MapOptions {
    /// How pieces of 16 bytes are permuted in shared memory.
    pub swizzle: Swizzle,
    /// What elements out of bounds are read as.
    pub fill: Fill,
    /// How much of a line L2 fetches.
    pub promotion: Promotion,
}

/// How pieces of 16 bytes are permuted in shared memory, so that columns are read without bank conflicts. In the
/// order of the driver's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    /// The most bytes of the box's inner axis.
    fn span(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::B32 => Some(32),
            Self::B64 => Some(64),
            Self::B128 => Some(128),
        }
    }
}

/// What elements out of bounds are read as. In the order of the driver's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Fill {
    /// Zero.
    #[default]
    Zero,
    /// NaN, for floating-point elements.
    Nan,
}

/// How much of a line L2 fetches where any of it is asked for. In the order of the driver's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Promotion {
    /// What is asked for.
    None,
    /// 64 bytes.
    B64,
    /// 128 bytes.
    #[default]
    B128,
    /// 256 bytes.
    B256,
}

/// Why there can be no tensor map of a tensor, or no such one.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// The device has none.
    #[error("`{device}` has no tensor maps: they come with sm_90 and CUDA 12.0")]
    Unsupported {
        /// The device.
        device: String,
    },
    /// A tensor map has 1 to 5 axes.
    #[error("a tensor map has 1 to 5 axes, and the tensor has none")]
    NoAxes,
    /// The box has another number of axes than the tensor.
    #[error("the box {box_extents:?} has {} axes, and the tensor has {rank}", .box_extents.len())]
    BoxRank {
        /// The box.
        box_extents: Vec<usize>,
        /// Axes of the tensor.
        rank: usize,
    },
    /// The first element is not at a multiple of 16 bytes.
    #[error("the address {address:#x} is not a multiple of 16: start the view where it is, or copy it")]
    Address {
        /// Where it is.
        address: u64,
    },
    /// An extent is 0 or more than 2^32.
    #[error("axis {axis} has {extent} elements; there can be 1 to 2^32")]
    Extent {
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: i64,
    },
    /// The elements of the last axis do not lie one after another.
    #[error("the last axis has stride {stride}, and its elements must lie one after another: take `.contiguous()`")]
    InnerStride {
        /// The stride in elements.
        stride: i64,
    },
    /// A stride is negative, too large, or not a multiple of 16 bytes.
    #[error("axis {axis} has a stride of {bytes} bytes, which is not a multiple of 16 below 2^40: pad the rows")]
    Stride {
        /// The axis.
        axis: usize,
        /// The stride in bytes.
        bytes: i64,
    },
    /// An extent of the box is 0 or more than 256.
    #[error("the box has {extent} elements on axis {axis}; there can be 1 to 256")]
    Box {
        /// The axis.
        axis: usize,
        /// The box's extent.
        extent: usize,
    },
    /// The box's inner axis is not a multiple of 16 bytes.
    #[error("the box has {bytes} bytes on its last axis, which is not a multiple of 16")]
    InnerBytes {
        /// Bytes of the inner axis.
        bytes: usize,
    },
    /// The box's inner axis is more than what is swizzled.
    #[error("the box has {bytes} bytes on its last axis, and the swizzle permutes {span}")]
    Swizzle {
        /// Bytes of the inner axis.
        bytes: usize,
        /// Bytes that the swizzle permutes.
        span: usize,
    },
    /// NaN is asked for integers.
    #[error("elements of {elem} have no NaN to fill with")]
    NoNan {
        /// The element type.
        elem: ScalarType,
    },
}

impl TensorMap {
    /// The map that copies boxes of a tensor, of these extents. Axes are in the order of the tensor's.
    ///
    /// # Errors
    /// [`Error::TensorMap`](crate::Error::TensorMap) if tensor, box and options do not go together or the device has no
    /// tensor maps, and if the driver refuses the map for another reason.
    pub fn new<T: HostElement>(tensor: &Tensor<T>, box_extents: &[usize], options: MapOptions) -> Result<Self> {
        let tensor = tensor.any();
        let tiled = Tiled::new(tensor, box_extents, options)?;
        let backend = tensor.device.backend();
        let encoded = backend
            .encode_tensor_map(&tiled)?
            .ok_or_else(|| TensorMapError::Unsupported { device: backend.name().into() })?;
        Ok(Self { encoded, tensor: tensor.clone() })
    }

    /// The map as the hardware reads it.
    pub fn bytes(&self) -> &[u8; 128] {
        &self.encoded.0
    }
}

impl fmt::Debug for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorMap of {:?} on {}", self.tensor.extents(), self.tensor.device.name())
    }
}

/// A map as the hardware reads it, aligned as it must be.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Encoded(pub [u8; 128]);

/// What a map is made from, and known by. Axes are in the driver's order, innermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tiled {
    /// Element type.
    pub elem: ScalarType,
    /// Address of element zero.
    pub address: u64,
    /// Extents in elements.
    pub extents: SmallVec<[u64; 5]>,
    /// Strides in bytes, of all axes but the innermost.
    pub strides: SmallVec<[u64; 5]>,
    /// The box in elements.
    pub box_extents: SmallVec<[u32; 5]>,
    /// The rest.
    pub options: MapOptions,
}

impl Tiled {
    /// Checks the driver's rules, which are those of the hardware.
    fn new(
        tensor: &AnyTensor,
        box_extents: &[usize],
        options: MapOptions,
    ) -> std::result::Result<Self, TensorMapError> {
        use TensorMapError as E;
        let (rank, size) = (tensor.extents().len(), tensor.size());
        if box_extents.len() != rank {
            return Err(E::BoxRank { box_extents: box_extents.to_vec(), rank });
        }
        let (Some(inner), Some(&stride)) = (box_extents.last(), tensor.strides().last()) else { return Err(E::NoAxes) };
        let address = tensor.address();
        if !address.is_multiple_of(16) {
            return Err(E::Address { address });
        }
        if let Some((axis, &extent)) = tensor.extents().iter().enumerate().find(|(_, e)| !(1..=1 << 32).contains(*e)) {
            return Err(E::Extent { axis, extent });
        }
        if stride != 1 && tensor.extents()[rank - 1] > 1 {
            return Err(E::InnerStride { stride });
        }
        let mut strides = SmallVec::new();
        for axis in (0..rank - 1).rev() {
            let bytes = tensor.strides()[axis].saturating_mul(size as i64);
            // An axis of one element is never stepped over: any stride will do.
            let bytes = if tensor.extents()[axis] == 1 { bytes.max(0) & !15 } else { bytes };
            match u64::try_from(bytes) {
                Ok(stride) if stride < 1 << 40 && stride.is_multiple_of(16) => strides.push(stride),
                _ => return Err(E::Stride { axis, bytes }),
            }
        }
        if let Some((axis, &extent)) = box_extents.iter().enumerate().find(|(_, e)| !(1..=256).contains(*e)) {
            return Err(E::Box { axis, extent });
        }
        let bytes = inner * size;
        if !bytes.is_multiple_of(16) {
            return Err(E::InnerBytes { bytes });
        }
        if let Some(span) = options.swizzle.span().filter(|span| bytes > *span) {
            return Err(E::Swizzle { bytes, span });
        }
        // The driver has no type for floats of 8 bits, and copies them as bytes.
        if options.fill == Fill::Nan && (!tensor.elem().is_float() || tensor.elem().is_fp8()) {
            return Err(E::NoNan { elem: tensor.elem() });
        }
        Ok(Self {
            elem: tensor.elem(),
            address,
            extents: tensor.extents().iter().rev().map(|&e| e as u64).collect(),
            strides,
            box_extents: box_extents.iter().rev().map(|&e| e as u32).collect(),
            options,
        })
    }

    /// The number of the driver's `CUtensorMapDataType`. A copy does not look at the elements but to fill with NaN, so that
    /// what the driver has no type for goes as unsigned integers of its size.
    pub(crate) fn data_type(&self) -> u32 {
        match self.elem {
            ScalarType::I16 | ScalarType::U16 => 1,
            ScalarType::U32 => 2,
            ScalarType::I32 => 3,
            ScalarType::U64 => 4,
            ScalarType::I64 => 5,
            ScalarType::F16 => 6,
            ScalarType::F32 => 7,
            ScalarType::F64 => 8,
            ScalarType::BF16 => 9,
            _ => 0,
        }
    }
}
