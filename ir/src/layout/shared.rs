//! Shared memory: layouts from offsets to elements, xor swizzles, and the cost of an access in bank conflicts.

use super::linear::LinearLayout;
use super::space::{Dim, Space, extent_bits};
use std::collections::{BTreeMap, BTreeSet};

/// The banks of a machine's shared memory (LDS).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SharedMemory {
    /// Number of banks; each serves one word a cycle.
    pub banks: u32,
    /// Bytes of a bank's word.
    pub word_bytes: u32,
    /// The widest access of one thread, in bytes.
    pub max_access_bytes: u32,
}

impl SharedMemory {
    /// 32 banks of 4 bytes, accesses up to 16 bytes: NVIDIA since Maxwell, AMD CDNA and RDNA.
    pub const COMMON: SharedMemory = SharedMemory { banks: 32, word_bytes: 4, max_access_bytes: 16 };

    /// Bytes that all banks serve together.
    pub fn row_bytes(&self) -> u32 {
        self.banks * self.word_bytes
    }

    /// Lanes that are served together when each accesses this many bytes.
    pub fn lanes_together(&self, access_bytes: u32) -> u32 {
        self.row_bytes() / access_bytes.clamp(self.word_bytes, self.max_access_bytes)
    }

    /// How many times as long as without conflicts an access takes, for a map from (register, lane, …) to
    /// [`Dim::Offset`] in elements of `element_bytes`, `width` consecutive elements an access. 1 is free of conflicts.
    ///
    /// By linearity all groups of lanes served together, all registers and all warps meet the same conflicts.
    pub fn conflicts(&self, offsets: &LinearLayout, element_bytes: u32, width: u32) -> u32 {
        let access_bytes = element_bytes * width;
        let lanes = self.lanes_together(access_bytes).min(offsets.in_size(Dim::Lane));
        let mut words_by_bank: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for lane in 0..lanes {
            let start = offsets.apply(&[(Dim::Lane, lane)]) as u32 * element_bytes;
            for word in start / self.word_bytes..(start + access_bytes).div_ceil(self.word_bytes) {
                words_by_bank.entry(word % self.banks).or_default().insert(word);
            }
        }
        words_by_bank.values().map(|words| words.len() as u32).max().unwrap_or(1)
    }
}

/// The tile stored without gaps, its axes from the fastest in `order`.
pub fn shared_linear(shape: &[u32], order: &[usize]) -> LinearLayout {
    let outs = Space::of_shape(shape);
    let units = order.iter().flat_map(|&axis| {
        let dim = Dim::Axis(axis as u8);
        (0..outs.bits(dim)).map(|bit| outs.flatten(&[(dim, 1 << bit)])).collect::<Vec<_>>()
    });
    let bases = units.collect();
    LinearLayout::from_bases(outs, [(Dim::Offset, bases)])
}

/// A tile of two axes stored by rows along `order[0]`, in which chunks of `vector` elements of a row are permuted by the
/// row's number: chunk `c` of row `r` is stored at `c ^ (r / rows_per_phase % phases)`.
///
/// With `phases * vector` elements filling all banks, a column of chunks is read without conflicts. Numbers are powers
/// of two; phases beyond the chunks of a row, or beyond the rows, have no effect.
pub fn shared_swizzled(
    shape: &[u32],
    order: [usize; 2],
    vector: u32,
    rows_per_phase: u32,
    phases: u32,
) -> LinearLayout {
    let plain = shared_linear(shape, &order);
    let row_bits = extent_bits(shape[order[0]]);
    let (chunk, skip) = (extent_bits(vector), extent_bits(rows_per_phase));
    let bases = plain.bases(Dim::Offset).iter().enumerate().map(|(bit, &basis)| {
        // Offset bits of the row's number also move the chunk.
        let phase_bit = (bit as u32).checked_sub(row_bits + skip).filter(|&bit| bit < extent_bits(phases));
        let moved = phase_bit.map(|bit| bit + chunk).filter(|&bit| bit < row_bits);
        moved.map_or(basis, |bit| basis ^ plain.bases(Dim::Offset)[bit as usize])
    });
    let bases = bases.collect();
    LinearLayout::from_bases(plain.outs().clone(), [(Dim::Offset, bases)])
}

/// The swizzle of NVIDIA's bulk tensor copies and `wgmma` descriptors, for rows of `span_bytes` (32, 64 or 128) along
/// the faster axis `order[0]`: 16-byte chunks are permuted by the number of the 128-byte line. The faster axis must be
/// just one span long; a longer tile is several such buffers.
///
/// # Panics
/// If a row is not one span.
pub fn shared_nvidia_swizzle(shape: &[u32], order: [usize; 2], element_bits: u32, span_bytes: u32) -> LinearLayout {
    assert_eq!(shape[order[0]] * element_bits, span_bytes * 8, "a row of a swizzled buffer is one span");
    shared_swizzled(shape, order, 128 / element_bits, 128 / span_bytes, span_bytes / 16)
}

impl LinearLayout {
    /// The map from the places of this layout to offsets in shared memory, for the memory's layout (offsets to
    /// elements).
    ///
    /// # Panics
    /// If the memory does not hold the whole tile.
    pub fn offsets_in(&self, memory: &LinearLayout) -> LinearLayout {
        self.relative_to(memory).expect("the memory holds the whole tile")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzle_is_the_xor_of_chunk_and_row() {
        let layout = shared_swizzled(&[16, 64], [1, 0], 8, 2, 4);
        for row in 0..16u32 {
            for column in 0..64u32 {
                let chunk = (column / 8) ^ (row / 2 % 4);
                let offset = row * 64 + chunk * 8 + column % 8;
                assert_eq!(layout.coordinates(&[(Dim::Offset, offset)]), [row, column]);
            }
        }
    }

    #[test]
    fn nvidia_swizzles_follow_the_address_bits() {
        // The three patterns as the PTX ISA gives them: address bits 4.. are xored with bits 7.. (1, 2 or 3 of them).
        for (span, bits) in [(32u32, 1u32), (64, 2), (128, 3)] {
            let layout = shared_nvidia_swizzle(&[64, span / 2], [1, 0], 16, span);
            for row in 0..64 {
                for column in 0..span / 2 {
                    let linear = row * span + column * 2;
                    let address = linear ^ ((linear >> 7 & ((1 << bits) - 1)) << 4);
                    assert_eq!(layout.coordinates(&[(Dim::Offset, address / 2)]), [row, column]);
                }
            }
        }
    }

    #[test]
    fn conflicts_of_columns() {
        // 32 lanes read one f32 each down a column of a 32x32 tile: all in one bank, unless swizzled.
        let column: LinearLayout = "32x32: reg d1[1 2 4 8 16], lane d0[1 2 4 8 16]".parse().expect("a layout");
        let memory = SharedMemory::COMMON;
        let plain = column.offsets_in(&shared_linear(&[32, 32], &[1, 0]));
        let swizzled = column.offsets_in(&shared_swizzled(&[32, 32], [1, 0], 1, 1, 32));
        assert_eq!(memory.conflicts(&plain, 4, 1), 32);
        assert_eq!(memory.conflicts(&swizzled, 4, 1), 1);
        // Rows are free in both.
        let row: LinearLayout = "32x32: reg d0[1 2 4 8 16], lane d1[1 2 4 8 16]".parse().expect("a layout");
        let swizzled = row.offsets_in(&shared_swizzled(&[32, 32], [1, 0], 1, 1, 32));
        assert_eq!(memory.conflicts(&swizzled, 4, 1), 1);
    }
}
