//! Shape ops: each is a reading of the operand at strided or gathered positions.

use smallvec::SmallVec;

use super::buf::{Buf, map_elems, map_elems2};
use crate::types::Shape;

/// Strides of a dense row-major tile.
pub fn strides(shape: &[u32]) -> SmallVec<[i64; 5]> {
    let mut strides: SmallVec<[i64; 5]> = SmallVec::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * i64::from(shape[i]);
    }
    strides
}

/// Number of elements of a shape.
pub fn count(shape: &[u32]) -> usize {
    shape.iter().map(|&d| d as usize).product()
}

/// Positions `base + index · strides` for each index of `shape` in row-major order.
pub fn positions(shape: &[u32], strides: &[i64], base: i64) -> impl Iterator<Item = usize> + use<> {
    let shape: Shape = shape.into();
    let strides: SmallVec<[i64; 5]> = strides.into();
    let mut index: Shape = SmallVec::from_elem(0, shape.len());
    let mut at = base;
    (0..count(&shape)).map(move |_| {
        let here = at as usize;
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * i64::from(shape[axis]);
            index[axis] = 0;
        }
        here
    })
}

/// Repeats axes of extent 1.
pub fn broadcast(x: &Buf, from: &[u32], to: &[u32]) -> Buf {
    let s: SmallVec<[i64; 5]> =
        strides(from).iter().zip(from.iter().zip(to)).map(|(&s, (&a, &b))| if a == b { s } else { 0 }).collect();
    x.pick(positions(to, &s, 0))
}

/// Reorders axes.
pub fn permute(x: &Buf, from: &[u32], perm: &[u8]) -> Buf {
    let s = strides(from);
    let shape: Shape = perm.iter().map(|&p| from[p as usize]).collect();
    let s: SmallVec<[i64; 5]> = perm.iter().map(|&p| s[p as usize]).collect();
    x.pick(positions(&shape, &s, 0))
}

/// Reverses an axis.
pub fn flip(x: &Buf, shape: &[u32], axis: usize) -> Buf {
    let mut s = strides(shape);
    let base = s[axis] * i64::from(shape[axis] - 1);
    s[axis] = -s[axis];
    x.pick(positions(shape, &s, base))
}

/// Concatenates along an axis.
pub fn cat(parts: &[(&Buf, &[u32])], axis: usize) -> Buf {
    let (first, shape) = parts[0];
    let outer = count(&shape[..axis]);
    let total = parts.iter().map(|(b, _)| b.len()).sum();
    let mut out = first.empty_like(total);
    for o in 0..outer {
        for (part, shape) in parts {
            let run = count(&shape[axis..]);
            match (&mut out, *part) {
                (Buf::Bool(v), Buf::Bool(w)) => v.extend_from_slice(&w[o * run..(o + 1) * run]),
                (Buf::Int(v), Buf::Int(w)) => v.extend_from_slice(&w[o * run..(o + 1) * run]),
                (Buf::Float(v), Buf::Float(w)) => v.extend_from_slice(&w[o * run..(o + 1) * run]),
                _ => unreachable!("parts of one element type"),
            }
        }
    }
    out
}

/// Interleaves two buffers element by element.
pub fn join(a: &Buf, b: &Buf) -> Buf {
    map_elems2!(a, b, (v, w) => v.iter().zip(w).flat_map(|(&x, &y)| [x, y]).collect())
}

/// The even elements, or the odd ones.
pub fn split(x: &Buf, odd: bool) -> Buf {
    map_elems!(x, v => v.iter().skip(odd.into()).step_by(2).copied().collect())
}

fn offset(shape: &[u32], offsets: &[u32]) -> i64 {
    strides(shape).iter().zip(offsets).map(|(&s, &o)| s * i64::from(o)).sum()
}

/// The sub-tile at static offsets.
pub fn extract(x: &Buf, from: &[u32], offsets: &[u32], shape: &[u32]) -> Buf {
    x.pick(positions(shape, &strides(from), offset(from, offsets)))
}

/// `into` with a sub-tile replaced.
pub fn insert(x: &Buf, part: &[u32], into: &Buf, whole: &[u32], offsets: &[u32]) -> Buf {
    let places = positions(part, &strides(whole), offset(whole, offsets));
    map_elems2!(x, into, (v, w) => {
        let mut out = w.clone();
        for (&value, place) in v.iter().zip(places) {
            out[place] = value;
        }
        out
    })
}

/// Picks along an axis by index, clamped into the axis. `unsigned` says that negative indices are large `u64`s.
pub fn gather_axis(x: &Buf, from: &[u32], index: &Buf, index_shape: &[u32], axis: usize, unsigned: bool) -> Buf {
    let mut s = strides(from);
    let along = s[axis];
    s[axis] = 0;
    let last = i64::from(from[axis]) - 1;
    let clamp = |i: i64| if unsigned && i < 0 { last } else { i.clamp(0, last) };
    let picked = index.ints().iter().zip(positions(index_shape, &s, 0));
    x.pick(picked.map(|(&i, at)| at + (clamp(i) * along) as usize))
}
