//! Loops and branches that run once, never, or carry nothing.

use crate::analysis::constants::literal;
use crate::function::{Op, Value};
use crate::literal::Literal;
use crate::numeric::int;
use crate::ops::{CmpOp, OpKind, Values};
use crate::passes::rewrite::{Emitter, Rewrite};

/// What a loop or branch becomes.
pub fn simplify(e: &mut Emitter<'_>, op: Op, kind: &OpKind) -> Option<Rewrite> {
    match kind {
        OpKind::If { cond, then_block, else_block } => {
            if let Some(Literal::Bool(c)) = literal(e.f, *cond) {
                return Some(Rewrite::Inline(if c { *then_block } else { *else_block }, Values::new()));
            }
            let yielded = |block| {
                let t = e.f.terminator(block)?;
                Some(e.f.kind(t).operands())
            };
            let (a, b) = (yielded(*then_block)?, yielded(*else_block)?);
            let results = e.f.op(op).results.clone();
            for (r, (x, y)) in results.into_iter().zip(a.into_iter().zip(b)) {
                // Once replaced, the result is no longer used.
                if x == y && e.f.ty(x) == e.f.ty(r) {
                    e.replace(r, x);
                }
            }
            None
        }
        OpKind::For { lower, upper, step, init, body, .. } => {
            let known = |v: Value| literal(e.f, v).and_then(|l| l.as_int());
            if let (Some(lo), Some(hi)) = (known(*lower), known(*upper)) {
                let t = e.f.ty(*lower).elem_scalar()?;
                let positive = known(*step).is_some_and(|s| int::value(t, s) > 0);
                if positive && !int::compare(CmpOp::Lt, t, lo, hi) {
                    return Some(Rewrite::Replace(init.clone()));
                }
                let once = |s| int::value(t, s) > 0 && int::value(t, lo) + int::value(t, s) >= int::value(t, hi);
                if known(*step).is_some_and(once) {
                    let args = [*lower].into_iter().chain(init.iter().copied()).collect();
                    return Some(Rewrite::Inline(*body, args));
                }
            }
            // A carried value that is never changed is its initial value.
            let end = e.f.terminator(*body)?;
            let yielded = e.f.kind(end).operands();
            let args = e.f.block(*body).args.clone();
            let results = e.f.op(op).results.clone();
            for (i, &start) in init.iter().enumerate() {
                let unchanged = yielded[i] == args[i + 1] || yielded[i] == start;
                if unchanged && e.f.ty(results[i]) == e.f.ty(start) {
                    e.replace(args[i + 1], start);
                    e.replace(results[i], start);
                }
            }
            None
        }
        _ => None,
    }
}
