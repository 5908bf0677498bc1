//! The frame of passes that replace ops one by one: a walk over all blocks that rebuilds each block's list, and
//! an [`Emitter`] that adds ops in front of the one being looked at.

use smallvec::SmallVec;

use crate::function::{Block, Function, Op, Value};
use crate::literal::Literal;
use crate::loc::Loc;
use crate::ops::{BinaryOp, CmpOp, OpKind, Rounding, UnaryOp, Values, infer};
use crate::pass::Changed;
use crate::types::{Elem, ScalarType, Type};

/// What to do with an op.
pub enum Rewrite {
    /// Keep it (its kind may have been changed in place, if its results have not).
    Keep,
    /// Drop it; uses of its results become these values.
    Replace(Values),
    /// Drop it and put the ops of this nested block in its place: the block's arguments become the values, and
    /// the op's results what its terminator yields.
    Inline(Block, Values),
}

impl Rewrite {
    /// Replaces an op with one result.
    pub fn with(value: Value) -> Self {
        Rewrite::Replace([value].into_iter().collect())
    }

    /// Drops an op without results.
    pub fn remove() -> Self {
        Rewrite::Replace(Values::new())
    }
}

/// Calls `visit` with each op of the body in program order, its operands already replaced, and does what it says.
/// An op's nested blocks are visited after the op, unless it was dropped.
pub fn rewrite(f: &mut Function, mut visit: impl FnMut(&mut Emitter<'_>, Op) -> Rewrite) -> Changed {
    let mut walk = Walk { map: vec![None; f.num_values()], changed: false, visit: &mut visit };
    let body = f.body;
    walk.block(f, body);
    walk.changed.into()
}

struct Walk<'v> {
    /// What each replaced value has become.
    map: Vec<Option<Value>>,
    changed: bool,
    visit: &'v mut dyn FnMut(&mut Emitter<'_>, Op) -> Rewrite,
}

impl Walk<'_> {
    fn block(&mut self, f: &mut Function, block: Block) {
        let ops = std::mem::take(&mut f.block_mut(block).ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            self.op(f, op, &mut out);
        }
        f.block_mut(block).ops = out;
    }

    fn op(&mut self, f: &mut Function, op: Op, out: &mut Vec<Op>) {
        f.op_mut(op).kind.for_each_operand_mut(|v| {
            let to = resolve(&self.map, *v);
            self.changed |= to != *v;
            *v = to;
        });
        let loc = f.op(op).loc;
        let before = f.op(op).kind.clone();
        let mut emitter = Emitter { f, out, loc, replaced: Vec::new() };
        let action = (self.visit)(&mut emitter, op);
        for (from, to) in emitter.replaced {
            // Counts as a change where there is a use.
            self.replace(f, from, to);
        }
        match action {
            Rewrite::Keep => {
                self.changed |= f.op(op).kind != before;
                out.push(op);
                for nested in f.op(op).kind.blocks() {
                    self.block(f, nested);
                }
            }
            Rewrite::Replace(values) => {
                self.changed = true;
                let results = f.op(op).results.clone();
                assert_eq!(results.len(), values.len(), "each result is replaced");
                for (&from, &to) in results.iter().zip(&values) {
                    self.replace(f, from, to);
                }
            }
            Rewrite::Inline(block, args) => {
                self.changed = true;
                let params = f.block(block).args.clone();
                for (&from, &to) in params.iter().zip(&args) {
                    self.replace(f, from, to);
                }
                let mut ops = std::mem::take(&mut f.block_mut(block).ops);
                let end = ops.pop().expect("a block ends in a terminator");
                for op in ops {
                    self.op(f, op, out);
                }
                let mut yielded = f.op(end).kind.operands();
                if matches!(f.kind(end), OpKind::Condition { .. }) {
                    yielded.remove(0);
                }
                let results = f.op(op).results.clone();
                for (&from, &to) in results.iter().zip(&yielded) {
                    let to = resolve(&self.map, to);
                    self.replace(f, from, to);
                }
            }
        }
    }

    fn replace(&mut self, f: &mut Function, from: Value, to: Value) {
        // The name of a variable lives on in the value that took its place.
        if f.value(to).name.is_none() {
            f.value_mut(to).name = f.value(from).name.clone();
        }
        self.map.resize(f.num_values().max(self.map.len()), None);
        self.map[from.as_u32() as usize] = Some(to);
    }
}

fn resolve(map: &[Option<Value>], mut v: Value) -> Value {
    while let Some(Some(to)) = map.get(v.as_u32() as usize) {
        v = *to;
    }
    v
}

/// Adds ops at a point of a block, with the location of the op that they replace.
pub struct Emitter<'f> {
    /// The function.
    pub f: &'f mut Function,
    out: &'f mut Vec<Op>,
    loc: Loc,
    replaced: Vec<(Value, Value)>,
}

impl<'f> Emitter<'f> {
    /// An emitter that adds to the end of a list of ops that stands in no block yet.
    pub fn new(f: &'f mut Function, out: &'f mut Vec<Op>, loc: Loc) -> Self {
        Self { f, out, loc, replaced: Vec::new() }
    }

    /// Makes later uses of a value uses of another: of a result of the op visited, which is kept, or of an argument
    /// of its nested blocks.
    pub fn replace(&mut self, from: Value, to: Value) {
        self.replaced.push((from, to));
    }

    /// Adds an op and gives its results. A tile result takes the layout of the first operand of its shape.
    ///
    /// # Panics
    /// If the op breaks its typing rules: the pass that emits it is wrong.
    pub fn emit(&mut self, kind: OpKind) -> SmallVec<[Value; 2]> {
        let mut types = match infer::result_types(self.f, &kind) {
            Ok(types) => types,
            Err(e) => panic!("a pass emits an ill-typed {}: {e}", kind.mnemonic()),
        };
        for ty in &mut types {
            let layout = kind.operands().iter().find_map(|&v| {
                let operand = self.f.ty(v);
                operand.layout().filter(|_| operand.shape() == ty.shape()).cloned()
            });
            if let (None, Some(layout)) = (ty.layout(), layout) {
                *ty = ty.with_layout(layout);
            }
        }
        self.emit_typed(kind, types)
    }

    /// Adds an op with results of these types.
    pub fn emit_typed(&mut self, kind: OpKind, types: impl IntoIterator<Item = Type>) -> SmallVec<[Value; 2]> {
        let op = self.f.make_op(kind, types, self.loc);
        self.out.push(op);
        self.f.op(op).results.clone()
    }

    /// Adds an op that has one result.
    pub fn value(&mut self, kind: OpKind) -> Value {
        self.emit(kind)[0]
    }

    /// A constant of a scalar or tile type (with its layout).
    pub fn constant(&mut self, value: Literal, ty: &Type) -> Value {
        self.emit_typed(OpKind::Constant { value, ty: ty.without_layout() }, [ty.clone()])[0]
    }

    /// A small integer (or truth value, or float) as a constant of the type of `like`.
    pub fn constant_like(&mut self, like: Value, value: i64) -> Value {
        let ty = self.f.ty(like).clone();
        let literal = match ty.elem_scalar() {
            Some(ScalarType::Bool) => Literal::Bool(value != 0),
            Some(t) if t.is_float() => Literal::Float(value as f64),
            _ => Literal::Int(value),
        };
        self.constant(literal, &ty)
    }

    /// An `i64` constant.
    pub fn index(&mut self, value: i64) -> Value {
        self.constant(Literal::Int(value), &Type::INDEX)
    }

    /// A one-operand op.
    pub fn unary(&mut self, op: UnaryOp, x: Value) -> Value {
        self.value(OpKind::Unary { op, x, fast: false })
    }

    /// A two-operand op.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.value(OpKind::Binary { op, a, b })
    }

    /// A comparison.
    pub fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        self.value(OpKind::Compare { op, a, b })
    }

    /// A choice.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        self.value(OpKind::Select { cond, a, b })
    }

    /// A conversion by value, to nearest.
    pub fn cast(&mut self, x: Value, to: ScalarType) -> Value {
        if self.f.ty(x).elem() == Some(Elem::Scalar(to)) {
            return x;
        }
        self.value(OpKind::Cast { x, to, rounding: Rounding::NearestEven, saturate: false })
    }
}
