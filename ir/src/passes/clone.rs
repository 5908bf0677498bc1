//! Copies of blocks, for passes that repeat code.

use std::collections::HashMap;

use crate::function::{Block, Function, Op, Value};

/// What each value of the original has become.
pub type ValueMap = HashMap<Value, Value>;

/// Copies the ops of a block but its terminator. Arguments of the block and values from outside are replaced as the
/// map says; the results are added to it.
pub fn clone_ops(f: &mut Function, block: Block, map: &mut ValueMap) -> Vec<Op> {
    let mut ops = f.block(block).ops.clone();
    ops.retain(|&op| !f.kind(op).is_terminator());
    ops.into_iter().map(|op| clone_op(f, op, map)).collect()
}

/// Copies an op with its nested blocks.
pub fn clone_op(f: &mut Function, op: Op, map: &mut ValueMap) -> Op {
    let data = f.op(op).clone();
    let mut kind = data.kind;
    kind.for_each_operand_mut(|v| *v = map.get(v).copied().unwrap_or(*v));
    kind.for_each_block_mut(|b| *b = clone_block(f, *b, map));
    let types: Vec<_> = data.results.iter().map(|&r| f.ty(r).clone()).collect();
    let copy = f.make_op(kind, types, data.loc);
    for (i, &r) in data.results.iter().enumerate() {
        let new = f.op(copy).results[i];
        f.value_mut(new).name = f.value(r).name.clone();
        map.insert(r, new);
    }
    copy
}

/// Copies a block with its arguments and terminator.
pub fn clone_block(f: &mut Function, block: Block, map: &mut ValueMap) -> Block {
    let data = f.block(block).clone();
    let types: Vec<_> = data.args.iter().map(|&a| f.ty(a).clone()).collect();
    let copy = f.make_block(types);
    for (i, &a) in data.args.iter().enumerate() {
        let new = f.block(copy).args[i];
        f.value_mut(new).name = f.value(a).name.clone();
        map.insert(a, new);
    }
    let ops = data.ops.iter().map(|&op| clone_op(f, op, map)).collect();
    f.block_mut(copy).ops = ops;
    copy
}
