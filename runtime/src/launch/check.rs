//! What a launch checks of its arguments: kinds, element types and ranks, and that none is written while another uses
//! the same elements.

use std::ops::Range;

use smallvec::SmallVec;
use tegula_ir::function::ParamKind;

use super::signature::Signature;
use crate::backend::Arg;
use crate::error::{Error, Result};
use crate::tensor::view::View;

/// Checks that the arguments are of the kind, element type and rank of the compiled kernel's parameters. Arguments of
/// classes for which they are need no check again.
///
/// # Errors
/// Names the first parameter whose argument does not fit.
pub fn check_kinds(signature: &Signature, args: &[Arg<'_>]) -> Result<()> {
    for (param, arg) in signature.params.iter().zip(args) {
        match (&param.kind, arg) {
            (ParamKind::View { elem, rank, .. }, Arg::View(view))
                if view.elem() == *elem && view.extents().len() == usize::from(*rank) => {}
            (ParamKind::Scalar { elem, .. }, Arg::Scalar(e, _)) if e == elem => {}
            (ParamKind::Ptr { elem, .. }, Arg::Ptr(view)) if view.elem() == *elem => {}
            (ParamKind::Ptr { elem, .. }, Arg::Address(e, _)) if e == elem => {}
            _ => return Err(mismatch(signature, &param.name, &param.kind, arg)),
        }
    }
    if signature.params.len() != args.len() {
        let message = format!("it takes {} arguments, got {}", signature.params.len(), args.len());
        return Err(Error::Argument { kernel: signature.name.clone(), message });
    }
    Ok(())
}

#[cold]
fn mismatch(signature: &Signature, name: &str, kind: &ParamKind, arg: &Arg<'_>) -> Error {
    let message = match (kind, arg) {
        (ParamKind::View { elem, .. }, Arg::View(view)) if view.elem() != *elem => {
            format!("argument `{name}` has elements of {}, and the parameter has {elem}", view.elem())
        }
        (ParamKind::View { rank, .. }, Arg::View(view)) => {
            format!(
                "argument `{name}` has rank {} (extents {:?}), and the parameter has rank {rank}; \
                 `reshape` or `select` gives a tensor of another rank",
                view.extents().len(),
                view.extents()
            )
        }
        _ => format!("argument `{name}` is of another kind than the parameter, which is {}", kind.ty()),
    };
    Error::Argument { kernel: signature.name.clone(), message }
}

/// The arguments that share memory with one that is written (or are written, and share memory), a bit each.
#[derive(Clone, Copy, Default, Debug)]
pub struct Overlaps(u64);

impl Overlaps {
    /// Whether an argument is among them. Beyond the first 64, all are.
    pub fn contains(&self, i: usize) -> bool {
        i >= 64 || self.0 >> i & 1 != 0
    }

    fn add(&mut self, i: usize) {
        if i < 64 {
            self.0 |= 1 << i;
        }
    }
}

/// The addresses that an argument touches, from the first to behind the last byte; for a pointer, its whole block.
fn span(arg: &Arg<'_>) -> Range<u64> {
    match arg {
        Arg::View(view) => view.span().clone(),
        Arg::Ptr(view) => {
            let memory = view.memory();
            memory.address()..memory.address() + memory.len() as u64
        }
        // The caller vouches for what an address is used for.
        Arg::Address(..) | Arg::Scalar(..) => 0..0,
    }
}

/// Finds the arguments that share memory with one that is written.
///
/// # Errors
/// If two that are written certainly share an element, one that is read shares some but not all of its elements with
/// one that is written, or one element of an output lies at several places. To write a tensor in place, every program
/// reading what it writes, both arguments are the whole tensor.
pub fn overlaps(
    args: &[Arg<'_>],
    written: u64,
    error: impl Fn(String) -> Error,
    name: impl Fn(usize) -> String,
) -> Result<Overlaps> {
    let mut spans: SmallVec<[Range<u64>; 24]> = SmallVec::new();
    spans.extend(args.iter().map(span));
    let mut overlaps = Overlaps::default();
    for (i, a) in spans.iter().enumerate().filter(|(i, _)| is_written(written, *i)) {
        if let Arg::View(view) = args[i]
            && view.repeats()
        {
            let message = format!("argument `{}` is written, and several of its elements are the same memory", name(i));
            return Err(error(format!("{message}; write to a tensor without strides of 0")));
        }
        for (j, b) in spans.iter().enumerate() {
            let apart = a.start.max(b.start) >= a.end.min(b.end);
            if apart || i == j || (j < i && is_written(written, j)) {
                continue;
            }
            overlaps.add(i);
            overlaps.add(j);
            if let (Arg::View(a), Arg::View(b)) = (args[i], args[j])
                && let Some(what) = refuse(a, b, is_written(written, j))
            {
                return Err(error(format!("arguments `{}` and `{}` {what}", name(i), name(j))));
            }
        }
    }
    Ok(overlaps)
}

/// Whether a bit is set; arguments beyond the 64th count as written.
pub fn is_written(written: u64, i: usize) -> bool {
    i >= 64 || written >> i & 1 != 0
}

/// Why two views, the first of which is written, cannot be arguments of one launch.
fn refuse(a: &View, b: &View, both_written: bool) -> Option<&'static str> {
    let distance = b.address().wrapping_sub(a.address()) as i64;
    let (axes, others) = ((a.extents(), a.strides()), (b.extents(), b.strides()));
    if a.elem() != b.elem() || share_element(distance, a.size() as i64, axes, others) != Some(true) {
        return None;
    }
    let same = distance == 0 && a.extents() == b.extents();
    match (both_written, same) {
        (true, _) => Some("are both written and share elements; give them separate memory"),
        (false, true) => None,
        (false, false) => Some("share some elements, and the first is written; copy the second, or pass the same view"),
    }
}

/// Whether two views share an element, where that is quick to tell: both have the same strides, of which each steps
/// over all the elements of the smaller ones. `distance` is that of their first elements in bytes.
fn share_element(distance: i64, size: i64, a: (&[i64], &[i64]), b: (&[i64], &[i64])) -> Option<bool> {
    if a.1 != b.1 || distance % size != 0 || a.1.iter().any(|s| *s <= 0) {
        return None;
    }
    let mut axes: SmallVec<[(i64, i64, i64); 5]> =
        a.1.iter().zip(a.0).zip(b.0).map(|((&stride, &e), &f)| (stride, e, f)).collect();
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.0));
    for (n, axis) in axes.iter().enumerate() {
        let smaller: i64 = axes[n + 1..].iter().map(|&(stride, e, f)| (e.max(f) - 1).max(0) * stride).sum();
        if smaller >= axis.0 {
            return None;
        }
    }
    Some(meet(distance / size, &axes))
}

/// Whether the distance is one between elements: of each axis (stride and both extents), the number of steps lies
/// within the extents. The smaller strides reach less than one step, so that only two numbers of steps are possible.
fn meet(distance: i64, axes: &[(i64, i64, i64)]) -> bool {
    let Some((&(stride, e, f), rest)) = axes.split_first() else { return distance == 0 };
    let steps = distance.div_euclid(stride);
    [steps, steps + 1].into_iter().any(|n| -f < n && n < e && meet(distance - n * stride, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements of a view as indices into its block.
    fn elements(base: i64, (extents, strides): (&[i64], &[i64])) -> Vec<i64> {
        let mut all = vec![base];
        for (&e, &s) in extents.iter().zip(strides) {
            all = all.iter().flat_map(|&at| (0..e).map(move |i| at + i * s)).collect();
        }
        all
    }

    /// Wherever an answer is given for two parts of a matrix, it is that of comparing all elements.
    #[test]
    fn shared_elements_of_parts_of_a_matrix() {
        let strides = [7i64, 1];
        let mut answers = 0;
        for h in 1..4 {
            for w in 1..5 {
                for row in 0..4 {
                    for column in 0..7 - w + 1 {
                        for start in 0..3 {
                            let (a, b) = (([2, 3], strides), ([h, w], strides));
                            let distance = row * 7 + column - start;
                            let (one, two) = ((&a.0[..], &a.1[..]), (&b.0[..], &b.1[..]));
                            let found = elements(distance, two).iter().any(|e| elements(0, one).contains(e));
                            if let Some(answer) = share_element(distance * 4, 4, one, two) {
                                answers += 1;
                                assert_eq!(answer, found, "{h}×{w} at ({row}, {column}) - {start}");
                            }
                        }
                    }
                }
            }
        }
        assert!(answers > 400, "{answers}");
    }
}
