//! Loop unrolling: a loop with few known iterations becomes its iterations, others repeat their body in each
//! iteration of a loop with a larger step, followed by a loop for what remains.
//!
//! The author's hint on a loop comes first (`unroll = n`; 1 leaves the loop alone). Without one, `full` and `factor`
//! say what is done; by default short innermost loops with constant bounds are unrolled whole.

use crate::analysis::constants::integer;
use crate::diag::Diagnostic;
use crate::function::{Block, Function, Op, Value};
use crate::literal::Literal;
use crate::ops::{BinaryOp, CmpOp, LoopHints, OpKind, Values};
use crate::pass::{Changed, OptionInfo, Pass, PassContext, PassInfo};
use crate::passes::clone::{ValueMap, clone_block, clone_ops};
use crate::passes::rewrite::Emitter;
use crate::types::ScalarType;

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct Unroll {
    /// Loops of up to this many iterations are unrolled whole.
    pub full: u64,
    /// Other innermost loops are unrolled this many times (1: not).
    pub factor: u32,
    /// The most ops that an unrolled loop may have.
    pub max_ops: u64,
}

impl Default for Unroll {
    fn default() -> Self {
        Self { full: 4, factor: 1, max_ops: 256 }
    }
}

/// How the pass is named in pass lists.
pub const INFO: PassInfo = PassInfo {
    name: "unroll",
    summary: "repeats the bodies of loops",
    options: &[
        OptionInfo { name: "full", help: "loops of up to this many iterations are unrolled whole (4)" },
        OptionInfo { name: "factor", help: "other innermost loops are unrolled this many times (1)" },
        OptionInfo { name: "max-ops", help: "the most ops that an unrolled loop may have, without a hint (256)" },
    ],
    make: |options| {
        let d = Unroll::default();
        Ok(Box::new(Unroll {
            full: options.get("full", d.full)?,
            factor: options.get("factor", d.factor)?,
            max_ops: options.get("max-ops", d.max_ops)?,
        }))
    },
};

/// A hint asks for what the author measured; beyond this it is a mistake, as it is in the pass's option.
const MAX_OPS: u64 = 16384;

impl Pass for Unroll {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn run(&self, function: &mut Function, cx: &mut PassContext) -> Result<Changed, Diagnostic> {
        let mut replaced = ValueMap::new();
        let mut unrolled = 0;
        self.block(function, function.body, &mut replaced, &mut unrolled);
        cx.count("loops unrolled", unrolled);
        Ok((unrolled > 0).into())
    }
}

/// The parts of a `for`.
struct Loop {
    lower: Value,
    upper: Value,
    step: Value,
    init: Values,
    body: Block,
    hints: LoopHints,
    ty: ScalarType,
}

impl Unroll {
    fn block(&self, f: &mut Function, block: Block, replaced: &mut ValueMap, unrolled: &mut u64) {
        let ops = std::mem::take(&mut f.block_mut(block).ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            // Before an op is copied, so that copies do not refer to loops that are gone.
            f.op_mut(op).kind.for_each_operand_mut(|v| {
                while let Some(&to) = replaced.get(v) {
                    *v = to;
                }
            });
            for nested in f.kind(op).blocks() {
                self.block(f, nested, replaced, unrolled);
            }
            match self.unroll(f, op, &mut out) {
                None => out.push(op),
                Some(values) => {
                    *unrolled += 1;
                    replaced.extend(f.op(op).results.iter().copied().zip(values));
                }
            }
        }
        f.block_mut(block).ops = out;
    }

    /// Puts the unrolled form of a loop at the end of `out` and gives its results.
    fn unroll(&self, f: &mut Function, op: Op, out: &mut Vec<Op>) -> Option<Values> {
        let OpKind::For { lower, upper, step, init, body, hints } = f.kind(op).clone() else { return None };
        let ty = f.ty(lower).elem_scalar()?;
        let the_loop = Loop { lower, upper, step, init, body, hints, ty };
        let (mut size, mut innermost) = (0, true);
        f.walk_block(body, &mut |_, op| {
            size += 1;
            innermost &= !matches!(f.kind(op), OpKind::For { .. } | OpKind::While { .. });
        });
        let known = |v| integer(f, v);
        let trips = match (known(lower), known(upper), known(step)) {
            (Some(lo), Some(hi), Some(s)) if s > 0 => Some(((hi - lo).max(0) + s - 1) / s),
            _ => None,
        };
        let (full, factor, max_ops) = match hints.unroll {
            Some(n) => (u64::from(n), n, MAX_OPS),
            None if innermost => (self.full, self.factor, self.max_ops.min(MAX_OPS)),
            None => return None,
        };
        let fits = |times: i128| times * i128::from(size) <= i128::from(max_ops);
        match trips {
            Some(n) if n <= i128::from(full) && fits(n) && hints.unroll != Some(1) => {
                Some(self.whole(f, op, &the_loop, known(lower)?, known(step)?, n, out))
            }
            _ if factor > 1 && fits(factor.into()) => self.partial(f, op, &the_loop, factor, known(step)?, out),
            _ => None,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one loop, taken apart by its only caller")]
    fn whole(
        &self,
        f: &mut Function,
        op: Op,
        l: &Loop,
        lower: i128,
        step: i128,
        trips: i128,
        out: &mut Vec<Op>,
    ) -> Values {
        let loc = f.op(op).loc;
        let mut carried = l.init.clone();
        for i in 0..trips {
            let ty = f.ty(l.lower).clone();
            let iv = Emitter::new(f, out, loc).constant(Literal::Int((lower + i * step) as i64), &ty);
            carried = iteration(f, l.body, iv, &carried, out);
        }
        carried
    }

    /// The main loop runs as many whole groups of iterations as there are, the second loop the rest.
    fn partial(
        &self,
        f: &mut Function,
        op: Op,
        l: &Loop,
        factor: u32,
        step: i128,
        out: &mut Vec<Op>,
    ) -> Option<Values> {
        let group = i64::try_from(step * i128::from(factor)).ok().filter(|&g| g < 1 << 31)?;
        if l.ty != ScalarType::I64 {
            return None;
        }
        let loc = f.op(op).loc;
        let mut e = Emitter::new(f, out, loc);
        let ty = e.f.ty(l.lower).clone();
        let zero = e.index(0);
        let span = e.binary(BinaryOp::Sub, l.upper, l.lower);
        let any = e.compare(CmpOp::Lt, l.lower, l.upper);
        let span = e.select(any, span, zero);
        // Where the difference overflows it is negative, and all iterations are left to the second loop.
        let span = e.binary(BinaryOp::Max, span, zero);
        let group_value = e.constant(Literal::Int(group), &ty);
        let groups = e.binary(BinaryOp::Div, span, group_value);
        let whole = e.binary(BinaryOp::Mul, groups, group_value);
        let middle = e.binary(BinaryOp::Add, l.lower, whole);

        let main = make_body(f, l.body);
        let (iv, mut carried) = main_args(f, main);
        let mut ops = Vec::new();
        for i in 0..factor {
            let mut e = Emitter::new(f, &mut ops, loc);
            let iv = if i == 0 {
                iv
            } else {
                let offset = e.constant(Literal::Int((step * i128::from(i)) as i64), &ty);
                e.binary(BinaryOp::Add, iv, offset)
            };
            carried = iteration(f, l.body, iv, &carried, &mut ops);
        }
        let end = f.make_op(OpKind::Yield { values: carried }, [], loc);
        ops.push(end);
        f.block_mut(main).ops = ops;

        // Both loops are what the hint asked for: they are not unrolled again.
        let hints = LoopHints { unroll: Some(1), ..l.hints };
        let (lower, init) = (l.lower, l.init.clone());
        let main = OpKind::For { lower, upper: middle, step: group_value, init, body: main, hints };
        let carried = add_loop(f, op, main, out);
        let mut map = ValueMap::new();
        let rest = clone_block(f, l.body, &mut map);
        let rest = OpKind::For { lower: middle, upper: l.upper, step: l.step, init: carried, body: rest, hints };
        Some(add_loop(f, op, rest, out))
    }
}

/// Adds a loop with results like those of another, and gives them.
fn add_loop(f: &mut Function, like: Op, kind: OpKind, out: &mut Vec<Op>) -> Values {
    let types: Vec<_> = f.op(like).results.iter().map(|&r| f.ty(r).clone()).collect();
    let loc = f.op(like).loc;
    Emitter::new(f, out, loc).emit_typed(kind, types).into_iter().collect()
}

/// Copies one iteration to the end of `out`; gives what it yields.
fn iteration(f: &mut Function, body: Block, iv: Value, carried: &Values, out: &mut Vec<Op>) -> Values {
    let args = f.block(body).args.clone();
    let mut map: ValueMap = args.into_iter().zip([iv].into_iter().chain(carried.iter().copied())).collect();
    out.extend(clone_ops(f, body, &mut map));
    let end = f.terminator(body).expect("a loop's body ends in yield");
    f.kind(end).operands().into_iter().map(|v| map.get(&v).copied().unwrap_or(v)).collect()
}

/// An empty block with arguments like those of another.
fn make_body(f: &mut Function, like: Block) -> Block {
    let args = f.block(like).args.clone();
    let types: Vec<_> = args.iter().map(|&a| f.ty(a).clone()).collect();
    let block = f.make_block(types);
    for (i, &a) in args.iter().enumerate() {
        let new = f.block(block).args[i];
        f.value_mut(new).name = f.value(a).name.clone();
    }
    block
}

fn main_args(f: &Function, block: Block) -> (Value, Values) {
    let args = &f.block(block).args;
    (args[0], args[1..].iter().copied().collect())
}
