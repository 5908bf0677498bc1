//! Where the elements of matrices lie in the registers of a wave.

/// A family of layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// CDNA's matrix cores, waves of 64.
    Mfma,
    /// RDNA 3, waves of 32: factors are given twice.
    Wmma11,
    /// RDNA 4, waves of 32.
    Wmma12,
}

/// The lane that holds a factor: row (or column) `at` of a block, of the group of k's numbered `group`.
pub(super) fn factor_lane(extent: usize, blocks: usize, at: usize, block: usize, group: usize) -> usize {
    at + extent * (block + blocks * group)
}

/// Collects a factor's elements: the first matrix by rows of k, the second by rows of columns.
pub(super) fn gather(
    per_lane: usize,
    extent: usize,
    blocks: usize,
    k: usize,
    out: &mut [f32],
    first: bool,
    element: impl Fn(usize, usize) -> f32,
) {
    for lane in 0..64 {
        let (at, rest) = (lane % extent, lane / extent);
        let (block, group) = (rest % blocks, rest / blocks);
        for e in 0..per_lane {
            let p = group * per_lane + e;
            let index = if first { at * k + p } else { p * extent + at };
            out[block * extent * k + index] = element(lane, e);
        }
    }
}

/// The register and the lane of an element of a 32-bit sum.
#[inline]
pub(super) fn accumulator(
    m: usize,
    n: usize,
    blocks: usize,
    block: usize,
    row: usize,
    column: usize,
) -> (usize, usize) {
    if m == 4 {
        return (row, column + n * block);
    }
    // Four consecutive rows lie in four registers of one lane, the next four in the next group of lanes.
    let groups = 64 / n;
    let (four, within) = (row / 4, row % 4);
    let registers = m * n / 64;
    debug_assert!(blocks > block);
    (block * registers + four / groups * 4 + within, column + n * (four % groups))
}

/// The register pair and the lane of an element of a 64-bit sum.
pub(super) fn accumulator_f64(m: usize, n: usize, row: usize, column: usize, block: usize) -> (usize, usize) {
    if m == 4 {
        return (0, column + n * block + 16 * row);
    }
    (row / 4, column + n * (row % 4))
}

/// The lane whose second factor a lane takes: broadcasts and a rotation of groups of 16 or 32 lanes.
pub(super) fn lane_group(lane: usize, pattern: usize) -> usize {
    match pattern {
        1 => lane & 31,
        2 => lane & 31 | 32,
        3 => (lane + 16) & 63,
        4..=7 => (lane & 15) + (pattern - 4) * 16,
        _ => lane,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_element_has_its_own_place() {
        for (m, n, blocks) in [(32, 32, 1), (32, 32, 2), (16, 16, 1), (16, 16, 4), (4, 4, 16)] {
            let mut seen = HashSet::new();
            for block in 0..blocks {
                for at in 0..m * n {
                    let place = accumulator(m, n, blocks, block, at / n, at % n);
                    assert!(place.0 < m * n * blocks / 64 && place.1 < 64);
                    assert!(seen.insert(place));
                }
            }
        }
        // The rows of a 32 by 32 sum: 8 (reg / 4) + 4 group + reg % 4.
        assert_eq!(accumulator(32, 32, 1, 0, 13, 7), (5, 7 + 32));
        assert_eq!(accumulator(16, 16, 1, 0, 6, 3), (2, 19));
    }
}
