//! How large scalar integers can be, by looking through their definitions.
//!
//! This decides which bounds need no check, so it must never claim too much.

use tegula_ir::function::{Block, Function, Value, ValueDef};
use tegula_ir::ops::{BinaryOp, Fact, OpKind};
use tegula_ir::types::Type;

/// Definitions further away than this are not looked at.
const MAX_DEPTH: u32 = 32;

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
            Some((lower, upper)) if get(lower).is_some() => get(upper),
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

/// Lower and upper bound of the `for` loop that `block` is the body of.
fn loop_bounds(f: &Function, block: Block) -> Option<(Value, Value)> {
    let mut found = None;
    f.walk(|_, op| {
        if let OpKind::For { lower, upper, body, .. } = f.kind(op)
            && *body == block
        {
            found = Some((*lower, *upper));
        }
    });
    found
}
