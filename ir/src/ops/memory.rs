//! Attributes of memory ops: what is addressed, and how it is accessed.

use smallvec::SmallVec;

use super::arith::named_enum;
use crate::function::Value;
use crate::types::Shape;

/// A set of axes, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct AxisSet(pub u8);

impl AxisSet {
    /// No axis.
    pub const NONE: AxisSet = AxisSet(0);

    /// The first `rank` axes.
    pub const fn all(rank: usize) -> Self {
        Self(((1u16 << rank) - 1) as u8)
    }

    /// Whether the axis is in the set.
    pub const fn contains(self, axis: usize) -> bool {
        self.0 >> axis & 1 != 0
    }

    /// The set with the axis.
    #[must_use]
    pub const fn with(self, axis: usize) -> Self {
        Self(self.0 | 1 << axis)
    }
}

/// The elements that a memory op touches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// A box of a view: the element at index `t` of the tile is the view's element `offsets + t`. Elements
    /// outside the view's extents are out of bounds.
    Tile {
        /// The view.
        view: Value,
        /// First element on each axis of the view, `i64` scalars; may be negative.
        offsets: SmallVec<[Value; 5]>,
        /// Extents of the box, one per axis of the view.
        shape: Shape,
        /// Axes on which the whole box is known to lie within the view: no check is needed there.
        in_bounds: AxisSet,
    },
    /// Elements of a view picked by index: one integer scalar or tile per axis, all of one shape. Indices
    /// outside `0..extent` are out of bounds.
    Gather {
        /// The view.
        view: Value,
        /// Index on each axis of the view.
        indices: SmallVec<[Value; 5]>,
        /// Axes on which all indices are known to be valid.
        in_bounds: AxisSet,
    },
    /// A pointer or tile of pointers, unchecked.
    Ptr {
        /// The pointers.
        ptr: Value,
    },
}

/// How a load or store accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Access {
    /// Cache policy.
    pub cache: CacheHint,
    /// Whether the access must happen as written: not merged, moved, repeated or removed.
    pub volatile: bool,
}

named_enum! {
    /// Cache policies of loads and stores. Hints only: a target without one ignores it.
    #[derive(Default)]
    CacheHint {
        /// The target's default.
        #[default]
        Default = "default",
        /// Will be used again soon: keep at all levels (`ca`, evict last).
        Keep = "keep",
        /// Cache globally only (`cg`).
        Global = "global",
        /// Used once: evict first, non-temporal (`cs`).
        Streaming = "streaming",
    }
}

named_enum! {
    /// Functions of [`super::OpKind::AtomicRmw`].
    AtomicOp {
        /// Sum (integers wrapping; f16, bf16, f32, f64). Subnormal floats may be taken as zero, operands and sums.
        Add = "add",
        /// Lesser, NaN passed over.
        Min = "min",
        /// Greater, NaN passed over.
        Max = "max",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// The new value.
        Xchg = "xchg",
    }
}

named_enum! {
    /// Memory ordering of atomics.
    Ordering {
        /// No ordering of other accesses.
        Relaxed = "relaxed",
        /// Later accesses stay after.
        Acquire = "acquire",
        /// Earlier accesses stay before.
        Release = "release",
        /// Both.
        AcqRel = "acq_rel",
    }
}

named_enum! {
    /// Threads among which an atomic is ordered.
    Scope {
        /// The threads of this program.
        Program = "program",
        /// All threads of the device.
        Device = "device",
        /// All devices and the host.
        System = "system",
    }
}
