//! The layout itself: a linear map over F2 between two spaces, and the algebra of such maps.

use super::matrix::{BitMatrix, low_mask};
use super::space::{Dim, Space};

/// Why an operation on layouts has no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// The two layouts do not share the space that the operation needs them to share.
    #[error("layouts do not fit together: one is over {left}, the other over {right}")]
    SpaceMismatch {
        /// The space of the first.
        left: Space,
        /// The space of the second.
        right: Space,
    },
    /// Some coordinates of the tile are held nowhere.
    #[error("the layout does not cover its tile of {0}")]
    NotSurjective(Space),
    /// An operation on shapes does not fit the layout's tile.
    #[error("cannot {operation} a layout over {space}")]
    Shape {
        /// What was asked, with its arguments.
        operation: String,
        /// The layout's tile space.
        space: Space,
    },
    /// The destination wants elements that only another block holds.
    #[error("the conversion would move elements between the blocks of a cluster")]
    CrossesBlocks,
}

/// A linear map from hardware coordinates (or shared-memory offsets) to the coordinates of a tile.
///
/// `layout(register, lane, warp, block)` is the tile element that this register of this thread holds. Linear means:
/// the element of `a ^ b` is the element of `a` xor the element of `b`, so the images of single bits, the *bases*,
/// say all. A zero basis means that the bit changes nothing: its two halves hold duplicates.
///
/// The same type serves every map of the algebra, whatever its dimensions: shared memory ([`Dim::Offset`] to axes),
/// inverses (axes to hardware), and conversions (hardware to hardware).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LinearLayout {
    ins: Space,
    outs: Space,
    matrix: BitMatrix,
}

impl LinearLayout {
    /// The layout with this matrix over the flattened spaces.
    ///
    /// # Panics
    /// If the matrix has not the sizes of the spaces.
    pub fn new(ins: Space, outs: Space, matrix: BitMatrix) -> Self {
        assert_eq!(matrix.columns().len(), ins.total_bits() as usize, "columns of a layout are its input bits");
        assert_eq!(matrix.rows(), outs.total_bits(), "rows of a layout are its output bits");
        Self { ins, outs, matrix }
    }

    /// The layout over `outs` whose input dimensions have these bases, each a flattened index of `outs`.
    pub fn from_bases(outs: Space, bases: impl IntoIterator<Item = (Dim, Vec<u64>)>) -> Self {
        let mut bases: Vec<_> = bases.into_iter().collect();
        bases.sort_by_key(|&(dim, _)| dim);
        let ins = Space::new(bases.iter().map(|(dim, bases)| (*dim, bases.len() as u32)));
        let columns = bases.into_iter().flat_map(|(_, bases)| bases).collect();
        let matrix = BitMatrix::from_columns(outs.total_bits(), columns);
        Self::new(ins, outs, matrix)
    }

    /// The layout that sends everything in `ins` to the origin of `outs`.
    pub fn zero(ins: Space, outs: Space) -> Self {
        let matrix = BitMatrix::zero(outs.total_bits(), ins.total_bits());
        Self::new(ins, outs, matrix)
    }

    /// The map of a space to itself that changes nothing.
    pub fn identity(space: Space) -> Self {
        let matrix = BitMatrix::identity(space.total_bits());
        Self::new(space.clone(), space, matrix)
    }

    /// One input dimension of `bits` bits laid along one output dimension.
    pub fn identity_along(input: Dim, output: Dim, bits: u32) -> Self {
        Self::new(Space::new([(input, bits)]), Space::new([(output, bits)]), BitMatrix::identity(bits))
    }

    /// The space that the layout takes.
    pub fn ins(&self) -> &Space {
        &self.ins
    }

    /// The space that the layout gives: for the layout of a tile, its padded shape.
    pub fn outs(&self) -> &Space {
        &self.outs
    }

    /// The matrix over the flattened spaces.
    pub fn matrix(&self) -> &BitMatrix {
        &self.matrix
    }

    /// Size of an input dimension: `in_size(Dim::Register)` is the number of elements that a thread holds.
    pub fn in_size(&self, dim: Dim) -> u32 {
        self.ins.size(dim)
    }

    /// Size of an output dimension.
    pub fn out_size(&self, dim: Dim) -> u32 {
        self.outs.size(dim)
    }

    /// The bases of an input dimension, from its lowest bit, as flattened output indices.
    pub fn bases(&self, dim: Dim) -> &[u64] {
        let start = self.ins.shift(dim) as usize;
        &self.matrix.columns()[start..start + self.ins.bits(dim) as usize]
    }

    /// The flattened output of a flattened input.
    pub fn apply_flat(&self, input: u64) -> u64 {
        self.matrix.apply(input)
    }

    /// The flattened output of a point; dimensions not named are at 0.
    pub fn apply(&self, point: &[(Dim, u32)]) -> u64 {
        self.apply_flat(self.ins.flatten(point))
    }

    /// The tile coordinates, by axis, that a point holds.
    pub fn coordinates(&self, point: &[(Dim, u32)]) -> Vec<u32> {
        let index = self.apply(point);
        self.outs.dims().rev().map(|(dim, _)| self.outs.coordinate(index, dim)).collect()
    }

    /// First this layout, then `outer`.
    pub fn then(&self, outer: &LinearLayout) -> Result<LinearLayout, LayoutError> {
        if self.outs != outer.ins {
            return Err(mismatch(&self.outs, &outer.ins));
        }
        Ok(Self::new(self.ins.clone(), outer.outs.clone(), outer.matrix.multiply(&self.matrix)))
    }

    /// The layout that holds a copy of `self` in each element of `outer`: `outer`'s bits come above those of `self` in
    /// every dimension that both have, for inputs and outputs alike.
    pub fn product(&self, outer: &LinearLayout) -> LinearLayout {
        let ins = joint_space(&self.ins, &outer.ins);
        let outs = joint_space(&self.outs, &outer.outs);
        let place = |of: &Space, index: u64, above: Option<&Space>| {
            of.dims().fold(0, |placed, (dim, _)| {
                let below = above.map_or(0, |space| space.bits(dim));
                placed | (u64::from(of.coordinate(index, dim)) << (outs.shift(dim) + below))
            })
        };
        let bases: Vec<_> = ins
            .dims()
            .map(|(dim, _)| {
                let inner = self.bases(dim).iter().map(|&basis| place(&self.outs, basis, None));
                let outer = outer.bases(dim).iter().map(|&basis| place(&outer.outs, basis, Some(&self.outs)));
                (dim, inner.chain(outer).collect())
            })
            .collect();
        Self::from_bases(outs, bases)
    }

    /// `outer` such that `self == inner.product(outer)`, if there is one.
    pub fn divide_left(&self, inner: &LinearLayout) -> Option<LinearLayout> {
        let outer = self.split_off(&inner.ins, &inner.outs, true)?;
        (inner.product(&outer) == *self).then_some(outer)
    }

    /// `inner` such that `self == inner.product(outer)`, if there is one.
    pub fn divide_right(&self, outer: &LinearLayout) -> Option<LinearLayout> {
        let inner = self.split_off(&outer.ins, &outer.outs, false)?;
        (inner.product(outer) == *self).then_some(inner)
    }

    /// The part of the layout left when the low (or high) bits of the sizes of `ins` and `outs` are taken away.
    fn split_off(&self, ins: &Space, outs: &Space, low: bool) -> Option<LinearLayout> {
        let rest = |whole: &Space, part: &Space| {
            let fits = part.dims().all(|(dim, bits)| bits <= whole.bits(dim) && whole.contains(dim));
            fits.then(|| Space::new(whole.dims().map(|(dim, bits)| (dim, bits - part.bits(dim)))))
        };
        let (rest_ins, rest_outs) = (rest(&self.ins, ins)?, rest(&self.outs, outs)?);
        let narrow = |basis: u64| {
            rest_outs.dims().fold(0, |index, (dim, bits)| {
                let skipped = if low { outs.bits(dim) } else { 0 };
                let coordinate = u64::from(self.outs.coordinate(basis, dim)) >> skipped & low_mask(bits);
                index | coordinate << rest_outs.shift(dim)
            })
        };
        let bases: Vec<_> = rest_ins
            .dims()
            .map(|(dim, bits)| {
                let skipped = if low { ins.bits(dim) } else { 0 } as usize;
                (dim, self.bases(dim)[skipped..skipped + bits as usize].iter().map(|&b| narrow(b)).collect())
            })
            .collect();
        Some(Self::from_bases(rest_outs, bases))
    }

    /// The inverse, if the layout is a bijection.
    pub fn inverse(&self) -> Option<LinearLayout> {
        Some(Self::new(self.outs.clone(), self.ins.clone(), self.matrix.inverse()?))
    }

    /// For a layout that covers its tile, the map from each element to one place that holds it: of several, the one
    /// whose [free bits](Self::free_bits) are all 0.
    pub fn pseudo_inverse(&self) -> Result<LinearLayout, LayoutError> {
        let matrix = self.matrix.right_inverse().ok_or_else(|| LayoutError::NotSurjective(self.outs.clone()))?;
        Ok(Self::new(self.outs.clone(), self.ins.clone(), matrix))
    }

    /// The map from places of this layout to places of `other` that hold the same element, if `other` holds every
    /// element that this one does.
    pub fn relative_to(&self, other: &LinearLayout) -> Option<LinearLayout> {
        if self.outs != other.outs {
            return None;
        }
        let matrix = other.matrix.solve(&self.matrix)?;
        Some(Self::new(self.ins.clone(), other.ins.clone(), matrix))
    }

    /// A basis of the kernel, as flattened inputs: places that differ by a kernel vector hold the same element.
    pub fn kernel(&self) -> Vec<u64> {
        self.matrix.kernel()
    }

    /// The bits of an input dimension that only duplicate, as a mask: every element is held exactly once among the
    /// places whose free bits, over all dimensions, are 0. A store or an atomic must run only there.
    pub fn free_bits(&self, dim: Dim) -> u32 {
        let mask = self.matrix.dependent_columns();
        ((mask >> self.ins.shift(dim)) & low_mask(self.ins.bits(dim))) as u32
    }

    /// Whether every element of the tile is held somewhere.
    pub fn is_surjective(&self) -> bool {
        self.matrix.is_surjective()
    }

    /// Whether no element is held twice.
    pub fn is_injective(&self) -> bool {
        self.matrix.is_injective()
    }

    /// The layout restricted to some input dimensions (the others held at 0) and projected to some output dimensions.
    pub fn sublayout(&self, ins: impl Fn(Dim) -> bool, outs: impl Fn(Dim) -> bool) -> LinearLayout {
        let kept = Space::new(self.outs.dims().filter(|&(dim, _)| outs(dim)));
        self.with_outs_from(kept, |space, index| {
            space
                .dims()
                .fold(0, |narrow, (dim, _)| narrow | u64::from(self.outs.coordinate(index, dim)) << space.shift(dim))
        })
        .with_ins(ins)
    }

    /// The layout with its bases rewritten, one by one, into another output space.
    pub(super) fn with_outs_from(&self, outs: Space, rewrite: impl Fn(&Space, u64) -> u64) -> LinearLayout {
        let columns = self.matrix.columns().iter().map(|&basis| rewrite(&outs, basis)).collect();
        let matrix = BitMatrix::from_columns(outs.total_bits(), columns);
        Self::new(self.ins.clone(), outs, matrix)
    }

    fn with_ins(&self, keep: impl Fn(Dim) -> bool) -> LinearLayout {
        let kept = self.ins.dims().filter(|&(dim, _)| keep(dim));
        Self::from_bases(self.outs.clone(), kept.map(|(dim, _)| (dim, self.bases(dim).to_vec())).collect::<Vec<_>>())
    }

    /// The layout with one input dimension's bases replaced.
    pub fn with_bases(&self, dim: Dim, bases: Vec<u64>) -> LinearLayout {
        let others = self.ins.dims().filter(|&(d, _)| d != dim).map(|(d, _)| (d, self.bases(d).to_vec()));
        Self::from_bases(self.outs.clone(), others.chain([(dim, bases)]).collect::<Vec<_>>())
    }
}

/// Both spaces' dimensions with their bits added.
fn joint_space(a: &Space, b: &Space) -> Space {
    let only_b = b.dims().filter(|&(dim, _)| !a.contains(dim));
    Space::new(a.dims().map(|(dim, bits)| (dim, bits + b.bits(dim))).chain(only_b))
}

pub(super) fn mismatch(left: &Space, right: &Space) -> LayoutError {
    LayoutError::SpaceMismatch { left: left.clone(), right: right.clone() }
}
