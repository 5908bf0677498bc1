//! What is known of scalar integers: by which power of two they are divisible, and how large they can be.
//!
//! Both look through the definitions of a value. They decide how wide memory accesses may be and which bounds need no
//! check, so they must never claim too much.

use tegula_ir::function::{Block, Function, ParamKind, Value, ValueDef};
use tegula_ir::ops::{BinaryOp, Fact, OpKind};
use tegula_ir::types::Type;

/// Definitions further away than this are not looked at.
const MAX_DEPTH: u32 = 32;

/// Every integer is divisible by this at most, as far as anyone asks.
const MAX_TRAILING: u32 = 32;

/// The number of low bits of a scalar integer or pointer (its byte address) that are known to be zero.
pub(super) fn trailing_zeros(f: &Function, value: Value) -> u32 {
    trailing(f, value, MAX_DEPTH)
}

fn trailing(f: &Function, value: Value, depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    let get = |v: Value| trailing(f, v, depth - 1);
    match f.value(value).def {
        ValueDef::Param(index) => match &f.params[index as usize].kind {
            ParamKind::Scalar { divisor, .. } => divisor.max(&1).trailing_zeros(),
            ParamKind::Ptr { elem, align } => (*align).max(elem.memory_bytes().unwrap_or(1)).trailing_zeros(),
            ParamKind::View { .. } => 0,
        },
        ValueDef::Arg(block, 0) => match loop_bounds(f, block) {
            Some((lower, _, step)) => get(lower).min(get(step)),
            None => 0,
        },
        ValueDef::Arg(..) => 0,
        ValueDef::Result(op, _) => match f.kind(op) {
            OpKind::Constant { value, .. } => match value.as_int() {
                Some(0) => MAX_TRAILING,
                Some(v) => v.trailing_zeros(),
                None => 0,
            },
            OpKind::Binary { op, a, b } => match op {
                BinaryOp::Mul => get(*a) + get(*b),
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max | BinaryOp::Or | BinaryOp::Xor => {
                    get(*a).min(get(*b))
                }
                BinaryOp::And => get(*a).max(get(*b)),
                BinaryOp::Shl => match constant(f, *b) {
                    Some(n @ 0..64) => get(*a) + n as u32,
                    _ => get(*a),
                },
                // Multiples of the divisor's power of two leave such remainders.
                BinaryOp::Rem | BinaryOp::FloorRem => get(*a).min(get(*b)),
                _ => 0,
            },
            OpKind::Cast { x, .. } if f.ty(*x).elem_scalar().is_some_and(|t| t.is_int()) => get(*x),
            OpKind::Select { a, b, .. } => get(*a).min(get(*b)),
            OpKind::Assume { x, fact } => match fact {
                Fact::Divisible(n) => n.trailing_zeros().max(get(*x)),
                _ => get(*x),
            },
            OpKind::ViewExtent { view, axis } => view_divisor(f, *view, usize::from(*axis), false).trailing_zeros(),
            OpKind::ViewStride { view, axis } => view_divisor(f, *view, usize::from(*axis), true).trailing_zeros(),
            _ => 0,
        },
    }
    .min(MAX_TRAILING)
}

fn view_divisor(f: &Function, view: Value, axis: usize, stride: bool) -> u32 {
    let ValueDef::Param(index) = f.value(view).def else { return 1 };
    let ParamKind::View { spec, .. } = &f.params[index as usize].kind else { return 1 };
    let divisors = if stride { &spec.stride_divisor } else { &spec.extent_divisor };
    divisors.get(axis).copied().unwrap_or(1).max(1)
}

/// A number of bits `n` such that `0 <= value < 2^n` is certain; `None` if the value may be negative or is unknown.
pub(super) fn bound_bits(f: &Function, value: Value) -> Option<u32> {
    bound(f, value, MAX_DEPTH)
}

fn bound(f: &Function, value: Value, depth: u32) -> Option<u32> {
    if depth == 0 {
        return None;
    }
    let get = |v: Value| bound(f, v, depth - 1);
    let limit = match f.ty(value) {
        Type::Scalar(elem) => elem.scalar().filter(|t| t.is_int())?,
        _ => return None,
    };
    let natural = limit.is_unsigned_int().then(|| limit.bits()).filter(|bits| *bits < 63);
    let room = limit.bits() - 1;
    let found = match f.value(value).def {
        ValueDef::Arg(block, 0) => match loop_bounds(f, block) {
            Some((lower, upper, _)) if get(lower).is_some() => get(upper),
            _ => None,
        },
        ValueDef::Param(_) | ValueDef::Arg(..) => None,
        ValueDef::Result(op, _) => match f.kind(op) {
            OpKind::Constant { value, .. } => value.as_int().filter(|v| *v >= 0).map(|v| 64 - v.leading_zeros()),
            // Grids have fewer than 2^31 programs on an axis; extents are those of tensors in 48-bit addresses.
            OpKind::ProgramId { .. } | OpKind::NumPrograms { .. } => Some(31),
            OpKind::ViewExtent { .. } => Some(48),
            OpKind::Binary { op, a, b } => match op {
                BinaryOp::Add => Some(get(*a)?.max(get(*b)?) + 1),
                BinaryOp::Mul => Some(get(*a)? + get(*b)?),
                BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Shr => {
                    get(*b)?;
                    get(*a)
                }
                BinaryOp::Rem | BinaryOp::FloorRem => {
                    let divisor = get(*b)?;
                    Some(get(*a)?.min(divisor))
                }
                BinaryOp::Min => Some(get(*a)?.min(get(*b)?)),
                BinaryOp::Max => Some(get(*a)?.max(get(*b)?)),
                BinaryOp::And => match (get(*a), get(*b)) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (one, other) => one.or(other),
                },
                _ => None,
            },
            // Widening, or narrowing that does not cut anything off.
            OpKind::Cast { x, .. } if f.ty(*x).elem_scalar().is_some_and(|t| t.is_int()) => get(*x),
            OpKind::Select { a, b, .. } => Some(get(*a)?.max(get(*b)?)),
            OpKind::Assume { x, fact } => match fact {
                Fact::Bounded { min, max } if *min >= 0 => Some(64 - max.leading_zeros()),
                _ => get(*x),
            },
            _ => None,
        },
    };
    // A sum or product that could leave the type could wrap.
    found.filter(|bits| *bits <= room).or(natural)
}

/// The value of a constant integer.
pub(super) fn constant(f: &Function, value: Value) -> Option<i64> {
    match f.def_kind(value)? {
        OpKind::Constant { value, .. } => value.as_int(),
        _ => None,
    }
}

/// Bounds and step of the `for` loop that `block` is the body of.
fn loop_bounds(f: &Function, block: Block) -> Option<(Value, Value, Value)> {
    let mut found = None;
    f.walk(|_, op| {
        if let OpKind::For { lower, upper, step, body, .. } = f.kind(op)
            && *body == block
        {
            found = Some((*lower, *upper, *step));
        }
    });
    found
}
