//! The plan of a kernel: which tiles are computed where they are used, which get memory, and in which loops.
//!
//! A tile has one of three places ([`Place`]): it is *inline*, computed element by element in the loop of whoever
//! uses it; it has a *buffer* in the program's arena; or, inside a loop over rows, it is a single number a row. What
//! has to be computed at some point of the program, a *root* (a store, a reduction, a tile with a buffer), becomes
//! part of a loop *nest*; nests that share their outer axes become a *group*, one loop over these axes around all of
//! them, so that a softmax over rows is a handful of passes over one row while it is in the nearest cache.
//!
//! | module | subject |
//! |---|---|
//! | [`index`] | where an element comes from in an operand |
//! | [`reads`] | what the evaluation of a tile reads, and at which index |
//! | [`memory`] | which loads may be moved, which stores may meet |
//! | [`place`] | inline or not |
//! | [`group`] | roots into nests, nests into groups |
//! | [`buffers`] | lifetimes, sharing and offsets of buffers |

pub mod buffers;
pub mod group;
pub mod index;
pub mod memory;
pub mod place;
pub mod reads;

use std::collections::HashMap;

use tegula_ir::function::{Block, Function, Op, Value};
use tegula_ir::types::{Elem, Shape};

/// Number of a buffer in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// Where the elements of a tile are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Computed by whoever reads it.
    Inline,
    /// In a buffer, row-major, without the first `dropped` axes: these are the rows of the group it lives in.
    Buffer {
        /// The buffer.
        buffer: BufferId,
        /// Leading axes that are not stored.
        dropped: usize,
    },
    /// One number for each row of a group, in a register while its row is computed; in a buffer as well if others
    /// read it.
    Row {
        /// The buffer of all rows.
        buffer: Option<BufferId>,
    },
}

/// Memory of a tile.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// What is stored.
    pub elem: Elem,
    /// Extents stored.
    pub shape: Shape,
    /// Byte offset in the arena, a multiple of 64.
    pub offset: u64,
}

/// One thing to do, in order.
#[derive(Clone, Debug)]
pub enum Step {
    /// An op by itself.
    Op(Op),
    /// Loops.
    Group(Group),
}

/// Nests under one loop over rows.
#[derive(Clone, Debug)]
pub struct Group {
    /// Extents of the axes that all nests share; empty for no loop over rows.
    pub rows: Shape,
    /// What to do for each row, in order.
    pub nests: Vec<Nest>,
    /// Loads and stores in the nests.
    pub accesses: Vec<Op>,
}

/// A loop nest over the elements of a tile.
#[derive(Clone, Debug)]
pub struct Nest {
    /// Extents, the rows of the group first.
    pub domain: Shape,
    /// What is computed for each element.
    pub roots: Vec<Root>,
}

/// What a nest computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// A store.
    Store(Op),
    /// The elements of a tile, into its place.
    Tile(Value),
    /// A reduction over axes: `reduce` or `arg_reduce`.
    Reduce(Op),
}

/// The plan of a kernel.
#[derive(Debug)]
pub struct Plan {
    /// Place of each tile.
    pub places: HashMap<Value, Place>,
    /// Buffers by number.
    pub buffers: Vec<Buffer>,
    /// What to do for each block.
    pub steps: HashMap<Block, Vec<Step>>,
    /// Bytes of arena for the tiles.
    pub arena_bytes: u64,
}

impl Plan {
    /// Plans a kernel. Without `fuse` every op has a loop of its own.
    pub fn new(func: &Function, fuse: bool) -> Self {
        let placement = place::Placement::new(func, fuse);
        let steps = group::form_groups(func, &placement, fuse);
        buffers::assign(func, placement, steps)
    }

    /// Place of a tile.
    ///
    /// # Panics
    /// If the value is not a tile of this kernel.
    pub fn place(&self, v: Value) -> Place {
        self.places[&v]
    }

    /// A buffer's record.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }
}

#[cfg(test)]
mod tests;
