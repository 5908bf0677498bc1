//! Canonical forms: constants are folded, identities removed, and what can be written in several ways is written
//! in one, so that later passes see fewer cases.
//!
//! | file | subject |
//! |---|---|
//! | `fold` | evaluation of ops on constants; computing once what is the same in every element |
//! | `arith` | algebra of integers, floats and truth values |
//! | `shape` | shape ops of shape ops |
//! | `control` | loops and branches that run once, never, or carry nothing |
//! | `memory` | views, pointers, masks, assertions |
//!
//! Canonical are: a constant operand of a commutative op or comparison on the right; sums and products of constants
//! combined; `x - c` as `x + -c` (signed integers); elementwise ops on splats as splats of scalar ops.
//!
//! Float rules hold bit for bit (NaN payloads aside): nothing is reassociated, and a division becomes a
//! multiplication only where the reciprocal is exact.

mod arith;
mod control;
mod fold;
mod memory;
mod shape;

use super::rewrite::{Emitter, Rewrite, rewrite};
use crate::diag::Diagnostic;
use crate::function::{Function, Op, Value};
use crate::ops::OpKind;
use crate::pass::{Changed, Pass, PassContext, PassInfo};

/// The pass.
#[derive(Clone, Copy, Default, Debug)]
pub struct Canonicalize;

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "canonicalize",
    summary: "folds constants, removes identities, and writes things in one way",
    options: &[],
    make: |_| Ok(Box::new(Canonicalize)),
};

/// Each round opens possibilities for the next; chains longer than this wait for the next run of the pass.
const ROUNDS: usize = 16;

impl Pass for Canonicalize {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let mut changed = Changed::No;
        for _ in 0..ROUNDS {
            let round = rewrite(function, |e, op| {
                let action = simplify(e, op);
                if !matches!(action, Rewrite::Keep) {
                    cx.count("ops simplified", 1);
                }
                action
            });
            if !round.any() {
                break;
            }
            changed = Changed::Yes;
        }
        Ok(changed)
    }
}

fn simplify(e: &mut Emitter<'_>, op: Op) -> Rewrite {
    let kind = e.f.kind(op).clone();
    if let Some(action) = control::simplify(e, op, &kind).or_else(|| memory::simplify(e, op, &kind)) {
        return action;
    }
    let value = match e.f.op(op).results[..] {
        [result] => fold::constant(e, &kind, result)
            .or_else(|| fold::uniform(e, &kind, result))
            .or_else(|| arith::simplify(e, &kind, result))
            .or_else(|| shape::simplify(e, &kind, result))
            .map(|v| [same_layout(e, v, result)].into_iter().collect()),
        _ => shape::simplify_split(e, &kind),
    };
    value.map_or(Rewrite::Keep, Rewrite::Replace)
}

/// The value in the layout of the one it replaces.
fn same_layout(e: &mut Emitter<'_>, v: Value, replaced: Value) -> Value {
    match e.f.ty(replaced).layout() {
        Some(layout) if e.f.ty(v).layout() != Some(layout) => {
            let layout = layout.clone();
            e.value(OpKind::ConvertLayout { x: v, layout })
        }
        _ => v,
    }
}
