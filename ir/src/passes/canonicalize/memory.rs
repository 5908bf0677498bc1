//! Views, pointers, masks and assertions.

use crate::analysis::constants::literal;
use crate::function::{Op, ParamKind, Value, ValueDef};
use crate::literal::Literal;
use crate::ops::{BinaryOp, Fact, OpKind};
use crate::passes::rewrite::{Emitter, Rewrite};
use crate::types::Type;

/// What an op about memory becomes.
pub fn simplify(e: &mut Emitter<'_>, op: Op, kind: &OpKind) -> Option<Rewrite> {
    let is = |v: Option<Value>, b: bool| v.and_then(|m| literal(e.f, m)) == Some(Literal::Bool(b));
    match kind {
        OpKind::ViewExtent { view, axis } => match e.f.def_kind(*view)? {
            OpKind::MakeView { extents, .. } => Some(Rewrite::with(extents[usize::from(*axis)])),
            _ => None,
        },
        OpKind::ViewStride { view, axis } => {
            if let Some(OpKind::MakeView { strides, .. }) = e.f.def_kind(*view) {
                return Some(Rewrite::with(strides[usize::from(*axis)]));
            }
            let ValueDef::Param(i) = e.f.value(*view).def else { return None };
            let ParamKind::View { rank, spec, .. } = &e.f.params[i as usize].kind else { return None };
            let unit = spec.unit_inner && axis + 1 == *rank;
            unit.then(|| Rewrite::with(e.index(1)))
        }
        OpKind::ViewBase { view } => match e.f.def_kind(*view)? {
            OpKind::MakeView { base, .. } => Some(Rewrite::with(*base)),
            _ => None,
        },
        OpKind::PtrAdd { ptr, offset } => {
            let result = e.f.op(op).results[0];
            if literal(e.f, *offset) == Some(Literal::Int(0)) && e.f.ty(*ptr) == e.f.ty(result) {
                return Some(Rewrite::with(*ptr));
            }
            // Offsets of 64 bits can be added without changing the sum's meaning.
            let &OpKind::PtrAdd { ptr: base, offset: first } = e.f.def_kind(*ptr)? else { return None };
            if *e.f.ty(*offset) != Type::INDEX || *e.f.ty(first) != Type::INDEX {
                return None;
            }
            let sum = e.binary(BinaryOp::Add, first, *offset);
            Some(Rewrite::with(e.value(OpKind::PtrAdd { ptr: base, offset: sum })))
        }
        OpKind::Load { mask, pad, access, .. } if is(*mask, false) && !access.volatile => {
            let result = e.f.op(op).results[0];
            let ty = e.f.ty(result).clone();
            Some(Rewrite::with(match (pad, &ty) {
                (None, _) => e.constant_like(result, 0),
                (Some(p), Type::Tile(t)) => {
                    let shape = t.shape.clone();
                    e.emit_typed(OpKind::Splat { x: *p, shape }, [ty])[0]
                }
                (Some(p), _) => *p,
            }))
        }
        OpKind::Store { mask, access, .. } if is(*mask, false) && !access.volatile => Some(Rewrite::remove()),
        OpKind::Load { mask, .. }
        | OpKind::Store { mask, .. }
        | OpKind::AtomicRmw { mask, .. }
        | OpKind::AtomicCas { mask, .. } => {
            let new = if is(*mask, true) {
                None
            } else if let Some(&OpKind::Splat { x, .. }) = mask.and_then(|m| e.f.def_kind(m)) {
                Some(x)
            } else {
                return None;
            };
            if *mask == new {
                return None;
            }
            let (OpKind::Load { mask, .. }
            | OpKind::Store { mask, .. }
            | OpKind::AtomicRmw { mask, .. }
            | OpKind::AtomicCas { mask, .. }) = &mut e.f.op_mut(op).kind
            else {
                return None;
            };
            *mask = new;
            Some(Rewrite::Keep)
        }
        OpKind::Assert { cond, .. } if is(Some(*cond), true) => Some(Rewrite::remove()),
        OpKind::Assume { x, fact } => {
            let trivial = matches!(fact, Fact::Divisible(1) | Fact::Contiguous { n: 1, .. });
            (trivial || literal(e.f, *x).is_some()).then(|| Rewrite::with(*x))
        }
        _ => None,
    }
}
