//! Shape ops of shape ops. Where tiles have layouts these are left alone: the layouts of both sides belong together.

use smallvec::SmallVec;

use crate::function::Value;
use crate::ops::{OpKind, ReduceKind, Values};
use crate::passes::rewrite::Emitter;

/// A simpler value for a shape op or reduction.
pub fn simplify(e: &mut Emitter<'_>, kind: &OpKind, result: Value) -> Option<Value> {
    if e.f.ty(result).layout().is_some() || kind.operands().iter().any(|&v| e.f.ty(v).layout().is_some()) {
        return None;
    }
    let inner = kind.operands().first().and_then(|&x| e.f.def_kind(x)).cloned();
    let same_type = |x: Value| e.f.ty(x) == e.f.ty(result);
    match kind {
        OpKind::Broadcast { x, .. } | OpKind::Reshape { x, .. } | OpKind::ExtractSlice { x, .. } if same_type(*x) => {
            Some(*x)
        }
        OpKind::Broadcast { shape, .. } => match inner? {
            OpKind::Splat { x, .. } => Some(e.value(OpKind::Splat { x, shape: shape.clone() })),
            OpKind::Broadcast { x, .. } => Some(e.value(OpKind::Broadcast { x, shape: shape.clone() })),
            _ => None,
        },
        OpKind::Reshape { x, shape } => match inner {
            Some(OpKind::Splat { x, .. }) if shape.is_empty() => Some(x),
            Some(OpKind::Splat { x, .. }) => Some(e.value(OpKind::Splat { x, shape: shape.clone() })),
            Some(OpKind::Reshape { x, .. }) => Some(e.value(OpKind::Reshape { x, shape: shape.clone() })),
            // From a scalar: the splat is the form that other rules know.
            _ if e.f.ty(*x).tile().is_none() => Some(e.value(OpKind::Splat { x: *x, shape: shape.clone() })),
            _ => None,
        },
        OpKind::Permute { x, perm } => {
            if perm.iter().enumerate().all(|(i, &p)| i == usize::from(p)) {
                return Some(*x);
            }
            let shape = e.f.ty(result).shape()?.into();
            match inner? {
                OpKind::Splat { x, .. } => Some(e.value(OpKind::Splat { x, shape })),
                OpKind::Permute { x, perm: first } => {
                    let perm: SmallVec<[u8; 5]> = perm.iter().map(|&p| first[usize::from(p)]).collect();
                    Some(e.value(OpKind::Permute { x, perm }))
                }
                _ => None,
            }
        }
        OpKind::Flip { x, axis } => {
            if e.f.ty(*x).shape()?[usize::from(*axis)] == 1 {
                return Some(*x);
            }
            match inner? {
                OpKind::Splat { .. } => Some(*x),
                OpKind::Flip { x, axis: first } if first == *axis => Some(x),
                _ => None,
            }
        }
        OpKind::ExtractSlice { offsets, shape, .. } => match inner? {
            OpKind::Splat { x, .. } => Some(e.value(OpKind::Splat { x, shape: shape.clone() })),
            OpKind::ExtractSlice { x, offsets: first, .. } => {
                let offsets = first.iter().zip(offsets).map(|(a, b)| a + b).collect();
                Some(e.value(OpKind::ExtractSlice { x, offsets, shape: shape.clone() }))
            }
            OpKind::Arange { elem, axis, start, .. } => {
                let start = start.wrapping_add(offsets[usize::from(axis)].into());
                Some(e.value(OpKind::Arange { shape: shape.clone(), elem, axis, start }))
            }
            _ => None,
        },
        OpKind::InsertSlice { x, .. } if same_type(*x) => Some(*x),
        OpKind::Cat { parts, .. } if parts.len() == 1 => Some(parts[0]),
        OpKind::GatherAxis { index, .. } => match inner? {
            OpKind::Splat { x, .. } => {
                let shape = e.f.ty(*index).shape()?.into();
                Some(e.value(OpKind::Splat { x, shape }))
            }
            _ => None,
        },
        OpKind::Reduce { kind, x, axes } => {
            let shape = e.f.ty(*x).shape()?;
            // Sums of narrow floats round once either way, and one element has nothing to round.
            if axes.iter().all(|&a| shape[usize::from(a)] == 1) {
                let shape = e.f.ty(result).shape()?.into();
                return Some(e.value(OpKind::Reshape { x: *x, shape }));
            }
            let idempotent = !matches!(kind, ReduceKind::Sum | ReduceKind::Prod | ReduceKind::Xor);
            match inner? {
                OpKind::Splat { x, .. } if idempotent => {
                    let shape: SmallVec<_> = e.f.ty(result).shape()?.into();
                    Some(if shape.is_empty() { x } else { e.value(OpKind::Splat { x, shape }) })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The halves of a `split` whose operand is known.
pub fn simplify_split(e: &mut Emitter<'_>, kind: &OpKind) -> Option<Values> {
    let OpKind::Split { x } = kind else { return None };
    if e.f.ty(*x).layout().is_some() {
        return None;
    }
    match e.f.def_kind(*x)?.clone() {
        OpKind::Join { a, b } => Some([a, b].into_iter().collect()),
        _ => None,
    }
}
