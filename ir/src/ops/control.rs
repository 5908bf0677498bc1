//! Attributes of control flow and of assumptions.

/// What an author or tuner asks of a loop. All are hints: the meaning of the loop does not change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct LoopHints {
    /// Software pipeline stages (1: none); `None` leaves it to the compiler.
    pub stages: Option<u8>,
    /// Unroll factor; `None` leaves it to the compiler.
    pub unroll: Option<u32>,
    /// Ask for separate producer and consumer warps.
    pub warp_specialize: bool,
    /// Ask for this loop and the one it contains to become one.
    pub flatten: bool,
}

/// A promise about an integer or pointer value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fact {
    /// Every element is divisible by this (pointers: their byte address).
    Divisible(u64),
    /// Every element lies in `min..=max`.
    Bounded {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// Along `axis`, runs of `n` elements count up by one.
    Contiguous {
        /// Axis of the tile.
        axis: u8,
        /// Length of the runs.
        n: u32,
    },
}
