//! Dead code: removes ops whose results nothing needs and that have no side effects, loops and branches included,
//! and the carried values and results of loops and branches that nothing needs.
//!
//! Need is traced backwards from the side effects, so a value carried round a loop only for its own sake goes too.
//! A loop without side effects is taken to end.

use smallvec::SmallVec;

use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value, ValueDef};
use crate::ops::OpKind;
use crate::pass::{Changed, Pass, PassContext, PassInfo};

/// The pass.
#[derive(Clone, Copy, Default, Debug)]
pub struct Dce;

/// How the pass is named in pass lists.
pub const INFO: PassInfo =
    PassInfo { name: "dce", summary: "removes what nothing needs", options: &[], make: |_| Ok(Box::new(Dce)) };

impl Pass for Dce {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let needed = Needed::compute(function);
        let mut removed = 0;
        sweep(function, function.body, &needed, &mut removed);
        cx.count("ops and values removed", removed);
        Ok((removed > 0).into())
    }
}

/// What the side effects of a function need.
struct Needed {
    ops: Vec<bool>,
    values: Vec<bool>,
    /// The op that owns each block, and the block each op stands in.
    owner: Vec<Option<Op>>,
    parent: Vec<Option<Block>>,
    work: Vec<Value>,
}

impl Needed {
    fn compute(f: &Function) -> Self {
        let mut n = Self {
            ops: vec![false; f.num_ops()],
            values: vec![false; f.num_values()],
            owner: vec![None; f.num_blocks()],
            parent: vec![None; f.num_ops()],
            work: Vec::new(),
        };
        f.walk(|block, op| {
            n.parent[op.as_u32() as usize] = Some(block);
            for nested in f.kind(op).blocks() {
                n.owner[nested.as_u32() as usize] = Some(op);
            }
        });
        for op in f.ops_in_order() {
            let kind = f.kind(op);
            if kind.has_side_effects() && !matches!(kind, OpKind::Yield { .. } | OpKind::Condition { .. }) {
                n.op(f, op);
            }
        }
        while let Some(v) = n.work.pop() {
            n.source(f, v);
        }
        n
    }

    fn value(&mut self, v: Value) {
        let known = &mut self.values[v.as_u32() as usize];
        if !*known {
            *known = true;
            self.work.push(v);
        }
    }

    /// Needs an op, what decides whether it runs, and those of its operands that it needs as a whole.
    fn op(&mut self, f: &Function, op: Op) {
        if std::mem::replace(&mut self.ops[op.as_u32() as usize], true) {
            return;
        }
        if let Some(owner) = self.parent[op.as_u32() as usize].and_then(|b| self.owner[b.as_u32() as usize]) {
            self.op(f, owner);
        }
        match f.kind(op) {
            OpKind::For { lower, upper, step, .. } => [*lower, *upper, *step].into_iter().for_each(|v| self.value(v)),
            OpKind::If { cond, .. } => self.value(*cond),
            kind => {
                kind.for_each_operand(|v| self.value(v));
                // All that these carry is needed; their bodies are small, or decide when they end.
                if !matches!(kind, OpKind::Return) {
                    for block in kind.blocks() {
                        if let Some(t) = f.terminator(block) {
                            f.kind(t).for_each_operand(|v| self.value(v));
                        }
                    }
                }
            }
        }
    }

    /// Needs what a value comes from.
    fn source(&mut self, f: &Function, v: Value) {
        match f.value(v).def {
            ValueDef::Param(_) => {}
            ValueDef::Arg(block, i) => {
                let Some(owner) = self.owner[block.as_u32() as usize] else { return };
                self.op(f, owner);
                if i > 0 && matches!(f.kind(owner), OpKind::For { .. }) {
                    self.carried(f, owner, i as usize - 1);
                }
            }
            ValueDef::Result(op, i) => {
                self.op(f, op);
                match f.kind(op) {
                    OpKind::For { .. } => self.carried(f, op, i as usize),
                    OpKind::If { then_block, else_block, .. } => {
                        for block in [*then_block, *else_block] {
                            self.yielded(f, block, i as usize);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn carried(&mut self, f: &Function, op: Op, i: usize) {
        let OpKind::For { init, body, .. } = f.kind(op) else { return };
        self.value(init[i]);
        self.value(f.block(*body).args[i + 1]);
        self.yielded(f, *body, i);
    }

    fn yielded(&mut self, f: &Function, block: Block, i: usize) {
        if let Some(OpKind::Yield { values }) = f.terminator(block).map(|t| f.kind(t)) {
            self.value(values[i]);
        }
    }

    fn is_value(&self, v: Value) -> bool {
        self.values[v.as_u32() as usize]
    }
}

fn sweep(f: &mut Function, block: Block, needed: &Needed, removed: &mut u64) {
    let mut ops = std::mem::take(&mut f.block_mut(block).ops);
    ops.retain(|&op| {
        let keep = needed.ops[op.as_u32() as usize] || f.kind(op).is_terminator();
        *removed += u64::from(!keep);
        keep
    });
    for &op in &ops {
        prune(f, op, needed, removed);
        for nested in f.kind(op).blocks() {
            sweep(f, nested, needed, removed);
        }
    }
    f.block_mut(block).ops = ops;
}

/// Drops the results of a loop or branch that nothing needs.
fn prune(f: &mut Function, op: Op, needed: &Needed, removed: &mut u64) {
    let results = f.op(op).results.clone();
    let (blocks, args) = match f.kind(op) {
        OpKind::For { body, .. } => ([*body].into_iter().collect::<SmallVec<[Block; 2]>>(), Some(*body)),
        OpKind::If { then_block, else_block, .. } => ([*then_block, *else_block].into_iter().collect(), None),
        _ => return,
    };
    let keep: Vec<bool> = results
        .iter()
        .enumerate()
        .map(|(i, &r)| needed.is_value(r) || args.is_some_and(|b| needed.is_value(f.block(b).args[i + 1])))
        .collect();
    if keep.iter().all(|&k| k) {
        return;
    }
    *removed += keep.iter().filter(|&&k| !k).count() as u64;
    retain(&mut f.op_mut(op).results, &keep, 0);
    if let OpKind::For { init, .. } = &mut f.op_mut(op).kind {
        retain(init, &keep, 0);
    }
    if let Some(body) = args {
        retain(&mut f.block_mut(body).args, &keep, 1);
        for (i, arg) in f.block(body).args.clone().into_iter().enumerate() {
            f.value_mut(arg).def = ValueDef::Arg(body, i as u32);
        }
    }
    for block in blocks {
        if let Some(t) = f.terminator(block)
            && let OpKind::Yield { values } = &mut f.op_mut(t).kind
        {
            retain(values, &keep, 0);
        }
    }
    for (i, r) in f.op(op).results.clone().into_iter().enumerate() {
        f.value_mut(r).def = ValueDef::Result(op, i as u32);
    }
}

/// Keeps the first `skip` values, and of the rest those marked.
fn retain<A: smallvec::Array<Item = Value>>(values: &mut SmallVec<A>, keep: &[bool], skip: usize) {
    let mut i = 0;
    values.retain(|_| {
        i += 1;
        i <= skip || keep[i - 1 - skip]
    });
}
