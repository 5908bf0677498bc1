//! Constructors of distributed layouts from sizes a thread, lanes and warps along each axis.

use super::linear::LinearLayout;
use super::matrix::{independent, low_mask};
use super::shape::axis_dim;
use super::space::{Dim, Space, extent_bits};

/// How a tile is dealt out to threads in blocks: the sizes, by axis, of the block of one thread, and how many lanes and
/// warps stand side by side. All are powers of two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// Elements of a thread's block, by axis.
    pub per_thread: Vec<u32>,
    /// Lanes, by axis; their product is the warp's size.
    pub lanes: Vec<u32>,
    /// Warps, by axis; their product is the number of warps.
    pub warps: Vec<u32>,
    /// Axes from the fastest to the slowest: the first is walked first by registers, lanes and warps alike.
    pub order: Vec<usize>,
}

impl Blocked {
    /// The blocked arrangement that suits memory whose axes, from the fastest, are `order`: each thread takes
    /// `vector` neighbours along the fastest axis, and the lanes of a warp go on along it before they take the next.
    /// Warps take the slowest axis first: a warp's accesses are whole lines anyway, and what is reduced along the
    /// fastest axis then mostly stays inside a warp.
    pub fn coalesced(shape: &[u32], order: &[usize], vector: u32, lanes: u32, warps: u32) -> Self {
        let mut blocked = Self {
            per_thread: vec![1; shape.len()],
            lanes: vec![1; shape.len()],
            warps: vec![1; shape.len()],
            order: order.to_vec(),
        };
        let mut left: Vec<u32> = shape.iter().map(|&extent| extent.max(1).next_power_of_two()).collect();
        if let Some(&fastest) = order.first() {
            blocked.per_thread[fastest] = vector.min(left[fastest]);
            left[fastest] /= blocked.per_thread[fastest];
        }
        let slowest_first: Vec<usize> = order.iter().rev().copied().collect();
        for (counts, mut count, order) in
            [(&mut blocked.lanes, lanes, order), (&mut blocked.warps, warps, &slowest_first[..])]
        {
            for &axis in order {
                let taken = count.min(left[axis]);
                counts[axis] = taken;
                left[axis] /= taken;
                count /= taken;
            }
            // What the tile has no room for holds duplicates; along which axis does not matter.
            if let Some(&axis) = order.last() {
                counts[axis] *= count;
            }
        }
        blocked
    }

    /// The layout of a tile of this shape. Where the tile is smaller than the blocks, threads and registers hold
    /// duplicates; where it is larger, each thread holds several blocks.
    ///
    /// A tile of rank 0 has no axis to carry the counts: see [`LinearLayout::replicated`].
    ///
    /// # Panics
    /// If the ranks differ or a count is not a power of two.
    pub fn layout(&self, shape: &[u32]) -> LinearLayout {
        let rank = shape.len();
        let ranks = [self.per_thread.len(), self.lanes.len(), self.warps.len(), self.order.len()];
        assert!(ranks.iter().all(|&r| r == rank), "a blocked layout is given for another rank");
        let counts = [(Dim::Register, &self.per_thread), (Dim::Lane, &self.lanes), (Dim::Warp, &self.warps)];
        let mut layout = LinearLayout::zero(Space::default(), Space::of_shape(&vec![1; rank]));
        for (dim, counts) in counts {
            for &axis in &self.order {
                assert!(counts[axis].is_power_of_two(), "counts of a blocked layout are powers of two");
                layout = layout.product(&LinearLayout::identity_along(dim, axis_dim(axis), extent_bits(counts[axis])));
            }
        }
        layout.fit(shape, &self.order)
    }
}

impl LinearLayout {
    /// The layout in which every thread of `lanes` by `warps` holds the whole tile, in row-major registers.
    pub fn replicated(shape: &[u32], lanes: u32, warps: u32) -> LinearLayout {
        let outs = Space::of_shape(shape);
        let registers = (0..outs.total_bits()).map(|bit| 1 << bit).collect();
        let zeros = |count: u32| vec![0; extent_bits(count) as usize];
        let bases = [(Dim::Register, registers), (Dim::Lane, zeros(lanes)), (Dim::Warp, zeros(warps))];
        LinearLayout::from_bases(outs, bases)
    }

    /// The layout brought to a tile of another shape: bases that leave the tile become duplicates (registers that do
    /// are dropped), and what is not covered yet goes to further registers, axis by axis in `order`.
    pub fn fit(&self, shape: &[u32], order: &[usize]) -> LinearLayout {
        let outs = Space::of_shape(shape);
        let clipped = self.with_outs_from(outs.clone(), |space, index| {
            let inside = space.dims().map(|(dim, bits)| {
                let coordinate = self.outs().coordinate(index, dim);
                (dim, coordinate & low_mask(bits) as u32)
            });
            space.flatten(&inside.collect::<Vec<_>>())
        });
        let fitted = clipped.merge_registers();
        let units = order.iter().flat_map(|&axis| {
            let dim = axis_dim(axis);
            (0..outs.bits(dim)).map(|bit| outs.flatten(&[(dim, 1 << bit)])).collect::<Vec<_>>()
        });
        let missing = independent(fitted.matrix().columns(), units);
        let registers = fitted.bases(Dim::Register).iter().copied().chain(missing).collect();
        fitted.with_bases(Dim::Register, registers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coalesced(shape: &[u32], vector: u32, lanes: u32, warps: u32) -> String {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        Blocked::coalesced(shape, &order, vector, lanes, warps).layout(shape).to_string()
    }

    #[test]
    fn blocks_of_a_large_tile_repeat_in_registers() {
        assert_eq!(
            coalesced(&[128, 64], 8, 32, 4),
            "128x64: reg d1[1 2 4] d0[16 32 64], lane d1[8 16 32] d0[1 2], warp d0[4 8]"
        );
    }

    #[test]
    fn a_small_tile_is_held_by_several_threads() {
        assert_eq!(coalesced(&[16], 4, 32, 4), "16: reg d0[1 2], lane d0[4 8] 0 0 0, warp 0 0");
        assert_eq!(coalesced(&[1, 1], 4, 32, 2), "1x1: lane 0 0 0 0 0, warp 0");
        assert_eq!(coalesced(&[5, 3], 1, 64, 1), "8x4: lane d1[1 2] d0[1 2 4] 0");
    }

    #[test]
    fn order_says_which_axis_is_walked_first() {
        let blocked = Blocked { per_thread: vec![2, 2], lanes: vec![8, 4], warps: vec![1, 2], order: vec![0, 1] };
        assert_eq!(
            blocked.layout(&[32, 16]).to_string(),
            "32x16: reg d0[1] d1[1] d0[16], lane d0[2 4 8] d1[2 4], warp d1[8]"
        );
    }

    #[test]
    fn every_blocked_layout_covers_its_tile() {
        for shape in [&[1u32][..], &[7], &[1000], &[3, 5], &[64, 1], &[2, 3, 4], &[1, 1, 1, 1, 9]] {
            for vector in [1, 4, 16] {
                for (lanes, warps) in [(32, 1), (64, 8)] {
                    let order: Vec<usize> = (0..shape.len()).collect();
                    let layout = Blocked::coalesced(shape, &order, vector, lanes, warps).layout(shape);
                    assert!(layout.is_surjective(), "{layout}");
                    assert_eq!((layout.in_size(Dim::Lane), layout.in_size(Dim::Warp)), (lanes, warps));
                    assert_eq!(layout.free_bits(Dim::Register), 0, "{layout}");
                }
            }
        }
    }

    #[test]
    fn replicated_holds_all_everywhere() {
        let layout = LinearLayout::replicated(&[3, 2], 32, 2);
        assert_eq!(layout.to_string(), "4x2: reg d1[1] d0[1 2], lane 0 0 0 0 0, warp 0");
        assert_eq!(layout.free_bits(Dim::Lane), 31);
    }
}
