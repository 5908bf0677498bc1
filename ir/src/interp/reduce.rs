//! Reductions and scans with built-in functions.
//!
//! Order: from the lowest index up, in row-major order of the reduced axes (scans with `reverse` from the
//! highest down). Sums and products of 8- and 16-bit floats are kept in `f32`; precise mode keeps all in `f64`.

use smallvec::SmallVec;

use super::buf::{Buf, Elems};
use super::shape::{count, positions, strides};
use crate::numeric::{FloatFormat, eval, float, int};
use crate::ops::{ArgReduceKind, CmpOp, ReduceKind, ScanKind};
use crate::types::{ScalarType, Shape};

/// How partial results of floats of type `t` are rounded.
fn accumulator(t: ScalarType, precise: bool) -> FloatFormat {
    if precise { FloatFormat::F64 } else { FloatFormat::of(t.accumulator()) }
}

/// Splits a shape into the axes kept and the axes of `axes`, each with its strides in the whole.
pub struct Axes {
    kept: (Shape, SmallVec<[i64; 5]>),
    reduced: (Shape, SmallVec<[i64; 5]>),
}

impl Axes {
    /// The split of `shape` at `axes`.
    pub fn new(shape: &[u32], axes: &[u8]) -> Self {
        let s = strides(shape);
        let part = |want: bool| {
            let chosen = (0..shape.len()).filter(|&i| axes.contains(&(i as u8)) == want);
            chosen.map(|i| (shape[i], s[i])).unzip()
        };
        Self { kept: part(false), reduced: part(true) }
    }

    /// Where each result's run of elements begins.
    pub fn starts(&self) -> impl Iterator<Item = usize> {
        positions(&self.kept.0, &self.kept.1, 0)
    }

    /// The elements of a run, as distances from its start.
    pub fn run(&self) -> Vec<usize> {
        positions(&self.reduced.0, &self.reduced.1, 0).collect()
    }

    /// Number of results.
    pub fn results(&self) -> usize {
        count(&self.kept.0)
    }
}

fn fold<T: Copy>(v: &[T], axes: &Axes, run: &[usize], mut f: impl FnMut(T, T) -> T) -> Elems<T> {
    axes.starts().map(|start| run[1..].iter().fold(v[start + run[0]], |acc, &d| f(acc, v[start + d]))).collect()
}

/// Reduces over axes.
pub fn reduce(kind: ReduceKind, t: ScalarType, precise: bool, x: &Buf, shape: &[u32], axes: &[u8]) -> Buf {
    let op = kind.combiner();
    let axes = Axes::new(shape, axes);
    let run = axes.run();
    match x {
        Buf::Bool(v) => {
            Buf::Bool(fold(v, &axes, &run, |a, b| eval::boolean(op, a, b).expect("a function defined on i1")))
        }
        Buf::Int(v) => Buf::Int(fold(v, &axes, &run, |a, b| int::binary(op, t, a, b))),
        Buf::Float(v) => {
            let (partial, last, f) = (accumulator(t, precise), FloatFormat::of(t), float::binary(op));
            let sums = fold(v, &axes, &run, |a, b| partial.round(f(a, b)));
            Buf::Float(sums.into_iter().map(|s| last.round(s)).collect())
        }
    }
}

/// Extreme value and its index.
pub fn arg_reduce(kind: ArgReduceKind, t: ScalarType, x: &Buf, shape: &[u32], axis: u8) -> (Buf, Buf) {
    let axes = Axes::new(shape, &[axis]);
    let run = axes.run();
    let better = match kind {
        ArgReduceKind::Min => CmpOp::Lt,
        ArgReduceKind::Max => CmpOp::Gt,
    };
    let best = |better: &dyn Fn(usize, usize) -> bool| -> Elems<i64> {
        axes.starts()
            .map(|start| {
                let pick = |best: usize, i: usize| if better(start + run[i], start + run[best]) { i } else { best };
                (1..run.len()).fold(0, pick) as i64
            })
            .collect()
    };
    let index = match x {
        Buf::Int(v) => best(&|a, b| int::compare(better, t, v[a], v[b])),
        Buf::Float(v) => best(&|a, b| float::compare(better, v[a], v[b]) || (v[b].is_nan() && !v[a].is_nan())),
        Buf::Bool(_) => unreachable!("arg_reduce of i1"),
    };
    let value = x.pick(axes.starts().zip(&index).map(|(start, &i)| start + run[i as usize]));
    (value, Buf::Int(index))
}

/// Inclusive scan along an axis.
pub fn scan(kind: ScanKind, t: ScalarType, precise: bool, x: &Buf, shape: &[u32], axis: u8, reverse: bool) -> Buf {
    let op = kind.reduction().combiner();
    let axes = Axes::new(shape, &[axis]);
    let mut run = axes.run();
    if reverse {
        run.reverse();
    }
    fn each<T: Copy>(v: &[T], axes: &Axes, run: &[usize], f: impl Fn(T, T) -> T, last: impl Fn(T) -> T) -> Elems<T> {
        let mut out: Elems<T> = v.into();
        for start in axes.starts() {
            let mut acc = v[start + run[0]];
            for &d in &run[1..] {
                acc = f(acc, v[start + d]);
                out[start + d] = last(acc);
            }
        }
        out
    }
    match x {
        Buf::Int(v) => Buf::Int(each(v, &axes, &run, |a, b| int::binary(op, t, a, b), |a| a)),
        Buf::Float(v) => {
            let (partial, last, f) = (accumulator(t, precise), FloatFormat::of(t), float::binary(op));
            Buf::Float(each(v, &axes, &run, |a, b| partial.round(f(a, b)), |a| last.round(a)))
        }
        Buf::Bool(_) => unreachable!("scan of i1"),
    }
}
