//! What operations on shapes do to a layout: each is a linear map of tile coordinates, applied to the bases.
//!
//! Every function here answers the question "the operand has this layout; which layout has the result, if no element
//! moves to another thread?". [`LinearLayout::squash_axis`] answers it backwards, for `broadcast`.

use super::linear::{LayoutError, LinearLayout};
use super::matrix::BitMatrix;
use super::space::{Dim, Space};

impl LinearLayout {
    /// The padded extents of the layout's tile.
    ///
    /// # Panics
    /// If the outputs are not the axes of a tile.
    pub fn shape(&self) -> Vec<u32> {
        self.outs().shape().expect("the layout is that of a tile")
    }

    /// The layout of the tile whose axis `i` is this one's axis `order[i]`.
    pub fn permute(&self, order: &[usize]) -> Result<LinearLayout, LayoutError> {
        let rank = self.outs().rank();
        let mut seen = vec![false; rank];
        let valid =
            order.len() == rank && order.iter().all(|&axis| axis < rank && !std::mem::replace(&mut seen[axis], true));
        if !valid {
            return Err(self.shape_error(format!("permute by {order:?}")));
        }
        let shape: Vec<u32> = order.iter().map(|&axis| self.out_size(axis_dim(axis))).collect();
        Ok(self.with_outs_from(Space::of_shape(&shape), |space, index| {
            let moved = order
                .iter()
                .enumerate()
                .map(|(to, &from)| (axis_dim(to), self.outs().coordinate(index, axis_dim(from))));
            space.flatten(&moved.collect::<Vec<_>>())
        }))
    }

    /// The layout of the tile with the same row-major elements in another shape of powers of two.
    ///
    /// Extents that are not powers of two are the caller's business: [`reshape_is_linear`] says when padding does not
    /// come between.
    pub fn reshape(&self, shape: &[u32]) -> Result<LinearLayout, LayoutError> {
        let outs = Space::of_shape(shape);
        if outs.total_bits() != self.outs().total_bits() {
            return Err(self.shape_error(format!("reshape to {outs}")));
        }
        Ok(self.with_outs_from(outs, |_, index| index))
    }

    /// The layout with an axis of extent 1 inserted before `axis`.
    pub fn insert_axis(&self, axis: usize) -> Result<LinearLayout, LayoutError> {
        let mut shape = self.shape();
        if axis > shape.len() {
            return Err(self.shape_error(format!("insert axis {axis}")));
        }
        shape.insert(axis, 1);
        self.reshape(&shape)
    }

    /// The layout without one axis: what a reduction along it leaves. Threads that differed along the axis only now
    /// hold duplicates, and registers that did are merged.
    pub fn remove_axis(&self, axis: usize) -> Result<LinearLayout, LayoutError> {
        let squashed = self.squash_axis(axis)?;
        let mut shape = squashed.shape();
        shape.remove(axis);
        squashed.reshape(&shape)
    }

    /// The layout with the extent of one axis brought to 1: what the operand of a broadcast along that axis must have
    /// for the broadcast to move nothing. Registers that become duplicates are merged.
    pub fn squash_axis(&self, axis: usize) -> Result<LinearLayout, LayoutError> {
        let mut shape = self.shape();
        if axis >= shape.len() {
            return Err(self.shape_error(format!("reduce axis {axis}")));
        }
        shape[axis] = 1;
        let squashed = self.with_outs_from(Space::of_shape(&shape), |space, index| {
            let kept = self.outs().dims().filter(|&(dim, _)| dim != axis_dim(axis));
            space.flatten(&kept.map(|(dim, _)| (dim, self.outs().coordinate(index, dim))).collect::<Vec<_>>())
        });
        Ok(squashed.merge_registers())
    }

    /// The layout with an axis made `1 << bits` times as long, the new high coordinates in new registers: each thread
    /// holds, for each element it held, all of its copies.
    pub fn append_registers(&self, axis: usize, bits: u32) -> LinearLayout {
        self.product(&LinearLayout::identity_along(Dim::Register, axis_dim(axis), bits))
    }

    /// The layout without register bits that only duplicate other registers of the same thread.
    pub fn merge_registers(&self) -> LinearLayout {
        let bases = self.bases(Dim::Register);
        let duplicates = BitMatrix::from_columns(self.outs().total_bits(), bases.to_vec()).dependent_columns();
        let kept = (0..bases.len()).filter(|bit| duplicates >> bit & 1 == 0).map(|bit| bases[bit]).collect();
        self.with_bases(Dim::Register, kept)
    }

    /// For each register, the lowest register of the same thread that holds the same element.
    pub fn register_owners(&self) -> Vec<u32> {
        let bases = self.bases(Dim::Register);
        let matrix = BitMatrix::from_columns(self.outs().total_bits(), bases.to_vec());
        let owner = matrix.solve(&matrix).expect("a matrix's columns are in its image");
        (0..1u64 << bases.len()).map(|register| owner.apply(register) as u32).collect()
    }

    fn shape_error(&self, operation: String) -> LayoutError {
        LayoutError::Shape { operation, space: self.outs().clone() }
    }
}

/// The dimension of an axis.
pub(super) fn axis_dim(axis: usize) -> Dim {
    Dim::Axis(axis as u8)
}

/// Whether a reshape keeps the bits of the padded row-major index, so that [`LinearLayout::reshape`] describes it. It
/// always does among powers of two; other extents must lead the group of axes that they are merged or split with.
pub fn reshape_is_linear(from: &[u32], to: &[u32]) -> bool {
    let count = |shape: &[u32]| shape.iter().map(|&extent| u64::from(extent)).product::<u64>();
    if count(from) != count(to) {
        return false;
    }
    let (mut from, mut to) = (from, to);
    // Peel groups of axes with equal products off the back; inside a group all but the first must be powers of two.
    while let (Some((&f, from_rest)), Some((&t, to_rest))) = (from.split_last(), to.split_last()) {
        (from, to) = (from_rest, to_rest);
        let (mut f_product, mut t_product) = (u64::from(f), u64::from(t));
        let (mut f_lead, mut t_lead) = (f, t);
        while f_product != t_product {
            let (shorter, lead, product) = if f_product < t_product {
                (&mut from, &mut f_lead, &mut f_product)
            } else {
                (&mut to, &mut t_lead, &mut t_product)
            };
            let Some((&next, rest)) = shorter.split_last() else { return false };
            if !lead.is_power_of_two() {
                return false;
            }
            (*lead, *product, *shorter) = (next, *product * u64::from(next), rest);
        }
    }
    // What is left on one side has extent 1.
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_of_odd_extents() {
        assert!(reshape_is_linear(&[8, 16], &[128]));
        assert!(reshape_is_linear(&[3, 4], &[12]));
        assert!(reshape_is_linear(&[12], &[3, 4]));
        assert!(!reshape_is_linear(&[4, 3], &[12]));
        assert!(!reshape_is_linear(&[12], &[4, 3]));
        assert!(!reshape_is_linear(&[6, 4], &[4, 6]));
        assert!(reshape_is_linear(&[6, 4], &[3, 8]));
        assert!(reshape_is_linear(&[5, 3], &[5, 1, 3]));
        assert!(reshape_is_linear(&[1, 7], &[7]));
        assert!(reshape_is_linear(&[7], &[7, 1]));
        assert!(!reshape_is_linear(&[8], &[4]));
    }

    #[test]
    fn linear_reshapes_keep_the_padded_index() {
        // The definition, by brute force: element i of one shape sits, padded, where element i of the other does.
        let padded = |shape: &[u32], mut i: u32| {
            let space = Space::of_shape(shape);
            let mut point = Vec::new();
            for (axis, &extent) in shape.iter().enumerate().rev() {
                point.push((axis_dim(axis), i % extent));
                i /= extent;
            }
            space.flatten(&point)
        };
        let shapes: [&[u32]; 10] =
            [&[12], &[3, 4], &[4, 3], &[6, 2], &[2, 6], &[2, 3, 2], &[1, 12], &[12, 1], &[3, 2, 2], &[2, 2, 3]];
        for from in shapes {
            for to in shapes {
                let same = (0..12).all(|i| padded(from, i) == padded(to, i));
                assert_eq!(reshape_is_linear(from, to), same, "{from:?} to {to:?}");
            }
        }
    }
}
