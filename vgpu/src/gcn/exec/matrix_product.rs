//! The products of dense matrix instructions, on registers as they lie: the columns of a matrix are neighbouring lanes, so that a row of
//! the second factor or of the sum is a slice of a register, and nothing has to be gathered.

use super::matrix::{Decoding, Element, MatrixOp, Rows, half_to_f32, round_xf32};
use super::matrix_layout as layout;
use super::state::Lanes;
use crate::numeric::bf16_to_f32;

/// One element of each lane.
type Plane<T> = [T; 64];

/// How the blocks of the first factor are shared out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broadcast {
    /// So many blocks share one, as a power of two.
    pub size: usize,
    /// Which of them they share.
    pub block: usize,
}

impl Broadcast {
    /// The block of the first factor that a block takes.
    fn source(self, block: usize, blocks: usize) -> usize {
        let from = match self.size {
            0 => block,
            size => (block >> size << size) + (self.block & ((1 << size) - 1)),
        };
        from.min(blocks - 1)
    }
}

/// The elements of a factor: element `e` of every lane, as floats.
#[inline(always)]
fn floats(decoding: &Decoding, per_lane: usize, rows: &Rows) -> Vec<Plane<f32>> {
    let plane = |e: usize| -> Plane<f32> {
        let half = |decode: fn(u16) -> f32| rows.rows[e / 2].map(|word| decode((word >> (e % 2 * 16)) as u16));
        match decoding.element {
            Element::F32 => rows.rows[e].map(f32::from_bits),
            Element::Xf32 => rows.rows[e].map(|bits| f32::from_bits(round_xf32(bits))),
            Element::F16 => {
                let shift = e % 2 * 16;
                rows.rows[e / 2].map(|word| half_to_f32((word >> shift) as u16))
            }
            Element::Bf16 => half(bf16_to_f32),
            _ => std::array::from_fn(|lane| decoding.element(e, |r| rows.word(r, lane))),
        }
    };
    (0..per_lane).map(plane).collect()
}

/// The same for bytes, as integers.
#[inline(always)]
fn integers(per_lane: usize, rows: &Rows) -> Vec<Plane<i32>> {
    (0..per_lane)
        .map(|e| {
            let shift = e % 4 * 8;
            rows.rows[e / 4].map(|word| i32::from((word >> shift) as i8))
        })
        .collect()
}

/// `sum += a * b`, in the order of k.
#[inline(always)]
fn accumulate<T: Copy, const N: usize>(
    op: &MatrixOp,
    broadcast: Broadcast,
    a: &[Plane<T>],
    b: &[Plane<T>],
    sum: &mut [Plane<T>],
    step: impl Fn(T, T, T) -> T,
) {
    let (m, k, blocks) = (usize::from(op.m), usize::from(op.k), usize::from(op.blocks));
    let groups = k / a.len();
    for block in 0..blocks {
        let source = broadcast.source(block, blocks);
        for i in 0..m {
            let (register, lane) = layout::accumulator(m, N, blocks, block, i, 0);
            let Some(place) = sum[register][lane..].first_chunk_mut::<N>() else { continue };
            let mut row = *place;
            for group in 0..groups {
                for (a, b) in a.iter().zip(b) {
                    let factor = a[(source + blocks * group) * m + i];
                    let Some(other) = b[(block + blocks * group) * N..].first_chunk::<N>() else { continue };
                    for (s, &v) in row.iter_mut().zip(other) {
                        *s = step(factor, v, *s);
                    }
                }
            }
            *place = row;
        }
    }
}

#[inline(always)]
fn by_width<T: Copy>(
    op: &MatrixOp,
    broadcast: Broadcast,
    a: &[Plane<T>],
    b: &[Plane<T>],
    sum: &mut [Plane<T>],
    step: impl Fn(T, T, T) -> T,
) {
    match op.n {
        32 => accumulate::<T, 32>(op, broadcast, a, b, sum, step),
        16 => accumulate::<T, 16>(op, broadcast, a, b, sum, step),
        _ => accumulate::<T, 4>(op, broadcast, a, b, sum, step),
    }
}

/// The registers of both factors and of the sum.
pub(super) struct Operands {
    pub a: Rows,
    pub b: Rows,
    pub sum: Rows,
}

#[inline(always)]
fn product_here(
    op: &MatrixOp,
    [da, db]: &[Decoding; 2],
    broadcast: Broadcast,
    pattern: usize,
    scales: Option<&[Plane<f32>; 2]>,
    operands: &mut Operands,
) {
    let per_lane = usize::from(op.m * op.blocks) * usize::from(op.k) / 64;
    if pattern != 0 {
        for row in &mut operands.b.rows {
            *row = std::array::from_fn(|lane| row[layout::lane_group(lane, pattern)]);
        }
    }
    let Operands { a, b, sum } = operands;
    if op.integer {
        let (a, b) = (integers(per_lane, a), integers(per_lane, b));
        let mut planes: Vec<Plane<i32>> = sum.rows.iter().map(|row| row.map(|bits| bits as i32)).collect();
        by_width(op, broadcast, &a, &b, &mut planes, |a, b, s| s.wrapping_add(a.wrapping_mul(b)));
        write_back(&mut sum.rows, &planes, |value| value as u32);
    } else {
        let (mut a, mut b) = (floats(da, per_lane, a), floats(db, per_lane, b));
        if op.a == Element::F8f6f4 {
            for (planes, decoding, width) in [(&mut a, da, op.m), (&mut b, db, op.n)] {
                if decoding.format.is_some_and(|format| format.bits() == 8) {
                    *planes = consecutive(planes, usize::from(width));
                }
            }
        }
        if let Some([of_a, of_b]) = scales {
            for (planes, scale) in [(&mut a, of_a), (&mut b, of_b)] {
                for plane in planes {
                    plane.iter_mut().zip(scale).for_each(|(value, scale)| *value *= scale);
                }
            }
        }
        let mut planes: Vec<Plane<f32>> = sum.rows.iter().map(|row| row.map(f32::from_bits)).collect();
        by_width(op, broadcast, &a, &b, &mut planes, f32::mul_add);
        write_back(&mut sum.rows, &planes, f32::to_bits);
    }
}

/// Eight-bit factors of the instructions that choose their formats come in two halves of k, in each of which a group of lanes has 16
/// consecutive elements; narrower ones have all 32 of a group consecutive. As the latter, where the groups of scales lie.
fn consecutive(planes: &[Plane<f32>], width: usize) -> Vec<Plane<f32>> {
    let groups = 64 / width;
    let per_half = planes.len() / 2;
    (0..planes.len())
        .map(|e| {
            std::array::from_fn(|lane| {
                let k = lane / width * planes.len() + e;
                let (half, group) = (k / (per_half * groups), k / per_half % groups);
                planes[half * per_half + k % per_half][group * width + lane % width]
            })
        })
        .collect()
}

fn write_back<T: Copy>(rows: &mut [Lanes], planes: &[Plane<T>], bits: impl Fn(T) -> u32) {
    for (row, plane) in rows.iter_mut().zip(planes) {
        *row = plane.map(&bits);
    }
}

/// Adds the product of the factors, scaled by lane, to the sum, in place. `pattern` is the rotation or broadcast of the second factor's lanes.
pub(super) fn product(
    op: &MatrixOp,
    decodings: &[Decoding; 2],
    broadcast: Broadcast,
    pattern: usize,
    scales: Option<&[Plane<f32>; 2]>,
    operands: &mut Operands,
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn fast(
            op: &MatrixOp,
            decodings: &[Decoding; 2],
            broadcast: Broadcast,
            pattern: usize,
            scales: Option<&[Plane<f32>; 2]>,
            operands: &mut Operands,
        ) {
            product_here(op, decodings, broadcast, pattern, scales, operands);
        }
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the features were detected.
            unsafe { fast(op, decodings, broadcast, pattern, scales, operands) };
            return;
        }
    }
    product_here(op, decodings, broadcast, pattern, scales, operands);
}
