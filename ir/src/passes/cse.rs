//! Common subexpressions: an op that computes what an earlier visible op of the same kind and operands has computed
//! is replaced by that. Loads are merged as long as nothing between may have changed what they read.

use std::collections::HashMap;

use crate::analysis::alias::Aliases;
use crate::analysis::effects::{Writes, accessed, writes_of};
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value};
use crate::ops::OpKind;
use crate::pass::{Changed, Pass, PassContext, PassInfo};
use crate::types::Type;

/// The pass.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cse;

/// How the pass is named in pass lists.
pub const INFO: PassInfo =
    PassInfo { name: "cse", summary: "merges equal computations", options: &[], make: |_| Ok(Box::new(Cse)) };

impl Pass for Cse {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let aliases = Aliases::compute(function);
        let mut walk = Walk { aliases, seen: HashMap::new(), loads: Vec::new(), replaced: HashMap::new() };
        walk.block(function, function.body);
        let merged = walk.replaced.len() as u64;
        cx.count("values merged", merged);
        Ok((merged > 0).into())
    }
}

/// An op without its identity: layouts are part of the types.
type Key = (OpKind, Vec<Type>);

struct Walk {
    aliases: Aliases,
    /// Ops that are visible at the current point.
    seen: HashMap<Key, Op>,
    /// The loads among them, oldest first.
    loads: Vec<Key>,
    replaced: HashMap<Value, Value>,
}

impl Walk {
    fn block(&mut self, f: &mut Function, block: Block) {
        let ops = std::mem::take(&mut f.block_mut(block).ops);
        let mut added = Vec::new();
        let mut kept = Vec::with_capacity(ops.len());
        for op in ops {
            let replaced = &self.replaced;
            f.op_mut(op).kind.for_each_operand_mut(|v| *v = replaced.get(v).copied().unwrap_or(*v));
            if self.merge(f, op, &mut added) {
                continue;
            }
            kept.push(op);
            let nested = f.kind(op).blocks();
            // A loop's body also runs after its own writes.
            let mut writes = Writes::default();
            writes_of(f, &self.aliases, op, &mut writes);
            self.forget(&writes);
            for b in nested {
                self.block(f, b);
            }
            self.forget(&writes);
        }
        f.block_mut(block).ops = kept;
        // What this block defined is not visible after it.
        for key in added {
            self.seen.remove(&key);
        }
        self.loads.retain(|key| self.seen.contains_key(key));
    }

    /// Replaces the op by an equal one, or makes it known. Gives whether it was replaced.
    fn merge(&mut self, f: &Function, op: Op, added: &mut Vec<Key>) -> bool {
        let kind = f.kind(op);
        if kind.has_side_effects() || kind.reads_memory() && !matches!(kind, OpKind::Load { .. }) {
            return false;
        }
        if !kind.blocks().is_empty() {
            return false;
        }
        let key: Key = (kind.clone(), f.op(op).results.iter().map(|&r| f.ty(r).clone()).collect());
        if let Some(&first) = self.seen.get(&key) {
            let pairs = f.op(op).results.iter().copied().zip(f.op(first).results.iter().copied());
            self.replaced.extend(pairs);
            return true;
        }
        if matches!(kind, OpKind::Load { .. }) {
            self.loads.push(key.clone());
        }
        self.seen.insert(key.clone(), op);
        added.push(key);
        false
    }

    /// Forgets the loads whose memory may have changed.
    fn forget(&mut self, writes: &Writes) {
        if writes.roots.is_empty() && !writes.synchronises {
            return;
        }
        let (aliases, seen) = (&self.aliases, &mut self.seen);
        self.loads.retain(|key| {
            let OpKind::Load { addr, .. } = &key.0 else { return false };
            let keep = !writes.may_change(aliases, aliases.root(accessed(addr)));
            if !keep {
                seen.remove(key);
            }
            keep
        });
    }
}
