//! Tensor maps: what a bulk tensor copy knows of a tensor in global memory.
//!
//! On hardware the 128 bytes are opaque and made by the driver. Here [`TensorMap::encode`] makes them, with the driver's rules, and the
//! machine reads them back; `tensormap.replace` changes single fields.

use crate::error::{Error, Result};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// 8-bit unsigned integer; also stands for the 8-bit floats.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit signed integer.
    S32,
    /// 64-bit unsigned integer.
    U64,
    /// 64-bit signed integer.
    S64,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// bfloat16.
    BF16,
    /// Single precision, subnormals flushed.
    F32Ftz,
    /// tf32.
    TF32,
    /// tf32, subnormals flushed.
    TF32Ftz,
}

impl Element {
    /// The types in the order of the driver's numbers.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::BF16,
        Self::F32Ftz,
        Self::TF32,
        Self::TF32Ftz,
    ];

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        !matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::S32 | Self::U64 | Self::S64)
    }

    /// Changes a value on its way into shared memory as its type asks for: `tf32` is rounded to the bits that it has, the types without
    /// subnormals lose them.
    pub(crate) fn convert(self, bytes: &mut [u8]) {
        let (flush, round) = match self {
            Self::F32Ftz => (true, false),
            Self::TF32 => (false, true),
            Self::TF32Ftz => (true, true),
            _ => return,
        };
        for word in bytes.chunks_exact_mut(4) {
            let mut bits = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if flush && f32::from_bits(bits).is_subnormal() {
                bits &= 0x8000_0000;
            }
            if round {
                bits = match f32::from_bits(bits) {
                    value if value.is_nan() => 0x7FFF_E000,
                    value if value.is_infinite() => bits,
                    // To the nearest, ties away from zero: half of the last place is added to the magnitude.
                    _ => (bits + 0x1000) & 0xFFFF_E000,
                };
            }
            word.copy_from_slice(&bits.to_le_bytes());
        }
    }
}

/// How 16-byte pieces of shared memory are permuted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// The address that a swizzled address stands for, or the other way round: the permutation is its own inverse.
    #[inline]
    pub fn apply(self, address: u64) -> u64 {
        let rows = match self {
            Self::None => return address,
            Self::B32 => 1,
            Self::B64 => 3,
            Self::B128 => 7,
        };
        address ^ (((address >> 7) & rows) << 4)
    }

    /// The most bytes of the inner dimension.
    fn span(self) -> u32 {
        match self {
            Self::None => u32::MAX,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 => 128,
        }
    }
}

/// The 16 bits that fill elements out of bounds when NaN is asked for, in every floating-point type: `fma.oob` knows them.
pub(crate) const OOB_NAN: u16 = 0x7FF7;

/// The layout of the global tensor's innermost elements.
///
/// An interleaved tensor (such as NC/8HWC8) keeps its innermost dimension in slices: a slice of all positions of an image comes before
/// the next one. The strides are those of the dimensions as the map lists them, so that the second dimension's is at least a slice; slices
/// follow each other without a gap within the outermost dimension. A box lies in shared memory in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// Plain.
    #[default]
    None,
    /// Slices of 16 bytes.
    B16,
    /// Slices of 32 bytes.
    B32,
}

impl Interleave {
    /// Bytes of a slice.
    pub fn slice(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::B16 => Some(16),
            Self::B32 => Some(32),
        }
    }
}

/// How a copy goes through the tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A box.
    #[default]
    Tile,
    /// The columns of a convolution's input matrix.
    Im2col {
        /// Where the base of a filter may start, relative to the tensor's start, innermost spatial dimension first.
        lower: [i16; 3],
        /// Where it may end, relative to the tensor's end.
        upper: [i16; 3],
        /// Channels copied of each pixel.
        channels: u16,
        /// Pixels of a column.
        pixels: u16,
    },
}

/// A tensor map. Extents, strides and the box are listed innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Address of the tensor.
    pub address: u64,
    /// Element type.
    pub element: Element,
    /// Extents in elements, 1 to 5.
    pub extents: Vec<u64>,
    /// Strides in bytes of all dimensions but the innermost.
    pub strides: Vec<u64>,
    /// The box in elements.
    pub box_extents: Vec<u32>,
    /// Strides in elements at which the box is traversed.
    pub element_strides: Vec<u32>,
    /// Swizzle of shared memory.
    pub swizzle: Swizzle,
    /// Interleaved layout.
    pub interleave: Interleave,
    /// Fill with NaN, not zero, out of bounds.
    pub fill_nan: bool,
    /// Tile or im2col.
    pub mode: Mode,
}

/// Element types by the numbers of `tensormap.replace`, which are not the driver's.
const ELEMENT_NUMBERS: [Element; 13] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::S64,
    Element::F16,
    Element::F32,
    Element::F32Ftz,
    Element::F64,
    Element::BF16,
    Element::TF32,
    Element::TF32Ftz,
];

const MAGIC: u32 = 0x5041_4D54;

impl TensorMap {
    /// A tile-mode map without swizzle, of a tensor that is dense but for the given strides.
    pub fn tiled(address: u64, element: Element, extents: &[u64], strides: &[u64], box_extents: &[u32]) -> Self {
        Self {
            address,
            element,
            extents: extents.to_vec(),
            strides: strides.to_vec(),
            box_extents: box_extents.to_vec(),
            element_strides: vec![1; extents.len()],
            swizzle: Swizzle::None,
            interleave: Interleave::None,
            fill_nan: false,
            mode: Mode::Tile,
        }
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }

    /// Checks the driver's rules.
    pub fn check(&self) -> Result<()> {
        let bad = |message: String| Err(Error::BadLaunch(format!("tensor map: {message}")));
        let rank = self.rank();
        if !(1..=5).contains(&rank) {
            return bad(format!("{rank} dimensions; there are 1 to 5"));
        }
        if self.strides.len() != rank - 1 || self.box_extents.len() != rank || self.element_strides.len() != rank {
            return bad("strides, box and element strides must fit the extents".into());
        }
        let align = if self.interleave == Interleave::B32 { 32 } else { 16 };
        if !self.address.is_multiple_of(align) {
            return bad(format!("the address {:#x} is not a multiple of {align}", self.address));
        }
        if let Some(extent) = self.extents.iter().find(|&&extent| extent == 0 || extent > 1 << 32) {
            return bad(format!("an extent of {extent}"));
        }
        if let Some(stride) = self.strides.iter().find(|&&stride| !stride.is_multiple_of(align) || stride >= 1 << 40) {
            return bad(format!("a stride of {stride} bytes, which is not a multiple of {align} below 2^40"));
        }
        if let Some(stride) = self.element_strides.iter().find(|&&stride| !(1..=8).contains(&stride)) {
            return bad(format!("an element stride of {stride}; there are 1 to 8"));
        }
        let too_large = |&&extent: &&u32| !(1..=256).contains(&extent);
        if self.mode == Mode::Tile
            && let Some(extent) = self.box_extents.iter().find(too_large)
        {
            return bad(format!("a box extent of {extent}; there are 1 to 256"));
        }
        let inner = match self.mode {
            Mode::Tile => self.box_extents[0] * self.element.bytes(),
            Mode::Im2col { channels, .. } => u32::from(channels) * self.element.bytes(),
        };
        if self.interleave == Interleave::None && !inner.is_multiple_of(16) {
            return bad(format!("the inner extent of the box has {inner} bytes, which is not a multiple of 16"));
        }
        if self.interleave == Interleave::None && inner > self.swizzle.span() {
            return bad(format!(
                "the inner extent of the box has {inner} bytes, more than the {} of the swizzle",
                self.swizzle.span()
            ));
        }
        if self.interleave != Interleave::None && rank < 3 {
            return bad("an interleaved tensor has at least 3 dimensions".into());
        }
        if self.interleave == Interleave::B32 && self.swizzle != Swizzle::B32 {
            return bad("slices of 32 bytes need the swizzle of 32 bytes".into());
        }
        if self.fill_nan && !self.element.is_float() {
            return bad("only floating-point elements are filled with NaN".into());
        }
        if matches!(self.mode, Mode::Im2col { .. }) && rank < 3 {
            return bad("im2col needs at least 3 dimensions".into());
        }
        Ok(())
    }

    /// The 128 bytes that a kernel is given.
    pub fn encode(&self) -> Result<[u8; 128]> {
        self.check()?;
        let mut bytes = [0; 128];
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = self.rank() as u8 - 1;
        bytes[5] = Element::ALL.iter().position(|&element| element == self.element).unwrap_or(0) as u8;
        bytes[6] = self.interleave as u8 | (self.swizzle as u8) << 4;
        bytes[7] = u8::from(self.fill_nan) | u8::from(self.mode != Mode::Tile) << 1;
        bytes[8..16].copy_from_slice(&self.address.to_le_bytes());
        for (n, &extent) in self.extents.iter().enumerate() {
            // 2^32 is stored as 0.
            bytes[16 + 4 * n..][..4].copy_from_slice(&(extent as u32).to_le_bytes());
        }
        for (n, &stride) in self.strides.iter().enumerate() {
            bytes[40 + 8 * n..][..8].copy_from_slice(&stride.to_le_bytes());
        }
        for (n, &extent) in self.box_extents.iter().enumerate() {
            bytes[72 + 2 * n..][..2].copy_from_slice(&(extent as u16).to_le_bytes());
        }
        for (n, &stride) in self.element_strides.iter().enumerate() {
            bytes[82 + n] = stride as u8;
        }
        if let Mode::Im2col { lower, upper, channels, pixels } = self.mode {
            for n in 0..3 {
                bytes[88 + 2 * n..][..2].copy_from_slice(&lower[n].to_le_bytes());
                bytes[94 + 2 * n..][..2].copy_from_slice(&upper[n].to_le_bytes());
            }
            bytes[100..102].copy_from_slice(&channels.to_le_bytes());
            bytes[102..104].copy_from_slice(&pixels.to_le_bytes());
        }
        Ok(bytes)
    }

    /// Reads a map back; an error says what is wrong with it.
    pub fn decode(bytes: &[u8; 128]) -> std::result::Result<Self, String> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if u32_at(0) != MAGIC {
            return Err("these 128 bytes are not a tensor map".into());
        }
        let rank = usize::from(bytes[4]) + 1;
        let element = Element::ALL.get(usize::from(bytes[5])).copied();
        let (Some(element), true) = (element, rank <= 5) else {
            return Err("a tensor map of an unknown type or rank".into());
        };
        let i16_at = |at: usize| u16_at(at) as i16;
        let map = Self {
            address: u64_at(8),
            element,
            extents: (0..rank)
                .map(|n| match u32_at(16 + 4 * n) {
                    0 => 1 << 32,
                    extent => extent.into(),
                })
                .collect(),
            strides: (0..rank - 1).map(|n| u64_at(40 + 8 * n)).collect(),
            box_extents: (0..rank).map(|n| u16_at(72 + 2 * n).into()).collect(),
            element_strides: (0..rank).map(|n| bytes[82 + n].into()).collect(),
            swizzle: match bytes[6] >> 4 {
                0 => Swizzle::None,
                1 => Swizzle::B32,
                2 => Swizzle::B64,
                3 => Swizzle::B128,
                _ => return Err("a tensor map of an unknown swizzle".into()),
            },
            interleave: match bytes[6] & 15 {
                0 => Interleave::None,
                1 => Interleave::B16,
                2 => Interleave::B32,
                _ => return Err("a tensor map of an unknown interleave".into()),
            },
            fill_nan: bytes[7] & 1 == 1,
            mode: if bytes[7] & 2 == 0 {
                Mode::Tile
            } else {
                Mode::Im2col {
                    lower: [i16_at(88), i16_at(90), i16_at(92)],
                    upper: [i16_at(94), i16_at(96), i16_at(98)],
                    channels: u16_at(100),
                    pixels: u16_at(102),
                }
            },
        };
        match map.check() {
            Ok(()) => Ok(map),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Replaces a field of an encoded map, as `tensormap.replace` does; the numbers are those of the PTX ISA.
    pub(crate) fn replace(bytes: &mut [u8; 128], field: &str, ordinal: usize, value: u64) -> bool {
        let ordinal = ordinal.min(4);
        match field {
            "global_address" => bytes[8..16].copy_from_slice(&value.to_le_bytes()),
            "rank" => bytes[4] = value as u8,
            "box_dim" => bytes[72 + 2 * ordinal..][..2].copy_from_slice(&(value as u16).to_le_bytes()),
            "global_dim" => bytes[16 + 4 * ordinal..][..4].copy_from_slice(&(value as u32).to_le_bytes()),
            "global_stride" => bytes[40 + 8 * ordinal.min(3)..][..8].copy_from_slice(&value.to_le_bytes()),
            "element_stride" => bytes[82 + ordinal] = value as u8,
            "elemtype" => match ELEMENT_NUMBERS.get(value as usize) {
                Some(&element) => {
                    bytes[5] = Element::ALL.iter().position(|&e| e == element).unwrap_or(0) as u8;
                }
                None => return false,
            },
            "interleave_layout" => bytes[6] = (bytes[6] & 0xF0) | (value as u8 & 15),
            "swizzle_mode" => bytes[6] = (bytes[6] & 15) | (value as u8) << 4,
            "fill_mode" => bytes[7] = (bytes[7] & !1) | (value as u8 & 1),
            "swizzle_atomicity" => {}
            _ => return false,
        }
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        // A map made from nothing has no element strides yet: they are 1.
        for stride in &mut bytes[82..87] {
            *stride = (*stride).max(1);
        }
        true
    }

    /// Bytes that a copy writes to shared memory, those out of bounds among them.
    pub fn copy_bytes(&self) -> usize {
        let (slices, length, _) = self.slices();
        let others: u64 = match self.mode {
            Mode::Tile => (1..self.rank()).map(|n| u64::from(self.tile_extent(n))).product(),
            Mode::Im2col { pixels, .. } => pixels.into(),
        };
        (others * slices * length) as usize * self.element.bytes() as usize
    }

    /// Elements of a slice of an interleaved tensor: what the innermost coordinate must be a multiple of.
    pub(crate) fn slice_elements(&self) -> Option<u64> {
        self.interleave.slice().map(|bytes| u64::from((bytes / self.element.bytes()).max(1)))
    }

    /// How the innermost dimension of a box comes: in how many slices, of how many elements, and so many elements from one to the
    /// next. Without interleaving it is one.
    fn slices(&self) -> (u64, u64, u64) {
        let (extent, step) = match self.mode {
            Mode::Tile => (self.box_extents[0], self.element_strides[0]),
            Mode::Im2col { channels, .. } => (channels.into(), 1),
        };
        match self.slice_elements() {
            None => (1, extent.into(), 0),
            Some(elements) => {
                let slices = u64::from(extent).div_ceil(elements).div_ceil(step.into());
                (slices, elements, elements * u64::from(step))
            }
        }
    }

    /// Elements copied along a dimension.
    fn tile_extent(&self, dimension: usize) -> u32 {
        let stride = if dimension == 0 { 1 } else { self.element_strides[dimension] };
        self.box_extents[dimension].div_ceil(stride)
    }

    /// Calls `f` for each run of elements along the innermost dimension: its offset in shared memory (not swizzled), the global address
    /// of its first element that is in bounds, how many elements lie before that one, and how many are in bounds.
    pub(crate) fn runs(&self, coordinates: &[i32; 5], offsets: &[u16; 3], mut f: impl FnMut(Run)) {
        let rank = self.rank();
        let (slices, length, step) = self.slices();
        let bytes = u64::from(self.element.bytes());
        // From one slice of the tensor to the next: past all positions of the dimensions between the first and the last.
        let slice_stride = if self.slice_elements().is_some() {
            self.strides[rank - 3].wrapping_mul(self.extents[rank - 2])
        } else {
            0
        };
        let mut number = 0;
        let mut emit = |at: &[i64; 5]| {
            let inside = (1..rank).all(|n| (0..self.extents[n] as i64).contains(&at[n]));
            let before = (-at[0]).clamp(0, length as i64) as u64;
            let after = (at[0] + length as i64 - self.extents[0] as i64).clamp(0, length as i64) as u64;
            let valid = if inside { length.saturating_sub(before + after) } else { 0 };
            let outer: u64 =
                (1..rank).map(|n| (at[n] as u64).wrapping_mul(self.strides[n - 1])).fold(0, u64::wrapping_add);
            let first = (at[0] + before as i64) as u64;
            let inner = match self.slice_elements() {
                None => first.wrapping_mul(bytes),
                Some(elements) => (first / elements).wrapping_mul(slice_stride).wrapping_add(first % elements * bytes),
            };
            let address = self.address.wrapping_add(outer).wrapping_add(inner);
            let shared = number * length * bytes;
            number += 1;
            f(Run { shared, length, before: if valid == 0 { length } else { before }, valid, address });
        };
        let mut start = [0_i64; 5];
        for (at, &coordinate) in start.iter_mut().zip(coordinates).take(rank) {
            *at = coordinate.into();
        }
        match self.mode {
            Mode::Tile => {
                // Dimension, how many positions of it, and the step: all but the last, the slices, the last.
                let dimension = |n: usize| (n, u64::from(self.tile_extent(n)), i64::from(self.element_strides[n]));
                let mut order: Vec<_> = (1..rank).map(dimension).collect();
                order.insert(rank.saturating_sub(2), (0, slices, step as i64));
                for row in 0..order.iter().map(|(_, count, _)| count).product::<u64>() {
                    let mut at = start;
                    let mut rest = row;
                    for &(n, count, step) in &order {
                        at[n] += (rest % count) as i64 * step;
                        rest /= count;
                    }
                    emit(&at);
                }
            }
            Mode::Im2col { lower, upper, pixels, .. } => {
                let spatial = rank - 2;
                for slice in 0..slices {
                    let mut at = start;
                    at[0] += (slice * step) as i64;
                    for _ in 0..pixels {
                        let mut shifted = at;
                        for n in 0..spatial {
                            shifted[1 + n] += i64::from(offsets[n]);
                        }
                        emit(&shifted);
                        // The next base of the filter: along the innermost spatial dimension, then the next ones, then the next image.
                        let mut carry = true;
                        for n in 0..spatial {
                            if carry {
                                at[1 + n] += i64::from(self.element_strides[1 + n]);
                                carry = at[1 + n] > self.extents[1 + n] as i64 - 1 + i64::from(upper[n]);
                                if carry {
                                    at[1 + n] = lower[n].into();
                                }
                            }
                        }
                        if carry {
                            at[rank - 1] += 1;
                        }
                    }
                }
            }
        }
    }

    /// The bytes of an element out of bounds.
    pub(crate) fn fill(&self) -> [u8; 8] {
        let [low, high] = OOB_NAN.to_le_bytes();
        if self.fill_nan && self.element.is_float() { [low, high, low, high, low, high, low, high] } else { [0; 8] }
    }
}

/// A run of elements that are neighbours in global and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Offset in shared memory, before the swizzle.
    pub shared: u64,
    /// Elements.
    pub length: u64,
    /// Elements out of bounds before the first one in bounds.
    pub before: u64,
    /// Elements in bounds.
    pub valid: u64,
    /// Address of the first one in bounds.
    pub address: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_survive_encoding_and_are_checked() -> Result<()> {
        let mut map = TensorMap::tiled(0x1000, Element::F16, &[100, 7, 3], &[256, 2048], &[64, 8, 2]);
        map.swizzle = Swizzle::B128;
        map.fill_nan = true;
        assert_eq!(TensorMap::decode(&map.encode()?), Ok(map.clone()));
        assert_eq!(map.copy_bytes(), 64 * 8 * 2 * 2);
        map.box_extents[0] = 72;
        assert!(map.encode().is_err());
        map.box_extents[0] = 64;
        map.strides[0] = 250;
        assert!(map.encode().is_err());
        assert!(TensorMap::decode(&[0; 128]).is_err());
        Ok(())
    }

    #[test]
    fn slices_follow_each_other() {
        // 20 channels in slices of 8, 3 by 2 positions, 2 images.
        let mut map = TensorMap::tiled(0, Element::F16, &[20, 3, 2, 2], &[16, 48, 288], &[16, 2, 1, 2]);
        map.interleave = Interleave::B16;
        assert_eq!(map.copy_bytes(), 2 * 16 * 2 * 2);
        let mut runs = Vec::new();
        map.runs(&[8, 1, 1, 0, 0], &[0; 3], |run| runs.push((run.shared, run.valid, run.address)));
        let at = |slice: u64, x: u64, image: u64| slice * 96 + 48 + x * 16 + image * 288;
        // The last slice has 4 channels.
        let expected = [
            (0, 8, at(1, 1, 0)),
            (16, 8, at(1, 2, 0)),
            (32, 4, at(2, 1, 0)),
            (48, 4, at(2, 2, 0)),
            (64, 8, at(1, 1, 1)),
            (80, 8, at(1, 2, 1)),
            (96, 4, at(2, 1, 1)),
            (112, 4, at(2, 2, 1)),
        ];
        assert_eq!(runs, expected);
        map.interleave = Interleave::B32;
        assert!(map.check().is_err());
        map.swizzle = Swizzle::B32;
        assert!(map.check().is_err(), "strides of 16 bytes");
    }

    #[test]
    fn boxes_are_cut_at_the_edges() {
        let map = TensorMap::tiled(0x1000, Element::F32, &[10, 3], &[64], &[8, 4]);
        let mut runs = Vec::new();
        map.runs(&[-2, 1, 0, 0, 0], &[0; 3], |run| runs.push((run.shared, run.before, run.valid, run.address)));
        assert_eq!(runs, [(0, 2, 6, 0x1040), (32, 2, 6, 0x1080), (64, 8, 0, 0x10C0), (96, 8, 0, 0x1100)]);
    }

    #[test]
    fn columns_of_an_image_wrap_at_its_edges() {
        let mut map = TensorMap::tiled(0, Element::F32, &[4, 3, 2, 2], &[16, 48, 96], &[1, 1, 1, 1]);
        map.mode = Mode::Im2col { lower: [0; 3], upper: [-1, -1, 0], channels: 4, pixels: 3 };
        let mut addresses = Vec::new();
        map.runs(&[0, 0, 0, 0, 0], &[1, 0, 0], |run| addresses.push(run.address));
        // Two bases in W, one in H: then the next image.
        assert_eq!(addresses, [16, 32, 96 + 16]);
    }
}
