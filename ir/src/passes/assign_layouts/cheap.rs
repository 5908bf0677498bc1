//! Values that are computed again rather than converted: constants, ranges, masks and the index arithmetic over them.

use cranelift_entity::SecondaryMap;

use crate::function::{Function, Op, Value};
use crate::ops::{BinaryOp, OpKind, UnaryOp};

/// The most ops of a tree that is still computed again.
const MOST_OPS: u32 = 16;

/// For each op, whether its (one) result is cheap: a short tree of register-only ops over constants and scalars.
pub(super) struct Cheap {
    ops: SecondaryMap<Op, u32>,
}

impl Cheap {
    pub(super) fn compute(f: &Function) -> Self {
        let mut cheap = Self { ops: SecondaryMap::new() };
        for op in f.ops_in_order() {
            let data = f.op(op);
            let [result] = data.results[..] else { continue };
            if f.ty(result).tile().is_none() || !is_light(f, &data.kind) {
                continue;
            }
            let operands = data.kind.operands();
            let tiles: Vec<Value> = operands.iter().copied().filter(|&v| f.ty(v).tile().is_some()).collect();
            let sizes = tiles.iter().map(|&v| f.def_op(v).map_or(0, |def| cheap.ops[def]));
            if sizes.clone().all(|size| size > 0) {
                let size = 1 + sizes.sum::<u32>();
                cheap.ops[op] = if size <= MOST_OPS { size } else { 0 };
            }
        }
        cheap
    }

    pub(super) fn op(&self, op: Op) -> bool {
        self.ops[op] > 0
    }

    pub(super) fn value(&self, f: &Function, value: Value) -> bool {
        f.def_op(value).is_some_and(|op| self.op(op))
    }
}

/// Whether the op is a few instructions in each thread.
fn is_light(f: &Function, kind: &OpKind) -> bool {
    match kind {
        OpKind::Constant { .. }
        | OpKind::Arange { .. }
        | OpKind::Splat { .. }
        | OpKind::Broadcast { .. }
        | OpKind::Permute { .. }
        | OpKind::Compare { .. }
        | OpKind::Select { .. }
        | OpKind::Fma { .. }
        | OpKind::Cast { .. }
        | OpKind::Bitcast { .. }
        | OpKind::PtrAdd { .. }
        | OpKind::Assume { .. } => true,
        OpKind::Reshape { x, shape } => {
            f.ty(*x).tile().is_none_or(|tile| crate::layout::reshape_is_linear(&tile.shape, shape))
        }
        OpKind::Unary { op, .. } => matches!(op, UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs),
        OpKind::Binary { op, .. } => matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Shl
                | BinaryOp::Shr
        ),
        _ => false,
    }
}
