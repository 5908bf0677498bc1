//! What an op, nested ops included, may do besides giving its results.

use crate::function::{Block, Function, Op, Value};
use crate::ops::{Address, OpKind, Ordering};

use super::alias::{Aliases, Root};

/// The writes of a piece of code.
#[derive(Clone, Default, Debug)]
pub struct Writes {
    /// What is written, each once.
    pub roots: Vec<Root>,
    /// Whether other threads' writes may become visible too (barriers, acquiring atomics).
    pub synchronises: bool,
}

impl Writes {
    /// Whether a read of `root` may see another value after this code than before it.
    pub fn may_change(&self, aliases: &Aliases, root: Root) -> bool {
        self.synchronises || self.roots.iter().any(|&w| aliases.may_alias(root, w))
    }

    fn add(&mut self, root: Root) {
        if !self.roots.contains(&root) {
            self.roots.push(root);
        }
    }
}

/// The view or pointer of a memory access.
pub fn accessed(addr: &Address) -> Value {
    match addr {
        Address::Tile { view, .. } | Address::Gather { view, .. } => *view,
        Address::Ptr { ptr } => *ptr,
    }
}

/// Adds the writes of an op, nested ops included.
pub fn writes_of(f: &Function, aliases: &Aliases, op: Op, writes: &mut Writes) {
    match f.kind(op) {
        OpKind::Store { addr, .. } => writes.add(aliases.root(accessed(addr))),
        OpKind::AtomicRmw { addr, ordering, .. } | OpKind::AtomicCas { addr, ordering, .. } => {
            writes.add(aliases.root(accessed(addr)));
            writes.synchronises |= *ordering != Ordering::Relaxed;
        }
        OpKind::Barrier => writes.synchronises = true,
        _ => {}
    }
    for block in f.kind(op).blocks() {
        writes_of_block(f, aliases, block, writes);
    }
}

/// Adds the writes of a block.
pub fn writes_of_block(f: &Function, aliases: &Aliases, block: Block, writes: &mut Writes) {
    for &op in &f.block(block).ops {
        writes_of(f, aliases, op, writes);
    }
}

/// Whether removing the op, nested ops included, would change nothing but its results: it has no side effects.
pub fn is_removable(f: &Function, op: Op) -> bool {
    let kind = f.kind(op);
    (!kind.has_side_effects() || kind.is_terminator())
        && kind.blocks().iter().all(|&b| f.block(b).ops.iter().all(|&op| is_removable(f, op)))
}

/// Whether the op may run where it would not have run, at the price of its time alone: it neither touches memory
/// nor rests on a promise that may only hold where it stands.
pub fn is_speculatable(f: &Function, op: Op) -> bool {
    let kind = f.kind(op);
    let own = match kind {
        OpKind::Load { .. } | OpKind::Assume { .. } => false,
        // A loop need not end for values it never ran with.
        OpKind::For { .. } | OpKind::While { .. } => false,
        kind => !kind.has_side_effects() || kind.is_terminator(),
    };
    own && kind.blocks().iter().all(|&b| f.block(b).ops.iter().all(|&op| is_speculatable(f, op)))
}
