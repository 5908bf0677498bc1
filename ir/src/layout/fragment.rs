//! The layouts that matrix instructions of NVIDIA and AMD give their operands and accumulators.
//!
//! A fragment is the layout of one instruction's operand over the registers and lanes of one warp (for `wgmma`, the four
//! warps of a warp group). Axes: A is (m, k), B is (k, n), accumulators are (m, n). [`LinearLayout::tile_warps`] repeats
//! a fragment over the warps and registers of a whole tile.

use super::linear::LinearLayout;
use super::shape::axis_dim;
use super::space::{Dim, Space, extent_bits};

/// Bases along one axis for one input dimension, `count` of them starting at coordinate bit `from`.
fn run(layout: LinearLayout, dim: Dim, axis: usize, count: u32) -> LinearLayout {
    layout.product(&LinearLayout::identity_along(dim, axis_dim(axis), count))
}

/// An empty map onto the origin of a 1x1 tile, to build fragments on.
fn origin() -> LinearLayout {
    LinearLayout::zero(Space::default(), Space::of_shape(&[1, 1]))
}

/// NVIDIA `mma.sync` of shape m16n8k`K`: operand A over (16, K). The instruction's K is two (`halves` = 2) or one times
/// four 32-bit containers: k16 for 16-bit elements, k8 for tf32, k32 for 8-bit, k64 for 4-bit.
///
/// # Panics
/// If `element_bits` is not a power of two up to 32, or `k` is not one or two groups of four containers.
pub fn mma_operand_a(element_bits: u32, k: u32) -> LinearLayout {
    let (container, groups) = mma_k(element_bits, k);
    let mut layout = run(origin(), Dim::Register, 1, container);
    layout = run(layout, Dim::Lane, 1, 2);
    layout = run(layout, Dim::Lane, 0, 3);
    layout = run(layout, Dim::Register, 0, 1);
    run(layout, Dim::Register, 1, groups)
}

/// NVIDIA `mma.sync` of shape m16n8k`K`: operand B over (K, 8).
///
/// # Panics
/// As [`mma_operand_a`].
pub fn mma_operand_b(element_bits: u32, k: u32) -> LinearLayout {
    let (container, groups) = mma_k(element_bits, k);
    let mut layout = run(origin(), Dim::Register, 0, container);
    layout = run(layout, Dim::Lane, 0, 2);
    layout = run(layout, Dim::Lane, 1, 3);
    run(layout, Dim::Register, 0, groups)
}

/// NVIDIA `mma.sync` of shape m16n8k*: the accumulator over (16, 8).
pub fn mma_accumulator() -> LinearLayout {
    let mut layout = run(origin(), Dim::Register, 1, 1);
    layout = run(layout, Dim::Lane, 1, 2);
    layout = run(layout, Dim::Lane, 0, 3);
    run(layout, Dim::Register, 0, 1)
}

/// Bits of k inside a 32-bit container, and bits of k that count groups of four containers.
fn mma_k(element_bits: u32, k: u32) -> (u32, u32) {
    assert!(element_bits.is_power_of_two() && element_bits <= 32, "mma elements have 4, 8, 16 or 32 bits");
    let per_container = 32 / element_bits;
    let groups = k / (4 * per_container);
    assert!(matches!(groups, 1 | 2) && k == groups * 4 * per_container, "mma takes one or two groups of containers");
    (extent_bits(per_container), extent_bits(groups))
}

/// NVIDIA `wgmma` m64n`N`: the accumulator over (64, N), spread over the four warps of a warp group. N is padded to a
/// power of two; the instruction's own N may be any multiple of 8.
pub fn wgmma_accumulator(n: u32) -> LinearLayout {
    let warps = run(origin(), Dim::Warp, 0, 2);
    let columns = extent_bits(n).saturating_sub(3);
    run(mma_accumulator(), Dim::Register, 1, columns).product(&warps)
}

/// NVIDIA `wgmma` m64: operand A over (64, K), when it comes from registers. K is 256 bits of elements.
pub fn wgmma_operand_a(element_bits: u32) -> LinearLayout {
    mma_operand_a(element_bits, 256 / element_bits).product(&run(origin(), Dim::Warp, 0, 2))
}

/// The shapes of AMD's MFMA instructions with one block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mfma {
    /// m = n = 32.
    M32,
    /// m = n = 16.
    M16,
}

impl Mfma {
    /// Bits of the lane number that count rows (of A) or columns (of B and the accumulator).
    fn lane_bits(self) -> u32 {
        match self {
            Mfma::M32 => 5,
            Mfma::M16 => 4,
        }
    }
}

/// AMD MFMA: operand A over (m, K), where each lane holds `per_lane` neighbours along k. K is `per_lane` times 2
/// (32x32) or 4 (16x16).
pub fn mfma_operand_a(shape: Mfma, per_lane: u32) -> LinearLayout {
    let mut layout = run(origin(), Dim::Register, 1, extent_bits(per_lane));
    layout = run(layout, Dim::Lane, 0, shape.lane_bits());
    run(layout, Dim::Lane, 1, 6 - shape.lane_bits())
}

/// AMD MFMA: operand B over (K, n). As A, with the axes exchanged.
pub fn mfma_operand_b(shape: Mfma, per_lane: u32) -> LinearLayout {
    mfma_operand_a(shape, per_lane).permute(&[1, 0]).expect("a fragment has two axes")
}

/// AMD MFMA with 32-bit accumulators, over (m, n): 16 registers for 32x32, 4 for 16x16.
pub fn mfma_accumulator(shape: Mfma) -> LinearLayout {
    let mut layout = run(origin(), Dim::Register, 0, 2);
    layout = run(layout, Dim::Lane, 1, shape.lane_bits());
    layout = run(layout, Dim::Lane, 0, 6 - shape.lane_bits());
    match shape {
        Mfma::M32 => run(layout, Dim::Register, 0, 2),
        Mfma::M16 => layout,
    }
}

/// AMD MFMA with f64 accumulators (16x16), over (m, n): here rows of one lane are four apart.
pub fn mfma_accumulator_f64() -> LinearLayout {
    let mut layout = run(origin(), Dim::Lane, 1, 4);
    layout = run(layout, Dim::Lane, 0, 2);
    run(layout, Dim::Register, 0, 2)
}

/// The generations of AMD's WMMA instructions for wavefronts of 32 lanes, of shape 16x16 with 32-bit accumulators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wmma {
    /// RDNA 3 (gfx11): both halves of the wavefront hold the same operand.
    Rdna3,
    /// RDNA 4 (gfx12): the halves share an operand between them.
    Rdna4,
}

/// AMD WMMA: operand A over (16, K). On RDNA 3 a lane holds all K elements of a row, on RDNA 4 half of them.
pub fn wmma_operand_a(generation: Wmma, k: u32) -> LinearLayout {
    let bits = extent_bits(k);
    match generation {
        Wmma::Rdna3 => {
            let rows = run(run(origin(), Dim::Register, 1, bits), Dim::Lane, 0, 4);
            let lanes = rows.bases(Dim::Lane).iter().copied().chain([0]).collect();
            rows.with_bases(Dim::Lane, lanes)
        }
        Wmma::Rdna4 => run(run(run(origin(), Dim::Register, 1, bits - 1), Dim::Lane, 0, 4), Dim::Lane, 1, 1),
    }
}

/// AMD WMMA: operand B over (K, 16). As A, with the axes exchanged.
pub fn wmma_operand_b(generation: Wmma, k: u32) -> LinearLayout {
    wmma_operand_a(generation, k).permute(&[1, 0]).expect("a fragment has two axes")
}

/// AMD WMMA: the accumulator over (16, 16), 8 registers a lane. The halves of the wavefront hold odd and even rows on
/// RDNA 3, the upper and the lower ones on RDNA 4.
pub fn wmma_accumulator(generation: Wmma) -> LinearLayout {
    let columns = run(origin(), Dim::Lane, 1, 4);
    match generation {
        Wmma::Rdna3 => run(run(columns, Dim::Lane, 0, 1), Dim::Register, 0, 3),
        Wmma::Rdna4 => run(run(columns, Dim::Register, 0, 3), Dim::Lane, 0, 1),
    }
}

impl LinearLayout {
    /// The fragment repeated over a tile: warps side by side, each bit of the warp number doubling the extent along the
    /// axis given for it (`None`: the two halves hold the same), then further registers, the last axis first.
    pub fn tile_warps(&self, shape: &[u32], warp_bits: &[Option<usize>]) -> LinearLayout {
        let mut layout = self.clone();
        for &axis in warp_bits {
            layout = match axis {
                Some(axis) => run(layout, Dim::Warp, axis, 1),
                None => {
                    let bases = layout.bases(Dim::Warp).iter().copied().chain([0]).collect();
                    layout.with_bases(Dim::Warp, bases)
                }
            };
        }
        layout.fit(shape, &(0..shape.len()).rev().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    //! The tables of the PTX ISA ("Matrix Fragments for mma.m16n8k*", "Register Fragments for wgmma") and of the CDNA3
    //! ISA ("Matrix fused multiply-add": layouts of A, B, C and D), written out as their formulas; and those of the RDNA 3
    //! and RDNA 4 ISAs for WMMA.

    use super::*;

    /// Checks a fragment against `(row, column)` of register `i` of a lane (and warp).
    #[track_caller]
    fn check(
        layout: &LinearLayout,
        registers: u32,
        lanes: u32,
        warps: u32,
        table: impl Fn(u32, u32, u32) -> (u32, u32),
    ) {
        let sizes = (layout.in_size(Dim::Register), layout.in_size(Dim::Lane), layout.in_size(Dim::Warp));
        assert_eq!(sizes, (registers, lanes, warps), "{layout}");
        for warp in 0..warps {
            for lane in 0..lanes {
                for i in 0..registers {
                    let (row, column) = table(i, lane, warp);
                    let held = layout.coordinates(&[(Dim::Register, i), (Dim::Lane, lane), (Dim::Warp, warp)]);
                    assert_eq!(held, [row, column], "register {i} of lane {lane} in {layout}");
                }
            }
        }
        assert!(layout.is_surjective() && layout.is_injective(), "{layout}");
    }

    #[test]
    fn mma_m16n8k16_of_16_bits() {
        check(&mma_operand_a(16, 16), 8, 32, 1, |i, lane, _| {
            let row = if i < 2 || (4..6).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
            let column = (lane % 4) * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
            (row, column)
        });
        check(&mma_operand_b(16, 16), 4, 32, 1, |i, lane, _| {
            ((lane % 4) * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, lane >> 2)
        });
    }

    #[test]
    fn mma_accumulators() {
        check(&mma_accumulator(), 4, 32, 1, |i, lane, _| {
            (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, (lane % 4) * 2 + (i & 1))
        });
    }

    #[test]
    fn mma_m16n8k8_of_tf32() {
        check(&mma_operand_a(32, 8), 4, 32, 1, |i, lane, _| {
            let row = if i == 0 || i == 2 { lane >> 2 } else { (lane >> 2) + 8 };
            (row, if i < 2 { lane % 4 } else { lane % 4 + 4 })
        });
        check(&mma_operand_b(32, 8), 2, 32, 1, |i, lane, _| (lane % 4 + if i == 0 { 0 } else { 4 }, lane >> 2));
    }

    #[test]
    fn mma_m16n8k8_of_16_bits() {
        check(&mma_operand_a(16, 8), 4, 32, 1, |i, lane, _| {
            (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, (lane % 4) * 2 + (i & 1))
        });
        check(&mma_operand_b(16, 8), 2, 32, 1, |i, lane, _| ((lane % 4) * 2 + i, lane >> 2));
    }

    #[test]
    fn mma_m16n8k32_of_8_bits() {
        check(&mma_operand_a(8, 32), 16, 32, 1, |i, lane, _| {
            let row = if i < 4 || (8..12).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
            (row, (lane % 4) * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        });
        check(&mma_operand_b(8, 32), 8, 32, 1, |i, lane, _| {
            ((lane % 4) * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, lane >> 2)
        });
    }

    #[test]
    fn mma_m16n8k64_of_4_bits() {
        check(&mma_operand_a(4, 64), 32, 32, 1, |i, lane, _| {
            let row = if i < 8 || (16..24).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
            (row, (lane % 4) * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
        });
    }

    #[test]
    fn wgmma_fragments() {
        for n in [8, 64, 256] {
            check(&wgmma_accumulator(n), n / 2, 32, 4, |i, lane, warp| {
                (warp * 16 + lane / 4 + 8 * ((i / 2) % 2), (i / 4) * 8 + (lane % 4) * 2 + i % 2)
            });
        }
        check(&wgmma_operand_a(16), 8, 32, 4, |i, lane, warp| {
            let row = warp * 16 + lane / 4 + if i < 2 || (4..6).contains(&i) { 0 } else { 8 };
            (row, (lane % 4) * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
        });
    }

    #[test]
    fn mfma_operands() {
        // 32x32x8 and 16x16x16 of 16 bits hold 4 a lane; fp8 and i8 8; xf32 2; f32 1.
        for per_lane in [1, 2, 4, 8] {
            check(&mfma_operand_a(Mfma::M32, per_lane), per_lane, 64, 1, |i, lane, _| {
                (lane % 32, per_lane * (lane / 32) + i)
            });
            check(&mfma_operand_b(Mfma::M32, per_lane), per_lane, 64, 1, |i, lane, _| {
                (per_lane * (lane / 32) + i, lane % 32)
            });
            check(&mfma_operand_a(Mfma::M16, per_lane), per_lane, 64, 1, |i, lane, _| {
                (lane % 16, per_lane * (lane / 16) + i)
            });
            check(&mfma_operand_b(Mfma::M16, per_lane), per_lane, 64, 1, |i, lane, _| {
                (per_lane * (lane / 16) + i, lane % 16)
            });
        }
    }

    #[test]
    fn mfma_accumulators() {
        check(&mfma_accumulator(Mfma::M32), 16, 64, 1, |i, lane, _| (8 * (i / 4) + 4 * (lane / 32) + i % 4, lane % 32));
        check(&mfma_accumulator(Mfma::M16), 4, 64, 1, |i, lane, _| (4 * (lane / 16) + i, lane % 16));
        check(&mfma_accumulator_f64(), 4, 64, 1, |i, lane, _| (4 * i + lane / 16, lane % 16));
    }

    #[test]
    fn wmma_fragments() {
        check(&wmma_operand_a(Wmma::Rdna4, 16), 8, 32, 1, |i, lane, _| (lane % 16, 8 * (lane / 16) + i));
        check(&wmma_operand_b(Wmma::Rdna4, 16), 8, 32, 1, |i, lane, _| (8 * (lane / 16) + i, lane % 16));
        check(&wmma_accumulator(Wmma::Rdna4), 8, 32, 1, |i, lane, _| (8 * (lane / 16) + i, lane % 16));
        check(&wmma_accumulator(Wmma::Rdna3), 8, 32, 1, |i, lane, _| (2 * i + lane / 16, lane % 16));
        let operand = wmma_operand_a(Wmma::Rdna3, 16);
        for lane in 0..32 {
            for i in 0..16 {
                assert_eq!(operand.coordinates(&[(Dim::Register, i), (Dim::Lane, lane)]), [lane % 16, i]);
            }
        }
        assert_eq!(operand.free_bits(Dim::Lane), 16);
    }

    #[test]
    fn fragments_tile_warps_and_registers() {
        let accumulator = mma_accumulator().tile_warps(&[64, 32], &[Some(0), Some(1)]);
        assert_eq!(
            accumulator.to_string(),
            "64x32: reg d1[1] d0[8] d1[16] d0[32], lane d1[2 4] d0[1 2 4], warp d0[16] d1[8]"
        );
        // Warps along n hold the same part of A.
        let a = mma_operand_a(16, 16).tile_warps(&[64, 32], &[Some(0), None]);
        assert_eq!(a.to_string(), "64x32: reg d1[1] d0[8] d1[8 16] d0[32], lane d1[2 4] d0[1 2 4], warp d0[16] 0");
    }
}
