//! Ops with nested blocks: what the blocks take and yield.

use super::Verifier;
use crate::function::{Block, Op, Value};
use crate::ops::{LoopHints, OpKind};
use crate::types::Type;

impl Verifier<'_> {
    /// Checks an op whose nested blocks have been found well formed, each with its terminator.
    pub(super) fn regions(&mut self, op: Op) {
        let f = self.f;
        let types = |values: &[Value]| -> Vec<Type> { values.iter().map(|&v| f.ty(v).clone()).collect() };
        match f.kind(op) {
            OpKind::For { lower, init, body, hints, .. } => {
                let carried = types(init);
                let args: Vec<Type> = [f.ty(*lower).clone()].into_iter().chain(carried.iter().cloned()).collect();
                self.takes(op, *body, "the body of a for", &args);
                self.yields(op, *body, "the body of a for", &carried);
                self.hints(op, hints);
            }
            OpKind::While { init, cond, body } => {
                let carried = types(init);
                self.takes(op, *cond, "the condition of a while", &carried);
                let passed = types(&self.terminator_values(*cond));
                self.takes(op, *body, "the body of a while", &passed);
                self.yields(op, *body, "the body of a while", &carried);
            }
            OpKind::If { then_block, else_block, .. } => {
                self.takes(op, *then_block, "a block of an if", &[]);
                self.takes(op, *else_block, "a block of an if", &[]);
                let then_types = types(&self.terminator_values(*then_block));
                self.yields(op, *else_block, "the else block of an if", &then_types);
            }
            // The blocks of `reduce_with` and `scan_with` are part of their typing rules.
            _ => {}
        }
    }

    fn terminator_values(&self, block: Block) -> Vec<Value> {
        match self.f.terminator(block).map(|op| self.f.kind(op)) {
            Some(OpKind::Yield { values } | OpKind::Condition { values, .. }) => values.to_vec(),
            _ => Vec::new(),
        }
    }

    fn takes(&mut self, op: Op, block: Block, what: &str, types: &[Type]) {
        let f = self.f;
        let args = f.block(block).args.iter().map(|&v| f.ty(v));
        if let Some(message) = difference(args, types) {
            self.error(op, format!("{what} takes {message}"));
        }
    }

    fn yields(&mut self, op: Op, block: Block, what: &str, types: &[Type]) {
        let f = self.f;
        let values = self.terminator_values(block);
        if let Some(message) = difference(values.iter().map(|&v| f.ty(v)), types) {
            let at = f.terminator(block).unwrap_or(op);
            self.error(at, format!("{what} yields {message}"));
        }
    }

    fn hints(&mut self, op: Op, hints: &LoopHints) {
        if hints.stages == Some(0) {
            self.error(op, "0 pipeline stages: 1 is the least, and means none");
        }
        if hints.unroll == Some(0) {
            self.error(op, "an unroll factor of 0: 1 is the least, and means none");
        }
    }
}

/// What differs between types found and asked for, layouts aside.
fn difference<'a>(found: impl ExactSizeIterator<Item = &'a Type>, asked: &[Type]) -> Option<String> {
    if found.len() != asked.len() {
        return Some(format!("{} values where {} are asked for", found.len(), asked.len()));
    }
    let (i, (found, asked)) =
        found.zip(asked).enumerate().find(|(_, (a, b))| a.without_layout() != b.without_layout())?;
    Some(format!("{found} as value {i} where {asked} is asked for"))
}
