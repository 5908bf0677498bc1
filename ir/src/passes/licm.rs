//! Loop-invariant code motion: an op of a loop's body whose operands all come from outside the loop is moved in
//! front of it.
//!
//! Ops that only compute move from any loop. A load moves if nothing in the loop may write what it reads, and if it
//! cannot fault although the loop may not run at all: loads through views of parameters check their bounds, so they
//! are safe unless an axis is marked as in bounds, which may hold only where the loop runs. Where the loop is known
//! to run, every load at the top of its body is safe. Assumptions stay, unless the loop is known to run.

use std::collections::HashSet;

use crate::analysis::alias::{Aliases, Root};
use crate::analysis::constants::integer;
use crate::analysis::effects::{Writes, accessed, is_speculatable, writes_of};
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value, ValueDef};
use crate::ops::{Address, OpKind};
use crate::pass::{Changed, Pass, PassContext, PassInfo};

/// The pass.
#[derive(Clone, Copy, Default, Debug)]
pub struct Licm;

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "licm",
    summary: "moves what does not change out of loops",
    options: &[],
    make: |_| Ok(Box::new(Licm)),
};

impl Pass for Licm {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let aliases = Aliases::compute(function);
        let mut moved = 0;
        block(function, function.body, &aliases, &mut moved);
        cx.count("ops moved out of loops", moved);
        Ok((moved > 0).into())
    }
}

/// Inner loops first, so that what leaves one can leave the next.
fn block(f: &mut Function, b: Block, aliases: &Aliases, moved: &mut u64) {
    let ops = std::mem::take(&mut f.block_mut(b).ops);
    let mut out = Vec::with_capacity(ops.len());
    for op in ops {
        for nested in f.kind(op).blocks() {
            block(f, nested, aliases, moved);
        }
        let hoisted = match *f.kind(op) {
            OpKind::For { body, .. } => hoist(f, op, body, aliases),
            OpKind::While { body, .. } => hoist(f, op, body, aliases),
            _ => Vec::new(),
        };
        *moved += hoisted.len() as u64;
        out.extend(hoisted);
        out.push(op);
    }
    f.block_mut(b).ops = out;
}

/// Takes the invariant ops out of a loop's body.
fn hoist(f: &mut Function, loop_op: Op, body: Block, aliases: &Aliases) -> Vec<Op> {
    let mut inside: HashSet<Value> = HashSet::new();
    for b in f.kind(loop_op).blocks() {
        inside.extend(f.block(b).args.iter().copied());
        f.walk_block(b, &mut |_, op| {
            inside.extend(f.op(op).results.iter().copied());
            for nested in f.kind(op).blocks() {
                inside.extend(f.block(nested).args.iter().copied());
            }
        });
    }
    let mut writes = Writes::default();
    writes_of(f, aliases, loop_op, &mut writes);
    let runs = certainly_runs(f, loop_op);
    let mut hoisted = Vec::new();
    for op in f.block(body).ops.clone() {
        if f.kind(op).is_terminator() || !may_move(f, op, runs, aliases, &writes) || !free_of(f, op, &inside) {
            continue;
        }
        for r in &f.op(op).results {
            inside.remove(r);
        }
        hoisted.push(op);
    }
    f.block_mut(body).ops.retain(|op| !hoisted.contains(op));
    hoisted
}

/// Whether the op, nested ops included, uses no value of the set but those it defines itself.
fn free_of(f: &Function, op: Op, inside: &HashSet<Value>) -> bool {
    let mut own: HashSet<Value> = HashSet::new();
    let mut free = true;
    f.kind(op).for_each_operand(|v| free &= !inside.contains(&v));
    for b in f.kind(op).blocks() {
        own.extend(f.block(b).args.iter().copied());
        f.walk_block(b, &mut |_, nested| {
            own.extend(f.op(nested).results.iter().copied());
            for b in f.kind(nested).blocks() {
                own.extend(f.block(b).args.iter().copied());
            }
        });
        f.walk_block(b, &mut |_, nested| {
            f.kind(nested).for_each_operand(|v| free &= own.contains(&v) || !inside.contains(&v));
        });
    }
    free
}

fn may_move(f: &Function, op: Op, runs: bool, aliases: &Aliases, writes: &Writes) -> bool {
    match f.kind(op) {
        OpKind::Load { addr, access, .. } => {
            let root = aliases.root(accessed(addr));
            !access.volatile && !writes.may_change(aliases, root) && (runs || cannot_fault(f, addr, root))
        }
        // What the loop asserts or prints before is no reason to expect that a promise is broken.
        OpKind::Assume { .. } => runs,
        _ => is_speculatable(f, op),
    }
}

/// Whether a load is safe wherever its operands are defined.
fn cannot_fault(f: &Function, addr: &Address, root: Root) -> bool {
    match addr {
        Address::Tile { view, in_bounds, .. } | Address::Gather { view, in_bounds, .. } => {
            let of_parameter = matches!(root, Root::Param(_)) && matches!(f.value(*view).def, ValueDef::Param(_));
            of_parameter && in_bounds.0 == 0
        }
        Address::Ptr { .. } => false,
    }
}

/// Whether the body of a loop with constant bounds runs at least once.
fn certainly_runs(f: &Function, loop_op: Op) -> bool {
    let OpKind::For { lower, upper, .. } = f.kind(loop_op) else { return false };
    matches!((integer(f, *lower), integer(f, *upper)), (Some(lo), Some(hi)) if lo < hi)
}
