//! Conversions through shared memory: every thread stores its elements, all wait, every thread loads what it wants.
//!
//! The memory's layout is chosen so that both sides access whole vectors without bank conflicts, as far as the two
//! layouts allow. An offset has three parts, from the lowest bits: inside a vector, across the banks, and the line.
//! Vectors take what threads of both sides hold in registers together. Lanes served together must then differ in the
//! bank part, for both sides: the line part must not contain what such lanes differ by. The line part is built as the
//! largest space that meets both sides' lanes only in 0 (pair what only the one side's lanes move with what only the
//! other's do); only if it is too small does the rest, and with it conflicts, come from what both sides' lanes share.

use super::super::access::VectorAccess;
use super::super::linear::LinearLayout;
use super::super::matrix::{independent, intersection};
use super::super::space::Dim;
use super::ConversionOptions;

/// A conversion through shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryPlan {
    /// The layout of the buffer, offsets (in elements) to the tile.
    pub memory: LinearLayout,
    /// Offsets that each place of the source stores to.
    pub store_offsets: LinearLayout,
    /// Offsets that each place of the target loads from.
    pub load_offsets: LinearLayout,
    /// How the source's registers group into stores.
    pub store: VectorAccess,
    /// How the target's registers group into loads.
    pub load: VectorAccess,
    /// Bytes of an element in the buffer.
    pub element_bytes: u32,
}

impl MemoryPlan {
    /// Plans the buffer and the accesses.
    pub fn new(source: &LinearLayout, target: &LinearLayout, options: &ConversionOptions) -> MemoryPlan {
        let element_bytes = options.element_bits.div_ceil(8).next_power_of_two();
        let memory = choose_memory(source, target, element_bytes, options);
        let limit = (options.shared.max_access_bytes / element_bytes).max(1);
        let (store_offsets, load_offsets) = (source.offsets_in(&memory), target.offsets_in(&memory));
        let store = store_offsets.vector_access(Dim::Offset, limit);
        let load = load_offsets.vector_access(Dim::Offset, limit);
        MemoryPlan { memory, store_offsets, load_offsets, store, load, element_bytes }
    }

    /// Bytes of shared memory that the conversion needs.
    pub fn bytes(&self) -> u32 {
        self.memory.in_size(Dim::Offset) * self.element_bytes
    }
}

fn choose_memory(
    source: &LinearLayout,
    target: &LinearLayout,
    element_bytes: u32,
    options: &ConversionOptions,
) -> LinearLayout {
    let tile_bits = source.outs().total_bits();
    let units = || (0..tile_bits).map(|bit| 1u64 << bit);
    // Only single register bits of both sides: a vector is then plain registers on each.
    let limit = (options.shared.max_access_bytes / element_bytes).max(1).ilog2() as usize;
    let common =
        source.bases(Dim::Register).iter().copied().filter(|basis| target.bases(Dim::Register).contains(basis));
    let mut vector = independent(&[], common);
    vector.truncate(limit);
    // Accesses narrower than a bank's word: what shares a word is served together, so it may differ by lanes. The
    // source's registers come first, which makes whole words of its stores.
    let word_bits = (options.shared.word_bytes / element_bytes).max(1).ilog2() as usize;
    let own = source.bases(Dim::Register).iter().chain(target.bases(Dim::Register)).copied();
    let narrow = word_bits.saturating_sub(vector.len());
    let widening = independent(&vector, own.chain(units()));
    vector.extend(widening.into_iter().take(narrow));

    let access_bytes = element_bytes << vector.len();
    let lane_bits = options.shared.lanes_together(access_bytes).ilog2() as usize;
    let together = |layout: &LinearLayout| {
        let lanes = layout.bases(Dim::Lane).iter().copied().take(lane_bits);
        let moved = independent(&vector, lanes);
        vector.iter().copied().chain(moved).collect::<Vec<_>>()
    };
    let (stores, loads) = (together(source), together(target));
    // Bits of the bank part: what is left of a row of banks beside the vector.
    let row_bits = (options.shared.row_bytes() / element_bytes).max(1).ilog2() as usize;
    let bank_bits = row_bits.saturating_sub(vector.len()).min(tile_bits as usize - vector.len());
    let line_bits = tile_bits as usize - vector.len() - bank_bits;

    let shared = intersection(&stores, &loads);
    let only_stores = independent(&shared, stores.iter().copied());
    let only_loads = independent(&shared, loads.iter().copied());
    let moved: Vec<u64> = shared.iter().chain(&only_stores).chain(&only_loads).copied().collect();
    let untouched = independent(&moved, units());
    let paired = only_stores.iter().zip(&only_loads).map(|(a, b)| a ^ b);
    let conflicting = only_stores.iter().chain(&only_loads).chain(&shared).copied();
    let line = independent(&vector, untouched.iter().copied().chain(paired).chain(conflicting));
    let line = &line[..line_bits];

    let placed: Vec<u64> = vector.iter().chain(line).copied().collect();
    // Banks: lanes of the stores first, so that they write neighbours where they can.
    let banks = independent(&placed, stores.iter().chain(&loads).copied().chain(units()));
    let bases = vector.iter().chain(&banks).chain(line).copied().collect();
    LinearLayout::from_bases(source.outs().clone(), [(Dim::Offset, bases)])
}
