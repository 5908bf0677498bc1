//! If-conversion: a branch whose two sides are cheap and only compute becomes its ops and selects, which leaves
//! straight-line code for the passes and targets that follow.

use crate::analysis::effects::is_speculatable;
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op};
use crate::ops::{OpKind, Values};
use crate::pass::{Changed, OptionInfo, Pass, PassContext, PassInfo};
use crate::passes::rewrite::Emitter;
use crate::types::Type;

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct IfConvert {
    /// The most elements that both sides together may compute.
    pub limit: u64,
}

impl Default for IfConvert {
    fn default() -> Self {
        Self { limit: 16 }
    }
}

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "if-convert",
    summary: "turns cheap branches into selects",
    options: &[OptionInfo { name: "limit", help: "the most elements that both sides together may compute (16)" }],
    make: |options| Ok(Box::new(IfConvert { limit: options.get("limit", IfConvert::default().limit)? })),
};

impl Pass for IfConvert {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let mut converted = 0;
        self.block(function, function.body, &mut converted);
        cx.count("branches converted", converted);
        Ok((converted > 0).into())
    }
}

impl IfConvert {
    /// Inner branches first: a converted one may make the outer one convertible.
    fn block(&self, f: &mut Function, block: Block, converted: &mut u64) {
        let ops = std::mem::take(&mut f.block_mut(block).ops);
        let mut out = Vec::with_capacity(ops.len());
        let mut replaced = Vec::new();
        for op in ops {
            for nested in f.kind(op).blocks() {
                self.block(f, nested, converted);
            }
            match self.convert(f, op, &mut out) {
                None => out.push(op),
                Some(values) => {
                    replaced.extend(f.op(op).results.iter().copied().zip(values));
                    *converted += 1;
                }
            }
        }
        f.block_mut(block).ops = out;
        if !replaced.is_empty() {
            let map: std::collections::HashMap<_, _> = replaced.into_iter().collect();
            let resolve = |mut v| {
                while let Some(&to) = map.get(&v) {
                    v = to;
                }
                v
            };
            self.replace_in(f, block, &resolve);
        }
    }

    fn replace_in(&self, f: &mut Function, block: Block, resolve: &impl Fn(crate::Value) -> crate::Value) {
        for op in f.block(block).ops.clone() {
            f.op_mut(op).kind.for_each_operand_mut(|v| *v = resolve(*v));
            for nested in f.kind(op).blocks() {
                self.replace_in(f, nested, resolve);
            }
        }
    }

    /// Moves both sides in front and gives the selected results.
    fn convert(&self, f: &mut Function, op: Op, out: &mut Vec<Op>) -> Option<Values> {
        let OpKind::If { cond, then_block, else_block } = *f.kind(op) else { return None };
        // A view cannot be selected.
        let selectable = |f: &Function| f.op(op).results.iter().all(|&r| !matches!(f.ty(r), Type::View { .. }));
        let cost = self.cost(f, then_block)? + self.cost(f, else_block)?;
        let selects: u64 = f.op(op).results.iter().map(|&r| elements(f, r)).sum();
        if cost + selects > self.limit || !selectable(f) {
            return None;
        }
        let mut sides = [then_block, else_block].map(|b| {
            let mut ops = std::mem::take(&mut f.block_mut(b).ops);
            let end = ops.pop().expect("a block ends in a terminator");
            out.extend(ops);
            f.kind(end).operands().into_iter()
        });
        let loc = f.op(op).loc;
        let count = f.op(op).results.len();
        let mut e = Emitter::new(f, out, loc);
        let values = (0..count).map(|_| {
            let (a, b) = (sides[0].next().expect("a value for each result"), sides[1].next().expect("as many"));
            if a == b { a } else { e.select(cond, a, b) }
        });
        Some(values.collect())
    }

    /// Elements that a side computes; `None` if it must not run where it did not.
    fn cost(&self, f: &Function, block: Block) -> Option<u64> {
        f.block(block).ops.iter().filter(|&&op| !f.kind(op).is_terminator()).try_fold(0, |sum, &op| {
            let free = matches!(f.kind(op), OpKind::Constant { .. });
            let own: u64 = f.op(op).results.iter().map(|&r| elements(f, r)).sum();
            // Nested blocks run once for each element at least.
            let nested = if f.kind(op).blocks().is_empty() { 0 } else { self.limit };
            is_speculatable(f, op).then_some(sum + if free { 0 } else { own + nested })
        })
    }
}

fn elements(f: &Function, v: crate::Value) -> u64 {
    f.ty(v).tile().map_or(1, |t| t.count())
}
