//! What a launch checks of its arguments: kinds, element types and ranks, and that none is written while another uses
//! the same elements.

use smallvec::SmallVec;
use tegula_ir::exec::MAX_EXTENT;
use tegula_ir::function::ParamKind;

use super::signature::Signature;
use crate::backend::Arg;
use crate::error::{Error, Result};
use crate::tensor::reach;

/// Checks that the arguments are of the kind, element type and rank of the compiled kernel's parameters.
pub fn check_kinds(signature: &Signature, args: &[Arg<'_>]) -> Result<()> {
    for (param, arg) in signature.params.iter().zip(args) {
        match (&param.kind, arg) {
            (ParamKind::View { elem, rank, .. }, Arg::View { elem: e, extents, .. })
                if e == elem && extents.len() == usize::from(*rank) && extents.iter().all(|e| *e <= MAX_EXTENT) => {}
            (ParamKind::Scalar { elem, .. }, Arg::Scalar(e, _)) if e == elem => {}
            (ParamKind::Ptr { elem, .. }, Arg::Ptr { elem: e, .. } | Arg::Address(e, _)) if e == elem => {}
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
        (ParamKind::View { elem, .. }, Arg::View { elem: e, .. }) if e != elem => {
            format!("argument `{name}` has elements of {e}, and the parameter has {elem}")
        }
        (ParamKind::View { rank, .. }, Arg::View { extents, .. }) if extents.len() != usize::from(*rank) => {
            format!(
                "argument `{name}` has rank {} (extents {extents:?}), and the parameter has rank {rank}; \
                 `reshape` or `select` gives a tensor of another rank",
                extents.len()
            )
        }
        (ParamKind::View { .. }, Arg::View { extents, .. }) => {
            format!("argument `{name}` has extents {extents:?}; extents are 0 to 2^48")
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

/// What an argument touches.
#[derive(Clone, Copy)]
struct Extent {
    /// Addresses from the first to behind the last byte; for a pointer, of its whole block. Empty: nothing.
    start: u64,
    end: u64,
    written: bool,
}

impl Extent {
    fn of(arg: &Arg<'_>, written: bool) -> Self {
        match *arg {
            Arg::View { memory, offset, elem, extents, strides } => {
                let base = memory.address() + offset as u64;
                if extents.contains(&0) {
                    return Self { start: base, end: base, written };
                }
                let size = i64::from(elem.memory_bytes().unwrap_or(1));
                let (before, after) = reach(extents, strides);
                let at = |n: i64| base.wrapping_add_signed(n.saturating_mul(size));
                Self { start: at(before), end: at(after + 1), written }
            }
            Arg::Ptr { memory, .. } => {
                Self { start: memory.address(), end: memory.address() + memory.len() as u64, written }
            }
            // The caller vouches for what an address is used for.
            Arg::Address(..) | Arg::Scalar(..) => Self { start: 0, end: 0, written },
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
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
    let extents: SmallVec<[Extent; 24]> =
        args.iter().enumerate().map(|(i, arg)| Extent::of(arg, is_written(written, i))).collect();
    let mut overlaps = Overlaps::default();
    for (i, a) in extents.iter().enumerate().filter(|(_, e)| e.written) {
        if let Arg::View { extents, strides, .. } = args[i]
            && extents.iter().zip(strides).any(|(&e, &s)| e > 1 && s == 0)
        {
            let message = format!("argument `{}` is written, and several of its elements are the same memory", name(i));
            return Err(error(format!("{message}; write to a tensor without strides of 0")));
        }
        for (j, b) in extents.iter().enumerate() {
            if i == j || (b.written && j < i) || !a.meets(b) {
                continue;
            }
            overlaps.add(i);
            overlaps.add(j);
            refuse(&args[i], &args[j], b.written)
                .map_or(Ok(()), |what| Err(error(format!("arguments `{}` and `{}` {what}", name(i), name(j)))))?;
        }
    }
    Ok(overlaps)
}

/// Whether a bit is set; arguments beyond the 64th count as written.
pub fn is_written(written: u64, i: usize) -> bool {
    i >= 64 || written >> i & 1 != 0
}

/// Why two views, the first of which is written, cannot be arguments of one launch.
fn refuse(a: &Arg<'_>, b: &Arg<'_>, both_written: bool) -> Option<&'static str> {
    let (Arg::View { elem, extents, strides, .. }, Arg::View { elem: f, extents: g, strides: t, .. }) = (a, b) else {
        return None;
    };
    let base = |arg: &Arg<'_>| match *arg {
        Arg::View { memory, offset, .. } => memory.address() as i64 + offset as i64,
        _ => 0,
    };
    if elem != f
        || strides.len() != t.len()
        || share_element(base(b) - base(a), elem.memory_bytes()?.into(), (extents, strides), (g, t)) != Some(true)
    {
        return None;
    }
    let same = base(a) == base(b) && extents == g;
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
