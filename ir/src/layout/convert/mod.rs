//! Planning of layout conversions: how the elements of a tile get from the threads that have them to the threads that
//! want them, computed from the two matrices alone.
//!
//! There are four ways, tried from the cheapest: nothing, a renaming of registers in each thread, lane shuffles inside
//! each warp ([`ShufflePlan`]), and a round trip through shared memory ([`MemoryPlan`]).

mod memory;
mod shuffle;

pub use memory::MemoryPlan;
pub use shuffle::{LaneMap, ShufflePlan, ShuffleRound};

use super::linear::{LayoutError, LinearLayout, mismatch};
use super::matrix::BitMatrix;
use super::shared::SharedMemory;
use super::space::Dim;

/// What a planner must know of the machine and of the elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConversionOptions {
    /// Bits of an element.
    pub element_bits: u32,
    /// The shared memory.
    pub shared: SharedMemory,
    /// The most shuffles, each with the selects around it, that are still cheaper than the barriers of a trip through
    /// shared memory. 0 turns shuffles off.
    pub max_shuffle_cost: u32,
}

impl ConversionOptions {
    /// The options for elements of this size on common hardware.
    pub fn new(element_bits: u32) -> Self {
        Self { element_bits, shared: SharedMemory::COMMON, max_shuffle_cost: 32 }
    }
}

/// How to carry out a conversion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// The layouts are the same: nothing happens.
    Identity,
    /// Every thread has what it wants: register `r` of the result is register `source[r]` of the operand.
    Registers {
        /// The operand's register for each of the result's.
        source: Vec<u32>,
    },
    /// Every warp has what it wants: lanes exchange registers.
    Shuffle(ShufflePlan),
    /// Warps exchange elements through shared memory.
    Memory(Box<MemoryPlan>),
}

impl Conversion {
    /// Plans the conversion of a tile from layout `source` to layout `target`, both over the same tile, lanes and warps.
    pub fn plan(
        source: &LinearLayout,
        target: &LinearLayout,
        options: &ConversionOptions,
    ) -> Result<Conversion, LayoutError> {
        let same_threads = [Dim::Lane, Dim::Warp, Dim::Block].iter().all(|&d| source.in_size(d) == target.in_size(d));
        if source.outs() != target.outs() {
            return Err(mismatch(source.outs(), target.outs()));
        }
        if !same_threads {
            return Err(mismatch(source.ins(), target.ins()));
        }
        if !source.is_surjective() {
            return Err(LayoutError::NotSurjective(source.outs().clone()));
        }
        if source == target {
            return Ok(Conversion::Identity);
        }
        if let Some(source) = register_sources(source, target) {
            return Ok(Conversion::Registers { source });
        }
        if source.bases(Dim::Block) != target.bases(Dim::Block) {
            return Err(LayoutError::CrossesBlocks);
        }
        let shuffles = ShufflePlan::new(source, target, options.element_bits);
        if let Some(plan) = shuffles.filter(|plan| plan.cost() <= options.max_shuffle_cost) {
            return Ok(Conversion::Shuffle(plan));
        }
        Ok(Conversion::Memory(Box::new(MemoryPlan::new(source, target, options))))
    }
}

/// If every thread of `target` holds only elements that the same thread holds in `source`: for each of its registers,
/// the register of `source`. The condition under which an operation may read an operand of layout `source` where it
/// wants `target`, without any exchange.
pub fn register_sources(source: &LinearLayout, target: &LinearLayout) -> Option<Vec<u32>> {
    let same = |dim| source.bases(dim) == target.bases(dim);
    if source.outs() != target.outs() || !(same(Dim::Lane) && same(Dim::Warp) && same(Dim::Block)) {
        return None;
    }
    let registers = registers_of(source).solve(&registers_of(target))?;
    Some((0..u64::from(target.in_size(Dim::Register))).map(|register| registers.apply(register) as u32).collect())
}

/// The matrix of a layout's registers alone.
fn registers_of(layout: &LinearLayout) -> BitMatrix {
    BitMatrix::from_columns(layout.outs().total_bits(), layout.bases(Dim::Register).to_vec())
}
