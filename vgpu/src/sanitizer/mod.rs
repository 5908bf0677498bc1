//! How wrong accesses are known: happens-before clocks, and shadows of shared and global memory. Both machines use it.
//!
//! Order between the warps of a program is kept in vector clocks, as race detectors for threads do: a warp's own component
//! grows at each synchronisation, and whoever waits for others (a barrier, an mbarrier phase) takes the maximum of their clocks.
//! Two conflicting accesses race when neither's clock covers the other. Lanes of one warp are taken as ordered.
//!
//! Between programs there is no order but through fences and atomics in global memory; see [`GlobalShadow`].

mod clock;
mod global;
mod shared;

pub use clock::VectorClock;
pub use global::{GlobalConflict, GlobalShadow, ProgramOrder};
pub use shared::{SharedConflict, SharedShadow};

/// Who makes an access, and where in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The index of the agent: a warp, or one of the asynchronous engines that a machine numbers after its warps.
    pub agent: u16,
    /// The lane.
    pub lane: u8,
    /// The instruction, by a number that the machine can turn into a place (at most 21 bits are kept).
    pub pc: u32,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one.
    Atomic,
    /// Reads as part of a synchronisation (an acquire or volatile load): no conflict with atomic writes.
    AtomicRead,
}

impl Action {
    /// Whether it leaves the memory as it is.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::AtomicRead)
    }

    /// Whether it may meet others of its kind without an order.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::AtomicRead)
    }
}
