//! The named dimensions that layouts map between, and spaces made of them.

use smallvec::SmallVec;
use std::fmt;

/// A named dimension of hardware coordinates or of tile coordinates.
///
/// The order is that of significance in a flattened index, least significant first: registers before lanes before
/// warps before blocks, and the last axis of a tile before the first, which makes the flattened index of a tile its
/// row-major index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// Which of a thread's registers (elements a thread holds).
    Register,
    /// Which lane (thread) of a warp or wavefront.
    Lane,
    /// Which warp (wavefront) of a block.
    Warp,
    /// Which block (workgroup) of a cluster.
    Block,
    /// Which element of a shared-memory buffer.
    Offset,
    /// An axis of a tile.
    Axis(u8),
}

impl Dim {
    /// The dimensions of threads and their registers, least significant first.
    pub const HARDWARE: [Dim; 4] = [Dim::Register, Dim::Lane, Dim::Warp, Dim::Block];

    /// Whether this is an axis of a tile.
    pub fn is_axis(self) -> bool {
        matches!(self, Dim::Axis(_))
    }

    fn significance(self) -> u8 {
        match self {
            Dim::Register => 0,
            Dim::Lane => 1,
            Dim::Warp => 2,
            Dim::Block => 3,
            Dim::Offset => 4,
            Dim::Axis(axis) => u8::MAX - axis,
        }
    }
}

impl PartialOrd for Dim {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dim {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.significance().cmp(&other.significance())
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Register => f.write_str("reg"),
            Dim::Lane => f.write_str("lane"),
            Dim::Warp => f.write_str("warp"),
            Dim::Block => f.write_str("block"),
            Dim::Offset => f.write_str("offset"),
            Dim::Axis(axis) => write!(f, "d{axis}"),
        }
    }
}

/// The coordinates that a layout takes or gives: dimensions, each of a power-of-two size counted in bits.
///
/// Dimensions are kept in the order of [`Dim`], so two spaces with the same sizes are equal. An axis of size 1 is
/// part of a space (it counts for the rank); any other dimension of size 1 is the same as an absent one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Space {
    dims: SmallVec<[(Dim, u8); 4]>,
}

impl Space {
    /// The space of these dimensions with their sizes in bits.
    ///
    /// # Panics
    /// If a dimension is named twice or there are more than 64 bits together.
    pub fn new(dims: impl IntoIterator<Item = (Dim, u32)>) -> Self {
        let mut dims: SmallVec<[(Dim, u8); 4]> = dims
            .into_iter()
            .filter(|&(dim, bits)| dim.is_axis() || bits > 0)
            .map(|(dim, bits)| (dim, bits as u8))
            .collect();
        dims.sort_unstable_by_key(|&(dim, _)| dim);
        assert!(dims.windows(2).all(|pair| pair[0].0 != pair[1].0), "a dimension is named twice in a space");
        let space = Self { dims };
        assert!(space.total_bits() <= 64, "a space has at most 64 bits");
        space
    }

    /// The tile space whose axes have these extents, each padded to a power of two.
    pub fn of_shape(shape: &[u32]) -> Self {
        Self::new(shape.iter().enumerate().map(|(axis, &extent)| (Dim::Axis(axis as u8), extent_bits(extent))))
    }

    /// The dimensions with their bits, least significant first.
    pub fn dims(&self) -> impl DoubleEndedIterator<Item = (Dim, u32)> + ExactSizeIterator + '_ {
        self.dims.iter().map(|&(dim, bits)| (dim, u32::from(bits)))
    }

    /// Bits of one dimension, 0 if it is absent.
    pub fn bits(&self, dim: Dim) -> u32 {
        self.dims().find(|&(d, _)| d == dim).map_or(0, |(_, bits)| bits)
    }

    /// Whether the dimension is part of the space.
    pub fn contains(&self, dim: Dim) -> bool {
        self.dims.iter().any(|&(d, _)| d == dim)
    }

    /// Size of one dimension, 1 if it is absent.
    pub fn size(&self, dim: Dim) -> u32 {
        1 << self.bits(dim)
    }

    /// Bits of a flattened index.
    pub fn total_bits(&self) -> u32 {
        self.dims().map(|(_, bits)| bits).sum()
    }

    /// Where a dimension's bits begin in a flattened index.
    pub fn shift(&self, dim: Dim) -> u32 {
        self.dims().take_while(|&(d, _)| d < dim).map(|(_, bits)| bits).sum()
    }

    /// The flattened index of a point; dimensions not named are at 0.
    pub fn flatten(&self, point: &[(Dim, u32)]) -> u64 {
        point.iter().fold(0, |index, &(dim, value)| index | (u64::from(value) << self.shift(dim)))
    }

    /// One coordinate of a flattened index.
    pub fn coordinate(&self, index: u64, dim: Dim) -> u32 {
        ((index >> self.shift(dim)) & super::matrix::low_mask(self.bits(dim))) as u32
    }

    /// If the space is that of a tile, its extents by axis.
    pub fn shape(&self) -> Option<Vec<u32>> {
        let shape: Vec<u32> = self.dims().rev().map(|(_, bits)| 1 << bits).collect();
        let is_tile = self.dims().rev().enumerate().all(|(axis, (dim, _))| dim == Dim::Axis(axis as u8));
        is_tile.then_some(shape)
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.dims().filter(|(dim, _)| dim.is_axis()).count()
    }
}

impl fmt::Display for Space {
    /// A tile's extents as `128x64` (`()` for rank 0), anything else as `(reg 4, lane 32)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape() {
            Some(shape) if !shape.is_empty() => {
                for (axis, extent) in shape.iter().enumerate() {
                    write!(f, "{}{extent}", if axis == 0 { "" } else { "x" })?;
                }
                Ok(())
            }
            _ => {
                f.write_str("(")?;
                for (i, (dim, bits)) in self.dims().enumerate() {
                    write!(f, "{}{dim} {}", if i == 0 { "" } else { ", " }, 1u64 << bits)?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Bits needed to count to an extent: the exponent of the next power of two.
pub fn extent_bits(extent: u32) -> u32 {
    extent.max(1).next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattened_tile_index_is_row_major() {
        let space = Space::of_shape(&[3, 8]);
        assert_eq!(space.shape(), Some(vec![4, 8]));
        assert_eq!(space.flatten(&[(Dim::Axis(0), 2), (Dim::Axis(1), 5)]), 2 * 8 + 5);
        assert_eq!(space.coordinate(2 * 8 + 5, Dim::Axis(0)), 2);
        assert_eq!(space.coordinate(2 * 8 + 5, Dim::Axis(1)), 5);
    }

    #[test]
    fn empty_hardware_dims_are_absent_but_unit_axes_are_kept() {
        assert_eq!(Space::new([(Dim::Warp, 0), (Dim::Lane, 5)]), Space::new([(Dim::Lane, 5)]));
        assert_ne!(Space::of_shape(&[1, 8]), Space::of_shape(&[8]));
        assert_eq!(Space::of_shape(&[]).to_string(), "()");
        assert_eq!(Space::of_shape(&[1, 8]).to_string(), "1x8");
        assert_eq!(Space::new([(Dim::Lane, 5), (Dim::Register, 1)]).to_string(), "(reg 2, lane 32)");
    }
}
