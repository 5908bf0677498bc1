//! What is known of one integer or pointer value along the axes of its tile.

use crate::types::MAX_RANK;
use smallvec::{SmallVec, smallvec};

/// A power of two, or "as large as can be" (of zero, which everything divides).
pub(super) const LARGEST: u64 = 1 << 62;

/// What is known along one axis. Positions on the axis fall into runs that start at multiples of a length.
///
/// Values count up modulo 2 to the width of their type. Where 32-bit values were widened, a run that is not aligned to
/// its own length may still break where they wrapped around; stretches that are aligned (`contiguity` or `divisibility`
/// long, whichever is less) never do, and only those make vector accesses. All numbers are powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AxisFacts {
    /// In runs of this length the values count up by one (pointers: by one element).
    pub contiguity: u32,
    /// In runs of this length all values are equal.
    pub constancy: u32,
    /// The first value of each run of `contiguity` is a multiple of this (pointers: the address in bytes).
    pub divisibility: u64,
}

impl AxisFacts {
    /// Nothing is known.
    pub const UNKNOWN: AxisFacts = AxisFacts { contiguity: 1, constancy: 1, divisibility: 1 };

    /// A divisor of the value at every multiple of `run`.
    pub fn divisibility_at(&self, run: u32) -> u64 {
        // Inside a longer run, the values at multiples of `run` are the first one plus multiples of `run`.
        if run < self.contiguity { self.divisibility.min(u64::from(run)) } else { self.divisibility }
    }

    fn join(self, other: AxisFacts) -> AxisFacts {
        let contiguity = self.contiguity.min(other.contiguity);
        AxisFacts {
            contiguity,
            constancy: self.constancy.min(other.constancy),
            divisibility: self.divisibility_at(contiguity).min(other.divisibility_at(contiguity)),
        }
    }
}

/// What is known of a value: per axis for a tile, a divisor alone for a scalar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Along each axis; empty for a scalar.
    pub axes: SmallVec<[AxisFacts; MAX_RANK]>,
    /// A power of two that divides every element.
    pub divisibility: u64,
    /// The value of all elements, if it is known.
    pub constant: Option<i64>,
}

impl Facts {
    /// Nothing is known of a value of this rank.
    pub fn unknown(rank: usize) -> Self {
        Self { axes: smallvec![AxisFacts::UNKNOWN; rank], divisibility: 1, constant: None }
    }

    /// A scalar that is a multiple of `divisor`.
    pub fn scalar(divisor: u64) -> Self {
        Self { axes: SmallVec::new(), divisibility: power_of_two_divisor(divisor), constant: None }
    }

    /// The same value in each element of a tile of this shape.
    pub fn uniform(shape: &[u32], divisibility: u64, constant: Option<i64>) -> Self {
        let axis = |&extent: &u32| AxisFacts { contiguity: 1, constancy: whole(extent), divisibility };
        Self { axes: shape.iter().map(axis).collect(), divisibility, constant }
    }

    /// A known constant in each element.
    pub fn constant(shape: &[u32], value: i64) -> Self {
        Self::uniform(shape, power_of_two_divisor(value.unsigned_abs()), Some(value))
    }

    /// Of a tile with these facts along its axes: what divides every element follows.
    pub fn of_axes(axes: SmallVec<[AxisFacts; MAX_RANK]>) -> Self {
        let divisibility = axes.iter().map(|axis| axis.divisibility_at(1)).max().unwrap_or(1);
        let mut facts = Self { axes, divisibility, constant: None };
        facts.settle();
        facts
    }

    /// What holds of both values.
    pub fn join(&self, other: &Facts) -> Facts {
        let axes = self.axes.iter().zip(&other.axes).map(|(&a, &b)| a.join(b)).collect();
        let constant = self.constant.filter(|_| self.constant == other.constant);
        Facts { axes, divisibility: self.divisibility.min(other.divisibility), constant }
    }

    /// Brings what is known of all elements to the axes.
    pub(super) fn settle(&mut self) {
        for axis in &mut self.axes {
            axis.divisibility = axis.divisibility.max(self.divisibility);
        }
    }
}

/// The length of a run that takes in a whole axis.
pub(super) fn whole(extent: u32) -> u32 {
    extent.next_power_of_two()
}

/// The largest power of two that divides a number.
pub(super) fn power_of_two_divisor(n: u64) -> u64 {
    if n == 0 { LARGEST } else { (1 << n.trailing_zeros()).min(LARGEST) }
}

/// What is known of a tensor view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewFacts {
    /// Of the base address in bytes.
    pub base: Facts,
    /// Of each extent.
    pub extents: SmallVec<[Facts; MAX_RANK]>,
    /// Of each stride, in elements.
    pub strides: SmallVec<[Facts; MAX_RANK]>,
}

impl ViewFacts {
    /// What holds of both views.
    pub fn join(&self, other: &ViewFacts) -> ViewFacts {
        let all = |a: &[Facts], b: &[Facts]| a.iter().zip(b).map(|(a, b)| a.join(b)).collect();
        ViewFacts {
            base: self.base.join(&other.base),
            extents: all(&self.extents, &other.extents),
            strides: all(&self.strides, &other.strides),
        }
    }

    /// The axis along which neighbours are neighbours in memory, if one is known; of several the last.
    pub fn unit_axis(&self) -> Option<usize> {
        self.strides.iter().rposition(|stride| stride.constant == Some(1))
    }
}
