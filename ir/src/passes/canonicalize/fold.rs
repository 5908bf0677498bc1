//! Evaluation of ops whose operands are known, and computing once what is the same in every element.

use crate::analysis::constants::literal;
use crate::function::Value;
use crate::literal::Literal;
use crate::numeric::eval;
use crate::ops::OpKind;
use crate::passes::rewrite::Emitter;
use crate::types::Type;

/// The op as a constant, if all its operands are.
pub fn constant(e: &mut Emitter<'_>, kind: &OpKind, result: Value) -> Option<Value> {
    let ty = e.f.ty(result).clone();
    // The start of an arange may be written beyond its type.
    let value = eval::normalise(ty.elem_scalar()?, evaluate(e, kind)?);
    Some(e.constant(value, &ty))
}

fn evaluate(e: &Emitter<'_>, kind: &OpKind) -> Option<Literal> {
    let lit = |v: &Value| literal(e.f, *v);
    let elem = |v: &Value| e.f.ty(*v).elem_scalar();
    match kind {
        OpKind::Unary { op, x, fast } => eval::unary(*op, *fast, elem(x)?, lit(x)?),
        OpKind::Binary { op, a, b } => eval::binary(*op, elem(a)?, lit(a)?, lit(b)?),
        OpKind::Compare { op, a, b } => eval::compare(*op, elem(a)?, lit(a)?, lit(b)?).map(Literal::Bool),
        OpKind::Fma { a, b, c } => eval::fma(elem(a)?, lit(a)?, lit(b)?, lit(c)?),
        OpKind::Cast { x, to, rounding, saturate } => Some(eval::cast(elem(x)?, *to, *rounding, *saturate, lit(x)?)),
        OpKind::Bitcast { x, to } => Some(eval::from_bits(*to, eval::to_bits(elem(x)?, lit(x)?))),
        OpKind::Splat { x, .. }
        | OpKind::Broadcast { x, .. }
        | OpKind::Reshape { x, .. }
        | OpKind::Permute { x, .. }
        | OpKind::Flip { x, .. }
        | OpKind::ExtractSlice { x, .. }
        | OpKind::GatherAxis { x, .. } => lit(x),
        OpKind::Arange { shape, axis, start, .. } if shape[usize::from(*axis)] == 1 => Some(Literal::Int(*start)),
        _ => None,
    }
}

/// What the scalar is of which a tile is a splat, if that costs nothing new but a constant.
fn scalar(e: &mut Emitter<'_>, v: Value) -> Option<Value> {
    match e.f.def_kind(v)? {
        OpKind::Splat { x, .. } => Some(*x),
        OpKind::Constant { value, ty: Type::Tile(t) } => {
            let (value, ty) = (*value, Type::Scalar(t.elem));
            Some(e.constant(value, &ty))
        }
        _ => None,
    }
}

/// An elementwise op on splats as the splat of a scalar op.
pub fn uniform(e: &mut Emitter<'_>, kind: &OpKind, result: Value) -> Option<Value> {
    let ty = e.f.ty(result).clone();
    let shape = ty.tile()?.shape.clone();
    let is_uniform = |v: Value| {
        matches!(e.f.def_kind(v), Some(OpKind::Splat { .. } | OpKind::Constant { .. })) || e.f.ty(v).tile().is_none()
    };
    if !kind.is_elementwise() || !kind.operands().into_iter().all(is_uniform) {
        return None;
    }
    let mut scalar_kind = kind.clone();
    scalar_kind.for_each_operand_mut(|v| {
        if e.f.ty(*v).tile().is_some() {
            *v = scalar(e, *v).expect("checked above");
        }
    });
    let x = e.value(scalar_kind);
    Some(e.emit_typed(OpKind::Splat { x, shape }, [ty])[0])
}
